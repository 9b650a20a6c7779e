/* plan_curves.c: plan files as curves. */
#include "caption.h"

#include <inttypes.h>

#include "data.h"
#include "src/scenario/knobs.h"

/* Adds bytes of a group where they begin and takes them away behind their end. */
static bool add_bytes(
	const json_t *buffer, struct curve *curve, json_int_t first, json_int_t last, enum timeline_group group)
{
	const json_t *size = json_object_get(buffer, "bytes");
	json_int_t bytes = json_integer_value(size);
	bool valid = json_is_integer(size) && bytes >= 0 && first >= 0 && first <= last && last < curve->ops;
	if (!valid || bytes > INT64_MAX / 4 - curve->peak)
		return false;
	curve->peak += bytes; /* of all so far: no sum overflows */
	curve->group[first][group] += bytes;
	curve->group[last + 1][group] -= bytes;
	return true;
}

static bool add_buffer(const json_t *buffer, struct curve *curve)
{
	const json_t *first = json_object_get(buffer, "first"), *last = json_object_get(buffer, "last");
	return json_is_integer(first) && json_is_integer(last) && add_bytes(buffer, curve, json_integer_value(first),
		json_integer_value(last), plan_file_group(buffer));
}

enum timeline_group plan_file_group(const json_t *buffer)
{
	const char *kind = json_text_in(buffer, "kind");
	int found = name_index(kind_names, KIND_COUNT, kind ? kind : "");
	return group_of_kind(found < 0 ? KIND_ACTIVATION : (enum kind)found);
}

/* Workspaces are there while their op runs. */
static enum status add_workspaces(const json_t *ops, const json_t *list, struct curve *curve, struct error *error)
{
	json_memory_failed();
	json_t *position = json_array_size(list) ? json_object() : NULL;
	const json_t *one;
	size_t i;
	bool valid = true;
	json_array_foreach(position ? ops : NULL, i, one)
		json_object_set_new(position, json_is_string(one) ? json_string_value(one) : "", json_integer((json_int_t)i));
	json_array_foreach(position ? list : NULL, i, one) {
		const char *op = json_text_in(one, "op");
		const json_t *at = json_object_get(position, op ? op : "");
		valid = valid && at && add_bytes(one, curve, json_integer_value(at), json_integer_value(at), GROUP_WORKSPACE);
	}
	json_decref(position);
	return json_memory_failed() ? fail_memory(error) : valid ? OK
		: refuse(error, "layout.workspaces: bytes of ops of the order were expected");
}

static enum status plan_curves_sum_up(const json_t *plan, struct curve *curve, struct error *error)
{
	const json_t *ops = json_object_get(json_object_get(plan, "order"), "ops"), *layout = json_object_get(plan, "layout"),
				 *buffers = json_object_get(layout, "buffers"), *buffer;
	size_t i;
	if (!json_is_array(ops) || !json_array_size(ops) || json_array_size(ops) >= NONE || !json_is_array(buffers))
		return refuse(error, "not a plan file: order.ops and layout.buffers were expected");
	curve->ops = (uint32_t)json_array_size(ops);
	MAKE(curve->live, curve->ops);
	MAKE(curve->group, (size_t)curve->ops + 1);
	NEEDED(error, curve->live && curve->group);
	json_array_foreach(buffers, i, buffer)
		if (!add_buffer(buffer, curve))
			return refuse(error, "layout.buffers[%zu]: bytes, first and last, within the order, were expected", i);
	TRY(add_workspaces(ops, json_object_get(layout, "workspaces"), curve, error));
	curve->peak = -1;
	FOR(at, curve->ops) {
		FOR_INT(group, GROUP_COUNT) {
			curve->group[at][group] += at ? curve->group[at - 1][group] : 0;
			curve->live[at] += curve->group[at][group];
		}
		if (curve->live[at] > curve->peak) {
			curve->peak = curve->live[at];
			curve->peak_position = at;
		}
	}
	return OK;
}

/* What the orderer said of itself, where it was logged. */
static enum status plan_curves_take_run(const json_t *plan, struct curve *curve, struct error *error)
{
	const json_t *run = json_object_get(plan, "run"), *list = json_object_get(run, "progress"), *one;
	size_t i;
	curve->solved = json_number_in(json_object_get(run, "seconds"), "order");
	if (json_array_size(list) > IMPROVEMENTS_MOST)
		return refuse(error, "run.progress: more than %u points", IMPROVEMENTS_MOST);
	NEEDED(error, (MAKE(curve->gap, IMPROVEMENTS_MOST)));
	json_array_foreach(list, i, one)
		curve->gap[curve->gaps++] = (struct gap_point){ json_number_in(one, "seconds"),
			json_integer_in(one, "peak_bytes"), json_integer_in(one, "bound_bytes") };
	return OK;
}

static enum status read_curve(const char *path, struct curve *curve, json_t **file, struct error *error)
{
	const char *name = strrchr(path, '/');
	json_t *plan = *file = plan_file_read(path, error);
	*curve = (struct curve){ .live = NULL };
	if (!plan)
		return error->status;
	PRINT_TO(curve->name, "%s", name ? name + 1 : path);
	const char *graph = json_text_in(json_object_get(plan, "graph"), "name");
	PRINT_TO(curve->graph, "%s", graph ? graph : "");
	size_t length = strlen(curve->name);
	if (length > 5 && text_is(curve->name + length - 5, ".json"))
		curve->name[length - 5] = '\0';
	const json_t *parts = json_object_get(json_object_get(plan, "memory"), "ledger");
	FOR_INT(part, LEDGER_PARTS) {
		int64_t bytes = json_integer_in(parts, ledger[part].key);
		curve->part[part] = bytes > 0 && bytes < BYTES_MAX / LEDGER_PARTS ? bytes : 0;
	}
	curve->seconds = json_number_in(json_object_get(plan, "speed"), "step_seconds");
	TRY(plan_curves_take_run(plan, curve, error));
	return plan_curves_sum_up(plan, curve, error);
}

