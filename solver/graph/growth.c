/* growth.c: what a sample more adds to tensors and ops. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "draft.h"
#include "growth.h"

const struct graph *growth_base(const struct graph *graph)
{
	return graph->grown ? graph : graph->batches;
}

const int64_t *growth_copy(struct arena *arena, const struct tensor *of, const int64_t *grows)
{
	return arena_copy(arena, grows, (of->dims + (size_t)1) * sizeof *grows);
}

const struct op_growth *growth_copy_op(struct arena *arena, const struct op_growth *grows)
{
	struct op_growth *copy = arena_copy(arena, grows, sizeof *grows);
	if (copy && copy->numbers > 0 && !(copy->number = arena_copy(arena, grows->number, grows->numbers * sizeof *grows->number)))
		return NULL;
	return copy;
}

uint64_t growth_hash(const struct graph *graph, uint64_t hash)
{
	for (uint32_t t = 0; graph->grown && t < graph->tensors; t++)
		for (int d = 0; graph->tensor[t].grows && d <= graph->tensor[t].dims; d++)
			hash = hash_join(hash_join(hash, t), (uint64_t)graph->tensor[t].grows[d]);
	for (uint32_t op = 0; graph->grown && op < graph->ops; op++)
		if (graph->op[op].grows) {
			const struct op_growth *grows = graph->op[op].grows;
			hash = hash_join(hash_join(hash, op), (uint64_t)grows->flops);
			for (uint32_t i = 0; i < grows->numbers; i++)
				hash = hash_join(hash_join(hash, grows->number[i].place), (uint64_t)grows->number[i].by);
		}
	return hash;
}

/* A whole number, or one with a fraction of 0, with something added; NULL where it is none, or memory is short. */
static const char *add_to(struct arena *arena, const char *text, int64_t add)
{
	char sum[40], *end;
	errno = 0;
	long long number = strtoll(text, &end, 10), total;
	if (errno == 0 && *end == '\0' && !__builtin_add_overflow(number, (long long)add, &total))
		snprintf(sum, sizeof sum, "%lld", total);
	else
		snprintf(sum, sizeof sum, "%.1f", strtod(text, NULL) + (double)add);
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
		if (!__builtin_mul_overflow(op->grows->number[next++].by, more, &add) && !(value[i].text = add_to(arena, value[i].text, add)))
			return NULL;
	}
	copy->value = value;
	return copy;
}
