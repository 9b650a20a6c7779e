/* shard.c: verifies the "shard" part of a plan file: nothing here knows how a sharding was found. */
#include <inttypes.h>
#include <math.h>

#include "src/write/plan_json.h"
#include "state.h"

enum status shard_decision(void *context, const struct units *units, struct sharding *sharding, struct error *error)
{
	const struct shard_claim *claim = context;
	return shard_read_json(claim->shard, claim->scenario, units, sharding, error);
}

static enum status check_shard_expect(const json_t *shard, const char *key, int64_t expected, struct error *error)
{
	const json_t *number = json_object_get(shard, key);
	if (!json_is_integer(number))
		return refuse(error, "not a plan file: shard.%s is not an integer", key);
	if (json_integer_value(number) != expected)
		return fail(error, INFEASIBLE, "shard.%s is %" PRId64 ", but it must be %" PRId64, key,
			(int64_t)json_integer_value(number), expected);
	return OK;
}

/* What the collectives of a device's graph say that they move, and how many there are per kind. */
static int64_t moved_bytes(const struct graph *graph)
{
	int64_t sum = 0;
	FOR(op, graph->ops)
		sum += graph->op[op].collective && graph->op[op].collective->moved > 0 ? graph->op[op].collective->moved : 0;
	return sum;
}

/* What ops send themselves when they are split along some units (a softmax over a sharded vocabulary), every time that
 * they run. */
static int64_t moved_inside(const struct sharded *sharded, const struct graph *graph)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	int64_t sum = 0;
	FOR(run, graph->ops) {
		uint32_t op = sharded_op(sharded, graph, run, NULL);
		for (uint32_t a = 0; op != NONE && a < mesh->axes; a++) {
			int8_t unit = sharded->sharding.split[op].on[a];
			if (unit < 0 || units->unit[units->unit_start[op] + (uint32_t)unit].inside == 0)
				continue;
			int64_t points = unit_inside_bytes(units, mesh, op, sharded->sharding.split[op], a);
			sum += units->unit[units->unit_start[op] + (uint32_t)unit].inside *
				collective_bytes(&mesh->axis[a], COLLECTIVE_ALL_REDUCE, points);
		}
	}
	return sum;
}

static enum status check_collectives(const json_t *shard, struct error *error)
{
	const json_t *list = json_object_get(shard, "collectives"), *row;
	int64_t sum = 0;
	size_t i;
	json_array_foreach(list, i, row)
		if (__builtin_add_overflow(sum, (int64_t)json_integer_in(row, "bytes"), &sum))
			return fail(error, INFEASIBLE, "shard.collectives: the bytes add up to too much");
	return check_shard_expect(shard, "comm_bytes", sum, error);
}

/* Seconds are written with all twelve digits of a picosecond. */
static enum status check_seconds(const json_t *object, const char *key, int64_t picoseconds, struct error *error)
{
	double seconds = json_number_in(object, key), expected = (double)picoseconds * 1e-12;
	if (!json_is_number(json_object_get(object, key)) || seconds < expected * (1 - 1e-9) ||
		seconds > expected * (1 + 1e-9))
		return fail(error, INFEASIBLE, "shard.%s is %.12f, but it must be %.12f", key, seconds, expected);
	return OK;
}

/* Exact up to 9,000 s. */
static int64_t picoseconds_of(const json_t *seconds)
{
	double value = json_number_value(seconds) * 1e12;
	return fabs(value) < 9e18 ? llround(value) : -1;
}

enum status shard_check_time(
	const json_t *shard, const struct sharded *sharded, const struct plan_time *time, struct error *error)
{
	TRY(step_time_check(&time->model, &time->time, error));
	const json_t *streams = json_object_get(shard, "streams");
	TRY(check_seconds(shard, "step_seconds", time->whole.total, error));
	TRY(check_shard_expect(shard, "gathered_ahead_bytes", time->model.ahead, error));
	if (json_array_size(streams) != time->model.streams)
		return fail(error, INFEASIBLE, "shard.streams must have %u entries", time->model.streams);
	FOR(s, time->model.streams) {
		const json_t *stream = json_array_get(streams, s);
		const char *name = json_text_in(stream, "stream");
		if (!text_is(name, plan_time_stream(sharded, s)))
			return fail(error, INFEASIBLE, "shard.streams[%u] is not called \"%.60s\"", s, plan_time_stream(sharded, s));
		TRY(check_seconds(stream, "busy_seconds", time->whole.busy[s], error));
		TRY(check_seconds(stream, "exposed_seconds", time->whole.exposed[s], error));
		TRY(check_seconds(stream, "idle_seconds", time->whole.total - time->whole.busy[s], error));
	}
	return OK;
}