/* Lines are named by the knobs in which their plans differ, where that tells all of them apart. */
static void plan_curves_name(json_t *const *plan, struct curve *curve, uint32_t curves)
{
	char said[BARS_MOST][sizeof curve->name] = { "" }, text[100];
	FOR_INT(knob, KNOB_COUNT) {
		bool same = true;
		const json_t *value[BARS_MOST];
		FOR(i, curves) {
			value[i] = json_object_get(json_object_get(plan[i], "scenario"), knobs[knob].name);
			same &= json_equal(value[i], value[0]) == 1;
		}
		FOR_WHILE(i, curves, !same) {
			size_t used = strlen(said[i]);
			snprintf(said[i] + used, sizeof said[i] - used, "%s%s=%s", used ? ", " : "", knobs[knob].name,
				caption_knob(value[i], knob, text, sizeof text));
		}
	}
	FOR(i, curves)
		FOR(k, i)
			if (text_is(said[i], said[k]) && text_is(curve[i].graph, curve[k].graph))
				return;
	FOR_WHILE(i, curves, curves > 1)
		PRINT_TO(curve[i].name, "%s", said[i]);
}

static void plan_curves_write_csv(const struct curve *curve, uint32_t curves, FILE *stream)
{
	fputs("plan,step,live_bytes\n", stream);
	FOR(c, curves)
		FOR(at, curve[c].ops) {
			csv_text(stream, curve[c].name);
			fprintf(stream, ",%u,%" PRId64 "\n", at, curve[c].live[at]);
		}
}

bool plan_curves_kind(const struct export_options *options, enum export_kind_id kind)
{
	const char *view = options->view ? options->view : "";
	return (text_is(view, "timeline") && (export_is_picture(kind) || kind == EXPORT_csv)) ||
		((text_is(view, "bars") || text_is(view, "gap") || text_is(view, "timeline:pair")) &&
			export_is_picture(kind));
}

enum status plan_curves_write(char *const *path, uint32_t paths, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct curve curve[BARS_MOST];
	enum status status = OK;
	json_t *plan[BARS_MOST];
	uint32_t curves = 0;
	bool bars = text_is(options->view, "bars"), pair = strchr(options->view, ':') || paths == 1;
	uint32_t most = bars ? BARS_MOST : strchr(options->view, ':') ? PAIR_MOST : CURVES_MOST;
	if (paths > most)
		return refuse(error, "%u plan files: at most %u %s can be told apart", paths, most, bars ? "bars"
			: most == PAIR_MOST ? "frames" : "lines");
	for (; status == OK && curves < paths; curves++) {
		struct error wrong = { 0 };
		status = read_curve(path[curves], &curve[curves], &plan[curves], &wrong);
		if (status != OK)
			fail(error, status, "%s: %s", path[curves], wrong.text);
	}
	if (status == OK && export_is_picture(kind))
		plan_curves_name(plan, curve, curves);
	if (status == OK && export_is_picture(kind))
		status = (bars ? figure_needs : *options->view == 'g' ? figure_gap : pair ? figure_pair : figure_curves)(
			curve, curves, export_paper(options, kind), stream, error);
	else if (status == OK)
		plan_curves_write_csv(curve, curves, stream);
	while (curves > 0) {
		json_decref(plan[--curves]);
		mem_free(curve[curves].live);
		mem_free(curve[curves].group);
		mem_free(curve[curves].gap);
	}
	return status;
}

enum status export_gap(const struct export_job *job)
{
	const struct ordered *ordered = job->plan->ordered;
	struct curve curve = { .solved = ordered->run.seconds };
	char text[64];
	HELD struct gap_point *MAKE(gap, ordered->improvements);
	NEEDED(job->error, gap);
	figure_subject(job->plan, curve.graph, sizeof curve.graph);
	knob_text(K_order, job->plan->scenario.value[K_order], text, sizeof text);
	PRINT_TO(curve.name, "order=%s", text);
	curve.gap = gap;
	if (job->kind == EXPORT_csv)
		fputs("seconds,ticks,peak_bytes,bound_bytes,by\n", job->stream);
	FOR(i, ordered->improvements) {
		const struct improvement *step = &ordered->improvement[i];
		gap[curve.gaps++] = (struct gap_point){ step->seconds, step->peak, step->bound };
		char bound[24] = ""; /* before anything is proved */
		if (step->bound >= 0)
			PRINT_TO(bound, "%" PRId64, step->bound);
		if (job->kind == EXPORT_csv)
			fprintf(job->stream, "%.6f,%" PRIu64 ",%" PRId64 ",%s,%s\n", step->seconds, step->ticks, step->peak, bound,
				step->winner);
	}
	return job->kind == EXPORT_csv ? OK
		: figure_gap(&curve, 1, export_paper(job->options, job->kind), job->stream, job->error);
}
