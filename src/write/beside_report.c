/* beside_report.c: two plans laid over each other, for people and scripts. */
#include <inttypes.h>

#include "caption.h"
#include "src/base/json.h"
#include "src/base/safe_text.h"

#define HOLDERS_TOLD 10u

static const char *const part_names[BESIDE_PARTS] = { "forward", "backward", "update" };

/* ---- text ---- */

static void print_amount(FILE *stream, const char *what, int64_t one, int64_t other)
{
	fprintf(stream, "  %-20s %12s %12s %12s", what, one < 0 ? "-" : BYTES(one),
		other < 0 ? "-" : BYTES(other),
		one < 0 || other < 0 ? "" : CHANGE(other - one));
	if (one > 0 && other >= 0)
		fprintf(stream, "  %+7.2f %%", 100 * (double)(other - one) / (double)one);
	fputc('\n', stream);
}

static void print_file(const struct beside_report *report, int side, FILE *stream)
{
	static const char *const words[2] = { "first", "second" }, *const runs[2] = { "as it ran", "as planned" };
	const struct intake *intake = &report->plan[side]->input->about.intake;
	char guesses[GUESSES_BYTES];
	fprintf(stream, "%-7s %s: %s, %" PRIu32 " ops, %s", words[side], text_clean(report->name[side], TEXT(400)),
		intake->format ? intake->format : "graph", report->plan[side]->graph->ops, runs[side]);
	if (report->beside->steps[side] > 1)
		fprintf(stream, "; %" PRIu32 " steps, of which the one with the peak", report->beside->steps[side]);
	if (intake->peak > 0)
		fprintf(stream, "; says itself %s", BYTES(intake->peak));
	if (*notes_guesses(report->plan[side]->transformed->notes, guesses))
		fprintf(stream, "; %s", guesses);
	fputc('\n', stream);
}

static void print_holders(const struct beside_report *report, int side, FILE *stream)
{
	const struct beside *beside = report->beside;
	int64_t sum = 0, rest = 0;
	uint32_t buffers = 0;
	FOR(i, beside->holders[side]) {
		sum += beside->holder[side][i].bytes;
		buffers += beside->holder[side][i].buffers;
		rest += i >= HOLDERS_TOLD ? beside->holder[side][i].bytes : 0;
	}
	fprintf(stream, "\nat its peak only %s has %s in %" PRIu32 " buffer%s",
		text_clean(report->name[side], TEXT(600)), BYTES(sum), buffers,
		buffers == 1 ? "" : "s");
	fputs(buffers ? ", by what asked for them\n" : "\n", stream);
	FOR_WHILE(i, beside->holders[side], i < HOLDERS_TOLD) {
		const struct beside_holder *holder = &beside->holder[side][i];
		fprintf(stream, "  %12s  %7" PRIu32 " buffer%s  %s\n", BYTES(holder->bytes),
			holder->buffers, holder->buffers == 1 ? " " : "s", text_clean(holder->place, TEXT(600)));
	}
	if (beside->holders[side] > HOLDERS_TOLD)
		fprintf(stream, "  %12s  at %" PRIu32 " other places\n", BYTES(rest),
			beside->holders[side] - HOLDERS_TOLD);
}

void beside_text(const struct beside_report *report, FILE *stream)
{
	const struct beside *beside = report->beside;
	const struct plan *const *plan = report->plan;
	FOR_INT(side, 2)
		print_file(report, side, stream);
	fprintf(stream, "\n  %-20s %12s %12s %12s\n", "", "first", "second", "change");
	print_amount(stream, "peak", beside->peak[0], beside->peak[1]);
	for (int i = 0; i < BESIDE_PARTS && beside->phases; i++)
		if (beside->part[i].peak[0] >= 0 || beside->part[i].peak[1] >= 0)
			print_amount(stream, PRINTED(40, "  highest in %s", part_names[i]), beside->part[i].peak[0],
				beside->part[i].peak[1]);
	print_amount(stream, "arena", plan_arena(plan[0]), plan_arena(plan[1]));
	print_amount(stream, "at the peak: pairs", beside->paired[0], beside->paired[1]);
	print_amount(stream, "  workspace", beside->workspace[0], beside->workspace[1]);
	fprintf(stream, "\nalive at both peaks, of equal sizes: %" PRIu32 " buffers, %s\n", beside->pairs,
		BYTES(beside->paired[0]));
	if (!beside->phases)
		fputs("one of the two has no backward ops: their steps are laid over each other by their share alone\n", stream);
	FOR_INT(side, 2)
		print_holders(report, side, stream);
}

