/* split_roles.h: shardings that experts write by hand: every mesh axis splits the ops along the first of a list of
 * roles. */
#pragma once

#include "solver/cost/placement.h"

/* Roles that an axis splits, most wanted first: a bit mask would lose the order. */
struct axis_roles {
	uint8_t role[ROLE_COUNT];     /* enum factor_role */
	uint32_t roles;
	/* States of parameters over this axis, as ZeRO (arXiv 1910.02054): 1 optimizer state, 2 gradients too, 3 parameters
	 * too; 0 none. */
	uint8_t zero;
	bool stays; /* ZeRO stage 3: what is gathered for the forward pass stays for the backward pass (FSDP2's
				   reshard_after_forward=False) */
	bool narrow;                  /* gradients are summed before they are cast to a wider format */
	bool follows;                 /* an op without such a role that would gather what is cut is cut elsewhere */
};

/* Presets, one per axis: */
extern const struct axis_roles roles_data;       /* the batch: data parallel */
extern const struct axis_roles roles_context;    /* the sequence */
extern const struct axis_roles roles_tensor;     /* Megatron (arXiv 1909.08053): heads, ffn, vocabulary */
extern const struct axis_roles roles_tensor_sp;  /* with the sequence where those are absent (arXiv 2205.05198) */
extern const struct axis_roles roles_experts;    /* experts, else the batch */

/* Splits every op on every axis along the first role that it has a unit of which divides; ops that only pass partial
 * sums on do so. roles[i] is for axis i. Tensors that nothing writes are kept as their readers need them: parameters as
 * the forward pass does (ZeRO-3: as the update does), optimizer state as the update does. OK or NO_MEMORY. O(ops * axes
 * * units). */
enum status split_by_roles(
	const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, struct sharding *sharding);
