/* shard_json.c: the "shard" part of plan files. */
#include <inttypes.h>

#include "plan_json.h"
#include "src/scenario/knobs.h"
#include "src/stages/shard/stage.h"

/* ---- writing ---- */

static void shard_json_write_seconds(struct json *json, const char *key, int64_t picoseconds)
{
	json_write_decimal(json, key, picoseconds, 12);
}

/* A member on a line of its own: an array or an object. */
static void open_array(struct json *json, const char *key)
{
	json_new_line(json, 2);
	json_open_array(json, key);
}

static void open_object(struct json *json, const char *key)
{
	json_new_line(json, 2);
	json_open_object(json, key);
}

/* An item of such an array. */
static void open_item(struct json *json)
{
	json_new_line(json, 3);
	json_open_object(json, NULL);
}

/* A list for each axis of the mesh, without spaces: there are many. */
static void shard_json_open_axes(struct json *json, const char *name)
{
	json_new_line(json, 3);
	json_open_array(json, name);
	json->spaced = false;
}

static void close_axes(struct json *json)
{
	json_close(json);
	json->spaced = true;
}

static void write_mesh(const struct mesh *mesh, struct json *json)
{
	json_open_object(json, "mesh");
	FOR(a, mesh->axes)
		json_write_integer(json, mesh->axis[a].name, mesh->axis[a].size);
	json_close(json);
}

static void shard_json_write_placements(const struct sharded *sharded, struct json *json)
{
	const struct graph *graph = sharded->shared->graph;
	open_object(json, "placements");
	FOR(t, graph->tensors) {
		shard_json_open_axes(json, graph->tensor[t].name);
		FOR(a, sharded->sharding.mesh.axes)
			json_write_text(json, NULL,
				placement_text(&sharded->shared->units, t, sharded->sharding.produced[t].on[a], TEXT(40)));
		close_axes(json);
	}
	json_close(json);
}

static bool splits(const struct mesh *mesh, struct split split)
{
	FOR(a, mesh->axes)
		if (split.on[a] != UNIT_NONE)
			return true;
	return false;
}

/* Per op and axis the number of the unit that is split, "P" where partial sums pass, null where nothing is split. */
static void write_splits(const struct sharded *sharded, struct json *json)
{
	const struct graph *graph = sharded->shared->graph;
	const struct mesh *mesh = &sharded->sharding.mesh;
	open_object(json, "splits");
	FOR(op, graph->ops) {
		struct split split = sharded->sharding.split[op];
		if (!splits(mesh, split))
			continue;
		shard_json_open_axes(json, graph->op[op].name);
		FOR(a, mesh->axes)
			if (split.on[a] >= 0)
				json_write_integer(json, NULL, split.on[a]);
			else
				json_write_text(json, NULL, split.on[a] == UNIT_PARTIAL ? "P" : NULL);
		close_axes(json);
	}
	json_close(json);
}

static void write_axes(const struct mesh *mesh, const char *key, uint8_t mask, struct json *json)
{
	open_array(json, key);
	FOR(a, mesh->axes)
		if (mask >> a & 1)
			json_write_text(json, NULL, mesh->axis[a].name);
	json_close(json);
}

static void write_traffic(const struct plan *plan, struct json *json)
{
	const struct mesh *mesh = &plan->sharded->sharding.mesh;
	open_array(json, "collectives");
	FOR(a, mesh->axes)
		FOR_INT(c, COLLECTIVE_COUNT) {
			const struct traffic *traffic = &plan->traffic.of[a][c];
			if (traffic->count == 0)
				continue;
			open_item(json);
			json_write_text(json, "axis", mesh->axis[a].name);
			json_write_text(json, "collective", collective_names[c]);
			json_write_integer(json, "count", traffic->count);
			json_write_integer(json, "bytes", traffic->bytes);
			shard_json_write_seconds(json, "seconds", traffic->time);
			json_close(json);
		}
	json_close(json);
}

/* No order of the graph takes less; a station's op beyond the graph's is a collective inside one, -1 the end of the
 * step. */
