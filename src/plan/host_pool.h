/* host_pool.h: host memory, the other pool of a plan with offloads. */
#pragma once

#include "solver/graph/graph.h"

/* A tensor that waits in the host from its offload through its last fetch, positions inclusive. In a pipeline a second
 * buffer holds those of the other microbatches in flight, from the beginning to the flush. */
struct host_buffer {
	uint32_t tensor, first, last;
	uint32_t others;           /* microbatches, 0: it is the one at hand */
	int64_t bytes, offset;
};

struct host_pool {
	struct host_buffer *buffer;
	uint32_t n, tensors;
	int64_t arena, load;       /* bytes of the pool, and the most that wait at once */
};

/* What a planned graph's ops "tidemark.offload" send to the host, laid out by the cheap strategies; n is 0 without any;
 * tensors: without what others have in flight. position: [ops] of each op in the order. Free with host_pool_free(). */
enum status host_pool_make(
	const struct graph *graph, const uint32_t *position, int64_t alignment, struct host_pool *pool);
void host_pool_free(struct host_pool *pool);
