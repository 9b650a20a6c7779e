/* host_pool.h: host memory, the other pool of a plan with offloads. */
#ifndef TIDEMARK_HOST_POOL_H
#define TIDEMARK_HOST_POOL_H

#include "solver/graph.h"

/* A tensor that waits in the host from its offload to its last fetch, positions inclusive. */
struct host_buffer { uint32_t tensor, first, last; int64_t bytes, offset; };

struct host_pool {
	struct host_buffer *buffer;
	uint32_t n;
	int64_t arena, load;       /* bytes of the pool, and the most that wait at once */
};

/* What a planned graph's ops "tidemark.offload" send to the host, laid out by the cheap strategies; n is 0 without any. position:
 * [ops] of each op in the order. Free with host_pool_free(). */
enum status host_pool_make(const struct graph *graph, const uint32_t *position, int64_t alignment, struct host_pool *pool);
void host_pool_free(struct host_pool *pool);

#endif
