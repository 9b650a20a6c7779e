/* device_walk.h: one walk over a step's program that makes the graph of a device. */
#pragma once

#include "device_graph.h"
#include "solver/cost/reshard.h"

#define ANY_PHASE PHASE_COUNT

/* Memory that holds a tensor: the homes of all storages come first, then copies in other placements. */
struct holder {
	uint32_t source;           /* a copy: of this tensor */
	uint32_t storage, version;
	uint32_t name;             /* a copy: the draft's tensor */
	uint32_t base;             /* a slice that is a view: the holder whose memory it is; else NONE */
	uint32_t next;             /* the next copy of the same source */
	struct placement at;
	uint8_t phase;             /* readers of other phases don't use it; ANY_PHASE */
};

struct walk {
	const struct units *units;
	const struct graph *graph;
	const struct sharding *sharding;
	const struct mesh *mesh;
	uint32_t number;             /* of the device */
	struct draft *draft;
	enum status status;
	struct error *error;
	struct holder *holder;
	uint32_t holders;
	size_t room;
	uint32_t *name;            /* [tensors] the draft's latest name of a tensor where it rests */
	uint32_t *where;           /* [tensors] the holder there */
	struct placement *place;   /* [tensors] the placement there */
	uint32_t *copies;          /* [tensors] its first copy, or NONE */
	uint32_t *version;         /* [storages] writes so far */
	uint32_t *newest;          /* [storages] the holder of the last write */
	uint32_t *made;            /* [ops] the draft's op */
	uint32_t *read_start;      /* [tensors + 1] readers of a tensor in program order: */
	uint32_t *reader, *read;   /* their op, and its place in graph->reads.item */
	uint32_t now;              /* the op of the input that is being made */
	const char *module;        /* of the collectives to come */
	struct reshard_memo memo;
	struct arena arena;
};

/* The walk ends with the first failure: what is called later does nothing. */
void walk_stop(struct walk *walk, enum status status);
/* A tensor of the input in a placement: its local extents and bytes. name: NULL for its own. Returns the draft's. */
uint32_t walk_tensor(struct walk *walk, uint32_t of, const char *name, struct placement placement, uint32_t alias);
/* The draft's tensor with a tensor's content in a placement, and its holder. */
uint32_t walk_reach(struct walk *walk, uint32_t tensor, struct placement to, uint8_t phase, uint32_t *holder);
/* The holder is the home of a storage; else a copy. */
bool walk_home(const struct walk *walk, uint32_t holder);
/* Makes a holder's content the latest. */
void walk_bring_up(struct walk *walk, uint32_t holder);
uint32_t walk_add_holder(struct walk *walk, struct holder holder);
/* The reductions that an op's partial sums need. */
void walk_reduce(struct walk *walk, uint32_t op);
