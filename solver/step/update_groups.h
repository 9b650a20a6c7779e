/* update_groups.h: which ops of a training step update which parameter, from which gradient. */
#pragma once

#include "solver/rules/rules.h"
#include "update.h"

struct update_group {
	uint32_t parameter, gradient;  /* tensors of the step; the gradient as the update first reads it, or NONE */
	uint32_t states;               /* state tensors with more than one element */
	uint32_t counters;             /* and with one */
	int64_t state_bytes;
	uint32_t weight_writes;        /* ops that write the parameter */
	bool divides;                  /* has an addcdiv_: Adam's last op */
	enum update_way way;
	uint32_t first;                /* its first op */
	uint32_t call;                 /* UPDATE_EACH: the group's number; else the op that updates it together with others */
};

struct update_groups {
	const struct graph *step;
	const struct rules *rules;
	struct arena arena;
	bool eager;                    /* the step says where PyTorch lets go of memory: it is one that PyTorch ran */
	bool marked; /* there is no update: the groups are of gradients that the step leaves, as its tensors say
					(gradient_of) */
	bool *outside;                 /* [storages] doesn't tie the ops that touch it together */
	uint32_t *leader;              /* [storages] union-find over the storages of the update */
	uint32_t *group_of;            /* [storages] of a leader: its group, or NONE */
	bool *updates;                 /* [ops] belongs to a group */
	struct update_group *group;    /* those of parameters, by their first op */
	uint32_t groups;
};

/* A step without an update, whose tensors say that they are gradients, has a group without ops for each of these.
 * Finds the groups: update ops hang together by the storages that they share, gradients left out; of ops on lists
 * (foreach, fused), those at the same place of the lists hang together. BAD_INPUT where an update mixes several
 * parameters or its gradient can't be told. Free with update_groups_free() in any case. O(graph). */
enum status update_groups_find(
	const struct graph *step, const struct rules *rules, struct update_groups *groups, struct error *error);
void update_groups_free(struct update_groups *groups);

/* An op of the phase update that works: releases stand wherever something else happens. */
bool update_op(const struct graph *graph, uint32_t op);

/* The optimizer of a group: OPTIMIZER_COUNT where it is none that is known. */
enum optimizer update_group_optimizer(const struct graph *step, const struct update_group *group);
