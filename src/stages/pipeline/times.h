/* times.h: how long the ops of a device's graph take: kernels, and collectives by their links. */
#pragma once

#include "pipelined.h"
#include "solver/pipeline/block_costs.h"
#include "src/stages/fit/plan_time.h"

struct device_times {
	int64_t *time;             /* [ops of the device's graph] picoseconds, collectives inside included */
	bool *hidden;              /* [ops] a collective of gradients or parameters, which runs beside computation */
	bool *link;                /* [ops] any other collective */
	bool *host;                /* [ops] a copy to the host's memory or back, beside computation */
	struct arena arena;
};

/* device: the sharding's graph of a device, or that graph with ops that run again. OK or NO_MEMORY. O(size). */
enum status device_times_find(const struct sharded *sharded, const struct graph *device, const struct rules *rules,
	const struct machine *machine, struct device_times *times);
void device_times_free(struct device_times *times);

/* Where the step of a pipeline's rank goes, whose graph is one microbatch and the update: what it computes in all
 * microbatches, what it waits for collectives in its passes and of its gradients, and for other ranks. OK or NO_MEMORY.
 * O(size). */
enum status plan_rank_shares(const struct graph *graph, const struct sharded *sharded,
	const struct pipelined *pipelined, uint32_t rank, const struct scenario *scenario, const struct rules *rules,
	struct step_shares *shares);
