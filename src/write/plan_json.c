/* plan_json.c: writes the plan file. */
#include <inttypes.h>

#include "src/plan/host_pool.h"
#include "factors.h"
#include "src/read/native.h"
#include "pipeline_json.h"
#include "plan_json.h"
#include "shard_json.h"
#include "src/plan/stages.h"
#include "src/base/json_text.h"

static void text_member(FILE *stream, const char *key, const char *text)
{
	fprintf(stream, "\"%s\": ", key);
	json_write_text(stream, text);
}

static void next_text_member(FILE *stream, const char *key, const char *text)
{
	fputs(", ", stream);
	text_member(stream, key, text);
}

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

/* ---- scenario ------------------------------------------------------------------------ */

static void write_scenario(const struct scenario *scenario, FILE *stream)
{
	char text[512];
	fputs(" \"scenario\": {", stream);
	for (int id = 0; id < KNOB_COUNT; id++) {
		int64_t value = scenario->value[id];
		bool word = knobs[id].type == KNOB_CHOICE || knobs[id].type == KNOB_SWITCH || value == KNOB_GIVEN;
		fputs(id ? ", " : "", stream);
		if (word)
			text_member(stream, knobs[id].name, knob_text(id, value, text, sizeof text));
		else
			fprintf(stream, "\"%s\": %" PRId64, knobs[id].name, value);
	}
	fputs(", \"pins\": [", stream);
	for (uint32_t i = 0; i < scenario->pins; i++) {
		fputs(i ? ", " : "", stream);
		json_write_text(stream, pin_text(&scenario->pin[i], text, sizeof text));
	}
	fputs("]},\n", stream);
}

/* ---- order ---------------------------------------------------------------------------- */

static const char *item_name(const struct plan *plan, uint32_t item)
{
	const struct graph *graph = plan->graph;
	return graph->tensor[graph->storage[plan_item_storage(plan, item)].root].name;
}

static void op_or_null(const struct plan *plan, uint32_t op, FILE *stream)
{
	if (op == NONE)
		fputs("null", stream);
	else
		json_write_text(stream, plan->graph->op[op].name);
}

/* An arc: [tensor or null, later op or null, op or null for the end, bytes]. */
static void write_arc(const struct plan *plan, const struct order_arc *arc, FILE *stream)
{
	putc('[', stream);
	if (arc->item == NONE)
		fputs("null", stream);
	else
		json_write_text(stream, item_name(plan, arc->item));
	fputs(", ", stream);
	op_or_null(plan, arc->from, stream);
	fputs(", ", stream);
	op_or_null(plan, arc->to, stream);
	fprintf(stream, ", %" PRId64 "]", arc->flow);
}

static void write_order_certificate(const struct plan *plan, FILE *stream)
{
	const struct order_certificate *certificate = plan->order_certificate;
	fputs("\"certificate\": {", stream);
	text_member(stream, "by", order_proof_names[certificate->proof]);
	if (certificate->op != NONE && certificate->proof != ORDER_PROOF_NONE && certificate->proof != ORDER_PROOF_SEARCH)
		next_text_member(stream, "op", plan->graph->op[certificate->op].name);
	if (certificate->proof == ORDER_PROOF_CUT) {
		fputs(", \"flow\": [", stream);
		for (uint32_t i = 0; i < certificate->arcs; i++) {
			fputs(i ? ", " : "", stream);
			write_arc(plan, &certificate->arc[i], stream);
		}
		putc(']', stream);
	}
	putc('}', stream);
}

static void write_order(const struct plan *plan, FILE *stream)
{
	char word[64];
	fputs(" \"order\": {", stream);
	text_member(stream, "strategy", knob_text(K_order, plan->scenario.value[K_order], word, sizeof word));
	next_text_member(stream, "winner", plan->order_winner);
	fprintf(stream, ", \"peak_bytes\": %" PRId64 ", \"bound_bytes\": %" PRId64 ", \"proved\": %s,\n  ", plan->peak_bytes,
		plan->order_bound_bytes, truth(plan->order_proved));
	write_order_certificate(plan, stream);
	fputs(",\n  \"ops\": [", stream);
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		fputs(i ? ", " : "", stream);
		json_write_text(stream, plan->graph->op[plan->order[i]].name);
	}
	fputs("]},\n", stream);
}

