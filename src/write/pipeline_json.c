/* pipeline_json.c: pipelines in plan files and reports. */

#include "plan_json.h"
#include "src/scenario/device_figures.h"
#include "src/base/streams.h"

static void pipeline_json_write_seconds(struct json *json, const char *key, int64_t picoseconds)
{
	json_write_decimal(json, key, picoseconds, 12);
}

static void write_piece(const struct pipelined *pipelined, uint32_t k, struct json *json)
{
	const struct pipeline_piece *piece = &pipelined->piece[k];
	json_new_line(json, 4);
	json_open_object(json, NULL);
	json_write_integer(json, "rank", piece_rank(k, pipelined->ranks, pipelined->folded));
	json_write_text(json, "first", piece->first ? piece->first : "");
	json_write_text(json, "last", piece->last ? piece->last : "");
	json_write_integer(json, "ops", piece->ops);
	pipeline_json_write_seconds(json, "forward_seconds", piece->forward);
	pipeline_json_write_seconds(json, "backward_seconds", piece->backward);
	pipeline_json_write_seconds(json, "send_seconds", piece->send);
	json_write_integer(json, "sent_bytes", piece->sent);
	json_write_integer(json, "kept_bytes", piece->kept);
	json_write_integer(json, "in_flight", piece->in_flight.weight);
	if (pipelined->forward_link) {
		pipeline_json_write_seconds(json, "forward_link_seconds", piece->forward_link);
		pipeline_json_write_seconds(json, "backward_link_seconds", piece->backward_link);
	}
	if (pipelined->split) {
		pipeline_json_write_seconds(json, "weight_seconds", piece->weight);
		json_write_integer(json, "kept_for_weights_bytes", piece->kept_weight);
		json_write_integer(json, "waiting_gradient_bytes", piece->between);
		json_write_integer(json, "in_flight_inputs", piece->in_flight.input);
		json_write_integer(json, "in_flight_gradients", piece->in_flight.between);
	}
	json_close(json);
}

/* What every rank does, in order: schedules that fill gaps depend on the times. */
static void pipeline_json_write_order(const struct pipelined *pipelined, struct json *json)
{
	json_new_line(json, 3);
	json_open_array(json, "order");
	FOR(r, pipelined->ranks) {
		char *text = NULL;
		size_t size = 0;
		FILE *row = text_stream(&text, &size);
		if (row)
			schedule_row_write(pipelined->timing.slot + (size_t)r * pipelined->timing.slots, pipelined->timing.slots, row);
		if (row && fclose(row) == 0) {
			json_new_line(json, 4);
			json_write_text(json, NULL, text);
		}
		free(text);
	}
	json_close(json);
}

static void write_pipeline(const struct plan *plan, struct json *json)
{
	const struct pipelined *pipelined = plan->pipelined;
	json_new_line(json, 2);
	json_write_integer(json, "gathered_ahead_bytes", pipelined->ahead);
	json_open_object(json, "pipeline");
	json_write_integer(json, "ranks", pipelined->ranks);
	json_write_integer(json, "chunks", pipelined->chunks);
	json_write_integer(json, "microbatches", pipelined->microbatches);
	json_write_text(json, "schedule", schedule_names[pipelined->schedule]);
	json_write_integer(json, "rank", plan->rank);
	pipeline_json_write_seconds(json, "bubble_seconds", pipelined->bubble);
	pipeline_json_write_seconds(json, "bound_seconds", pipelined->bound);
	if (plan->schedules > 0 && !plan_cut_short(plan))
		json_write_integer(json, "schedules_tried", plan->schedules);
	if (pipelined->split)
		pipeline_json_write_seconds(json, "idle_seconds", pipeline_idle(&pipelined->timing, pipelined->ranks));
	pipeline_json_write_seconds(json, "exposed_seconds", pipelined->exposed);
	pipeline_json_write_seconds(json, "update_seconds", pipelined->update);
	json_new_line(json, 3);
	json_open_array(json, "pieces");
	FOR(k, pipelined->ranks * pipelined->chunks)
		write_piece(pipelined, k, json);
	json_close(json);
	if (pipelined->split || pipelined->schedule == SCHEDULE_FILE)
		pipeline_json_write_order(pipelined, json);
	json_close(json);
}

/* Begins the object of a rank. */
static void open_rank(uint32_t rank, const struct planned_rank *planned, struct json *json)
{
	json_open_object(json, NULL);
	json_write_integer(json, "rank", rank);
	json_write_integer(json, "peak_bytes", planned->peak);
	FOR_INT(kind, KIND_COUNT)
		json_write_integer(json, kind_names[kind], planned->bytes[kind]);
	json_write_integer(json, "workspace", planned->workspace);
}

