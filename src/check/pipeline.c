/* pipeline.c: verifies the "pipeline" and "stages" of a plan file. */
#include <inttypes.h>
#include <math.h>

#include "solver/pipeline/check.h"
#include "src/base/streams.h"
#include "src/stages/pipeline/times.h"
#include "src/write/plan_json.h"
#include "state.h"

struct checking {
	const json_t *shard, *pipeline;
	const struct pipelined *pipelined;
	struct held *held; /* [ranks] */
	int64_t *forward, *backward, *weight, *send, *forward_link, *backward_link; /* [pieces] */
	struct schedule_csv order; /* of schedules that split the backward pass */
	struct in_flight *counts;  /* [pieces] by it */
	struct error *error;
	struct arena arena;
};

static enum status check_pipeline_number(
	const struct checking *checking, const json_t *object, const char *key, int64_t expected)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_integer(value))
		return refuse(checking->error, "not a plan file: a pipeline's %s is not an integer", key);
	return json_integer_value(value) == expected
		? OK
		: fail(checking->error, INFEASIBLE, "a pipeline's %s is %" PRId64 ", but it must be %" PRId64, key,
			  (int64_t)json_integer_value(value), expected);
}

/* Seconds with twelve digits to picoseconds; -1: none. */
static int64_t picoseconds(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double seconds = json_number_value(value);
	return json_is_number(value) && seconds >= 0 && seconds < 1e6 ? (int64_t)llround(seconds * 1e12) : -1;
}

/* A double has not all digits of long times. */
static bool check_pipeline_alike(int64_t a, int64_t b)
{
	int64_t apart = a > b ? a - b : b - a;
	return apart <= 2 + LARGER(a, b) / 1000000000;
}

static enum status same_text(
	const struct checking *checking, const json_t *object, const char *key, const char *expected)
{
	const char *text = json_text_in(object, key);
	expected = expected ? expected : "";
	return text_is(text, expected)
		? OK
		: fail(checking->error, INFEASIBLE, "a pipeline's %s is \"%.80s\", but it must be \"%.80s\"", key,
			  text ? text : "", expected);
}

static enum status check_pipeline_same_time(
	const struct checking *checking, const json_t *object, const char *key, int64_t expected)
{
	int64_t time = picoseconds(object, key);
	return time >= 0 && check_pipeline_alike(time, expected)
		? OK
		: fail(checking->error, INFEASIBLE, "a pipeline's %s is %.12f, but it must be %.12f", key, (double)time * 1e-12,
			  (double)expected * 1e-12);
}

/* What is there through the whole step, and what the flush finds there. */
static int64_t graph_floor(const struct graph *graph)
{
	uint32_t flush = graph->flush;
	int64_t bytes = graph->persistent_bytes;
	for (uint32_t i = flush == NONE ? 0 : graph->reads.start[flush]; flush != NONE && i < graph->reads.start[flush + 1];
		i++)
		bytes += graph->tensor[graph->reads.item[i]].bytes;
	return bytes;
}

/* What is said of the two parts of a backward pass: it must be less than the whole. */
static enum status check_parts(struct checking *checking, const json_t *piece, uint32_t k)
{
	const struct pipeline_piece *of = &checking->pipelined->piece[k];
	TRY(check_pipeline_number(checking, piece, "kept_for_weights_bytes", of->kept_weight));
	TRY(check_pipeline_number(checking, piece, "waiting_gradient_bytes", of->between));
	TRY(check_pipeline_number(checking, piece, "in_flight_inputs", of->in_flight.input));
	TRY(check_pipeline_number(checking, piece, "in_flight_gradients", of->in_flight.between));
	if (!check_pipeline_alike(checking->weight[k], of->weight))
		return fail(checking->error, INFEASIBLE,
			"shard.pipeline.pieces[%u].weight_seconds is another time than its ops take", k);
	return OK;
}

/* The reader knows more ways to write an order than plan files have. */
static enum status check_pipeline_check_words(const struct checking *checking)
{
	const struct pipeline_order *order = &checking->order.order;
	enum status status = OK;
	FOR_WHILE(rank, order->ranks, status == OK) {
		const char *told = json_string_value(json_array_get(json_object_get(checking->pipeline, "order"), rank));
		char *text = NULL;
		size_t size = 0;
		FILE *row = text_stream(&text, &size);
		if (row)
			schedule_row_write(order->slot + (size_t)rank * order->slots, order->slots, row);
		if (!row || fclose(row) != 0)
			status = fail_memory(checking->error);
		else if (!text_is(told, text))
			status = fail(checking->error, INFEASIBLE,
				"shard.pipeline.order[%u] is written in another way than such an order is", rank);
		free(text);
	}
	return status;
}

