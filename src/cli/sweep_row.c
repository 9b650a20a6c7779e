/* sweep_row.c: lines of `tidemark sweep`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/plan/verdict.h"
#include "src/base/bytes.h"
#include "src/base/json.h"
#include "src/base/text_stream.h"
#include "src/write/data.h"
#include "sweep_row.h"

/* ---- what a row says ----------------------------------------------------------------------- */

enum cell_kind { BYTES, TRUTH, TIME, WORK };

struct cell {
	const char *name;
	enum cell_kind kind;
	bool shown;              /* in the table for people, under its heading */
	const char *heading;
	int64_t number;          /* bytes, 0 or 1, picoseconds, floating-point operations */
	bool there;
};

enum { CELLS = 14 };

static void fill(const struct plan *plan, struct cell cell[CELLS])
{
	const struct sharded *sharded = plan ? plan->transformed->sharded : NULL;
	int64_t flops = plan ? plan_flops(plan) : -1, time = plan ? plan->speed.time : -1;
#define OF(value) plan ? (value) : 0, plan != NULL
	const struct cell all[CELLS] = {
		{ "persistent_bytes", BYTES, false, "persistent", OF(plan->ordered->problem.base) },
		{ "peak_bytes", BYTES, true, "peak", OF(plan_peak(plan)) },
		{ "order_bound_bytes", BYTES, false, "bound", OF(plan->ordered->result.proof.bound) },
		{ "order_proved", TRUTH, false, "proved", OF(proof_closed(&plan->ordered->result.proof)) },
		{ "program_peak_bytes", BYTES, true, "program", OF(plan->ordered->program_peak) },
		{ "arena_bytes", BYTES, true, "arena", OF(plan_arena(plan)) },
		{ "layout_bound_bytes", BYTES, false, "bound", OF(plan->laid_out->layout.proof.bound) },
		{ "layout_proved", TRUTH, true, "proved", OF(proof_closed(&plan->laid_out->layout.proof)) },
		{ "caching_allocator_bytes", BYTES, true, "caching", OF(plan_caching(plan)) },
		{ "needed_bytes", BYTES, false, "needed", OF(plan_verdict(plan).needed) },
		{ "redundant_bytes", BYTES, false, "redundant", sharded ? sharded->cost.redundant : 0, sharded != NULL },
		{ "comm_bytes", BYTES, false, "sent", sharded ? plan->traffic.bytes : 0, sharded != NULL },
		{ "step_seconds", TIME, true, "step", time, time >= 0 },
		{ "flops", WORK, true, "work", flops, flops >= 0 },
	};
#undef OF
	memcpy(cell, all, sizeof all);
}