static void write_step_bound(const struct step_bound *bound, struct json *json)
{
	open_object(json, "step_bound");
	shard_json_write_seconds(json, "seconds", bound->bound);
	json_write_integer(json, "picoseconds", bound->bound);
	open_array(json, "stations");
	FOR(i, bound->stations) {
		const struct step_station *station = &bound->station[i];
		open_item(json);
		json_write_integer(json, "op", station->op == NONE ? -1 : (int64_t)station->op);
		json_write_integer(json, "stream", station->stream);
		json_write_integer(json, "head_picoseconds", station->head);
		json_write_integer(json, "tail_picoseconds", station->tail);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

/* What each stream of a device does in the simulated step. */
static void write_streams(const struct plan *plan, struct json *json)
{
	const struct step_whole *time = &plan->time->whole;
	open_array(json, "streams");
	FOR(s, plan->time->model.streams) {
		open_item(json);
		json_write_text(json, "stream", plan_time_stream(plan->sharded, s));
		shard_json_write_seconds(json, "busy_seconds", time->busy[s]);
		shard_json_write_seconds(json, "exposed_seconds", time->exposed[s]);
		shard_json_write_seconds(json, "idle_seconds", time->total - time->busy[s]);
		json_close(json);
	}
	json_close(json);
	json_new_line(json, 2);
	json_write_integer(json, "gathered_ahead_bytes", plan->time->model.ahead);
	if (plan->time->bound.bound > 0)
		write_step_bound(&plan->time->bound, json);
}

/* What the bound rests on. */
static void shard_json_write_certificate(const struct shown *shown, uint32_t axes, struct json *json)
{
	const struct price *price = &shown->price;
	json_open_object(json, "certificate");
	json_write_text(json, "by", shown->proof.by);
	if (shown->proof.quantity != QUANTITY_NONE && price->alpha > 0) {
		json_open_array(json, "multiplier");
		json_write_integer(json, NULL, price->beta);
		json_write_integer(json, NULL, price->alpha);
		json_close(json);
		json_write_integer(json, "limit_bytes", price->limit);
		shard_json_write_seconds(json, "bound_seconds", price->priced);
	}
	if (shown->proof.quantity != QUANTITY_NONE) {
		json_open_array(json, "over_percent");
		FOR_INT(k, HIDINGS)
			FOR(a, axes)
				json_write_integer(json, NULL, shown->mixture.axis[k][a]);
		json_close(json);
	}
	json_close(json);
}

/* What was minimised, in which quantity, and how far from the least it is. */
static void write_proof(const struct plan *plan, struct json *json)
{
	const struct proof *proof = &plan->shown.proof;
	json_new_line(json, 2);
	if (proof->quantity == QUANTITY_NONE) {
		json_write_null(json, "bound_seconds");
		json_write_null(json, "gap");
	} else {
		json_write_text(json, "quantity", quantity_names[proof->quantity]);
		json_write_text(json, "among", shard_bound_among(&plan->scenario, plan->shown.price.limit));
		shard_json_write_seconds(json, "value_seconds", proof->value);
		shard_json_write_seconds(json, "bound_seconds", proof->bound);
		json_write_real(
			json, "gap", proof->value > 0 ? (double)(proof->value - proof->bound) / (double)proof->value : 0.0, 9);
	}
	json_write_bool(json, "proved", proof_closed(proof));
	shard_json_write_certificate(&plan->shown, plan->sharded->sharding.mesh.axes, json);
}

/* What was looked at: the space, ops decided once with their copies, and of TAP's patterns how many were routed. */
static void shard_json_write_search(const struct sharded *sharded, struct json *json)
{
	open_object(json, "search");
	json_write_text(json, "space", sharded->space);
	json_write_integer(json, "folded_ops", sharded->folded);
	json_write_integer(json, "patterns", sharded->patterns);
	json_close(json);
}

static void write_candidates(const struct sharded *sharded, struct json *json)
{
	open_array(json, "candidates");
	FOR(i, sharded->candidates) {
		const struct shard_candidate *candidate = &sharded->candidate[i];
		open_item(json);
		json_write_text(json, "text", candidate->text);
		if (candidate->possible)
			shard_json_write_seconds(json, "step_seconds", candidate->time);
		if (candidate->possible && candidate->usage >= 0)
			json_write_integer(json, "staying_bytes", candidate->usage);
		json_write_bool(json, "possible", candidate->possible);
		json_write_bool(json, "chosen", candidate->chosen);
		json_close(json);
	}
	json_close(json);
}

/* What frameworks call the places of the tensors that are there from the start. */
static void write_annotations(const struct sharded *sharded, struct json *json)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	open_object(json, "annotations");
	FOR(t, units->graph->tensors) {
		struct placement placement = sharded->sharding.produced[t];
		if (units->graph->tensor[t].writer != NONE || units->graph->tensor[t].alias != NONE)
			continue;
		json_new_line(json, 3);
		json_open_object(json, units->graph->tensor[t].name);
		json_write_text(json, "dtensor", sharding_dtensor(units, mesh, t, placement, TEXT(400)));
		json_write_text(json, "partition_spec", sharding_partition_spec(units, mesh, t, placement, TEXT(400)));
		json_write_text(json, "hlo", sharding_hlo(units, mesh, t, placement, TEXT(400)));
		json_close(json);
	}
	json_close(json);
}

static void write_unsplit(struct json *json)
{
	json_open_object(json, "mesh");
	json_close(json);
	json_open_object(json, "placements");
	json_close(json);
	json_write_integer(json, "redundant_bytes", 0);
	json_write_integer(json, "comm_bytes", 0);
}

static void write_costs(const struct plan *plan, struct json *json)
{
	const struct sharded *sharded = plan->sharded;
	json_write_integer(json, "redundant_bytes", sharded->cost.redundant);
	json_write_integer(json, "comm_bytes", plan->traffic.bytes);
	shard_json_write_seconds(json, "step_seconds", plan_step_time(plan));
	shard_json_write_seconds(json, "estimated_seconds", sharding_estimate(&sharded->cost));
	shard_json_write_seconds(json, "compute_seconds", sharded->cost.compute);
	json_write_integer(json, "staying_bytes", sharded->cost.usage);
	json_write_integer(json, "kept_bytes", sharded->cost.kept);
	json_write_integer(json, "saved_bytes", sharded->cost.saved);
	json_write_integer(json, "gradient_bytes", sharded->cost.gradients);
}

void shard_write_json(const struct plan *plan, struct json *json)
{
	const struct sharded *sharded = plan->sharded;
	if (!sharded) {
		write_unsplit(json);
		return;
	}
	write_mesh(&sharded->sharding.mesh, json);
	write_costs(plan, json);
	bool whole = !plan_cut_short(plan);
	if (whole && plan->compared > 1)
		json_write_integer(json, "compared", plan->compared);
	write_proof(plan, json);
	write_traffic(plan, json);
	if (plan->time)
		write_streams(plan, json);
	if (whole && sharded->space)
		shard_json_write_search(sharded, json);
	if (whole && sharded->candidates)
		write_candidates(sharded, json);
	write_axes(&sharded->sharding.mesh, "late_axes", sharded->sharding.late_axes, json);
	write_axes(&sharded->sharding.mesh, "each_axes", sharded->sharding.each_axes, json);
	write_axes(&sharded->sharding.mesh, "regather_axes", sharded->sharding.regather_axes, json);
	write_splits(sharded, json);
	shard_json_write_placements(sharded, json);
	write_annotations(sharded, json);
}

/* ---- reading ---- */

struct reading {
	const json_t *shard;
	const struct units *units;
	struct sharding *sharding;
	struct error *error;
};

static enum status shard_json_read_mesh(
	const json_t *json, const struct scenario *scenario, struct mesh *mesh, struct error *error)
{
	static const enum knob_id knob[] = { K_dp, K_cp, K_ep, K_tp };
	struct degrees degrees = { 1, 1, 1, 1, 1 };
	int64_t *const degree[] = { &degrees.dp, &degrees.cp, &degrees.ep, &degrees.tp };
	struct axis_roles roles[MESH_AXES];
	int64_t devices = 1, copies = scenario_copies(scenario);
	const json_t *said = json_object_get(json, MESH_REPLICATE);
	size_t found = said != NULL;
	if (said ? json_integer_value(said) != copies : copies > 1)
		return fail(error, INFEASIBLE, "shard.mesh." MESH_REPLICATE " is not what the scenario asks for");
	FOR_INT(i, 4) {
		const json_t *size = json_object_get(json, knobs[knob[i]].name);
		int64_t times = knob[i] == K_dp ? copies : 1;
		if (!size && times == 1)
			continue;
		found += size != NULL;
		if (size && (json_integer_value(size) < 2 || json_integer_value(size) > scenario->value[K_devices]))
			return fail(error, INFEASIBLE, "shard.mesh.%s has an impossible size", knobs[knob[i]].name);
		*degree[i] = (size ? json_integer_value(size) : 1) * times;
		if (*degree[i] > scenario->value[K_devices] || __builtin_mul_overflow(devices, *degree[i], &devices))
			return fail(error, INFEASIBLE, "shard.mesh.%s has an impossible size", knobs[knob[i]].name);
		if (scenario->value[knob[i]] != KNOB_GIVEN && scenario->value[knob[i]] != *degree[i])
			return fail(error, INFEASIBLE, "shard.mesh.%s is not what the scenario asks for", knobs[knob[i]].name);
	}
	if (found != json_object_size(json))
		return refuse(error, "not a plan file: shard.mesh has an unknown axis");
	int64_t there = scenario->value[K_devices] / LARGER(scenario->value[K_pp], 1);
	if (scenario->value[K_strategy] == 0 ? devices > there : devices != there)
		return fail(error, INFEASIBLE, "the mesh has %" PRId64 " devices, the scenario %" PRId64, devices, there);
	mesh_of_degrees(scenario, &degrees, mesh, roles);
	return OK;
}

static enum status read_axes(struct reading *reading, const char *key, uint8_t *mask)
{
	const json_t *name;
	size_t i;
	json_array_foreach(json_object_get(reading->shard, key), i, name) {
		uint32_t axis = json_is_string(name) ? mesh_axis_named(&reading->sharding->mesh, json_string_value(name)) : NONE;
		if (axis == NONE || *mask >> axis)
			return refuse(reading->error,
				"not a plan file: shard.%s must name axes of the mesh, each once and in its order", key);
		*mask |= (uint8_t)(1u << axis);
	}
	return OK;
}

static enum status read_split(struct reading *reading, uint32_t op, const json_t *list)
{
	const struct units *units = reading->units;
	const struct mesh *mesh = &reading->sharding->mesh;
	const char *name = units->graph->op[op].name;
	struct split split;
	memset(&split, UNIT_NONE, sizeof split);
	if (json_array_size(list) != mesh->axes)
		return refuse(reading->error, "not a plan file: the split of \"%.100s\" needs one word for each axis", name);
	FOR(a, mesh->axes) {
		const json_t *word = json_array_get(list, a);
		bool partial = json_is_string(word) && text_is(json_string_value(word), "P");
		json_int_t unit = json_is_integer(word) ? json_integer_value(word) : partial ? UNIT_PARTIAL : UNIT_NONE;
		if (!partial && !json_is_integer(word) && !json_is_null(word))
			return refuse(reading->error,
				"not a plan file: the split of \"%.100s\" has a word that is not a unit, \"P\" or null", name);
		if (unit >= unit_count(units, op) || unit > INT8_MAX || (json_is_integer(word) && unit < 0))
			return fail(reading->error, INFEASIBLE, "op \"%.100s\" has no unit %lld to split", name, (long long)unit);
		if (unit == UNIT_PARTIAL && !units->linear[op])
			return fail(reading->error, INFEASIBLE, "op \"%.100s\" can't pass partial sums on: it is not linear", name);
		split.on[a] = (int8_t)unit;
	}
	if (!split_divides(units, mesh, op, split))
		return fail(reading->error, INFEASIBLE, "op \"%.100s\" can't be cut into that many pieces", name);
	sharding_set(reading->sharding, units, op, split);
	return OK;
}

static enum status read_splits(struct reading *reading)
{
	const struct graph *graph = reading->units->graph;
	const json_t *list;
	const char *name;
	json_object_foreach((json_t *)(uintptr_t)json_object_get(reading->shard, "splits"), name, list) {
		uint32_t op = graph_find_op(graph, name);
		if (op == NONE)
			return fail(reading->error, INFEASIBLE, "shard.splits names \"%.100s\", which is not an op of the graph", name);
		TRY(read_split(reading, op, list));
	}
	return OK;
}

/* "R", "P", "S(1)", "S(1:3)": what placement_text() writes. False for anything else. */
static bool parse_place(const struct units *units, uint32_t tensor, const char *text, int8_t *on)
{
	uint32_t parts = units->part_start[tensor + 1] - units->part_start[tensor];
	for (int i = PLACE_PARTIAL; i < (int)parts && text; i++) {
		*on = (int8_t)i;
		if (text_is(placement_text(units, tensor, *on, TEXT(40)), text))
			return true;
	}
	return false;
}

static enum status read_placement(struct reading *reading, uint32_t tensor, const json_t *list)
{
	const struct units *units = reading->units;
	const struct mesh *mesh = &reading->sharding->mesh;
	const char *name = units->graph->tensor[tensor].name;
	struct placement placement = reading->sharding->produced[tensor];
	if (json_array_size(list) != mesh->axes)
		return refuse(reading->error, "not a plan file: \"%.100s\" has no placement for each axis", name);
	FOR(a, mesh->axes) {
		const char *word = json_string_value(json_array_get(list, a));
		if (!parse_place(units, tensor, word, &placement.on[a]))
			return fail(reading->error, INFEASIBLE, "tensor \"%.100s\" can't be placed as %.40s on %s", name,
				word ? word : "this", mesh->axis[a].name);
	}
	if (!placement_divides(units, mesh, tensor, placement))
		return fail(reading->error, INFEASIBLE, "tensor \"%.100s\" can't be cut into that many pieces", name);
	if (units->graph->tensor[tensor].writer != NONE && !placement_equal(placement, reading->sharding->produced[tensor]))
		return fail(reading->error, INFEASIBLE,
			"tensor \"%.100s\" is placed otherwise than the split of \"%.100s\" makes it", name,
			units->graph->op[units->graph->tensor[tensor].writer].name);
	reading->sharding->produced[tensor] = placement;
	return OK;
}

static enum status read_placements(struct reading *reading)
{
	const struct graph *graph = reading->units->graph;
	const json_t *placements = json_object_get(reading->shard, "placements");
	FOR(t, graph->tensors) {
		const json_t *list = json_object_get(placements, graph->tensor[t].name);
		if (!json_is_array(list))
			return fail(reading->error, INFEASIBLE, "shard.placements lacks \"%.100s\"", graph->tensor[t].name);
		TRY(read_placement(reading, t, list));
	}
	if (json_object_size(placements) != graph->tensors)
		return fail(reading->error, INFEASIBLE, "shard.placements names what is not a tensor of the graph");
	return OK;
}

enum status shard_read_json(const json_t *shard, const struct scenario *scenario, const struct units *units,
	struct sharding *sharding, struct error *error)
{
	struct mesh mesh;
	struct reading reading = { shard, units, sharding, error };
	TRY(shard_json_read_mesh(json_object_get(shard, "mesh"), scenario, &mesh, error));
	units_dispatch(units, &mesh);
	enum status status = sharding_new(units, &mesh, sharding);
	if (status != OK)
		return fail_status(error, status);
	status = read_axes(&reading, "late_axes", &sharding->late_axes);
	THEN(status, read_axes(&reading, "each_axes", &sharding->each_axes));
	THEN(status, read_axes(&reading, "regather_axes", &sharding->regather_axes));
	THEN(status, read_splits(&reading));
	THEN(status, read_placements(&reading));
	if (status != OK)
		sharding_free(sharding);
	return status;
}
