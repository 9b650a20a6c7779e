/* scale.h: a captured or built step at another batch size or sequence length. */
#pragma once

#include "solver/rules/factors.h"

/* 0: as it is. */
struct scale_request { int64_t batch, sequence; };

/* What the new graph rests on besides the rules; one sentence each for the user is the caller's. */
struct scale_report {
	uint32_t copies; /* views that need a copy at the new size: clones were put before them */
	uint32_t unfused; /* copies before a linear layer (addmm): it is a product and an addition now, as ATen runs it */
	uint32_t left_behind; /* tensors of which only the copy is read on: how long the program keeps a name for them is
							 unknown */
	uint32_t sums;       /* gradients that are summed over the batch only now: sums were put before their use */
	uint32_t workspaces; /* ops whose workspace was scaled like their tensors: an estimate */
	uint32_t capacities; /* numbers of slots per expert that were taken to grow with the tokens */
	uint32_t reserves;   /* recurrent layers whose reserve is an estimate */
	uint32_t ambiguous;  /* changed ops of equal extents, where the likelier reading was taken */
	uint32_t once; /* storages made in the step with extent 1 where they meet what grew from 1 to more: taken to be made
					  once for all samples */
	uint32_t first_once; /* the tensor of the given graph that is read there first, NONE: none */
	bool captured;       /* made of what a sample adds, as captures tell: scale.h */
	bool extended;       /* and of one sample, though captures are of more alone */
	bool flat;           /* shapes are flat: the batch multiplied whole tensors */
	uint32_t first_copy; /* the first op (of the given graph) that needs a copy, NONE: none */
};

/* The graph with its batch and sequence changed by rule: shapes, bytes, FLOPs and workspaces of everything that
 * carries them; names and order stay. Where memory layout makes PyTorch copy at the new size what was a view at
 * the old one, the copy is inserted, as `reshape` does. Where shapes are flat, the batch multiplies whole tensors
 * (scale.h). BAD_INPUT, with the reason, where it can't be done honestly: no input has that dim, an op without a
 * rule touches it, two dims that must agree don't, a parameter would have to change. graph and factors must belong
 * together. Release *scaled with graph_release(). O(ops + dims). */
enum status graph_scale(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_report *report, struct graph **scaled, struct error *error);

/* amount * to / from, rounded up; INT64_MAX where that overflows. */
int64_t scale_ratio(int64_t amount, int64_t to, int64_t from);

/* scale_captured: another batch of a step that was captured at several. */

/* The step at a batch, as captured there, or from what each sample more adds to it (growth_base(graph), which must be
 * there): the ops that PyTorch runs, in their order, without inference. FLOPs are the rule's where an op has one that
 * fits. Workspace is on the lines through what was measured. Estimates are workspaces that are known at one batch,
 * reserves of a form that isn't known, and one sample where that wasn't captured. BAD_INPUT where a size would be
 * absurd, or where a capture of one sample failed. Release *scaled with graph_release(). O(graph). */
enum status graph_scale_captured(const struct graph *graph, const struct rules *rules, int64_t batch,
	struct scale_report *report, struct graph **scaled, struct error *error);

/* scale_values: the new extents of all factors and dims. */

struct scale_values {
	int64_t *value;      /* [factors] */
	int64_t *shape;      /* [dims] new extents, by factors->dim_start */
	bool *changed;       /* [tensors] */
	uint32_t capacities; /* factors that are taken for an expert's slots */
	uint32_t reserves;   /* recurrent layers whose reserve is scaled like their operand, since its form isn't known */
	struct arena arena;
};

/* BAD_INPUT with the reason as graph_scale(). Free the arena also on failure. */
enum status scale_values_find(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_values *values, struct error *error);

/* scale_flat: another batch of a graph whose shapes are flat: the batch multiplies whole tensors. */

/* No tensor has more than one dim, and operators are there that no rule reads so. O(tensors + issues). */
bool scale_flat(const struct graph *graph, const struct factors *factors);
/* Samples of the graph as it is; 0: it has no batch. A flat graph has what its first line says, else one. O(tensors +
 * factors). */
int64_t scale_given_batch(const struct graph *graph, const struct factors *factors);
/* Shapes of a flat graph with another batch. BAD_INPUT: too large, or not made of samples. Free the arena also on
 * failure. O(size). */
enum status scale_flat_values(const struct graph *graph, const struct factors *factors, int64_t batch,
	struct scale_values *values, struct error *error);

/* scale_held: what a framework holds while a module runs, where a graph at another batch copies it. */

/* The arguments of a module are held by who called it until it returns, also where all that the module reads of them is
 * a copy. The last op of that call, for an op of `graph` whose first operand is copied before it; NONE: nothing holds
 * it longer, or no framework ran this graph op by op (it has no releases). O(ops of the call). */
uint32_t scale_held_until(const struct graph *graph, uint32_t op);

/* scale_reserve: what a layer of a recurrent network keeps for its backward pass beside its results. */

/* Bytes that oneDNN's LSTM layer in f32 keeps on a CPU, for so many times, samples, features and hidden units.
 * INT64_MAX where that is too much to count. */
int64_t lstm_reserve(const int64_t size[4]);
