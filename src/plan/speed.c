/* speed.c: sums over a step's products and inputs. */
#include "plan.h"
#include "src/read/card.h"

static bool is_integer(const struct tensor *tensor)
{
	return tensor->has_dtype && (tensor->dtype == DTYPE_I64 || tensor->dtype == DTYPE_I32);
}

/* The input that says how much a step takes in: of integers with two dims where there is one, else of any; the largest.
 */
static const struct tensor *telling_input(const struct graph *graph, bool *tokens)
{
	const struct tensor *found = NULL;
	*tokens = false;
	FOR(t, graph->tensors) {
		const struct tensor *tensor = &graph->tensor[t];
		bool ids = is_integer(tensor) && tensor->dims == 2;
		if (tensor->kind != KIND_INPUT || tensor->writer != NONE || tensor->dims == 0 || !tensor->shape || ids < *tokens)
			continue;
		if (ids > *tokens || !found || tensor->bytes > found->bytes)
			found = tensor;
		*tokens = ids;
	}
	return found;
}

/* Picoseconds of one device's products at their peaks, -1 where some product's FLOPs are unknown; FLOPs into *flops, -1
 * where they are unknown or too many to count. */
static double ideal_time(
	const struct graph *graph, const struct rules *rules, const struct machine *machine, int64_t passes, int64_t *flops)
{
	double time = 0;
	*flops = 0;
	FOR(op, graph->ops) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		int64_t of = graph->op[op].flops, rate = machine->matrix_rate[machine_format_of(graph, op)], all;
		if (!rule || !machine_is_matrix(rule) || graph->op[op].recomputed || graph->op[op].phase == PHASE_UPDATE)
			continue;
		if (of < 0 || *flops < 0 || __builtin_mul_overflow(of, passes, &all) || __builtin_add_overflow(*flops, all, flops))
			*flops = -1;
		if (of < 0)
			return -1;
		time += (double)of * (double)passes * 1e12 / (double)(rate > 0 ? rate : 1);
	}
	return time;
}

/* Samples of a pass: of flat shapes, one dim of all elements, no input says how many there are. */
static int64_t plan_speed_samples_of(const struct graph *graph, const struct tensor *input)
{
	bool flat = true;
	FOR_WHILE(t, graph->tensors, flat)
		flat = graph->tensor[t].dims < 2;
	return !input ? 0 : graph->about.batch > 0 ? graph->about.batch : !flat ? input->shape[0] : 1;
}

struct plan_speed plan_speed_of(const struct graph *graph, const struct rules *rules, const struct scenario *scenario,
	int64_t passes, uint32_t devices, int64_t time)
{
	struct plan_speed speed = { .time = graph_of_allocations(graph) || time == INT64_MAX ? -1 : time, .devices = devices };
	bool tokens;
	const struct tensor *input = telling_input(graph, &tokens);
	double ideal = ideal_time(graph, rules, &scenario->machine, passes, &speed.model_flops);
	speed.samples = plan_speed_samples_of(graph, input) * passes;
	speed.tokens = tokens ? input->shape[0] * input->shape[1] * passes : 0;
	speed.mfu = ideal > 0 && time > 0 && time < INT64_MAX ? ideal / ((double)time * devices) : -1;
	return speed;
}

double plan_speed_rate(const struct plan_speed *speed)
{
	int64_t amount = speed->tokens > 0 ? speed->tokens : speed->samples;
	return speed->time > 0 ? (double)amount * 1e12 / (double)speed->time / speed->devices : 0;
}
