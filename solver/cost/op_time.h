/* op_time.h: how long one device takes for its share of an op. */
#ifndef TIDEMARK_COST_OP_TIME_H
#define TIDEMARK_COST_OP_TIME_H

#include "machine.h"
#include "placement.h"

/* The time of one device for its share of an op, in picoseconds; SHARD_FORBIDDEN: not allowed. The same for all ops of a class. */
struct op_clock {
	int64_t (*takes)(const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split);
	const void *context;
};

/* What doesn't depend on the split: the same for ops that are alike. */
struct op_times {
	const struct machine *machine;
	const struct rules *rules;
	uint8_t *kind;             /* [op classes] */
	int64_t *flops;            /* [op classes] of the whole op */
	struct arena arena;
};

/* OK or NO_MEMORY. The machine must outlive it. O(ops). */
enum status op_times_find(const struct units *units, const struct rules *rules, const struct machine *machine, struct op_times *times);
void op_times_free(struct op_times *times);
/* A clock that asks them: roofline of the local share, and the all-reduces inside the op. */
struct op_clock op_times_clock(const struct op_times *times);

/* The time of a whole op on one device, in picoseconds; a view takes none. O(arguments). */
int64_t op_whole_time(const struct graph *graph, const struct rules *rules, const struct machine *machine, uint32_t op);

/* The time of all-reduces inside an op, in picoseconds by axis. */
int64_t op_inside_time(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, int64_t axis_time[MESH_AXES],
	int64_t axis_bytes[MESH_AXES]);

#endif
