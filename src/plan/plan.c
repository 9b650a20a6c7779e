/* plan.c: questions that every reader of a plan asks. */
#include <inttypes.h>

#include "plan.h"
#include "src/stages/fit/stage.h"

const char *const alive_reason_text[] = {
	"always", "this op", "this op", "unavoidable", "cheapest choice", "this order" };

struct plan *plan_retain(struct plan *plan)
{
	atomic_fetch_add(&plan->references, 1);
	return plan;
}

void plan_release(struct plan *plan)
{
	if (!plan || atomic_fetch_sub(&plan->references, 1) > 1)
		return;
	graph_release(plan->input);
	graph_release(plan->graph);
	scenario_done(&plan->scenario);
	transformed_release(plan->transformed);
	ordered_release(plan->ordered);
	ordered_release(plan->least);
	laid_out_release(plan->laid_out);
	plan_time_free(plan->time);
	mem_free(plan->by_rank);
	mem_free(plan);
}

int64_t plan_flops(const struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct pipelined *pipelined = plan->pipelined;
	int64_t passes = scenario_accumulation(&plan->scenario) * (pipelined ? (int64_t)pipelined->microbatches : 1), sum = 0,
			of_op;
	FOR(op, graph->ops) {
		bool each = graph->op[op].phase == PHASE_FORWARD || graph->op[op].phase == PHASE_BACKWARD ||
			(passes > 1 && !pipelined && passes_sums(graph, op));
		if (graph->op[op].flops < 0 || __builtin_mul_overflow(graph->op[op].flops, each ? passes : 1, &of_op) ||
			__builtin_add_overflow(sum, of_op, &sum))
			return -1;
	}
	return sum;
}

int64_t plan_step_time(const struct plan *plan)
{
	return plan->pipelined ? plan->pipelined->time : plan->time ? plan->time->whole.total : -1;
}

int64_t plan_extra_time(const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	return fitted ? fitted->extra - fitted->stall + plan->stall : 0;
}

char *plan_gain_text(const struct plan *plan, char *text, size_t size)
{
	return printed(text, size, "program order %.3f ms, %s; planned %.3f ms, %s", (double)plan->program_time * 1e-9,
		BYTES(plan->ordered->program_peak), (double)plan->speed.time * 1e-9, BYTES(plan_peak(plan)));
}

#define CONTRADICTED "no proof: the file's own peak is below what this graph needs, so it isn't the whole step"

char *plan_order_ground(const struct plan *plan, size_t longest, char *text, size_t size)
{
	const struct order_certificate *certificate = &plan_bounded(plan)->certificate;
	char number[32] = "";
	bool named = certificate->op < plan->graph->ops;
	const char *op = named ? plan->graph->op[certificate->op].name : "an op";
	if (named && strlen(op) > longest) {
		PRINT_TO(number, "op %u", plan->ordered->position[certificate->op]);
		op = number;
	}
	switch (certificate->proof) {    /* no default: the compiler names a proof that is forgotten */
	case ORDER_PROOF_ALIVE: snprintf(text, size, "every order holds this much while %s runs", op); break;
	case ORDER_PROOF_CUT: snprintf(text, size, "%s can't run with less alive, in any order (a minimum cut)", op); break;
	case ORDER_PROOF_PRECEDENCE:
		snprintf(text, size, "the minimum cut at %s, with precedences that every better order keeps", op);
		break;
	case ORDER_PROOF_SERIES: snprintf(text, size, "the best order of a series-parallel step, part by part"); break;
	case ORDER_PROOF_SEARCH: snprintf(text, size, "an exhausted search of orders"); break;
	case ORDER_PROOF_CONTRADICTED: snprintf(text, size, CONTRADICTED); break;
	case ORDER_PROOF_NONE: case ORDER_PROOF_COUNT: snprintf(text, size, "what the largest op alone needs"); break;
	}
	return text;
}

