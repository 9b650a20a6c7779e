/* shard_json.c: the "shard" part of plan files. */
#include <inttypes.h>
#include <string.h>

#include "src/read/native.h"
#include "shard_json.h"
#include "src/scenario/shard_mesh.h"
#include "sharding_words.h"
#include "src/base/json_text.h"

/* ---- writing ------------------------------------------------------------------------------------------------- */

static void write_seconds(FILE *stream, const char *key, int64_t picoseconds)
{
	fprintf(stream, "\"%s\": %" PRId64 ".%012" PRId64, key, picoseconds / PICOSECONDS, picoseconds % PICOSECONDS);
}

static void write_mesh(const struct mesh *mesh, FILE *stream)
{
	fputs(", \"mesh\": {", stream);
	for (uint32_t a = 0; a < mesh->axes; a++)
		fprintf(stream, "%s\"%s\": %u", a ? ", " : "", mesh->axis[a].name, mesh->axis[a].size);
	putc('}', stream);
}

static void write_placements(const struct sharded *sharded, FILE *stream)
{
	const struct graph *graph = sharded->shared->graph;
	char word[40];
	fputs(",\n  \"placements\": {", stream);
	for (uint32_t t = 0; t < graph->tensors; t++) {
		fputs(t ? ",\n   " : "\n   ", stream);
		json_write_text(stream, graph->tensor[t].name);
		fputs(": [", stream);
		for (uint32_t a = 0; a < sharded->sharding.mesh.axes; a++)
			fprintf(stream, "%s\"%s\"", a ? "," : "",
				placement_text(&sharded->shared->units, t, sharded->sharding.produced[t].on[a], word, sizeof word));
		putc(']', stream);
	}
	putc('}', stream);
}

static bool splits(const struct mesh *mesh, struct split split)
{
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (split.on[a] != UNIT_NONE)
			return true;
	return false;
}

/* Per op and axis the number of the unit that is split, "P" where partial sums pass, null where nothing is split. */
static void write_splits(const struct sharded *sharded, FILE *stream)
{
	const struct graph *graph = sharded->shared->graph;
	const struct mesh *mesh = &sharded->sharding.mesh;
	bool first = true;
	fputs(",\n  \"splits\": {", stream);
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct split split = sharded->sharding.split[op];
		if (!splits(mesh, split))
			continue;
		fputs(first ? "\n   " : ",\n   ", stream);
		first = false;
		json_write_text(stream, graph->op[op].name);
		fputs(": [", stream);
		for (uint32_t a = 0; a < mesh->axes; a++)
			if (split.on[a] >= 0)
				fprintf(stream, "%s%d", a ? "," : "", split.on[a]);
			else
				fprintf(stream, "%s%s", a ? "," : "", split.on[a] == UNIT_PARTIAL ? "\"P\"" : "null");
		putc(']', stream);
	}
	putc('}', stream);
}

static void write_axes(const struct mesh *mesh, const char *key, uint8_t mask, FILE *stream)
{
	bool first = true;
	fprintf(stream, ",\n  \"%s\": [", key);
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (mask >> a & 1) {
			fprintf(stream, "%s\"%s\"", first ? "" : ", ", mesh->axis[a].name);
			first = false;
		}
	putc(']', stream);
}

static void write_traffic(const struct plan *plan, FILE *stream)
{
	const struct mesh *mesh = &plan->sharded->sharding.mesh;
	bool first = true;
	fputs(",\n  \"collectives\": [", stream);
	for (uint32_t a = 0; a < mesh->axes; a++)
		for (int c = 0; c < COLLECTIVE_COUNT; c++) {
			const struct traffic *traffic = &plan->traffic.of[a][c];
			if (traffic->count == 0)
				continue;
			fprintf(stream, "%s{\"axis\": \"%s\", \"collective\": \"%s\", \"count\": %u, \"bytes\": %" PRId64 ", ", first ? "\n   " : ",\n   ",
				mesh->axis[a].name, collective_names[c], traffic->count, traffic->bytes);
			write_seconds(stream, "seconds", traffic->time);
			putc('}', stream);
			first = false;
		}
	putc(']', stream);
}

/* What each stream of a device does in the simulated step. */
static void write_streams(const struct plan *plan, FILE *stream)
{
	const struct step_time *time = &plan->time->time;
	fputs(",\n  \"streams\": [", stream);
	for (uint32_t s = 0; s < plan->time->model.streams; s++) {
		fprintf(stream, "%s{\"stream\": \"%s\", ", s ? ",\n   " : "\n   ", plan_time_stream(plan->sharded, s));
		write_seconds(stream, "busy_seconds", time->busy[s]);
		fputs(", ", stream);
		write_seconds(stream, "exposed_seconds", time->exposed[s]);
		fputs(", ", stream);
		write_seconds(stream, "idle_seconds", time->total - time->busy[s]);
		putc('}', stream);
	}
	fprintf(stream, "],\n  \"gathered_ahead_bytes\": %" PRId64, plan->time->model.ahead);
}