/* ---- layout ------------------------------------------------------------------------------ */

/* The core holds buffers: storages that are there, in order. */
static uint32_t storage_of_buffer(const struct plan *plan, uint32_t buffer)
{
	uint32_t storage = 0;
	for (;; storage++)
		if (plan->first[storage] != NONE && buffer-- == 0)
			return storage;
}

static void write_layout_certificate(const struct plan *plan, FILE *stream)
{
	const struct layout *layout = plan->layout;
	fputs("\"certificate\": {", stream);
	text_member(stream, "by", layout_proof_names[layout->proof]);
	if (layout->proof == LAYOUT_PROOF_LOAD || layout->proof == LAYOUT_PROOF_MOMENT) {
		fprintf(stream, ", \"moment\": %" PRId64, layout->proof == LAYOUT_PROOF_LOAD ? layout->moment : layout->witness);
	} else {
		fputs(", \"core\": [", stream);
		for (uint32_t i = 0; i < layout->core_count; i++) {
			uint32_t storage = storage_of_buffer(plan, layout->core[i]);
			fputs(i ? ", " : "", stream);
			json_write_text(stream, plan->graph->tensor[plan->graph->storage[storage].root].name);
		}
		fprintf(stream, "], \"irreducible\": %s", layout->irreducible ? "true" : "false");
	}
	putc('}', stream);
}

static void write_layout(const struct plan *plan, FILE *stream)
{
	char word[64];
	bool first = true;
	fputs(" \"layout\": {", stream);
	text_member(stream, "strategy", knob_text(K_layout, plan->scenario.value[K_layout], word, sizeof word));
	next_text_member(stream, "winner", plan->layout_winner);
	fprintf(stream, ", \"arena_bytes\": %" PRId64 ", \"bound_bytes\": %" PRId64 ", \"proved\": %s,\n  ", plan->arena_bytes,
		plan->layout_bound_bytes, truth(plan->layout_proved));
	write_layout_certificate(plan, stream);
	fprintf(stream, ", \"caching_allocator_bytes\": %" PRId64 ",\n  \"buffers\": [", plan->caching_bytes);
	for (uint32_t s = 0; s < plan->graph->storages; s++) {
		if (plan->first[s] == NONE)
			continue;
		fputs(first ? "\n   {" : ",\n   {", stream);
		text_member(stream, "tensor", plan->graph->tensor[plan->graph->storage[s].root].name);
		fprintf(stream, ", \"offset\": %" PRId64 ", \"bytes\": %" PRId64 ", \"first\": %u, \"last\": %u}", plan->offset[s], plan->bytes[s],
			plan->first[s], plan->last[s]);
		first = false;
	}
	fputs("]},\n", stream);
}