/* The order of the passes, out of the file. */
static enum status check_pipeline_read_order(struct checking *checking)
{
	const struct pipelined *pipelined = checking->pipelined;
	const json_t *rows = json_object_get(checking->pipeline, "order"), *row;
	char *text = NULL;
	size_t size = 0, i;
	FILE *stream = text_stream(&text, &size);
	NEEDED(checking->error, stream);
	json_array_foreach(rows, i, row)
		fprintf(stream, "%s\n", json_is_string(row) ? json_string_value(row) : "?");
	bool written = fclose(stream) == 0;
	struct error why = { 0 };
	enum status status = written ? schedule_csv_read(text, size, &checking->order, &why) : NO_MEMORY;
	free(text);
	if (status == BAD_INPUT)
		return fail(checking->error, INFEASIBLE, "shard.pipeline.order, rank %u: %.300s",
			why.line > 0 ? why.line - 1 : 0, why.text);
	const struct pipeline_order *order = &checking->order.order;
	if (status == OK &&
		(order->ranks != pipelined->ranks || order->chunks != pipelined->chunks ||
			order->microbatches != pipelined->microbatches || order->split != pipelined->split ||
			(order->chunks > 1 && order->folded != pipelined->folded)))
		return fail(checking->error, INFEASIBLE,
			"shard.pipeline.order has %u ranks x %u pieces and %u microbatches: these, or the ranks of pieces, are "
			"not the scenario's",
			order->ranks, order->chunks, order->microbatches);
	return status == OK ? check_pipeline_check_words(checking) : fail_memory(checking->error);
}

/* What is said of the whole. */
static enum status check_head(const struct checking *checking)
{
	const struct pipelined *pipelined = checking->pipelined;
	const json_t *pipeline = checking->pipeline;
	TRY(check_pipeline_number(checking, checking->shard, "gathered_ahead_bytes", pipelined->ahead));
	TRY(check_pipeline_number(checking, pipeline, "ranks", pipelined->ranks));
	TRY(check_pipeline_number(checking, pipeline, "chunks", pipelined->chunks));
	TRY(check_pipeline_number(checking, pipeline, "microbatches", pipelined->microbatches));
	TRY(same_text(checking, pipeline, "schedule", schedule_names[pipelined->schedule]));
	TRY(check_pipeline_same_time(checking, pipeline, "bubble_seconds", pipelined->bubble));
	TRY(check_pipeline_same_time(checking, pipeline, "bound_seconds", pipelined->bound));
	if (pipelined->bound > pipelined->time)
		return fail(checking->error, INFEASIBLE, "shard.pipeline.bound_seconds is above the step, %.12f s",
			(double)pipelined->time * 1e-12);
	TRY(check_pipeline_same_time(checking, pipeline, "exposed_seconds", pipelined->exposed));
	TRY(check_pipeline_same_time(checking, pipeline, "update_seconds", pipelined->update));
	if (pipelined->split)
		return check_pipeline_same_time(
			checking, pipeline, "idle_seconds", pipeline_idle(&pipelined->timing, pipelined->ranks));
	return OK;
}

/* In flight when a rank holds the most pieces, counted anew. */
static enum status check_counts(const struct checking *checking)
{
	const struct pipelined *pipelined = checking->pipelined;
	FOR(k, pipelined->ranks * pipelined->chunks) {
		const struct in_flight *said = &pipelined->piece[k].in_flight, *counted = &checking->counts[k];
		bool same = said->between == counted->between && said->input == (counted->input > 0 ? counted->input : 1)
			&& said->weight == (counted->weight > 0 ? counted->weight : 1);
		if (!same)
			return fail(checking->error, INFEASIBLE,
				"shard.pipeline.pieces[%u] has other microbatches in flight than its order", k);
	}
	return OK;
}