static void write_proof(const struct shard_proof *proof, FILE *stream)
{
	if (!proof->objective) {
		fputs(",\n  \"bound\": null, \"gap\": null, \"proved\": false, \"certificate\": {\"by\": \"none\"}", stream);
		return;
	}
	fputs(",\n  \"objective\": ", stream);
	json_write_text(stream, proof->objective);
	fprintf(stream, ", \"cost\": %" PRId64 ", \"bound\": %" PRId64 ", \"gap\": %.9f, \"proved\": %s, \"certificate\": {\"by\": ", proof->cost,
		proof->bound, proof->cost > 0 ? (double)(proof->cost - proof->bound) / (double)proof->cost : 0.0, proof->proved ? "true" : "false");
	json_write_text(stream, proof->kind);
	if (proof->alpha > 0)
		fprintf(stream, ", \"multiplier\": [%" PRId64 ", %" PRId64 "], \"limit\": %" PRId64 ", \"bound\": %" PRId64, proof->beta, proof->alpha, proof->limit,
			proof->priced);
	putc('}', stream);
}

/* What was looked at: the space, ops decided once with their copies, and of TAP's patterns how many were routed. */
static void write_search(const struct sharded *sharded, FILE *stream)
{
	fputs(",\n  \"search\": {\"space\": ", stream);
	json_write_text(stream, sharded->space);
	fprintf(stream, ", \"folded_ops\": %u, \"patterns\": %u}", sharded->folded, sharded->patterns);
}

static void write_candidates(const struct sharded *sharded, FILE *stream)
{
	fputs(",\n  \"candidates\": [", stream);
	for (uint32_t i = 0; i < sharded->candidates; i++) {
		const struct shard_candidate *candidate = &sharded->candidate[i];
		fputs(i ? ",\n   {\"text\": " : "\n   {\"text\": ", stream);
		json_write_text(stream, candidate->text);
		fputs(", ", stream);
		if (candidate->possible) {
			write_seconds(stream, "step_seconds", candidate->time);
			fputs(", ", stream);
			if (candidate->usage >= 0)
				fprintf(stream, "\"staying_bytes\": %" PRId64 ", ", candidate->usage);
		}
		fprintf(stream, "\"possible\": %s, \"chosen\": %s}", candidate->possible ? "true" : "false", candidate->chosen ? "true" : "false");
	}
	putc(']', stream);
}

static void write_curve(const struct sharded *sharded, FILE *stream)
{
	fputs(",\n  \"curve\": [", stream);
	for (uint32_t i = 0; i < sharded->points; i++) {
		const struct sharding_point *point = &sharded->curve[i];
		fprintf(stream, "%s{\"above_least_percent\": %u, \"staying_bytes\": %" PRId64 ", \"redundant_bytes\": %" PRId64 ", ", i ? ",\n   " : "\n   ", point->eps,
			point->usage, point->redundant);
		write_seconds(stream, "step_seconds", point->time);
		putc('}', stream);
	}
	putc(']', stream);
}

static void write_annotation(FILE *stream, const char *key, const char *word)
{
	fprintf(stream, "\"%s\": ", key);
	if (word)
		json_write_text(stream, word);
	else
		fputs("null", stream);
}

/* What frameworks call the places of the tensors that are there from the start. */
static void write_annotations(const struct sharded *sharded, FILE *stream)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	bool first = true;
	char text[400];
	fputs(",\n  \"annotations\": {", stream);
	for (uint32_t t = 0; t < units->graph->tensors; t++) {
		struct placement placement = sharded->sharding.produced[t];
		if (units->graph->tensor[t].writer != NONE || units->graph->tensor[t].alias != NONE)
			continue;
		fputs(first ? "\n   " : ",\n   ", stream);
		first = false;
		json_write_text(stream, units->graph->tensor[t].name);
		fputs(": {", stream);
		write_annotation(stream, "dtensor", sharding_dtensor(units, mesh, t, placement, text, sizeof text));
		fputs(", ", stream);
		write_annotation(stream, "partition_spec", sharding_partition_spec(units, mesh, t, placement, text, sizeof text));
		fputs(", ", stream);
		write_annotation(stream, "hlo", sharding_hlo(units, mesh, t, placement, text, sizeof text));
		putc('}', stream);
	}
	putc('}', stream);
}