/* ---- JSON ---- */

static void write_side(struct json *json, const struct beside_report *report, int side)
{
	const struct beside *beside = report->beside;
	char clean[600];
	json_new_line(json, 1);
	json_open_object(json, side == 0 ? "first" : "second");
	json_write_text(json, "file", text_clean(report->name[side], clean, sizeof clean));
	json_write_text(json, "format", report->plan[side]->input->about.intake.format);
	json_write_integer(json, "ops", report->plan[side]->graph->ops);
	if (*notes_guesses(report->plan[side]->transformed->notes, clean))
		json_write_text(json, "guesses", clean);
	json_write_integer(json, "steps", beside->steps[side]);
	json_write_integer(json, "peak_bytes", beside->peak[side]);
	json_write_integer(json, "arena_bytes", plan_arena(report->plan[side]));
	for (int i = 0; i < BESIDE_PARTS && beside->phases; i++) {
		if (beside->part[i].peak[side] >= 0)
			json_write_integer(json, PRINTED(40, "%s_peak_bytes", part_names[i]), beside->part[i].peak[side]);
	}
	json_write_integer(json, "paired_bytes", beside->paired[side]);
	json_write_integer(json, "workspace_bytes", beside->workspace[side]);
	json_write_integer(json, "rest_bytes", beside->rest[side]);
	json_open_array(json, "alone");
	FOR(i, beside->holders[side]) {
		json_new_line(json, 2);
		json_open_object(json, NULL);
		json_write_text(json, "place", text_clean(beside->holder[side][i].place, clean, sizeof clean));
		json_write_integer(json, "bytes", beside->holder[side][i].bytes);
		json_write_integer(json, "buffers", beside->holder[side][i].buffers);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

void beside_json(const struct beside_report *report, FILE *stream)
{
	struct json json = { .stream = stream };
	json_open_object(&json, NULL);
	json_write_integer(&json, "pairs", report->beside->pairs);
	json_write_bool(&json, "phases", report->beside->phases);
	FOR_INT(side, 2)
		write_side(&json, report, side);
	json_end(&json);
}

/* ---- one over the other ---- */

/* The second one's highest live bytes between where a position and the next one stand. */
static int64_t highest_there(const struct beside_report *report, uint32_t position)
{
	const struct beside *beside = report->beside;
	uint32_t from = beside_position(beside, 0, position), to = beside_position(beside, 0, position + 1);
	int64_t highest = report->plan[1]->ordered->live[from];
	FOR_FROM(i, from + 1, to)
		if (report->plan[1]->ordered->live[i] > highest)
			highest = report->plan[1]->ordered->live[i];
	return highest;
}

static void beside_report_write_csv(const struct curve curve[2], FILE *stream)
{
	fputs("position,first_bytes,second_bytes\n", stream);
	FOR(i, curve[0].ops)
		fprintf(stream, "%" PRIu32 ",%" PRId64 ",%" PRId64 "\n", i, curve[0].live[i], curve[1].live[i]);
}

static void beside_report_fill(const struct beside_report *report, struct curve curve[2], uint32_t first, uint32_t ops)
{
	FOR_INT(side, 2) {
		snprintf(curve[side].name, sizeof curve[side].name, "%s", report->name[side]);
		curve[side].ops = ops;
		curve[side].peak = -1;
		FOR(i, ops) {
			curve[side].live[i] = side == 0 ? report->plan[0]->ordered->live[first + i] : highest_there(report, first + i);
			if (curve[side].live[i] <= curve[side].peak)
				continue;
			curve[side].peak = curve[side].live[i];
			curve[side].peak_position = i;
		}
	}
}

enum status beside_timeline(const struct beside_report *report, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct curve curve[2] = { { .live = NULL }, { .live = NULL } };
	uint32_t first = report->beside->part[0].first[0], end = report->beside->part[BESIDE_PARTS - 1].end[0];
	enum status status = first < end && report->plan[1]->graph->ops
		? OK
		: refuse(error, "one of the two steps has no ops");
	for (int side = 0; side < 2 && status == OK; side++) {
		MAKE(curve[side].live, end - first);
		status = curve[side].live ? OK : fail_memory(error);
	}
	if (status == OK) {
		beside_report_fill(report, curve, first, end - first);
		if (kind == EXPORT_csv)
			beside_report_write_csv(curve, stream);
		else
			status = figure_curves(curve, 2, export_paper(options, kind), stream, error);
	}
	mem_free(curve[0].live);
	mem_free(curve[1].live);
	return status;
}
