/* plan_json.c: writes the plan file. */
#include <inttypes.h>

#include "src/plan/host_pool.h"
#include "src/plan/verdict.h"
#include "src/scenario/device_figures.h"
#include "factors.h"
#include "src/read/card.h"
#include "plan_json.h"
#include "src/scenario/knobs.h"
#include "src/stages/base/stages.h"

static const char *strategy_word(const struct plan *plan, enum knob_id knob, char text[64])
{
	return knob_text(knob, plan->scenario.value[knob], text, 64);
}

/* Begins the object of what a solver found, with what is proved of it. */
static void open_result(const struct plan *plan, const char *key, enum knob_id strategy, const char *winner,
	const char *unit, const struct proof *proof, struct json *json)
{
	char word[64];
	json_new_line(json, 1);
	json_open_object(json, key);
	json_write_text(json, "strategy", strategy_word(plan, strategy, word));
	if (!plan_cut_short(plan))
		json_write_text(json, "winner", winner);
	json_write_integer(json, unit, proof->value);
	json_write_integer(json, "bound_bytes", proof->bound);
	json_write_bool(json, "proved", proof_closed(proof));
	json_new_line(json, 2);
}

/* ---- graph and scenario ---- */

static void write_fingerprint(struct json *json, const char *key, const struct graph *graph)
{
	json_write_text(json, key, PRINTED(20, "%016" PRIx64, graph->fingerprint));
}

static void plan_json_write_graph(const struct plan *plan, struct json *json)
{
	const struct graph *input = plan->input;
	json_new_line(json, 1);
	json_open_object(json, "graph");
	json_write_text(json, "name", input->name);
	json_write_integer(json, "ops", input->ops);
	json_write_integer(json, "tensors", input->tensors);
	json_write_integer(json, "storages", input->storages);
	write_fingerprint(json, "fingerprint", input);
	write_fingerprint(json, "planned_fingerprint", plan->graph);
	json_close(json);
}

static void write_scenario(const struct scenario *scenario, struct json *json)
{
	json_new_line(json, 1);
	json_open_object(json, "scenario");
	FOR_INT(id, KNOB_COUNT) {
		int64_t value = scenario->value[id];
		bool word = knobs[id].type == KNOB_CHOICE || knobs[id].type == KNOB_SWITCH || value == KNOB_GIVEN;
		if (word)
			json_write_text(json, knobs[id].name, knob_text(id, value, TEXT(512)));
		else
			json_write_integer(json, knobs[id].name, value);
	}
	json_open_array(json, "pins");
	FOR(i, scenario->pins)
		json_write_text(json, NULL, pin_text(&scenario->pin[i], TEXT(512)));
	json_close(json);
	json_close(json);
}

/* A line of the notes each. A plan that was cut short doesn't follow from its scenario alone, and `check` doesn't plan
 * it again: what only that shows of a search is left out; what is guessed doesn't come from one. */
static void write_notes(const struct plan *plan, struct json *json)
{
	bool guesses = plan->sharded && plan_cut_short(plan);
	json_new_line(json, 1);
	json_open_array(json, "notes");
	for (const char *at = plan->notes; *at; at += strcspn(at, "\n") + 1) {
		char text[2000];
		PRINT_TO(text, "%.*s", (int)strcspn(at, "\n"), at);
		if (!guesses || note_is_guess(text))
			json_write_text(json, NULL, text);
	}
	json_close(json);
}

static void write_limited(const struct plan *plan, struct json *json)
{
	write_notes(plan, json);
	if (!plan_cut_short(plan))
		return;
	json_new_line(json, 1);
	json_write_bool(json, "limited", true);
}

/* ---- order ---- */

/* The op's name, or null where there is none. */
static void plan_json_write_op(const struct plan *plan, const char *key, uint32_t op, struct json *json)
{
	json_write_text(json, key, op == NONE ? NULL : plan->graph->op[op].name);
}

/* What an allocator comes to. */
static void write_allocated(const struct plan *plan, const char *key, const struct allocated *allocated,
	struct json *json)
{
	uint32_t ops = plan->graph->ops;
	json_new_line(json, 2);
	json_open_object(json, key);
	json_write_integer(json, "least_bytes", allocated->least);
	json_write_integer(json, "reserved_bytes", allocated->reserved);
	json_write_integer(json, "retries", allocated->retries);
	if (allocated->breaks >= 0 && ops > 0) {
		json_write_integer(json, "breaks_in_step", 1 + allocated->breaks / ops);
		plan_json_write_op(plan, "breaks_at", plan->ordered->result.order[allocated->breaks % ops], json);
	}
	json_close(json);
}

