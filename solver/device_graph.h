/* device_graph.h: the graph of one device of a sharded step, with collectives as ops. */
#ifndef TIDEMARK_DEVICE_GRAPH_H
#define TIDEMARK_DEVICE_GRAPH_H

#include "placement.h"

/* The graph that a device runs: local shapes and bytes, local FLOPs and workspace; where a tensor is needed in another placement than
 * it has, ops of type "comm.all_gather", ... and phase communication (one for all readers that need the same), named after the
 * tensor and the axis; updated parameters brought back to the placement that they are kept in. Ids are kept: an op or tensor of
 * the input has its name here. An op's extra carries what replay and views need ("axis", "group", bytes).
 * Every rank of a mesh without pipeline has the same graph but for nothing: rank only picks names and groups. BAD_INPUT: a placement that can't be reached. O(size). */
struct graph *device_graph_build(const struct units *units, const struct sharding *sharding, uint32_t rank, struct error *error,
	enum status *status);

#endif
