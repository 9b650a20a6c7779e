/* network_build.h: what the parts of network_build() share. */
#pragma once

#include "cost.h"

struct building;

/* A tensor's readers of one kind: a node of readers, the distance of their copies, and an example. */
struct reading {
	uint32_t node;                   /* that reads */
	int32_t delta;                   /* the reader's copy less the writer's, in one segment; DELTA_NONE else */
	uint32_t count;                  /* so often */
	uint32_t from_low, from_high, to_low, to_high;   /* copies of writers and readers */
	uint32_t tensor, op;             /* one of them */
	uint32_t left; /* the operand in which the op leaves the tensor, written anew under its own name; NONE */
	uint32_t next;
};
#define DELTA_NONE INT32_MIN

struct building {
	const struct units *units;
	const struct graph *graph;
	const struct mesh *mesh;
	const struct network_options *options;
	struct network *network;
	struct reshard_memo *memo, own_memo;   /* the options', or its own */
	bool failed;                     /* out of memory while looking up a resharding */
	bool *reaches;                   /* [ops] a view that the backward pass reads, or an op of later phases */
	uint32_t *node_class;            /* [op nodes, then kept nodes + 1] a node's first class of tensors */
	uint32_t classes, *class_reading, *class_example;   /* [classes] into reading; a tensor */
	struct reading *reading;
	const struct places *needs;      /* of the tensor whose second copies are at hand, or NULL */
	uint32_t readings;
	size_t reading_room, edge_room, node_room, first_room, choice_room, pair_room;
	struct error *error;
	struct arena arena;
};

/* Appends a node without choices; NONE when out of memory. */
uint32_t building_node(struct building *building, enum network_kind kind, uint32_t id, uint32_t segment);
/* Appends a choice to the last node. */
enum status building_choice(struct building *building, struct network_choice choice, int64_t cost, int64_t usage);

/* Nodes of ops and of kept tensors, with choices. */
enum status building_nodes(struct building *building);
/* Classes of tensors and their readings. LIMIT: the fold does not fit. */
enum status building_readings(struct building *building);
/* Nodes of second copies, and all edges. */
enum status building_edges(struct building *building);

/* Where a tensor lies for a choice of the node that writes or keeps it. */
struct placement choice_place(const struct building *building, uint32_t tensor, const struct network_choice *choice);
