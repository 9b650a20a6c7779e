/* scale_flat.c: another batch of a graph whose shapes are flat.
 *
 * Graphs written by hand often say how many elements a tensor has and no more: [786432] for an image. No operator rule
 * reads a batch there, so the batch multiplies whole tensors: what comes from an input grows with it; weights don't,
 * and neither does what the weight update reads and writes (gradients of weights, steps), for it is a sum over the
 * batch. */
#include "scale.h"
#include "solver/graph/growth.h"

bool scale_flat(const struct graph *graph, const struct factors *factors)
{
	bool input = false, silent = false;
	FOR(t, graph->tensors) {
		if (graph->tensor[t].dims > 1)
			return false;
		input |= graph->tensor[t].kind == KIND_INPUT;
	}
	FOR(i, factors->issues)
		silent |= factors->issue[i].kind == ISSUE_OPAQUE || factors->issue[i].kind == ISSUE_MISFIT;
	return input && silent;
}

int64_t scale_given_batch(const struct graph *graph, const struct factors *factors)
{
	if (graph->about.batch > 0 && growth_base(graph))
		return graph->about.batch;
	if (scale_flat(graph, factors))
		return graph->about.batch > 0 ? graph->about.batch : 1;
	int64_t batch = 0;
	FOR(i, factors->factors)
		if (factors->factor[i].role == ROLE_BATCH && factors->factor[i].size > batch)
			batch = factors->factor[i].size;
	return batch;
}

/* Marks what the weight update reads and writes, whole storages of it. */
static void mark_update(const struct graph *graph, bool *summed)
{
	FOR(op, graph->ops) {
		if (graph->op[op].phase != PHASE_UPDATE)
			continue;
		FOR_ITEMS(read, &graph->reads, op)
			summed[graph->tensor[read].storage] = true;
		FOR_ITEMS(written, &graph->writes, op)
			summed[graph->tensor[written].storage] = true;
	}
}

/* Marks what comes from an input: ops are in a topological order. */
static void mark_samples(const struct graph *graph, const bool *summed, bool *changed)
{
	FOR(t, graph->tensors)
		changed[t] = graph->tensor[t].writer == NONE && graph->tensor[t].kind == KIND_INPUT && graph->tensor[t].dims > 0;
	FOR(op, graph->ops) {
		bool samples = false;
		FOR_ITEMS(read, &graph->reads, op) /* a loss is one number for all samples, and its gradient is of each */
			samples |= changed[read];
		FOR_ITEMS(written, &graph->writes, op) {
			const struct tensor *result = &graph->tensor[written];
			changed[written] = samples && result->dims > 0 && !summed[result->storage] &&
				!kind_persistent(graph->storage[result->storage].kind);
		}
	}
}

enum status scale_flat_values(const struct graph *graph, const struct factors *factors, int64_t batch,
	struct scale_values *values, struct error *error)
{
	int64_t given = scale_given_batch(graph, factors);
	*values = (struct scale_values) { 0 };
	bool *summed;
	NEED(ROOM(&values->arena, values->shape, factors->dim_start[graph->tensors]) &&
		ROOM(&values->arena, values->changed, graph->tensors) && ROOM(&values->arena, summed, graph->storages));
	mark_update(graph, summed);
	mark_samples(graph, summed, values->changed);
	FOR(t, graph->tensors) {
		const struct tensor *tensor = &graph->tensor[t];
		if (tensor->dims == 0)
			continue;
		int64_t *extent = &values->shape[factors->dim_start[t]];
		*extent = tensor->shape[0];
		values->changed[t] &= batch != given;
		if (!values->changed[t])
			continue;
		if (tensor->shape[0] % given != 0)
			return refuse(error, "tensor %s has %lld elements, which is not a batch of %lld", tensor->name,
				(long long)tensor->shape[0], (long long)given);
		if (batch < 0 || __builtin_mul_overflow(tensor->shape[0] / given, batch, extent) || *extent > BYTES_MAX / 16)
			return refuse(error, "tensor %s would be too large", tensor->name);
	}
	return OK;
}
