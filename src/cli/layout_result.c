/* layout_result.c: buffers read and laid out, and the object that says the result. */
#include "layout_result.h"

#include <string.h>

#include "src/read/detect.h"
#include "src/scenario/scenario.h"

#define INPUT_MOST ((size_t)1 << 30)

/* ---- what is asked ------------------------------------------------------------------------------------------ */

bool layout_parse_bytes(const char *text, int64_t *bytes)
{
	struct error error;
	return knob_parse(K_memory, text, bytes, &error) == OK && *bytes > 0;
}

bool layout_parse_pool(struct layout_request *request, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct slice name = { text, colon ? (size_t)(colon - text) : strlen(text) };
	if (request->pools == POOLS_MOST || name.length == 0 || memchr(text, ',', name.length) || memchr(text, '|', name.length))
		return false;
	for (uint32_t p = 0; p < request->pools; p++)
		if (request->pool[p].length == name.length && memcmp(request->pool[p].text, text, name.length) == 0)
			return false;
	request->pool[request->pools] = name;
	return !colon ? request->pools++ < POOLS_MOST : layout_parse_bytes(colon + 1, &request->room[request->pools++]);
}

/* ---- reading --------------------------------------------------------------------------------------------- */

/* Snapshots are read as a stream: a recording may have gigabytes. */
static enum status read_snapshot(struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	struct snapshot snapshot;
	enum status status = snapshot_read(input_source(input), &snapshot, error);
	THEN(status, snapshot_buffers(&snapshot, request->device, csv, &request->report.facts, error));
	THEN(status, snapshot_addresses(&snapshot, &request->report.facts, csv, error));
	if (status == OK && snapshot_report_places(&request->report, &snapshot, csv) != OK)
		status = fail_memory(error);
	if (status == OK && request->pools)
		status = fail(error, BAD_INPUT, "a snapshot is of one memory: it can't be laid out in pools");
	snapshot_free(&snapshot);
	request->snapshot = true;
	if (request->options.alignment == 0)
		request->options.alignment = SNAPSHOT_ALIGNMENT;
	return status;
}

static enum status read_csv(struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	char *text = input_all(input, INPUT_MOST, &size, error);
	enum status status = text ? buffers_csv_read(text, size, request->pools ? request->pool : NULL, request->pools, csv, error) : error->status;
	mem_free(text);
	if (request->options.alignment == 0)
		request->options.alignment = 1;
	return status;
}

enum status layout_read_input(struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	const char *start = input_peek(input, &size);
	enum input_kind kind = input_detect(start, size);
	bool pickle = kind == INPUT_SNAPSHOT || kind == INPUT_PICKLE;
	if (kind == INPUT_OLD_PICKLE)
		return fail(error, BAD_INPUT, "neither a CSV of buffers nor a memory snapshot, but a %s; %s", input_kind_name(kind), input_kind_advice(kind));
	if (!pickle && memchr(start, '\0', size))   /* as of /dev/zero, which would be read for long */
		return fail(error, BAD_INPUT, "neither a CSV of buffers nor a memory snapshot: it has bytes that are not text");
	return pickle ? read_snapshot(request, input, csv, error) : read_csv(request, input, csv, error);
}

enum status layout_read(struct layout_request *request, const char *path, struct buffers_csv *csv, struct error *error)
{
	struct input *input = input_open(path, error);
	if (!input)
		return error->status;
	enum status status = layout_read_input(request, input, csv, error);
	input_close(input);
	return status;
}

/* ---- results ---------------------------------------------------------------------------------------------- */

const int64_t *layout_offsets(const struct linked_layout *result)
{
	return result->offset ? result->offset : result->layout.offset;
}

/* What the layout is of: the file's buffers, or what they are joined to. */
static const struct buffers *solved(const struct buffers_csv *csv, const struct linked_layout *result)
{
	return result->compounds.whole ? &result->compounds.buffers : &csv->buffers;
}