/* All that is counted, against the whole device. */
static void plan_json_write_verdict(const struct plan *plan, struct json *json)
{
	struct verdict verdict = plan_verdict(plan);
	json_new_line(json, 2);
	json_open_object(json, "ledger");
	FOR_INT(part, LEDGER_PARTS)
		json_write_integer(json, ledger[part].key, verdict.part[part]);
	json_close(json);
	json_write_integer(json, "needed_bytes", verdict.needed);
	json_write_text(json, "allocator", knob_text(K_allocator, verdict.allocator, TEXT(VERDICT_TEXT)));
	write_allocated(plan, "pytorch", &plan->pytorch[0], json);
	write_allocated(plan, "expandable", &plan->pytorch[1], json);
	json_new_line(json, 2);
	if (verdict.fits != FITS_ANY) {
		json_write_integer(json, "cap_bytes", verdict.cap);
		json_write_text(json, "fits", fits_text[verdict.fits]);
	}
	if (verdict.state_first)
		json_write_bool(json, "state_first", true);
	json_write_text(json, "verdict", verdict_text(&verdict, TEXT(VERDICT_TEXT)));
	if (plan->why_not.advice) {
		json_open_object(json, "why_not_less");
		json_write_integer(json, "least_bytes", plan->why_not.least);
		json_write_text(json, "op", plan->why_not.op);
		json_write_text(json, "operands", plan->why_not.holds);
		json_write_text(json, "advice", plan->why_not.advice);
		json_close(json);
	}
}

/* What `routing` of experts and parts of the step have to do with the peak. */
static void plan_json_write_parts(const struct plan *plan, struct json *json)
{
	const struct ordered *ordered = plan->ordered;
	struct part_peak part[PARTS_MOST];
	uint32_t parts = parts_find(plan->graph, ordered->result.order, ordered->live, part);
	if (plan->routed_peak > 0)
		json_write_integer(json, "worst_routing_bytes", plan->routed_peak);
	if (parts > 0)
		json_open_array(json, "parts");
	FOR(p, parts) {
		json_open_object(json, NULL);
		json_write_text(json, "name", part[p].name);
		json_write_integer(json, "peak_bytes", part[p].bytes);
		json_close(json);
	}
	if (parts > 0)
		json_close(json);
}

static void write_memory(const struct plan *plan, struct json *json)
{
	json_new_line(json, 1);
	json_open_object(json, "memory");
	json_write_integer(json, "persistent_bytes", plan->ordered->problem.base);
	json_write_integer(json, "peak_bytes", plan_peak(plan));
	plan_json_write_op(plan, "peak_op",
		plan->ordered->peak_position == NONE ? NONE : plan->ordered->result.order[plan->ordered->peak_position], json);
	json_write_integer(json, "program_peak_bytes", plan->ordered->program_peak);
	json_write_integer(json, "peak_without_workspace_bytes", plan_storage_peak(plan));
	plan_json_write_parts(plan, json);
	if (plan->fit_margin == MARGIN_NO_CAP)
		json_write_null(json, "fit_margin_bytes");
	else
		json_write_integer(json, "fit_margin_bytes", plan->fit_margin);
	plan_json_write_verdict(plan, json);
	json_close(json);
}

/* An arc: [tensor or null, later op or null, op or null for the end, bytes]. */
static void plan_json_write_arc(const struct plan *plan, const struct order_arc *arc, struct json *json)
{
	json_open_array(json, NULL);
	json_write_text(json, NULL, arc->item == NONE ? NULL : storage_name(plan, plan_item_storage(plan, arc->item)));
	plan_json_write_op(plan, NULL, arc->from, json);
	plan_json_write_op(plan, NULL, arc->to, json);
	json_write_integer(json, NULL, arc->flow);
	json_close(json);
}

/* The op that runs first, the one behind it, and which of both has the cut that shows it. */
static void write_precedence(const struct plan *plan, const struct order_arc *arc, struct json *json)
{
	json_open_array(json, NULL);
	plan_json_write_op(plan, NULL, arc->to, json);
	plan_json_write_op(plan, NULL, arc->from, json);
	json_write_text(json, NULL, arc->flow ? "first" : "second");
	json_close(json);
}

static void write_order_certificate(const struct plan *plan, struct json *json)
{
	const struct order_certificate *certificate = &plan_bounded(plan)->certificate;
	json_open_object(json, "certificate");
	json_write_text(json, "by", order_proof_names[certificate->proof]);
	if (certificate->op != NONE && certificate->proof != ORDER_PROOF_NONE && certificate->proof != ORDER_PROOF_SEARCH)
		plan_json_write_op(plan, "op", certificate->op, json);
	if (certificate->proof == ORDER_PROOF_CUT) {
		json_open_array(json, "flow");
		FOR(i, certificate->arcs)
			plan_json_write_arc(plan, &certificate->arc[i], json);
		json_close(json);
	}
	if (certificate->proof == ORDER_PROOF_PRECEDENCE) {
		json_open_array(json, "precedences");
		FOR(i, certificate->arcs)
			write_precedence(plan, &certificate->arc[i], json);
		json_close(json);
	}
	json_close(json);
}