static enum status read_pieces(struct checking *checking)
{
	const json_t *pieces = json_object_get(checking->pipeline, "pieces");
	const struct pipelined *pipelined = checking->pipelined;
	uint32_t count = pipelined->ranks * pipelined->chunks;
	if (json_array_size(pieces) != count)
		return fail(checking->error, INFEASIBLE, "shard.pipeline has %zu pieces, the scenario %u",
			json_array_size(pieces), count);
	FOR(k, count) {
		const json_t *piece = json_array_get(pieces, k);
		const struct pipeline_piece *of = &pipelined->piece[k];
		checking->forward[k] = picoseconds(piece, "forward_seconds");
		checking->backward[k] = picoseconds(piece, "backward_seconds");
		checking->send[k] = picoseconds(piece, "send_seconds");
		checking->weight[k] = pipelined->split ? picoseconds(piece, "weight_seconds") : 0;
		checking->forward_link[k] = pipelined->forward_link ? picoseconds(piece, "forward_link_seconds") : 0;
		checking->backward_link[k] = pipelined->forward_link ? picoseconds(piece, "backward_link_seconds") : 0;
		TRY(check_pipeline_number(checking, piece, "rank", piece_rank(k, pipelined->ranks, pipelined->folded)));
		TRY(same_text(checking, piece, "first", of->first));
		TRY(same_text(checking, piece, "last", of->last));
		TRY(check_pipeline_number(checking, piece, "ops", of->ops));
		TRY(check_pipeline_number(checking, piece, "kept_bytes", of->kept));
		TRY(check_pipeline_number(checking, piece, "in_flight", of->in_flight.weight));
		TRY(check_pipeline_number(checking, piece, "sent_bytes", of->sent));
		if (pipelined->split)
			TRY(check_parts(checking, piece, k));
		if (!(check_pipeline_alike(checking->forward[k], of->forward) &&
				check_pipeline_alike(checking->backward[k], of->backward) &&
				check_pipeline_alike(checking->send[k], of->send) &&
				check_pipeline_alike(checking->forward_link[k], of->forward_link) &&
				check_pipeline_alike(checking->backward_link[k], of->backward_link)))
			return fail(checking->error, INFEASIBLE, "shard.pipeline.pieces[%u] takes another time than its ops", k);
	}
	return OK;
}

/* The step: the schedule's time, what the slowest rank exposes, and its update. */
static enum status check_step(struct checking *checking)
{
	const struct pipelined *pipelined = checking->pipelined;
	struct pipeline pipeline = { .schedule = pipelined->schedule,
		.ranks = pipelined->ranks,
		.chunks = pipelined->chunks,
		.microbatches = pipelined->microbatches,
		.forward = checking->forward,
		.backward = checking->backward,
		.weight = checking->weight,
		.send = checking->send,
		.order = checking->order.order.slot ? &checking->order.order : NULL,
		.forward_link = checking->forward_link,
		.backward_link = checking->backward_link };
	int64_t rest = 0, time = pipeline_check_time(&pipeline, checking->held, checking->counts),
			step = picoseconds(checking->shard, "step_seconds");
	const json_t *stage;
	size_t i;
	json_array_foreach(json_object_get(checking->shard, "stages"), i, stage) {
		int64_t next = picoseconds(stage, "exposed_seconds") + picoseconds(stage, "update_seconds");
		rest = LARGER(next, rest);
	}
	if (time < 0)
		return pipeline.order ? fail(checking->error, INFEASIBLE, "shard.pipeline.order can't be played")
			: fail_memory(checking->error);
	if (!check_pipeline_alike(step, time + rest))
		return fail(checking->error, INFEASIBLE, "shard.step_seconds is %.12f, but the schedule takes %.12f",
			(double)step * 1e-12, (double)(time + rest) * 1e-12);
	return OK;
}

/* A number of bytes; what is none, or out of range, is so large that no sum with it is right. */
static int64_t bytes_in(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	bool possible = json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= BYTES_MAX;
	return possible ? json_integer_value(value) : BYTES_MAX / KIND_COUNT;
}

/* Every rank's bytes: what is there through the step, and in how many copies. */
static enum status check_stages(struct checking *checking)
{
	const struct pipelined *pipelined = checking->pipelined;
	const json_t *stages = json_object_get(checking->shard, "stages"), *stage;
	size_t r;
	if (json_array_size(stages) != pipelined->ranks)
		return fail(checking->error, INFEASIBLE, "shard.stages has %zu entries, but there are %u ranks",
			json_array_size(stages), pipelined->ranks);
	json_array_foreach(stages, r, stage) {
		const struct pipeline_rank *rank = &pipelined->rank[r];
		int64_t peak = bytes_in(stage, "peak_bytes"), sum = bytes_in(stage, "workspace");
		TRY(check_pipeline_number(checking, stage, "rank", (int64_t)r));
		TRY(check_pipeline_number(checking, stage, "in_flight_bytes", rank->kept));
		TRY(check_pipeline_number(checking, stage, "alike", rank->alike));
		TRY(check_pipeline_same_time(checking, stage, "exposed_seconds", rank->exposed));
		TRY(check_pipeline_same_time(checking, stage, "update_seconds", rank->update));
		FOR_INT(kind, KIND_COUNT)
			sum += bytes_in(stage, kind_names[kind]);
		if (sum != peak)
			return fail(checking->error, INFEASIBLE,
				"the kinds of shard.stages[%zu] are %" PRId64 " bytes, its peak %" PRId64, r, sum, peak);
		if (peak < graph_floor(rank->graph))
			return fail(checking->error, INFEASIBLE,
				"shard.stages[%zu] has a peak of %" PRId64 " bytes: less than what it holds", r, peak);
	}
	return OK;
}