void layout_each_of_core(const struct buffers_csv *csv, const struct linked_layout *result, void (*visit)(void *context, struct slice id), void *context)
{
	const struct layout *layout = &result->layout;
	const uint32_t *whole = result->compounds.whole;
	for (uint32_t k = 0; k < layout->core_count; k++) {
		if (!whole)
			visit(context, csv->id[layout->core[k]]);
		for (uint32_t i = 0; whole && i < csv->buffers.n; i++)
			if (whole[i] == layout->core[k])
				visit(context, csv->id[i]);
	}
}

static void add_name(void *context, struct slice id)
{
	json_t *name = json_stringn(id.text, id.length);
	json_array_append_new(context, name ? name : json_string("?"));
}

#define CHECK_NODES 5000000    /* some seconds for a core of 64 buffers */

bool layout_core_confirmed(const struct layout_request *request, const struct buffers_csv *csv, const struct linked_layout *result)
{
	const struct layout *layout = &result->layout;
	const struct buffers *buffers = solved(csv, result);
	if (layout->ground == LAYOUT_PROOF_MOMENT)
		return layout_check_moment(buffers, request->options.alignment, layout->witness) >= layout->proof.bound;
	int64_t capacity = layout->ground == LAYOUT_PROOF_LOAD ? request->options.capacity : layout->proof.bound - 1;
	return layout_check_core(buffers, layout->core, layout->core_count, request->options.alignment, capacity, CHECK_NODES) == INFEASIBLE;
}

/* Who has taken whose place, by id. */
static json_t *taken_places(const struct buffers_csv *csv, const uint32_t *taken_from)
{
	json_t *taken = json_object();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		if (taken_from[i] != NONE) {
			struct slice donor = csv->id[taken_from[i]];
			json_object_setn_new(taken, csv->id[i].text, csv->id[i].length, json_stringn(donor.text, donor.length));
		}
	return taken;
}

static json_t *offset_list(const struct buffers_csv *csv, const int64_t *offset)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		json_array_append_new(list, json_integer(offset[i]));
	return list;
}

/* What was asked for, so that the file can be checked by itself. */
static json_t *asked_json(const struct layout_request *request)
{
	json_t *asked = json_pack("{s:s, s:I}", "strategy", layout_strategy_names[request->options.strategy], "alignment_bytes", (json_int_t)request->options.alignment);
	if (asked && request->options.capacity)
		json_object_set_new(asked, "capacity_bytes", json_integer(request->options.capacity));
	if (asked && request->device >= 0)
		json_object_set_new(asked, "device", json_integer(request->device));
	if (asked && request->seconds > 0)
		json_object_set_new(asked, "seconds", json_real(request->seconds));
	json_t *pools = asked && request->pools ? json_array() : NULL;
	for (uint32_t p = 0; pools && p < request->pools; p++) {
		json_t *pool = json_pack("{s:s%}", "name", request->pool[p].text, request->pool[p].length);
		if (pool && request->room[p])
			json_object_set_new(pool, "capacity_bytes", json_integer(request->room[p]));
		json_array_append_new(pools, pool);
	}
	if (pools)
		json_object_set_new(asked, "pools", pools);
	return asked;
}

json_t *layout_json(const struct layout_request *request, const struct buffers_csv *csv, const struct linked_layout *result, bool limited, double time)
{
	const struct layout *layout = &result->layout;
	json_t *certificate = json_pack("{s:s, s:I}", "by", layout_proof_names[layout->ground], "moment",
					(json_int_t)(layout->ground == LAYOUT_PROOF_MOMENT ? layout->witness : layout->moment));
	if (layout->core_count) {
		json_t *names = json_array();
		layout_each_of_core(csv, result, add_name, names);
		json_object_set_new(certificate, "core", names);
		json_object_set_new(certificate, "irreducible", json_boolean(layout->irreducible));
		json_object_set_new(certificate, "confirmed", json_boolean(layout_core_confirmed(request, csv, result)));
	}
	bool infeasible = request->options.capacity > 0 && result->bound > request->options.capacity;
	json_t *object = json_pack("{s:o, s:s, s:b, s:I, s:I, s:I, s:b, s:b, s:f, s:o, s:o}", "asked", asked_json(request), "strategy", layout->strategy, "infeasible", infeasible,
				   "arena_bytes", (json_int_t)layout->arena, "bound_bytes", (json_int_t)result->bound, "load_bytes",
				   (json_int_t)layout->load, "proved", result->proved, "limited", limited, "seconds", time,
				   "certificate", certificate, "offsets", offset_list(csv, layout_offsets(result)));
	if (object && result->donor)
		json_object_set_new(object, "inplace", taken_places(csv, result->donor));
	if (object && request->snapshot)
		json_object_set_new(object, "snapshot", snapshot_json(&request->report, layout->arena));
	return object;
}

