/* placement.h: how tensors lie on the mesh, and along what each op can be split.
 *
 * A tensor's dims are products of parts (batch * sequence after a view, 3 * heads * head size in a fused projection); a
 * mesh axis shards a tensor along one part, leaves it whole (R), or holds partial sums (P). Views keep parts, so a
 * placement passes through them unchanged. A part that is not the outermost of its dim is a strided shard: every block
 * of the parts before it is cut alike. A part that several axes shard is cut by the lower axis first. An op is split on
 * an axis along one of its units (an index of its rule, or a part of one): every operand and result that has the unit
 * is sharded there, the others are whole, and results of a sum over the unit are partial. */
#pragma once

#include "mesh.h"
#include "solver/graph/fold.h"
#include "solver/rules/units.h"

/* What a step's all-to-alls of tokens to experts send between nodes: mesh_dispatch(). */
static inline void units_dispatch(const struct units *units, struct mesh *mesh)
{
	mesh_dispatch(mesh, units->copies, units->graph->about.router_nodes);
}

/* Per axis a part of the tensor (counted over all its dims, outermost first), or R or P. */
struct placement { int8_t on[MESH_AXES]; };
/* Per axis a unit of the op, UNIT_NONE or UNIT_PARTIAL. */
struct split { int8_t on[MESH_AXES]; };

/* The same on all axes. */
static inline struct placement split_place(const struct units *units, uint32_t op, struct split split, uint32_t k)
{
	struct placement placement;
	FOR_INT(a, MESH_AXES)
		placement.on[a] = units_place(units, op, split.on[a], k);
	return placement;
}

/* A decision for the whole graph. */
struct sharding {
	struct mesh mesh;
	struct split *split;         /* [ops] */
	struct placement *produced;  /* [tensors] as written; those that nothing writes: as they are kept through the step */
	struct placement *needed;    /* [reads] as the op reads it, in the order of graph->reads.item */
	uint8_t late_axes;           /* bit a: gradients stay partial on axis a until the update reads them (ZeRO-1) */
	uint8_t each_axes; /* bit a: every microbatch reduce-scatters its gradients over axis a, shards are summed up
						  (ZeRO-2, 3); else it is once a step */
	bool late_sums;              /* all-reduces of gradients wait for the update: it is one for several microbatches */
	uint8_t regather_axes; /* bit a: a parameter gathered over axis a for the forward pass is gathered again for the
							  backward pass (ZeRO-3) */
	struct arena arena;
};

/* An empty decision: everything whole on every device. */
enum status sharding_new(const struct units *units, const struct mesh *mesh, struct sharding *sharding);
void sharding_free(struct sharding *sharding);
#define sharding_drop sharding_free
/* A decision like another one. OK or NO_MEMORY. */
enum status sharding_copy(const struct units *units, const struct sharding *of, struct sharding *sharding);
/* True where both decide the same over equal axes, whatever their names; late_sums, which follows from the scenario,
 * isn't compared.
 * O(ops + tensors + reads). */
bool sharding_equal(const struct units *units, const struct sharding *a, const struct sharding *b);
/* Sets an op's split, and from it needed of its operands and produced of its results (not of tensors that nothing
 * writes). */
void sharding_set(struct sharding *sharding, const struct units *units, uint32_t op, struct split split);

/* True where every part can be cut as it says, and no axis of size 1 shards: into equal pieces, or where mesh->padding
 * allows it and one axis alone cuts the part, n into d pieces of ceil(n / d) of which the last are smaller, or empty.
 * Ops leave out what a device doesn't have, so sums and maxima are those of the whole; memory, time and bytes sent are
 * those of the largest piece on every device, as GSPMD (arXiv 2105.04663) pads shards. Two axes would disagree where
 * pieces of pieces begin. Slots of experts and the tokens that fill them (arXiv 2006.16668) are cut alike, and differ
 * in size: their pieces are equal. */
bool placement_divides(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement);
/* True where every operand and result of an op divides when it is split so. */
bool split_divides(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split);
/* A device's share, rounded up, of what a whole op takes (FLOPs, bytes of workspace). */
int64_t split_share(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, int64_t whole);
/* Bytes that a device's share of an op holds while it runs beside what it makes: PyTorch's loss_parallel computes a
 * log-softmax over split classes, and its gradient, op by op, with one more copy of the result. O(axes). */
int64_t split_scratch(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split);
/* Bytes of one of the all-reduces inside an op over an axis that splits it along such a unit: a device's share of its
 * points, 4 bytes each. */
int64_t unit_inside_bytes(
	const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, uint32_t axis);
/* Extents of one device's piece, of the largest where they are unequal, into shape[rank of the tensor]. */
void placement_shape(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement, int64_t *shape);
/* Bytes of one device's piece, of the largest where they are unequal. */
int64_t placement_bytes(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement);
/* Copies of the tensor over the mesh: the product of the axes on which it is R or P. */
uint32_t placement_copies(const struct mesh *mesh, struct placement placement);
/* A placement in the graph's own words. */
struct axis_places placement_said(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement);
/* "S(0)", "R", "P"; a strided shard of blocks "S(2:3)": each of 3 blocks of dim 2 is cut. Returns text. */
char *placement_text(const struct units *units, uint32_t tensor, int8_t on, char *text, size_t size);
/* Whether every device holds the same of two tensors of the same dims that are names of one memory: the parts of one
 * may be finer. */
bool placements_coincide(const struct units *units, const struct mesh *mesh, uint32_t a, struct placement at_a,
	uint32_t b, struct placement at_b);

static inline bool placement_equal(struct placement a, struct placement b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}
static inline bool split_equal(struct split a, struct split b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}