/* A rank's passes and its update on streams: every op begins when it can and no earlier, and what is said of its pieces
 * and of the rest adds up to the end of the last one. */
static enum status check_pipeline_clock(const struct checking *checking, const struct step_costs *costs, uint32_t r)
{
	const struct pipelined *pipelined = checking->pipelined;
	OWN(rank_clock) passes = { 0 };
	OWN(rank_clock) whole = { 0 };
	int64_t sum = 0;
	TRY(rank_clock_find(&pipelined->cut, costs, r, false, &passes, &passes));
	TRY(rank_clock_find(&pipelined->cut, costs, r, true, &passes, &whole));
	TRY(step_time_check(&passes.model, &passes.time, checking->error));
	TRY(step_time_check(&whole.model, &whole.time, checking->error));
	FOR(k, pipelined->ranks * pipelined->chunks)
		if (piece_rank(k, pipelined->ranks, pipelined->folded) == r)
			sum += pipelined->piece[k].forward + pipelined->piece[k].backward;
	if (sum != passes.time.total || whole.model.ahead > pipelined->ahead ||
		pipelined->rank[r].exposed + pipelined->rank[r].update != larger_of(0, whole.time.total - sum))
		return fail(checking->error, INFEASIBLE, "pipeline rank %u takes %.12f s for a microbatch, and %.12f with the update",
			r, (double)passes.time.total * 1e-12, (double)whole.time.total * 1e-12);
	return OK;
}

/* Of ranks that do the same the first. */
static enum status check_pipeline_clocks(const struct checking *checking, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules)
{
	const struct pipelined *pipelined = checking->pipelined;
	OWN(arena) arena = { 0 };
	struct step_costs costs;
	enum status status = plan_costs_find(pipelined->device, sharded, scenario, rules, &arena, &costs);
	FOR_WHILE(r, pipelined->ranks, status == OK)
		status = pipelined->rank[r].twin == r ? check_pipeline_clock(checking, &costs, r) : OK;
	return status == NO_MEMORY ? fail_memory(checking->error) : status;
}

static enum status check_pipeline_all(struct checking *checking, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules)
{
	const struct pipelined *pipelined = checking->pipelined;
	uint32_t pieces = pipelined->ranks * pipelined->chunks;
	bool ordered = pipelined->split || pipelined->schedule == SCHEDULE_FILE;
	struct graph **rank;
	if (!ROOMS(&checking->arena, pipelined->ranks, rank, checking->held) ||
		!ROOMS(&checking->arena, pieces, checking->forward, checking->backward, checking->weight, checking->send,
			checking->forward_link, checking->backward_link, checking->counts))
		return fail_memory(checking->error);
	TRY(check_head(checking));
	TRY(read_pieces(checking));
	TRY(check_pipeline_clocks(checking, sharded, scenario, rules));
	TRY(ordered ? check_pipeline_read_order(checking) : OK);
	TRY(check_step(checking));
	TRY(ordered ? check_counts(checking) : OK);
	FOR(r, pipelined->ranks)
		rank[r] = pipelined->rank[r].graph;
	TRY(pipeline_check_ranks(pipelined->device, rules, rank, pipelined->ranks, pipelined->microbatches, checking->held,
		checking->error));
	return check_stages(checking);
}

enum status pipeline_check_claims(const json_t *shard, const struct pipelined *pipelined, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules, struct error *error)
{
	struct checking checking = {
		.shard = shard, .pipeline = json_object_get(shard, "pipeline"), .pipelined = pipelined, .error = error
	};
	enum status status = check_pipeline_all(&checking, sharded, scenario, rules);
	schedule_csv_free(&checking.order);
	arena_free(&checking.arena);
	return status;
}
