/* why_not.c: why a step can't keep its limit: an op that needs more in every order. */
#include "src/stages/fit/stage.h"
#include "verdict.h"

/* The loss, or what reads the same scores. */
static bool why_not_is_of_loss(const struct rules *rules, const struct graph *graph, uint32_t op)
{
	bool loss = rules_traits(rules, graph->op[op].type) & (TRAIT_CLASSES | TRAIT_WIDE);
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t storage = graph->tensor[read].storage;
		FOR_ITEMS(user, &graph->users, storage)
			loss |= (rules_traits(rules, graph->op[user].type) & TRAIT_CLASSES) != 0;
	}
	return loss;
}

static bool why_not_is_of_state(const struct graph *graph, int64_t least)
{
	int64_t state = 0;
	FOR(s, graph->storages)
		state += graph->storage[s].persistent && graph->storage[s].kind == KIND_OPTIMIZER ? graph->storage[s].bytes : 0;
	return least > 0 && state > least / 3;
}

/* What makes an op need less at a time, by what it is; waits: much of what is there is none of its operands; state: it
 * is the optimizer's. */
static const char *why_not_advice(
	const struct rules *rules, const struct graph *graph, uint32_t op, bool waits, bool state)
{
	const struct op *record = &graph->op[op];
	const struct rule *rule = rules_find(rules, record->type);
	uint32_t traits = rules_traits(rules, record->type);
	if (state)
		return "Much of it is optimizer state: offload=states keeps it on the host, ZeRO cuts it.";
	if (waits)
		return "Much of it only waits: recompute=auto makes it again, offload=on keeps it on the host.";
	if (record->phase == PHASE_UPDATE)
		return "It is the weight update's: an update in slices or in one kernel, an optimizer with less state, or ZeRO "
			   "helps.";
	if (why_not_is_of_loss(rules, graph, op))
		return "It is the loss's: a loss taken in chunks of the tokens helps, and a smaller batch or sequence.";
	if (traits & (TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS | TRAIT_SUMS_OF_ROWS))
		return "It holds an attention's scores: attention in one kernel helps, and a shorter sequence.";
	if (traits & (TRAIT_SCATTER | TRAIT_EMBEDDING))
		return "It holds a whole table: tensor parallelism cuts it.";
	if (rule && rule_contracts(rule) && csr_length(&graph->writes, op) > 1)
		return "It makes several gradients at once: one after the other, it needs less; so it does with a smaller batch.";
	return "A smaller batch or sequence, a narrower precision or more devices help.";
}

static bool why_not_is_larger(const struct graph *graph, uint32_t one, uint32_t other)
{
	int64_t a = graph->storage[one].bytes, b = graph->storage[other].bytes;
	return a > b || (a == b && one < other);
}

/* What an op reads and writes, the largest first, what is there all along, and what else of `least` bytes: returned. */
static int64_t why_not_holds(const struct graph *graph, uint32_t op, int64_t least, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	int64_t bytes[KIND_COUNT] = { 0 }, rest = least;
	uint32_t last = NONE;
	FOR_ITEMS(storage, &graph->touches, op)
		rest -= graph->storage[storage].persistent ? 0 : graph->storage[storage].bytes;
	FOR_INT(shown, 4) {
		uint32_t most = NONE;
		FOR_ITEMS(next, &graph->touches, op)
			if ((last == NONE || why_not_is_larger(graph, last, next)) &&
				(most == NONE || why_not_is_larger(graph, next, most)))
				most = next;
		if (most == NONE)
			break;
		last = most;
		uint32_t tensor = csr_at(&graph->members, most, 0);
		words_add(&words, "%s%.60s %s", shown ? ", " : "", graph->tensor[tensor].name,
			BYTES(graph->storage[most].bytes));
	}
	FOR(s, graph->storages)
		bytes[graph->storage[s].kind] += graph->storage[s].persistent ? graph->storage[s].bytes : 0;
	FOR_INT(kind, KIND_COUNT)
		if (bytes[kind] > 0) {
			words_add(&words, "; %s %s", kind_names[kind], BYTES(bytes[kind]));
			rest -= bytes[kind];
		}
	if (rest > least / 1000)
		words_add(&words, "; %s made before and read after", BYTES(rest));
	return rest;
}

void why_not_of(const struct graph *graph, uint32_t op, int64_t least, const struct rules *rules, struct why_not *why)
{
	const struct op *record = &graph->op[op];
	PRINT_TO(why->op, "%.60s (%.40s)%s%.50s%s%.50s", record->name, record->type, record->src ? " at " : "",
		record->src ? record->src : "", record->module && *record->module ? " in " : "",
		record->module ? record->module : "");
	bool waits = why_not_holds(graph, op, least, why->holds, sizeof why->holds) > least / 3 && least > 0;
	why->advice = why_not_advice(rules, graph, op, waits, why_not_is_of_state(graph, least));
	why->least = least;
}

void plan_find_why_not(struct plan *plan, const struct rules *rules)
{
	struct verdict verdict = plan_verdict(plan);
	const struct fitted *fitted = plan->fitted;
	const struct ordered *ordered = plan->ordered;
	const struct order_certificate *certificate = &plan_bounded(plan)->certificate;
	if (verdict.fits != FITS_NO || plan->pipelined)
		return;
	if (fitted && fitted->capped && fitted->impossible && !plan->sharded)
		why_not_of(fitted->step, fitted->certificate.op, fitted->certificate.bytes, rules, &plan->why_not);
	else if (certificate->op < plan->graph->ops)
		why_not_of(plan->graph, certificate->op, plan_bound(plan), rules, &plan->why_not);
	else if (ordered->peak_position != NONE && plan_bound(plan) > 0) {   /* the proof has no one op: this order's */
		why_not_of(plan->graph, ordered->result.order[ordered->peak_position], plan_peak(plan), rules, &plan->why_not);
		plan->why_not.least = plan_bound(plan);
		plan->why_not.planned = true;
	}
	plan->why_not.reruns = fitted && fitted->capped;
	plan->why_not.least += verdict.part[PART_BUFFERS] + verdict.part[PART_CONTEXT];
}

char *why_not_text(const struct why_not *why, char *text, size_t size)
{
	return printed(text, size, "no order%s needs less than %s: %swhile %s runs, there are %s. %s",
		why->reruns ? " with any recomputation" : "", BYTES(why->least), why->planned ? "in this one, " : "", why->op,
		why->holds, why->advice);
}