static const char *status_of(const struct plan *plan)
{
	enum fits fits = plan ? plan_verdict(plan).fits : FITS_NO;
	return !plan ? "infeasible" : fits == FITS_ANY || fits == FITS_YES ? "ok" : "over-memory";
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void write_json_cell(struct json *json, const struct cell *cell)
{
	if (!cell->there)
		return;
	switch (cell->kind) {
	case TRUTH: json_write_bool(json, cell->name, cell->number); break;
	case TIME: json_write_real(json, cell->name, (double)cell->number * 1e-12, 9); break;
	default: json_write_integer(json, cell->name, cell->number);
	}
}

/* Its beginning, {"scenario":k, is what --resume looks for. */
static void write_json(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	char text[64];
	struct json json = { .stream = stream };
	json_open_object(&json, NULL);
	json_write_integer(&json, "scenario", (int64_t)row->number);
	json_open_object(&json, "set");
	for (int i = 0; i < row->count; i++)
		json_write_text(&json, knobs[row->varied[i]].name, knob_text(row->varied[i], row->scenario->value[row->varied[i]], text, sizeof text));
	json_close(&json);
	json_write_text(&json, "status", status_of(row->plan));
	for (int i = 0; i < CELLS; i++)
		write_json_cell(&json, &cell[i]);
	if (!row->plan)
		json_write_text(&json, "reason", row->reason);
	json_end(&json);
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void write_csv(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	char text[64];
	fprintf(stream, "%" PRIu64, row->number);
	for (int i = 0; i < row->count; i++) {
		fputc(',', stream);
		csv_text(stream, knob_text(row->varied[i], row->scenario->value[row->varied[i]], text, sizeof text));
	}
	fprintf(stream, ",%s", status_of(row->plan));
	for (int i = 0; i < CELLS; i++)
		if (!cell[i].there)
			fputc(',', stream);
		else if (cell[i].kind == TIME)
			fprintf(stream, ",%.9g", (double)cell[i].number * 1e-12);
		else
			fprintf(stream, ",%" PRId64, cell[i].number);
	fputc(',', stream);
	csv_text(stream, row->plan ? "" : row->reason);
	fputc('\n', stream);
}

/* ---- a table for people -------------------------------------------------------------------- */

enum { STATUS_WIDTH = 11, CELL_WIDTH = 10, KNOB_LEAST = 8 };

static int knob_width(enum knob_id knob)
{
	int length = (int)strlen(knobs[knob].name);
	return length > KNOB_LEAST ? length : KNOB_LEAST;
}

static char *cell_text(const struct cell *cell, char *text, size_t size)
{
	if (!cell->there)
		snprintf(text, size, "-");
	else if (cell->kind == BYTES)
		bytes_text(cell->number, text, size);
	else if (cell->kind == WORK)
		flops_text((double)cell->number, text, size);
	else if (cell->kind == TIME)
		snprintf(text, size, cell->number < 1000000000000 ? "%.4g ms" : "%.4g s", (double)cell->number * (cell->number < 1000000000000 ? 1e-9 : 1e-12));
	else
		snprintf(text, size, "%s", cell->number ? "yes" : "no");
	return text;
}

static void write_table(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	char text[64];
	fprintf(stream, "%8" PRIu64, row->number);
	for (int i = 0; i < row->count; i++)
		fprintf(stream, "  %*s", knob_width(row->varied[i]), knob_text(row->varied[i], row->scenario->value[row->varied[i]], text, sizeof text));
	fprintf(stream, "  %-*s", STATUS_WIDTH, status_of(row->plan));
	for (int i = 0; i < CELLS && row->plan; i++)
		if (cell[i].shown)
			fprintf(stream, "  %*s", CELL_WIDTH, cell_text(&cell[i], text, sizeof text));
	fprintf(stream, "%s%s\n", row->plan ? "" : "  ", row->plan ? "" : row->reason);
}

/* ---- all three ----------------------------------------------------------------------------- */

static void write_name(FILE *stream, bool table, int width, const char *name)
{
	if (table)
		fprintf(stream, "  %*s", width, name);
	else
		fprintf(stream, ",%s", name);
}

void sweep_row_names(const struct sweep_row *row, FILE *stream)
{
	struct cell cell[CELLS];
	bool table = row->form == SWEEP_TABLE;
	fill(NULL, cell);
	if (row->form == SWEEP_JSON)
		return;
	fputs("scenario", stream);
	for (int i = 0; i < row->count; i++)
		write_name(stream, table, knob_width(row->varied[i]), knobs[row->varied[i]].name);
	write_name(stream, table, -STATUS_WIDTH, "status");
	for (int i = 0; i < CELLS; i++)
		if (!table || cell[i].shown)
			write_name(stream, table, CELL_WIDTH, table ? cell[i].heading : cell[i].name);
	fputs(table ? "\n" : ",reason\n", stream);
}

void sweep_row_write(const struct sweep_row *row, FILE *stream)
{
	struct cell cell[CELLS];
	fill(row->plan, cell);
	switch (row->form) {
	case SWEEP_CSV: write_csv(row, cell, stream); break;
	case SWEEP_TABLE: write_table(row, cell, stream); break;
	default: write_json(row, cell, stream);
	}
}

static bool is_names(const struct sweep_row *row, const char *line)
{
	char *names = NULL;
	size_t size = 0;
	FILE *stream = text_stream(&names, &size);
	if (!stream)
		return false;
	sweep_row_names(row, stream);
	bool same = fclose(stream) == 0 && size > 0 && strcmp(names, line) == 0;
	free(names);
	return same;
}

bool sweep_row_number(const struct sweep_row *row, const char *line, uint64_t *number)
{
	*number = NONE;
	if (row->form == SWEEP_CSV)
		return sscanf(line, "%" SCNu64 ",", number) == 1 || is_names(row, line);
	return sscanf(line, "{\"scenario\":%" SCNu64 ",", number) == 1;
}