static void plan_json_write_order(const struct plan *plan, struct json *json)
{
	const struct proof proof = plan_proof(plan);
	open_result(plan, "order", K_order, plan->ordered->result.winner, "peak_bytes", &proof, json);
	write_order_certificate(plan, json);
	json_new_line(json, 2);
	json_open_array(json, "ops");
	FOR(i, plan->graph->ops)
		plan_json_write_op(plan, NULL, plan->ordered->result.order[i], json);
	json_close(json);
	json_close(json);
}

/* ---- layout ---- */

/* The core holds buffers: items that are there, in order. A tensor's is its name, a workspace's an object with that of
 * its op. */
static void write_core(const struct plan *plan, struct json *json)
{
	const struct layout *layout = &plan->laid_out->layout;
	json_open_array(json, "core");
	for (uint32_t item = 0, buffer = 0, i = 0; i < layout->core_count; item++) {
		if (plan->laid_out->first[item] == NONE || buffer++ != layout->core[i])
			continue;
		i++;
		if (item < plan->graph->storages) {
			json_write_text(json, NULL, item_name(plan, item));
			continue;
		}
		json_open_object(json, NULL);
		json_write_text(json, "op", item_name(plan, item));
		json_close(json);
	}
	json_close(json);
}

static void write_layout_certificate(const struct plan *plan, struct json *json)
{
	const struct layout *layout = &plan->laid_out->layout;
	json_open_object(json, "certificate");
	json_write_text(json, "by", layout_proof_names[layout->ground]);
	if (layout->ground == LAYOUT_PROOF_LOAD || layout->ground == LAYOUT_PROOF_MOMENT) {
		json_write_integer(json, "moment", layout->ground == LAYOUT_PROOF_LOAD ? layout->moment : layout->witness);
	} else {
		write_core(plan, json);
		json_write_bool(json, "irreducible", layout->irreducible);
	}
	json_close(json);
}

/* Begins a buffer's object: where it lies and when. */
static void open_buffer(
	struct json *json, const char *tensor, int64_t offset, int64_t bytes, uint32_t first, uint32_t last)
{
	json_new_line(json, 3);
	json_open_object(json, NULL);
	json_write_text(json, "tensor", tensor);
	json_write_integer(json, "offset", offset);
	json_write_integer(json, "bytes", bytes);
	json_write_integer(json, "first", first);
	json_write_integer(json, "last", last);
}

/* Each op's, while that runs; nothing is written where no op has one. */
static void write_workspaces(const struct plan *plan, struct json *json)
{
	bool any = false;
	FOR_FROM(item, plan->graph->storages, plan->laid_out->items) {
		if (plan->laid_out->first[item] == NONE)
			continue;
		if (!any) {
			json_new_line(json, 2);
			json_open_array(json, "workspaces");
		}
		any = true;
		json_new_line(json, 3);
		json_open_object(json, NULL);
		json_write_text(json, "op", item_name(plan, item));
		json_write_integer(json, "offset", plan->laid_out->offset[item]);
		json_write_integer(json, "bytes", plan->laid_out->bytes[item]);
		json_close(json);
	}
	if (any)
		json_close(json);
}

/* False: out of memory. */
static bool write_layout(const struct plan *plan, struct json *json)
{
	open_result(
		plan, "layout", K_layout, plan->laid_out->layout.strategy, "arena_bytes", &plan->laid_out->layout.proof, json);
	write_layout_certificate(plan, json);
	json_new_line(json, 2);
	json_open_array(json, "buffers");
	FOR(s, plan->graph->storages) {
		if (plan->laid_out->first[s] == NONE)
			continue;
		open_buffer(json, storage_name(plan, s), plan->laid_out->offset[s], plan->laid_out->bytes[s],
			plan->laid_out->first[s], plan->laid_out->last[s]);
		json_write_text(json, "kind", kind_names[plan->graph->storage[s].kind]);
		json_close(json);
	}
	json_close(json);
	write_workspaces(plan, json);
	json_close(json);
	return true;
}

