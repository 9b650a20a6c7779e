/* layout_result.c: buffers read and laid out, and the object that says the result. */
#include "layout_result.h"

#include "src/read/detect.h"
#include "src/scenario/knobs.h"

#define INPUT_MOST ((size_t)1 << 30)

/* ---- what is asked ---- */

bool layout_parse_bytes(const char *text, int64_t *bytes)
{
	struct error error;
	return knob_parse(K_memory, text, bytes, &error) == OK && *bytes > 0;
}

/* ---- reading ---- */

static enum status read_snapshot(
	struct layout_request *request, struct input *input, bool trace, struct buffers_csv *csv, struct error *error)
{
	OWN(snapshot) snapshot = { 0 };
	const struct read_options options = { .device = (uint32_t)(request->device + 1) };
	struct python_job job = { .name = trace ? "kineto" : "snapshot", .options = &options };
	HELD char *data = input_all(input, INPUT_MOST, &job.size, error);
	job.data = data;
	enum status status = data ? snapshot_read(&job, csv, &snapshot, error) : error->status;
	request->said = json_incref(json_object_get(snapshot.head, "said"));
	if (request->options.alignment == 0)
		request->options.alignment = SNAPSHOT_ALIGNMENT;
	return status;
}

static enum status read_csv(
	struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	char *text = input_all(input, INPUT_MOST, &size, error);
	enum status status = text ? buffers_csv_read(text, size, csv, error) : error->status;
	mem_free(text);
	if (request->options.alignment == 0)
		request->options.alignment = 1;
	return status;
}

enum status layout_read_input(
	struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	const char *start = input_peek(input, &size);
	enum input_kind kind = input_detect(start, size);
	bool pickle = kind == INPUT_SNAPSHOT || kind == INPUT_PICKLE || kind == INPUT_TRACE,
		 csv_perhaps = kind == INPUT_MINIMALLOC || kind == INPUT_UNKNOWN || kind == INPUT_EMPTY;
	if (!pickle && !csv_perhaps)
		return refuse(error, "neither a CSV of buffers nor a memory snapshot, but: %s; %s", input_kind_name(kind),
			input_kind_advice(kind) ? input_kind_advice(kind) : "it also holds ops: tidemark plan FILE");
	if (!pickle && memchr(start, '\0', size)) /* as of /dev/zero, which would be read for long */
		return refuse(error, "neither a CSV of buffers nor a memory snapshot: it has bytes that are not text");
	return pickle ? read_snapshot(request, input, kind == INPUT_TRACE, csv, error) : read_csv(request, input, csv, error);
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

/* ---- results ---- */

void layout_each_of_core(const struct buffers_csv *csv, const struct layout *layout,
	void (*visit)(void *context, struct slice id), void *context)
{
	FOR(k, layout->core_count)
		visit(context, csv->id[layout->core[k]]);
}

static void add_name(void *context, struct slice id)
{
	json_t *name = json_stringn(id.text, id.length);
	json_array_append_new(context, name ? name : json_string("?"));
}

#define CHECK_NODES 5000000 /* some seconds for a core of 64 buffers */

bool layout_core_confirmed(const struct layout_request *request, const struct buffers_csv *csv,
	const struct layout *layout)
{
	if (layout->ground == LAYOUT_PROOF_MOMENT)
		return layout_check_moment(&csv->buffers, request->options.alignment, layout->witness) >= layout->proof.bound;
	int64_t capacity = layout->ground == LAYOUT_PROOF_LOAD ? request->options.capacity : layout->proof.bound - 1;
	return layout_check_core(&csv->buffers, layout->core, layout->core_count, request->options.alignment, capacity,
		CHECK_NODES) == INFEASIBLE;
}

static json_t *offset_list(const struct buffers_csv *csv, const int64_t *offset)
{
	json_t *list = json_array();
	FOR(i, csv->buffers.n)
		json_array_append_new(list, json_integer(offset[i]));
	return list;
}

/* What was asked for, so that the file can be checked by itself. */
static json_t *asked_json(const struct layout_request *request)
{
	json_t *asked = json_pack("{s:s, s:I}", "strategy", layout_strategy_names[request->options.strategy],
		"alignment_bytes", (json_int_t)request->options.alignment);
	if (asked && request->options.capacity)
		json_object_set_new(asked, "capacity_bytes", json_integer(request->options.capacity));
	if (asked && request->device >= 0)
		json_object_set_new(asked, "device", json_integer(request->device));
	if (asked && request->seconds > 0)
		json_object_set_new(asked, "seconds", json_real(request->seconds));
	return asked;
}

json_t *layout_json(const struct layout_request *request, const struct buffers_csv *csv, const struct layout *layout,
	bool limited, double time)
{
	json_t *certificate = json_pack("{s:s, s:I}", "by", layout_proof_names[layout->ground], "moment",
					(json_int_t)(layout->ground == LAYOUT_PROOF_MOMENT ? layout->witness : layout->moment));
	if (layout->core_count) {
		json_t *names = json_array();
		layout_each_of_core(csv, layout, add_name, names);
		json_object_set_new(certificate, "core", names);
		json_object_set_new(certificate, "irreducible", json_boolean(layout->irreducible));
		json_object_set_new(certificate, "confirmed", json_boolean(layout_core_confirmed(request, csv, layout)));
	}
	bool infeasible = request->options.capacity > 0 && layout->proof.bound > request->options.capacity;
	json_t *object = json_pack("{s:o, s:s, s:b, s:I, s:I, s:I, s:b, s:b, s:f, s:o, s:o}", "asked", asked_json(request),
		"strategy", layout->strategy, "infeasible", infeasible, "arena_bytes", (json_int_t)layout->arena, "bound_bytes",
		(json_int_t)layout->proof.bound, "load_bytes", (json_int_t)layout->load, "proved", proof_closed(&layout->proof),
		"limited", limited, "seconds", time, "certificate", certificate, "offsets", offset_list(csv, layout->offset));
	if (object && request->said)
		json_object_set_new(object, "snapshot", snapshot_json(request->said, layout->arena));
	return object;
}