/* Flags that come closest: suggestions, nothing that a launcher was asked about. */
static void write_suggestions(const struct plan *plan, FILE *stream)
{
	struct scenario scenario = plan->scenario;
	char text[800];
	if (scenario_strategy(&scenario) == STRATEGY_ZERO && scenario.value[K_zero] == 0)
		scenario.value[K_zero] = 3;
	fputs(",\n  \"suggestions\": {", stream);
	for (int i = 0; i < LAUNCHER_COUNT; i++) {
		fprintf(stream, "%s\"%s\": ", i ? ", " : "", launcher_names[i]);
		json_write_text(stream, sharding_flags((enum launcher)i, &plan->sharded->sharding.mesh, &scenario, text, sizeof text));
	}
	putc('}', stream);
}

void shard_write_json(const struct plan *plan, FILE *stream)
{
	const struct sharded *sharded = plan->sharded;
	if (!sharded) {
		fputs(", \"mesh\": {}, \"placements\": {}, \"redundant_bytes\": 0, \"comm_bytes\": 0", stream);
		return;
	}
	write_mesh(&sharded->sharding.mesh, stream);
	fprintf(stream, ", \"redundant_bytes\": %" PRId64 ", \"comm_bytes\": %" PRId64 ", ", sharded->cost.redundant, plan->traffic.bytes);
	write_seconds(stream, "step_seconds", plan_step_time(plan));
	fputs(", ", stream);
	write_seconds(stream, "estimated_seconds", sharded->cost.total);
	fputs(", ", stream);
	write_seconds(stream, "compute_seconds", sharded->cost.compute);
	fprintf(stream, ", \"staying_bytes\": %" PRId64 ", \"kept_bytes\": %" PRId64 ", \"saved_bytes\": %" PRId64 ", \"gradient_bytes\": %" PRId64,
		sharded->cost.usage, sharded->cost.kept, sharded->cost.saved, sharded->cost.gradients);
	write_proof(&sharded->proof, stream);
	write_traffic(plan, stream);
	if (plan->time)
		write_streams(plan, stream);
	if (sharded->space)
		write_search(sharded, stream);
	if (sharded->candidates)
		write_candidates(sharded, stream);
	if (sharded->points)
		write_curve(sharded, stream);
	write_axes(&sharded->sharding.mesh, "late_axes", sharded->sharding.late_axes, stream);
	write_axes(&sharded->sharding.mesh, "regather_axes", sharded->sharding.regather_axes, stream);
	write_splits(sharded, stream);
	write_placements(sharded, stream);
	write_annotations(sharded, stream);
	write_suggestions(plan, stream);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

struct reading {
	const json_t *shard;
	const struct units *units;
	struct sharding *sharding;
	struct error *error;
};

static enum status read_mesh(const json_t *json, const struct scenario *scenario, struct mesh *mesh, struct error *error)
{
	static const enum knob_id knob[] = { K_dp, K_cp, K_ep, K_tp };
	struct degrees degrees = { 1, 1, 1, 1, 1 };
	int64_t *const degree[] = { &degrees.dp, &degrees.cp, &degrees.ep, &degrees.tp };
	struct axis_roles roles[MESH_AXES];
	int64_t devices = 1;
	size_t found = 0;
	for (int i = 0; i < 4; i++) {
		const json_t *size = json_object_get(json, knobs[knob[i]].name);
		if (!size)
			continue;
		found++;
		*degree[i] = json_integer_value(size);
		if (*degree[i] < 2 || *degree[i] > scenario->value[K_devices] || __builtin_mul_overflow(devices, *degree[i], &devices))
			return fail(error, INFEASIBLE, "shard.mesh.%s has an impossible size", knobs[knob[i]].name);
		if (scenario->value[knob[i]] != KNOB_GIVEN && scenario->value[knob[i]] != *degree[i])
			return fail(error, INFEASIBLE, "shard.mesh.%s is not what the scenario asks for", knobs[knob[i]].name);
	}
	if (found != json_object_size(json))
		return fail(error, BAD_INPUT, "not a plan file: shard.mesh has an unknown axis");
	int64_t there = scenario->value[K_devices] / (scenario->value[K_pp] > 1 ? scenario->value[K_pp] : 1);
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
		if (axis == NONE)
			return fail(reading->error, BAD_INPUT, "not a plan file: shard.%s names no axis of the mesh", key);
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
		return fail(reading->error, BAD_INPUT, "not a plan file: the split of \"%.100s\" needs one word for each axis", name);
	for (uint32_t a = 0; a < mesh->axes; a++) {
		const json_t *word = json_array_get(list, a);
		json_int_t unit = json_is_integer(word) ? json_integer_value(word) : json_is_string(word) ? UNIT_PARTIAL : UNIT_NONE;
		if (unit >= unit_count(units, op) || unit > INT8_MAX || (json_is_integer(word) && unit < 0))
			return fail(reading->error, INFEASIBLE, "op \"%.100s\" has no unit %lld to split", name, (long long)unit);
		if (unit == UNIT_PARTIAL && !units->linear[op])
			return fail(reading->error, INFEASIBLE, "op \"%.100s\" can't pass partial sums on: it is not linear", name);
		split.on[a] = (int8_t)unit;
	}
	if (!split_divides(units, mesh, op, split))
		return fail(reading->error, INFEASIBLE, "op \"%.100s\" can't be cut into so many pieces", name);
	sharding_set(reading->sharding, units, op, split);
	return OK;
}

static enum status read_splits(struct reading *reading)
{
	const struct graph *graph = reading->units->graph;
	const json_t *list;
	const char *name;
	enum status status = OK;
	json_object_foreach((json_t *)(uintptr_t)json_object_get(reading->shard, "splits"), name, list) {
		uint32_t op = graph_find_op(graph, name);
		if (op == NONE)
			return fail(reading->error, INFEASIBLE, "shard.splits names \"%.100s\", which is no op of the graph", name);
		if ((status = read_split(reading, op, list)) != OK)
			return status;
	}
	return status;
}

/* "R", "P", "S(1)", "S(1:3)": what placement_text() writes. False for anything else. */
static bool parse_place(const struct units *units, uint32_t tensor, const char *text, int8_t *on)
{
	char word[40];
	uint32_t parts = units->part_start[tensor + 1] - units->part_start[tensor];
	for (int i = PLACE_PARTIAL; i < (int)parts && text; i++) {
		*on = (int8_t)i;
		if (strcmp(placement_text(units, tensor, *on, word, sizeof word), text) == 0)
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
		return fail(reading->error, BAD_INPUT, "not a plan file: \"%.100s\" has no placement for each axis", name);
	for (uint32_t a = 0; a < mesh->axes; a++) {
		const char *word = json_string_value(json_array_get(list, a));
		if (!parse_place(units, tensor, word, &placement.on[a]))
			return fail(reading->error, INFEASIBLE, "tensor \"%.100s\" can't lie as %.40s on %s", name, word ? word : "this", mesh->axis[a].name);
	}
	if (!placement_divides(units, mesh, tensor, placement))
		return fail(reading->error, INFEASIBLE, "tensor \"%.100s\" can't be cut into so many pieces", name);
	if (units->graph->tensor[tensor].writer != NONE && !placement_equal(placement, reading->sharding->produced[tensor]))
		return fail(reading->error, INFEASIBLE, "tensor \"%.100s\" lies otherwise than the split of \"%.100s\" makes it", name,
			units->graph->op[units->graph->tensor[tensor].writer].name);
	reading->sharding->produced[tensor] = placement;
	return OK;
}

static enum status read_placements(struct reading *reading)
{
	const struct graph *graph = reading->units->graph;
	const json_t *placements = json_object_get(reading->shard, "placements");
	enum status status = OK;
	for (uint32_t t = 0; t < graph->tensors && status == OK; t++) {
		const json_t *list = json_object_get(placements, graph->tensor[t].name);
		if (!json_is_array(list))
			return fail(reading->error, INFEASIBLE, "shard.placements lacks \"%.100s\"", graph->tensor[t].name);
		status = read_placement(reading, t, list);
	}
	return status;
}

enum status shard_read_json(const json_t *shard, const struct scenario *scenario, const struct units *units, struct sharding *sharding,
	struct error *error)
{
	struct mesh mesh;
	struct reading reading = { shard, units, sharding, error };
	enum status status = read_mesh(json_object_get(shard, "mesh"), scenario, &mesh, error);
	if (status != OK)
		return status;
	status = sharding_new(units, &mesh, sharding);
	if (status != OK)
		return fail(error, status, "out of memory");
	status = read_axes(&reading, "late_axes", &sharding->late_axes);
	if (status == OK)
		status = read_axes(&reading, "regather_axes", &sharding->regather_axes);
	if (status == OK)
		status = read_splits(&reading);
	if (status == OK)
		status = read_placements(&reading);
	if (status != OK)
		sharding_free(sharding);
	return status;
}