/* What each pool holds. */
static json_t *pool_list(const struct layout_request *request, const struct buffers_csv *csv, const struct pooled_layout *result)
{
	json_t *pools = json_array();
	for (uint32_t p = 0; p < csv->pools; p++) {
		const struct linked_layout *linked = &result->part[p].linked;
		json_t *pool = json_pack("{s:s%, s:s, s:i, s:I, s:I, s:I, s:b}", "name", csv->pool[p].text, csv->pool[p].length, "strategy",
					 linked->layout.strategy, "buffers", (int)result->part[p].n, "arena_bytes",
					 (json_int_t)linked->layout.arena, "bound_bytes", (json_int_t)linked->bound, "load_bytes",
					 (json_int_t)linked->layout.load, "proved", linked->proved);
		if (pool && request->room[p])
			json_object_set_new(pool, "capacity_bytes", json_integer(request->room[p]));
		json_array_append_new(pools, pool);
	}
	return pools;
}

/* Bytes that are not in the pool they like best. */
static int64_t spilled_bytes(const struct buffers_csv *csv, const struct pooled_layout *result)
{
	int64_t bytes = 0;
	for (uint32_t i = 0; i < csv->buffers.n; i++) {
		bool listed = csv->candidates.start && csr_length(&csv->candidates, i) > 0;
		bytes += result->pool[i] == (listed ? csv->candidates.item[csv->candidates.start[i]] : 0) ? 0 : csv->buffers.size[i];
	}
	return bytes;
}

json_t *layout_pools_json(const struct layout_request *request, const struct buffers_csv *csv, const struct pooled_layout *result, bool limited, double time)
{
	json_t *chosen = json_array();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		json_array_append_new(chosen, json_stringn(csv->pool[result->pool[i]].text, csv->pool[result->pool[i]].length));
	json_t *object = json_pack("{s:o, s:o, s:{s:I, s:I, s:I, s:b}, s:b, s:f, s:o, s:o}", "asked", asked_json(request), "pools", pool_list(request, csv, result), "spill", "cost",
				   (json_int_t)result->cost, "bound", (json_int_t)result->bound, "bytes",
				   (json_int_t)spilled_bytes(csv, result), "proved", result->proved, "limited", limited, "seconds", time,
				   "pool", chosen, "offsets", offset_list(csv, result->offset));
	if (object && result->donor)
		json_object_set_new(object, "inplace", taken_places(csv, result->donor));
	return object;
}

/* ---- solving ---------------------------------------------------------------------------------------------- */

enum status layout_solve_one(const struct layout_request *request, const struct buffers_csv *csv, struct control *control, struct linked_layout *result, struct error *error)
{
	*result = (struct linked_layout){ 0 };
	if (csv->links.behind || csv->links.donors.start)
		return layout_solve_linked(&csv->buffers, &csv->links, &request->options, control, result, error);
	enum status status = layout_solve(&csv->buffers, &request->options, control, &result->layout, error);
	result->bound = result->layout.proof.bound;
	result->proved = proof_closed(&result->layout.proof);
	return status;
}

enum status layout_solve_all_pools(const struct layout_request *request, const struct buffers_csv *csv, struct control *control, struct pooled_layout *result, struct error *error)
{
	*result = (struct pooled_layout){ 0 };
	struct layout_pools pools = { csv->pools, request->room, csv->candidates, csv->spill_cost };
	return layout_solve_pools(&csv->buffers, &csv->links, &pools, &request->options, control, result, error);
}