/* A member that must be an integer between least and most. */
static bool read_between(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *value)
{
	const json_t *number = json_object_get(object, key);
	*value = json_integer_value(number);
	return json_is_integer(number) && *value >= least && *value <= most;
}

static bool read_station(const json_t *item, const struct step_model *model, struct step_station *station)
{
	int64_t op, stream;
	bool fine = read_between(item, "op", -1, (int64_t)model->ops - 1, &op) &&
		read_between(item, "stream", 0, model->streams - 1, &stream) &&
		read_between(item, "head_picoseconds", 0, BYTES_MAX, &station->head) &&
		read_between(item, "tail_picoseconds", 0, BYTES_MAX, &station->tail);
	station->op = fine && op >= 0 ? (uint32_t)op : NONE;
	station->stream = fine ? (uint32_t)stream : 0;
	return fine;
}

enum status shard_check_step_bound(const json_t *claimed, const struct plan_time *time, struct error *error)
{
	const json_t *stations = json_object_get(claimed, "stations");
	size_t count = json_array_size(stations);
	HELD struct step_station *MAKE(station, count);
	struct step_bound bound = { .stations = (uint32_t)count, .station = station };
	NEEDED(error, station);
	if (!read_between(claimed, "picoseconds", 0, BYTES_MAX, &bound.bound) || !json_is_array(stations) ||
		count > time->model.ops + (size_t)1)
		return refuse(error, "not a plan file: shard.step_bound needs picoseconds and stations");
	FOR_SIZE(i, count)
		if (!read_station(json_array_get(stations, i), &time->model, &station[i]))
			return refuse(error, "not a plan file: shard.step_bound.stations[%zu] is not a station of this step", i);
	TRY(check_seconds(claimed, "seconds", bound.bound, error));
	if (bound.bound > time->time.total)
		return fail(error, INFEASIBLE, "shard.step_bound is above the step, %.12f s", (double)time->time.total * 1e-12);
	return step_bound_check(&time->model, &bound, error) != OK ? error_set(error, INFEASIBLE) : OK;
}

enum status shard_check(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error)
{
	TRY(check_shard_expect(shard, "redundant_bytes", sharded->cost.redundant, error));
	TRY(check_shard_expect(shard, "staying_bytes", sharded->cost.usage, error));
	TRY(check_seconds(shard, "estimated_seconds", sharding_estimate(&sharded->cost), error));
	TRY(check_seconds(shard, "compute_seconds", sharded->cost.compute, error));
	TRY(check_shard_expect(shard, "comm_bytes", moved_bytes(graph) + moved_inside(sharded, graph), error));
	return check_collectives(shard, error);
}

/* What the bound is a mixture of: of every class the percentages of the axes. What they leave of 100 is the share of
 * the sum in which nothing runs side by side. */
static enum status read_mixture(const json_t *certificate, uint32_t axes, struct mixture *mixture, struct error *error)
{
	const json_t *shares = json_object_get(certificate, "over_percent");
	*mixture = (struct mixture) { 0 };
	if (shares && json_array_size(shares) != (size_t)HIDINGS * axes)
		return refuse(error, "not a plan file: the sharding's over_percent must be %u percentages", HIDINGS * axes);
	FOR_SIZE(i, json_array_size(shares)) {
		const json_t *percent = json_array_get(shares, i);
		uint32_t k = (uint32_t)(i / axes);
		if (!json_is_integer(percent) || json_integer_value(percent) < 0 ||
			json_integer_value(percent) > 100 - mixture->over[k])
			return refuse(error,
				"not a plan file: the sharding's over_percent must be percentages, of every class 100 at most");
		mixture->axis[k][i % axes] = (uint8_t)json_integer_value(percent);
		mixture->over[k] += mixture->axis[k][i % axes];
	}
	return OK;
}

/* What a certificate's multiplier shows, in integers, against costs of the graph. *shown: the bound that it shows of
 * all plans; -1: none. */
