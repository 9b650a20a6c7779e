/* growth.c: what a sample more adds to tensors and ops. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "draft.h"
#include "growth.h"

const struct graph *growth_base(const struct graph *graph)
{
	return graph->line[0] ? graph : graph->other && graph->other->line[0] ? graph->other : NULL;
}

const struct graph *growth_nearest(const struct graph *graph, int64_t batch)
{
	const struct graph *base = growth_base(graph);
	if (base && graph->about.batch == batch)
		return graph;
	return base && graph->other && graph->other->about.batch == batch ? graph->other : base;
}

int64_t growth_workspace(const struct op *op, int64_t batch)
{
	const struct workspace_at *at = op->grows ? op->grows->workspace : NULL;
	uint32_t next = 1, known = op->grows ? op->grows->workspaces : 0;
	if (known < 2)
		return -1;
	while (next + 1 < known && at[next].batch < batch)
		next++;
	int64_t rise = at[next].bytes - at[next - 1].bytes, more;
	if (__builtin_mul_overflow(rise, batch - at[next - 1].batch, &more))
		return rise > 0 ? BYTES_MAX : 0;
	more = at[next - 1].bytes + more / (at[next].batch - at[next - 1].batch);
	return more < 0 ? 0 : more < BYTES_MAX ? more : BYTES_MAX;
}

const int64_t *growth_copy(struct arena *arena, const struct tensor *of, const int64_t *grows)
{
	return arena_copy(arena, grows, (of->dims + (size_t)1) * sizeof *grows);
}

const struct op_growth *growth_copy_op(struct arena *arena, const struct op_growth *grows)
{
	struct op_growth *copy = arena_copy(arena, grows, sizeof *grows);
	if (copy && copy->numbers > 0 &&
		!(copy->number = arena_copy(arena, grows->number, grows->numbers * sizeof *grows->number)))
		return NULL;
	size_t measured = grows->workspaces * sizeof *grows->workspace;
	if (copy && measured > 0 && !(copy->workspace = arena_copy(arena, grows->workspace, measured)))
		return NULL;
	return copy;
}

uint64_t growth_hash(const struct graph *graph, uint64_t hash)
{
	hash = graph->about.batch > 0 ? hash_join(hash, (uint64_t)graph->about.batch) : hash; /* which extents are samples */
	for (int i = 0; i < LINE_BATCHES && graph->line[0]; i++)
		hash = hash_join(hash, (uint64_t)graph->line[i]);
	hash = graph->line[0] && graph->about.one_sample ? ~hash : hash;
	FOR_WHILE(t, graph->tensors, graph->line[0])
		for (int d = 0; graph->tensor[t].grows && d <= graph->tensor[t].dims; d++)
			hash = hash_join(hash_join(hash, t), (uint64_t)graph->tensor[t].grows[d]);
	FOR_WHILE(op, graph->ops, graph->line[0])
		if (graph->op[op].grows) {
			const struct op_growth *grows = graph->op[op].grows;
			hash = hash_join(hash_join(hash, op), (uint64_t)grows->flops);
			FOR(i, grows->numbers)
				hash = hash_join(hash_join(hash, grows->number[i].place), (uint64_t)grows->number[i].by);
			FOR(i, grows->workspaces)
				hash = hash_join(hash_join(hash, (uint64_t)grows->workspace[i].batch), (uint64_t)grows->workspace[i].bytes);
		}
	return hash;
}

/* A whole number, or one with a fraction of 0, with something added; NULL where it is none, or memory is short. */
static const char *growth_add_to(struct arena *arena, const char *text, int64_t add)
{
	char sum[40], *end;
	errno = 0;
	long long number = strtoll(text, &end, 10), total;
	if (errno == 0 && *end == '\0' && !__builtin_add_overflow(number, (long long)add, &total))
		PRINT_TO(sum, "%lld", total);
	else
		PRINT_TO(sum, "%.1f", strtod(text, NULL) + (double)add);
	return arena_text(arena, sum, strlen(sum));
}

const struct arguments *growth_arguments(struct arena *arena, const struct op *op, int64_t more)
{
	struct arguments *copy = arena_copy(arena, op->arguments, sizeof *copy);
	struct argument *value = copy ? arena_copy(arena, op->arguments->value, copy->values * sizeof *value) : NULL;
	if (!value)
		return NULL;
	for (uint32_t i = 0, place = 0, next = 0; i < copy->values && next < op->grows->numbers; i++) {
		int64_t add;
		if (value[i].kind != ARGUMENT_NUMBER || place++ != op->grows->number[next].place)
			continue;
		if (!__builtin_mul_overflow(op->grows->number[next++].by, more, &add) &&
			!(value[i].text = growth_add_to(arena, value[i].text, add)))
			return NULL;
	}
	copy->value = value;
	return copy;
}
