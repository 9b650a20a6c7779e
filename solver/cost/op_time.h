/* op_time.h: how long one device takes for its share of an op.
 *
 * There is one formula, op_work_time(), for plans, searches of shardings, pipelines and whole configurations: what
 * differs is who says what share of FLOPs and bytes a device has. */
#pragma once

#include "machine.h"
#include "placement.h"

/* What an op does, whatever its share. */
struct op_work {
	int64_t flops;             /* of the whole op: the graph's, else by its rule */
	uint8_t format;
	bool matrix, attention, view, cast;
	bool narrows;              /* a cast to 8 bits */
	bool linear;               /* a sum or a copy: gradients pass through it as they are */
	bool pieces;               /* attention on a piece of a sequence: never set here, by those who know how it is split */
	bool grouped, routes;      /* experts' products, each a kernel; tokens to their slots or back */
	int64_t groups;            /* how many products it is: set where shapes are known */
	bool update;               /* of a parameter: no product */
	bool gathers;              /* of its first operand, a table, it reads the rows that it gives */
};
/* [ops] into the arena. flops is 0 where neither graph nor rule say. OK or NO_MEMORY. O(size). */
enum status op_work_find(
	const struct graph *graph, const struct rules *rules, struct arena *arena, struct op_work **work);
/* Picoseconds of so many FLOPs and bytes of it. Kernels in which several ops are fused leave a share of the traffic of
 * ops that aren't matrix products; casts read and write once, whatever is fused, and updates what op_moves() says.
 * O(1). */
int64_t op_work_time(const struct machine *machine, const struct op_work *work, int64_t flops, int64_t bytes);

/* Whether an op moves its k-th argument through the device's memory. Of a joined update each byte that was there before
 * it is read once, and each that is left behind written once: by the first op of the update to read it, by the last to
 * write it. O(users of the storage). */
bool op_moves(
	const struct machine *machine, const struct op_work *work, const struct graph *graph, uint32_t op, uint32_t k);

/* The time of one device for its share of an op, in picoseconds; SHARD_FORBIDDEN: not allowed. The same for all ops of
 * a class. */
struct op_clock {
	int64_t (*takes)(
		const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split);
	const void *context;
	bool late_casts; /* casts and views of gradients stand back until these are reduced, so that other computation hides
						it: as in orders for time */
};

/* What doesn't depend on the split: the same for ops that are alike. */
struct op_times {
	const struct machine *machine;
	struct op_work *work;      /* [op classes] */
	struct arena arena;
};

/* OK or NO_MEMORY. The machine must outlive it. O(ops). */
enum status op_times_find(
	const struct units *units, const struct rules *rules, const struct machine *machine, struct op_times *times);
void op_times_free(struct op_times *times);
/* A clock that asks them: roofline of the local share, and the all-reduces inside the op. */
struct op_clock op_times_clock(const struct op_times *times);
/* A device's share of an op's computation alone, in picoseconds. O(arguments). */
int64_t op_share_time(const struct units *units, const struct mesh *mesh, const struct op_work *work,
	const struct machine *machine, uint32_t op, struct split split);

/* The time of an op on a device that has the graph's tensors as they are, in picoseconds, and what sets it; a view
 * takes none. pieces: op_on_pieces(). OK or NO_MEMORY. O(arguments). */
enum status op_local_time(const struct graph *graph, const struct rules *rules, const struct machine *machine,
	uint32_t op, bool pieces, int64_t *time, enum machine_limit *limit);
/* True where devices share the sequence of an op. */
bool op_on_pieces(const struct units *units, uint32_t op, struct split split);

/* The time of all-reduces inside an op, in picoseconds by axis. */
int64_t op_inside_time(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split,
	int64_t axis_time[MESH_AXES], int64_t axis_bytes[MESH_AXES]);
