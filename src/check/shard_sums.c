/* shard_sums.c: what a plan file's sharding adds up to: collectives by kind, words of frameworks; and
 * a step that is not split. */
#include <inttypes.h>
#include <math.h>

#include "src/write/plan_json.h"
#include "state.h"

/* ---- collectives ---- */

struct sums {
	int64_t count[MESH_AXES][COLLECTIVE_COUNT], bytes[MESH_AXES][COLLECTIVE_COUNT], time[MESH_AXES][COLLECTIVE_COUNT];
}; /* time: picoseconds */

static int64_t bytes_in_row(const struct graph *graph, const struct csr *tensors, uint32_t op)
{
	int64_t bytes = 0;
	FOR_ITEMS(tensor, tensors, op)
		bytes += graph->tensor[tensor].bytes;
	return bytes;
}

/* Counts the ops of the device's graph by their own words, and what ops send themselves. */
static void shard_sums_sum_up(const struct sharded *sharded, const struct graph *graph, struct sums *sums)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	FOR(run, graph->ops) {
		const struct collective *collective = graph->op[run].collective;
		int kind = collective && collective->kind < COLLECTIVE_COUNT ? (int)collective->kind : -1;
		uint32_t axis = kind >= 0 ? mesh_axis_named(mesh, collective->axis) : NONE;
		if (axis != NONE) {
			sums->count[axis][kind]++;
			sums->bytes[axis][kind] += LARGER(collective->moved, 0);
			int64_t whole = collective_of(&mesh->axis[axis], collective->kind, bytes_in_row(graph, &graph->reads, run),
				bytes_in_row(graph, &graph->writes, run));
			sums->time[axis][kind] += collective_time(&mesh->axis[axis], collective->kind, whole);
		}
		uint32_t op = collective ? NONE : sharded_op(sharded, graph, run, NULL);
		for (uint32_t a = 0; op != NONE && a < mesh->axes; a++) {
			struct split split = sharded->sharding.split[op];
			int64_t times = split.on[a] < 0 ? 0 : units->unit[units->unit_start[op] + (uint32_t)split.on[a]].inside;
			if (times == 0)
				continue;
			int64_t bytes = unit_inside_bytes(units, mesh, op, split, a);
			sums->count[a][COLLECTIVE_ALL_REDUCE] += times;
			sums->bytes[a][COLLECTIVE_ALL_REDUCE] += times * collective_bytes(&mesh->axis[a], COLLECTIVE_ALL_REDUCE, bytes);
			sums->time[a][COLLECTIVE_ALL_REDUCE] += times * collective_time(&mesh->axis[a], COLLECTIVE_ALL_REDUCE, bytes);
		}
	}
}

static bool shard_sums_is_number(const json_t *object, const char *key, int64_t expected)
{
	const json_t *value = json_object_get(object, key);
	return json_is_integer(value) && json_integer_value(value) == expected;
}

/* Seconds with all digits of a picosecond. */
static bool is_time(const json_t *object, const char *key, int64_t picoseconds)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) &&
		fabs(json_number_value(value) - (double)picoseconds * 1e-12) <= 1e-12 + (double)picoseconds * 1e-21;
}

static bool is_text(const json_t *object, const char *key, const char *expected)
{
	const json_t *value = json_object_get(object, key);
	return expected ? json_is_string(value) && text_is(json_string_value(value), expected) : json_is_null(value);
}

/* One row for each axis and kind that there is, in order. */
static enum status check_rows(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error)
{
	const struct mesh *mesh = &sharded->sharding.mesh;
	const json_t *rows = json_object_get(shard, "collectives");
	struct sums sums = { 0 };
	size_t next = 0;
	shard_sums_sum_up(sharded, graph, &sums);
	FOR(a, mesh->axes)
		FOR_INT(kind, COLLECTIVE_COUNT) {
			const json_t *row = json_array_get(rows, next);
			if (sums.count[a][kind] == 0)
				continue;
			next++;
			if (!is_text(row, "axis", mesh->axis[a].name) || !is_text(row, "collective", collective_names[kind]) ||
				!shard_sums_is_number(row, "count", sums.count[a][kind]) ||
				!shard_sums_is_number(row, "bytes", sums.bytes[a][kind]) ||
				!is_time(row, "seconds", sums.time[a][kind]))
				return fail(error, INFEASIBLE,
					"shard.collectives[%zu] must be %" PRId64 " x %s over %s, %" PRId64 " bytes, %.12f s", next - 1,
					sums.count[a][kind], collective_names[kind], mesh->axis[a].name, sums.bytes[a][kind],
					(double)sums.time[a][kind] * 1e-12);
		}
	return json_array_size(rows) == next ? OK : fail(error, INFEASIBLE, "shard.collectives must have %zu rows", next);
}

/* ---- words ---- */

static enum status check_annotations(const json_t *shard, const struct sharded *sharded, struct error *error)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	const json_t *annotations = json_object_get(shard, "annotations");
	size_t count = 0;
	FOR(t, units->graph->tensors) {
		struct placement placement = sharded->sharding.produced[t];
		const char *name = units->graph->tensor[t].name;
		if (units->graph->tensor[t].writer != NONE || units->graph->tensor[t].alias != NONE)
			continue;
		const json_t *row = json_object_get(annotations, name);
		count++;
		if (!is_text(row, "dtensor", sharding_dtensor(units, mesh, t, placement, TEXT(400)))
		    || !is_text(row, "partition_spec", sharding_partition_spec(units, mesh, t, placement, TEXT(400)))
		    || !is_text(row, "hlo", sharding_hlo(units, mesh, t, placement, TEXT(400))))
			return fail(error, INFEASIBLE, "shard.annotations: what is said of \"%.100s\" is not its placement", name);
	}
	return json_object_size(annotations) == count
		? OK
		: fail(error, INFEASIBLE, "shard.annotations names what is not there from the start");
}

enum status shard_check_sums(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error)
{
	TRY(check_rows(shard, sharded, graph, error));
	TRY(check_annotations(shard, sharded, error));
	if (!(shard_sums_is_number(shard, "kept_bytes", sharded->cost.kept) &&
			shard_sums_is_number(shard, "saved_bytes", sharded->cost.saved) &&
			shard_sums_is_number(shard, "gradient_bytes", sharded->cost.gradients)))
		return fail(error, INFEASIBLE,
			"shard.kept_bytes, saved_bytes and gradient_bytes must be %" PRId64 ", %" PRId64 " and %" PRId64,
			sharded->cost.kept, sharded->cost.saved, sharded->cost.gradients);
	return OK;
}

enum status shard_check_unsplit(const json_t *shard, struct error *error)
{
	const json_t *mesh = json_object_get(shard, "mesh"), *placements = json_object_get(shard, "placements");
	if (!json_is_object(mesh) || json_object_size(mesh) || !json_is_object(placements) ||
		json_object_size(placements) || !shard_sums_is_number(shard, "redundant_bytes", 0) ||
		!shard_sums_is_number(shard, "comm_bytes", 0) || json_object_get(shard, "collectives"))
		return fail(error, INFEASIBLE, "shard speaks of several devices, but the scenario's step is not split");
	return OK;
}