/* What waits in the host; nothing is written where nothing does. */
static bool write_host(const struct plan *plan, FILE *stream)
{
	struct host_pool pool;
	if (host_pool_make(plan->graph, plan->position, plan->scenario.value[K_alignment], &pool) != OK)
		return false;
	if (pool.n)
		fprintf(stream, " \"host\": {\"arena_bytes\": %" PRId64 ", \"load_bytes\": %" PRId64 ",\n  \"buffers\": [", pool.arena, pool.load);
	for (uint32_t i = 0; i < pool.n; i++) {
		const struct host_buffer *buffer = &pool.buffer[i];
		fputs(i ? ",\n   {" : "\n   {", stream);
		text_member(stream, "tensor", plan->graph->tensor[buffer->tensor].name);
		fprintf(stream, ", \"offset\": %" PRId64 ", \"bytes\": %" PRId64 ", \"first\": %u, \"last\": %u", buffer->offset, buffer->bytes,
			buffer->first, buffer->last);
		if (buffer->others)
			fprintf(stream, ", \"other_microbatches\": %u", buffer->others);
		putc('}', stream);
	}
	if (pool.n)
		fputs("]},\n", stream);
	host_pool_free(&pool);
	return true;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void write_shard(const struct plan *plan, FILE *stream)
{
	char word[64];
	fputs(" \"shard\": {", stream);
	text_member(stream, "strategy", knob_text(K_strategy, plan->scenario.value[K_strategy], word, sizeof word));
	shard_write_json(plan, stream);
	pipeline_write_json(plan, stream);
	putc('}', stream);
}

static void write_run(const struct plan *plan, FILE *stream)
{
	fputs(",\n \"run\": {\"seconds\": {", stream);
	for (int stage = STAGE_ORDER; stage < STAGE_COUNT; stage++)
		fprintf(stream, "%s\"%s\": %.6f", stage > STAGE_ORDER ? ", " : "", stage_names[stage], plan->run[stage].seconds);
	fputs("}, \"cache\": {", stream);
	for (int stage = STAGE_ORDER; stage < STAGE_COUNT; stage++)
		fprintf(stream, "%s\"%s\": {\"reused\": %u, \"solved\": %u}", stage > STAGE_ORDER ? ", " : "", stage_names[stage],
			plan->run[stage].reused, plan->run[stage].solved);
	fprintf(stream, "}, \"limited\": %s}", truth(plan->limited));
}

static void write_notes(const struct plan *plan, FILE *stream)
{
	fputs(" \"notes\": [", stream);
	for (const char *at = plan->notes; *at; at += strcspn(at, "\n") + 1) {
		char text[2000];
		snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
		fputs(at > plan->notes ? ", " : "", stream);
		json_write_text(stream, text);
	}
	fputs("],\n", stream);
}

bool plan_write_json(const struct plan *plan, const struct factors *factors, bool with_run, FILE *stream)
{
	const struct graph *input = plan->input;
	fputs("{\"tidemark\": 1,\n \"graph\": {", stream);
	text_member(stream, "name", input->name);
	fprintf(stream, ", \"ops\": %u, \"tensors\": %u, \"storages\": %u, \"fingerprint\": \"%016" PRIx64 "\", \"planned_fingerprint\": \"%016" PRIx64
		"\"},\n", input->ops, input->tensors, input->storages, input->fingerprint, plan->graph->fingerprint);
	write_scenario(&plan->scenario, stream);
	write_notes(plan, stream);
	fprintf(stream, " \"memory\": {\"persistent_bytes\": %" PRId64 ", \"peak_bytes\": %" PRId64 ", \"peak_op\": ", plan->persistent_bytes,
		plan->peak_bytes);
	op_or_null(plan, plan->peak_position == NONE ? NONE : plan->order[plan->peak_position], stream);
	fprintf(stream, ", \"program_peak_bytes\": %" PRId64 ", \"peak_without_workspace_bytes\": %" PRId64
		", \"fit_margin_bytes\": ", plan->program_peak_bytes, plan_storage_peak(plan));
	if (plan->fit_margin == MARGIN_NO_CAP)
		fputs("null", stream);
	else
		fprintf(stream, "%" PRId64, plan->fit_margin);
	if (plan_fits(plan) != FITS_ANY)
		next_text_member(stream, "fits", fits_text[plan_fits(plan)]);
	fputs("},\n", stream);
	write_order(plan, stream);
	write_layout(plan, stream);
	if (!write_host(plan, stream))
		return false;
	write_shard(plan, stream);
	if (factors) {
		fputs(",\n", stream);
		factors_write_json(factors, plan->graph, stream);
	}
	if (with_run)
		write_run(plan, stream);
	fputs("}\n", stream);
	return !ferror(stream);
}
