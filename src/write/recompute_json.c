/* recompute_json.c: what recomputation costs, in plan files. */
#include "plan_json.h"
#include "src/scenario/knobs.h"
#include "src/stages/fit/stage.h"

static const char *recompute_json_op_name(const struct graph *step, uint32_t op)
{
	return op == NONE ? NULL : step->op[op].name;
}

static const char *recompute_json_tensor_name(const struct graph *step, uint32_t storage)
{
	return storage == NONE ? NULL : step->tensor[step->storage[storage].root].name;
}

/* An arc: [kind, tensor or null, op or null, the other op or null, picoseconds]. */
static void recompute_json_write_arc(const struct graph *step, const struct recompute_arc *arc, struct json *json)
{
	json_open_array(json, NULL);
	json_write_text(json, NULL, recompute_arc_names[arc->kind]);
	json_write_text(json, NULL, recompute_json_tensor_name(step, arc->storage));
	json_write_text(json, NULL, recompute_json_op_name(step, arc->op));
	json_write_text(json, NULL, recompute_json_op_name(step, arc->other));
	json_write_integer(json, NULL, arc->flow);
	json_close(json);
}

static void recompute_json_write_certificate(
	const struct graph *step, const struct recompute_certificate *certificate, struct json *json)
{
	json_new_line(json, 2);
	json_open_object(json, "certificate");
	json_write_text(json, "by",
		certificate->op == NONE ? "none"
		: !certificate->impossible ? "cut"
		: certificate->arcs ? "state"
		: "room");
	json_write_text(json, "op", recompute_json_op_name(step, certificate->op));
	json_open_array(json, "price");
	json_write_integer(json, NULL, certificate->price);
	json_write_integer(json, NULL, RECOMPUTE_PRICE_UNIT);
	json_close(json);
	if (certificate->granule > 0) {
		json_open_array(json, "rounded");
		json_write_integer(json, NULL, certificate->granule);
		json_write_integer(json, NULL, certificate->room);
		json_close(json);
	}
	if (certificate->held > 1)
		json_write_integer(json, "held", certificate->held);
	json_open_array(json, "flow");
	FOR(i, certificate->arcs)
		recompute_json_write_arc(step, &certificate->arc[i], json);
	json_close(json);
	json_close(json);
}

static void write_bound(int64_t bound, bool impossible, struct json *json)
{
	if (impossible)
		json_write_null(json, "bound_seconds");
	else
		json_write_decimal(json, "bound_seconds", bound, 12);
}

/* Whether the plan is one of those that the bound is of. */
static bool recompute_json_keeps_cap(const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	int64_t peak = fitted->ranks > 0 ? 0 : plan_peak(plan);
	FOR(r, fitted->ranks)
		peak = LARGER(plan->by_rank[r].peak, peak);
	return !fitted->impossible && peak <= fitted->cap;
}

static void write_ranks(const struct fitted *fitted, struct json *json)
{
	json_open_array(json, "ranks");
	FOR(r, fitted->ranks) {
		const struct fitted_rank *rank = &fitted->rank[r];
		json_new_line(json, 2);
		json_open_object(json, NULL);
		write_bound(rank->bound, rank->impossible, json);
		recompute_json_write_certificate(rank->step, &rank->certificate, json);
		json_close(json);
	}
	json_close(json);
}

void recompute_write_json(const struct plan *plan, struct json *json)
{
	const struct fitted *fitted = plan->fitted;
	if (!fitted)
		return;
	json_new_line(json, 1);
	json_open_object(json, "recompute");
	json_write_text(json, "strategy", knob_text(K_recompute, plan->scenario.value[K_recompute], TEXT(64)));
	if (plan->kept)
		json_write_text(json, "planned_as", knob_text(K_recompute, RECOMPUTE_NONE, TEXT(64)));
	json_write_decimal(json, "step_seconds", fitted->total, 12);
	int64_t extra = plan_extra_time(plan);
	json_write_decimal(json, "extra_seconds", extra, 12);
	if (fitted->away > 0) {
		json_write_decimal(json, "stall_seconds", plan->stall, 12);
		json_write_integer(json, "offloaded", fitted->away);
		json_write_integer(json, "offloaded_bytes", fitted->moved);
	}
	if (fitted->capped || fitted->ranks > 0) {
		json_write_integer(json, "cap_bytes", fitted->cap);
		write_bound(fitted->bound, fitted->impossible, json);
		json_write_bool(json, "proved", extra == fitted->bound && recompute_json_keeps_cap(plan));
		if (fitted->ranks > 0)
			write_ranks(fitted, json);
		else
			recompute_json_write_certificate(fitted->step, &fitted->certificate, json);
	}
	json_close(json);
}