static enum status check_price(const json_t *certificate, struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct mixture *mixture, int64_t *shown,
	struct error *error)
{
	const json_t *multiplier = json_object_get(certificate, "multiplier"),
				 *limit = json_object_get(certificate, "limit_bytes");
	const json_t *beta = json_array_get(multiplier, 0), *alpha = json_array_get(multiplier, 1),
				 *claim = json_object_get(certificate, "bound_seconds");
	int64_t bound;
	bool whole;
	*shown = -1;
	if (!multiplier)
		return OK;
	if (!json_is_integer(beta) || !json_is_integer(alpha) || !json_is_integer(limit) || !json_is_number(claim))
		return refuse(error, "not a plan file: the sharding's certificate is malformed");
	struct price price = {
		.alpha = json_integer_value(alpha), .beta = json_integer_value(beta), .limit = json_integer_value(limit)
	};
	enum status status = shard_price_again(stage, sharded, scenario, wish, &price, mixture, &bound, &whole, error);
	if (status == LIMIT)
		return OK;
	if (status == OK && bound != picoseconds_of(claim))
		return fail(error, INFEASIBLE, "the sharding's multiplier shows a bound of %.12f s, not %.12f",
			(double)bound * 1e-12, json_number_value(claim));
	*shown = status == OK && whole ? bound : -1;
	return status == BAD_INPUT ? INFEASIBLE : status;
}

/* Words that nothing else in the file explains come from these. */
static enum status check_bound_words(const json_t *shard, const struct scenario *scenario, struct error *error)
{
	const json_t *certificate = json_object_get(shard, "certificate"),
				 *limit = json_object_get(certificate, "limit_bytes");
	const char *by = json_text_in(certificate, "by"),
			   *among = json_text_in(shard, "among"),
			   *quantity = json_text_in(shard, "quantity");
	enum quantity of = scenario_microbatches(scenario) > 1 ? QUANTITY_MICROBATCH : QUANTITY_ESTIMATE;
	if (!by || !sharding_proves_by(by))
		return fail(error, INFEASIBLE, "shard.certificate.by does not name a kind of bound");
	if (!text_is(quantity, quantity_names[of]))
		return fail(error, INFEASIBLE, "shard.quantity must be \"%s\"", quantity_names[of]);
	bool known = text_is(among, shard_bound_among(scenario, limit ? json_integer_value(limit) : -1));
	known |= among && !limit && text_is(among, shard_bound_among(scenario, 0));
	return known ? OK : fail(error, INFEASIBLE, "shard.among is not what the bound is of");
}

enum status shard_check_bound(const json_t *shard, struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, bool planned_again, const char **how,
	struct error *error)
{
	const json_t *claim = json_object_get(shard, "bound_seconds"), *certificate = json_object_get(shard, "certificate");
	int64_t shown, cost = sharding_estimate(&sharded->cost);
	*how = NULL;
	if (!json_is_number(claim)) {
		const char *by = json_text_in(certificate, "by");
		bool none = json_is_null(claim) && json_is_null(json_object_get(shard, "gap")) && by &&
			text_is(by, sharded->shown.proof.by) && json_is_false(json_object_get(shard, "proved"));
		return none ? OK : fail(error, INFEASIBLE, "shard says that something is proved, but has no bound");
	}
	TRY(check_bound_words(shard, scenario, error));
	TRY(check_seconds(shard, "value_seconds", cost, error));
	if (json_true_in(shard, "proved") != (picoseconds_of(claim) == cost))
		return fail(error, INFEASIBLE, "shard.proved or shard.bound_seconds contradicts the estimate");
	if (picoseconds_of(claim) < 0 || picoseconds_of(claim) > cost)
		return fail(error, INFEASIBLE, "shard.bound_seconds is not a bound of shard.value_seconds");
	double gap = json_number_in(shard, "gap"),
		   expected = cost > 0 ? (double)(cost - picoseconds_of(claim)) / (double)cost : 0;
	if (fabs(gap - expected) > 1e-8)
		return fail(error, INFEASIBLE, "shard.gap is %.9f, but it must be %.9f", gap, expected);
	struct mixture mixture;
	struct shown again;
	TRY(read_mixture(certificate, sharded->sharding.mesh.axes, &mixture, error));
	TRY(check_price(certificate, stage, sharded, scenario, wish, &mixture, &shown, error));
	*how = "the sharding's bound, by its multiplier: in integers, every layer by itself";
	if (shown >= picoseconds_of(claim))
		return OK;
	*how = json_object_get(certificate, "multiplier")
		? "the sharding's bound: its multiplier's part in integers, the rest searched again"
		: "the sharding's bound, searched again";
	if (planned_again) { /* that searches, too, and its bound is compared with the file's */
		*how = "the sharding's bound against its value and its multiplier; it is searched again where the scenario is "
			   "planned again";
		return OK;
	}
	TRY(shard_bound_again(stage, sharded, scenario, wish, &mixture, &again, error));
	return again.proof.bound >= picoseconds_of(claim) ? OK : fail(error, INFEASIBLE,
		"the sharding's bound of %.12f s could not be confirmed by searching again", json_number_value(claim));
}