static void write_host_buffers(const struct plan *plan, const struct host_pool *pool, struct json *json)
{
	json_new_line(json, 1);
	json_open_object(json, "host");
	json_write_integer(json, "arena_bytes", pool->arena);
	json_write_integer(json, "load_bytes", pool->load);
	json_new_line(json, 2);
	json_open_array(json, "buffers");
	FOR(i, pool->n) {
		const struct host_buffer *buffer = &pool->buffer[i];
		open_buffer(
			json, plan->graph->tensor[buffer->tensor].name, buffer->offset, buffer->bytes, buffer->first, buffer->last);
		json_write_some(json, "other_microbatches", buffer->others);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

/* What waits in the host; nothing is written where nothing does. */
static bool write_host(const struct plan *plan, struct json *json)
{
	struct host_pool pool;
	if (host_pool_make(plan->graph, plan->ordered->position, plan->scenario.value[K_alignment], &pool) != OK)
		return false;
	if (pool.n)
		write_host_buffers(plan, &pool, json);
	host_pool_free(&pool);
	return true;
}

/* ---- the rest ---- */

/* An amount, or null where it isn't known. */
static void write_amount(struct json *json, const char *key, int64_t amount)
{
	if (amount > 0)
		json_write_integer(json, key, amount);
	else
		json_write_null(json, key);
}

static void plan_json_write_time(struct json *json, const char *key, int64_t picoseconds)
{
	if (picoseconds >= 0)
		json_write_decimal(json, key, picoseconds, 12);
	else
		json_write_null(json, key);
}

static void plan_json_write_speed(const struct plan *plan, struct json *json)
{
	const struct plan_speed *speed = &plan->speed;
	double rate = plan_speed_rate(speed);
	int64_t flops = plan_flops(plan);
	json_new_line(json, 1);
	json_open_object(json, "speed");
	plan_json_write_time(json, "step_seconds", speed->time);
	plan_json_write_time(json, "program_step_seconds", plan->program_time);
	write_amount(json, "samples", speed->samples);
	write_amount(json, "tokens", speed->tokens);
	if (rate > 0) {
		json_write_real(json, "per_second", rate * speed->devices, 6);
		json_write_real(json, "per_second_and_device", rate, 6);
	} else {
		json_write_null(json, "per_second");
		json_write_null(json, "per_second_and_device");
	}
	if (flops >= 0)
		json_write_integer(json, "flops", flops);
	else
		json_write_null(json, "flops");
	write_amount(json, "model_flops", speed->model_flops);
	json_write_text(json, "software", device_software(&plan->scenario));
	json_write_text(json, "rests_on", device_reached_text(&plan->scenario, TEXT(700)));
	json_write_real(json, "deviation", device_deviation(&plan->scenario) / 1e3, 3);
	if (speed->mfu >= 0)
		json_write_real(json, "mfu", speed->mfu, 9);
	else
		json_write_null(json, "mfu");
	json_close(json);
}

static void write_shard(const struct plan *plan, struct json *json)
{
	char word[64];
	json_new_line(json, 1);
	json_open_object(json, "shard");
	json_write_text(json, "strategy", strategy_word(plan, K_strategy, word));
	shard_write_json(plan, json);
	pipeline_write_json(plan, json);
	json_close(json);
}

static void write_run(const struct plan *plan, struct json *json)
{
	json_new_line(json, 1);
	json_open_object(json, "run");
	json_open_object(json, "seconds");
	for (int stage = STAGE_ORDER; stage < STAGE_COUNT; stage++)
		json_write_real(json, stage_names[stage], plan->run[stage].seconds, 6);
	json_close(json);
	json_open_object(json, "cache");
	for (int stage = STAGE_ORDER; stage < STAGE_COUNT; stage++) {
		json_open_object(json, stage_names[stage]);
		json_write_integer(json, "reused", plan->run[stage].reused);
		json_write_integer(json, "solved", plan->run[stage].solved);
		json_close(json);
	}
	json_close(json);
	json_write_bool(json, "limited", plan_cut_short(plan));
	json_open_array(json, "progress");
	FOR(i, plan->ordered->improvements) {
		const struct improvement *step = &plan->ordered->improvement[i];
		json_open_object(json, NULL);
		json_write_real(json, "seconds", step->seconds, 6);
		json_write_integer(json, "ticks", (int64_t)step->ticks);
		json_write_integer(json, "peak_bytes", step->peak);
		json_write_integer(json, "bound_bytes", step->bound);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

bool plan_write_json(const struct plan *plan, const struct factors *factors, bool with_run, FILE *stream)
{
	struct json json = { .stream = stream, .spaced = true };
	json_open_object(&json, NULL);
	json_write_integer(&json, "tidemark", 1);
	json_write_text(&json, "version", TIDEMARK_VERSION);
	plan_json_write_graph(plan, &json);
	json_new_line(&json, 1);
	card_json(plan->input, &json);
	write_scenario(&plan->scenario, &json);
	write_limited(plan, &json);
	write_memory(plan, &json);
	plan_json_write_order(plan, &json);
	if (!write_layout(plan, &json) || !write_host(plan, &json))
		return false;
	recompute_write_json(plan, &json);
	plan_json_write_speed(plan, &json);
	write_shard(plan, &json);
	if (factors) {
		json_new_line(&json, 1);
		factors_write_json(factors, plan->graph, &json);
	}
	if (with_run)
		write_run(plan, &json);
	json_end(&json);
	return !ferror(stream);
}