static void pipeline_json_write_rank(const struct plan *plan, uint32_t r, struct json *json)
{
	const struct pipeline_rank *rank = &plan->pipelined->rank[r];
	json_new_line(json, 3);
	open_rank(r, &plan->by_rank[r], json);
	if (plan->by_rank[r].arena < 0)
		json_write_null(json, "arena_bytes");
	else
		json_write_integer(json, "arena_bytes", plan->by_rank[r].arena);
	json_write_integer(json, "in_flight_bytes", rank->kept);
	json_write_integer(json, "alike", rank->alike);
	pipeline_json_write_seconds(json, "exposed_seconds", rank->exposed);
	pipeline_json_write_seconds(json, "update_seconds", rank->update);
	json_close(json);
}

void pipeline_write_json(const struct plan *plan, struct json *json)
{
	if (plan->pipelined)
		write_pipeline(plan, json);
	json_new_line(json, 2);
	json_open_array(json, "stages");
	for (uint32_t r = 0; plan->pipelined && r < plan->pipelined->ranks; r++)
		pipeline_json_write_rank(plan, r, json);
	if (!plan->pipelined) {
		struct planned_rank planned = { .peak = plan_peak(plan) };
		if (plan->graph->ops)
			plan_categories(plan, plan->ordered->peak_position, planned.bytes, &planned.workspace);
		open_rank(0, &planned, json);
		json_close(json);
	}
	json_close(json);
}

/* ---- report ---- */

#define RANKS_SHOWN 16

static double milliseconds(int64_t picoseconds)
{
	return (double)picoseconds * 1e-9;
}

static void write_rank_line(const struct plan *plan, uint32_t r, FILE *stream)
{
	const struct pipelined *pipelined = plan->pipelined;
	const struct planned_rank *planned = &plan->by_rank[r];
	const struct pipeline_rank *rank = &pipelined->rank[r];
	int64_t forward = 0, backward = 0;
	FOR(c, pipelined->chunks) {
		const struct pipeline_piece *of = &pipelined->piece[rank_piece(r, c, pipelined->ranks, pipelined->folded)];
		forward += of->forward;
		backward += of->backward;
	}
	const struct pipeline_piece *piece = &pipelined->piece[r];
	fprintf(stream, "  %4u%c %12s %12s %12s %12s %10.3f %10.3f   %s .. %s\n", r, r == plan->rank ? '*' : ' ',
		BYTES(planned->peak),
		planned->arena < 0 ? "-" : BYTES(planned->arena),
		BYTES(rank->parameters + rank->optimizer + rank->gradients),
		BYTES(rank->kept), milliseconds(forward), milliseconds(backward),
		piece->first ? piece->first : "", piece->last ? piece->last : "");
}

void pipeline_write_text(const struct plan *plan, FILE *stream)
{
	const struct pipelined *pipelined = plan->pipelined;
	char within[16];
	if (!pipelined)
		return;
	fprintf(stream, "\n%u microbatch%s through %u pipeline rank%s, %s", pipelined->microbatches,
		pipelined->microbatches == 1 ? "" : "es", pipelined->ranks, pipelined->ranks == 1 ? "" : "s",
		schedule_names[pipelined->schedule]);
	if (pipelined->chunks > 1)
		fprintf(stream, ", %u pieces of the model on each", pipelined->chunks);
	fprintf(stream, "\n  step %.3f ms%s: idle in the pipeline %.3f, gradients not hidden %.3f, update %.3f\n",
		milliseconds(pipelined->time), device_deviation_text(&plan->scenario, within),
		milliseconds(pipelined->bubble), milliseconds(pipelined->exposed), milliseconds(pipelined->update));
	fprintf(stream, "  no order of these pieces' passes takes less than %.3f ms", milliseconds(pipelined->bound));
	if (plan->schedules > 0)
		fprintf(stream, "; the best of %u schedules", plan->schedules);
	fputs("\n", stream);
	fputs("  rank          peak        arena       states    in flight forward ms  backward\n", stream);
	FOR(r, pipelined->ranks) {
		if (pipelined->ranks > RANKS_SHOWN && r >= RANKS_SHOWN / 2 && r + RANKS_SHOWN / 2 < pipelined->ranks &&
			r != plan->rank)
			continue;
		write_rank_line(plan, r, stream);
	}
	fprintf(stream, "  * the rank that is planned above\n");
}
