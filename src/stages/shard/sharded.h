/* sharded.h: the result of the shard stage: how a step is split over the mesh, what it costs, and the graph of one
 * device.
 *
 * Immutable once made and shared by counted references between plans and the store. */
#pragma once

#include "solver/pipeline/blocks.h"
#include "src/stages/base/store.h"

/* What can be split in a graph, kept for all meshes. */
struct shared_units {
	struct graph *graph;
	struct units units;
	struct blocks blocks;
	struct fold fold;           /* equal layers, once a search has asked for them */
	bool folded;
	atomic_uint references;
};

/* A sharding that was looked at on the way. */
struct shard_candidate {
	const char *text;           /* "dp 2 x tp 4, ZeRO 3" */
	int64_t time, usage, redundant; /* picoseconds of a step; bytes that stay (< 0: not known), and that are copies */
	bool possible, chosen;
};

#define SHARD_EXPERTS 6
#define SHARD_MESHES 3         /* that auto searches beside the first */
#define SHARD_RIVALS \
	(SHARD_EXPERTS + SHARDING_OTHERS + SHARD_MESHES)       /* experts', and what searches passed by */

/* What is shown of all shardings searched over a mesh. */
struct shown {
	struct proof proof;         /* quantity NONE: nothing was minimised */
	struct price price;         /* of bytes that stay: shows its bound alone; its limit is that of the proof */
	struct mixture mixture;     /* that the bound is of */
};

#define SHOWN_NOTHING { QUANTITY_NONE, -1, -1, "none" }

struct sharded {
	struct shared_units *shared;
	struct sharding sharding;   /* of shared->graph */
	struct graph *device;       /* what a device runs, collectives included */
	const char *notes;          /* what was assumed or could not be split: sentences, one a line */
	int64_t *redundant;         /* [storages] of shared->graph: what a device holds beyond its share of one copy */
	struct sharding_cost cost;  /* time of a step, bytes that stay on a device */
	struct shown shown;         /* tap, minred; auto: a plan has it, */
	struct mesh searched;       /* where its mesh is this one, or has one axis: others were searched axis by axis */
	struct shard_candidate *candidate;  /* in the order in which they were looked at */
	uint32_t candidates, patterns;      /* listed; TAP's: routed, of which the cheapest are listed */
	/* auto: other shardings, which may be better once they are planned; the first ones are experts'. None of a
	 * rival's own. */
	struct sharding rival[SHARD_RIVALS];
	int64_t rival_time[SHARD_RIVALS];       /* their estimates */
	uint32_t rivals, experts;
	uint32_t folded;            /* ops that copies of equal layers stand for: decided once for all of them */
	const char *space;          /* static text: which shardings were looked at; NULL: just this one */
	struct key key;             /* of all that it depends on */
	struct arena arena;
	atomic_uint references;
};

struct sharded *sharded_retain(struct sharded *sharded);
void sharded_release(void *sharded);

/* The tensor's id in the graph that was sharded, by its name in another graph; NONE: a collective's own. */
uint32_t sharded_tensor(const struct sharded *sharded, const struct graph *graph, uint32_t tensor);
/* The op of the graph that was sharded, by its name in a device's graph, also where that runs it again; NONE: a
 * collective's or a copy. Who asks for all ops in turn gives the same *near, 0 at first: the op behind the one found
 * last is looked at before all others. NULL: none. */
uint32_t sharded_op(const struct sharded *sharded, const struct graph *device, uint32_t op, uint32_t *near);
/* "[S(0), R]": where a tensor lies, axis by axis; "" without axes. Returns text. */
char *sharded_place(
	const struct sharded *sharded, uint32_t tensor, struct placement placement, char *text, size_t size);
/* The same for a tensor of the device's graph, by its name; a collective's result says itself where it lies. */
char *sharded_place_here(
	const struct sharded *sharded, const struct graph *device, uint32_t tensor, char *text, size_t size);
/* "dp 2 x tp 4", "1 device". Returns text. */
char *mesh_text(const struct mesh *mesh, char *text, size_t size);