char *plan_layout_ground(const struct plan *plan, char *text, size_t size)
{
	const struct layout *layout = &plan->laid_out->layout;
	switch (layout->ground) {
	case LAYOUT_PROOF_LOAD: snprintf(text, size, "what is alive at op %" PRId64, layout->moment); break;
	case LAYOUT_PROOF_MOMENT:
		snprintf(text, size, "what is alive at op %" PRId64 ", with its pins and alignments", layout->witness);
		break;
	case LAYOUT_PROOF_CONTRADICTED: snprintf(text, size, CONTRADICTED); break;
	case LAYOUT_PROOF_BUFFER: snprintf(text, size, "one buffer alone"); break;
	default: snprintf(text, size, "an exhausted search: %u buffers don't fit below it", layout->core_count);
	}
	return text;
}

int64_t plan_storage_peak(const struct plan *plan)
{
	int64_t peak = plan->ordered->problem.base;
	FOR(i, plan->graph->ops) {
		int64_t bytes = plan->ordered->live[i] - plan->ordered->problem.workspace[plan->ordered->result.order[i]];
		if (bytes > peak)
			peak = bytes;
	}
	return peak;
}

void plan_categories(const struct plan *plan, uint32_t position, int64_t bytes[KIND_COUNT], int64_t *workspace)
{
	FOR_INT(kind, KIND_COUNT)
		bytes[kind] = 0;
	FOR(s, plan->graph->storages)
		if (alive_at(plan, s, position))
			bytes[plan->graph->storage[s].kind] += plan->laid_out->bytes[s];
	*workspace = plan->graph->ops ? plan->ordered->problem.workspace[plan->ordered->result.order[position]] : 0;
}

uint32_t plan_item_storage(const struct plan *plan, uint32_t item)
{
	return plan->ordered->problem.storage[item];
}

struct sized { int64_t bytes; uint32_t storage; };

COMPARATOR(plan_larger_first, struct sized, COMPARE(b->bytes, a->bytes, COMPARE(a->storage, b->storage, 0)))

uint32_t plan_alive(const struct plan *plan, uint32_t position, uint32_t *list)
{
	uint32_t count = 0;
	struct sized *MAKE(sized, plan->graph->storages);
	if (!sized)
		return NONE;
	FOR(s, plan->graph->storages)
		if (alive_at(plan, s, position))
			sized[count++] = (struct sized){ plan->laid_out->bytes[s], s };
	qsort(sized, count, sizeof *sized, plan_larger_first);
	FOR(i, count)
		list[i] = sized[i].storage;
	mem_free(sized);
	return count;
}

/* ---- why ---- */

static enum alive_reason reason_of(const struct plan *plan, uint32_t op, enum order_reason certainty, uint32_t id)
{
	const struct graph *graph = plan->graph;
	if (graph->storage[id].persistent)
		return ALIVE_PERSISTENT;
	if (graph->storage[id].allocator == op)
		return ALIVE_PRODUCED;
	FOR_ITEMS(touched, &graph->touches, op)
		if (touched == id)
			return ALIVE_USED;
	return certainty == ORDER_CERTAIN ? ALIVE_CERTAIN : certainty == ORDER_IN_CUT ? ALIVE_CUT : ALIVE_CHOICE;
}

void plan_reasons(const struct plan *plan, uint32_t position, const uint32_t *storage, uint32_t count,
	struct order_explainer **kept, enum alive_reason *reason)
{
	const struct graph *graph = plan->graph;
	const struct problem *problem = &plan->ordered->problem;
	struct control control = { 0 };
	HELD enum order_reason *MAKE(of_item, problem->items);
	HELD enum order_reason *MAKE(of_storage, graph->storages);
	struct order_explainer *explainer = kept && *kept ? *kept : order_explainer_new(problem, plan->ordered->result.order);
	bool known = of_item && of_storage && graph->ops && explainer &&
		order_explainer_at(explainer, position, &control, of_item) == OK;
	for (uint32_t item = 0; known && item < problem->items; item++)
		of_storage[problem->storage[item]] = of_item[item];
	FOR(i, count)
		reason[i] = known ? reason_of(plan, plan->ordered->result.order[position], of_storage[storage[i]], storage[i])
			: ALIVE_CHOICE;
	if (kept)
		*kept = explainer;
	else
		order_explainer_free(explainer);
}
