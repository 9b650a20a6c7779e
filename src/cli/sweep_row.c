/* sweep_row.c: lines of `tidemark sweep`. */
#include <inttypes.h>

#include "src/base/streams.h"
#include "src/plan/verdict.h"
#include "src/scenario/device_figures.h"
#include "src/write/data.h"
#include "sweep_row.h"

/* ---- what a row says ---- */

enum cell_kind { BYTES, TRUTH, TIME, SHARE, WORK };

struct cell {
	const char *name;
	enum cell_kind kind;
	bool shown; /* in the table for people, under its heading */
	const char *heading;
	int64_t number; /* bytes, 0 or 1, picoseconds, thousandths, floating-point operations */
	bool there;
};

/* Those that every plan has come first; last what the step needs, by part. */
enum { CELLS_SUMS = 15, CELLS = CELLS_SUMS + LEDGER_PARTS, CELLS_ALWAYS = 9 };
#define X(id, key, remark) key "_bytes",
static const char *const part_names[LEDGER_PARTS] = { LEDGER(X) };
#undef X

static void sweep_row_fill(const struct plan *plan, struct cell cell[CELLS])
{
	const struct sharded *sharded = plan ? plan->sharded : NULL;
	int64_t flops = plan ? plan_flops(plan) : -1, time = plan ? plan->speed.time : -1,
			program = plan ? plan->program_time : -1;
#define OF(value) plan ? (value) : 0, plan != NULL
	const struct verdict verdict = plan ? plan_verdict(plan) : (struct verdict){ 0 };
	const struct cell all[CELLS_SUMS] = {
		{ "persistent_bytes", BYTES, false, "persistent", OF(plan->ordered->problem.base) },
		{ "peak_bytes", BYTES, true, "peak", OF(plan_peak(plan)) },
		{ "order_bound_bytes", BYTES, false, "bound", OF(plan_bound(plan)) },
		{ "order_proved", TRUTH, false, "proved", OF(plan_is_proved(plan)) },
		{ "program_peak_bytes", BYTES, true, "program", OF(plan->ordered->program_peak) },
		{ "arena_bytes", BYTES, true, "arena", OF(plan_arena(plan)) },
		{ "layout_bound_bytes", BYTES, false, "bound", OF(plan->laid_out->layout.proof.bound) },
		{ "layout_proved", TRUTH, true, "proved", OF(proof_closed(&plan->laid_out->layout.proof)) },
		{ "needed_bytes", BYTES, true, "needs", OF(verdict.needed) },
		{ "redundant_bytes", BYTES, false, "redundant", sharded ? sharded->cost.redundant : 0, sharded != NULL },
		{ "comm_bytes", BYTES, false, "sent", sharded ? plan->traffic.bytes : 0, sharded != NULL },
		{ "step_seconds", TIME, true, "step", time, time >= 0 },
		{ "deviation", SHARE, true, "+-", time >= 0 ? device_deviation(&plan->scenario) : 0, time >= 0 },
		{ "program_step_seconds", TIME, true, "in program", program, program >= 0 },
		{ "flops", WORK, true, "work", flops, flops >= 0 },
	};
#undef OF
	memcpy(cell, all, sizeof all);
	FOR_INT(part, LEDGER_PARTS)
		cell[CELLS_SUMS + part] = (struct cell){ part_names[part], BYTES, false, "", verdict.part[part], plan };
}

enum { ROW_OK, ROW_OVER_MEMORY, ROW_INFEASIBLE, ROW_STATES };
static const char *const state_text[ROW_STATES] = { "ok", "over-memory", "infeasible" };

static const char *status_of(const struct plan *plan)
{
	enum fits fits = plan ? plan_verdict(plan).fits : FITS_NO;
	return state_text[!plan ? ROW_INFEASIBLE : fits_runs(fits) ? ROW_OK : ROW_OVER_MEMORY];
}

static const char *sweep_row_value(const struct sweep_row *row, int varied, char *text, size_t size)
{
	return text_is(row->varied[varied], SWEEP_GRAPH) ? row->graph
		: scenario_value_text(row->scenario, row->varied[varied], text, size);
}

/* A row's beginning, up to the varied values: it tells whose row it is. */
static void write_head(const struct sweep_row *row, struct json *json)
{
	char sweep[20];
	PRINT_TO(sweep, "%016" PRIx64, row->sweep);
	if (row->form == SWEEP_JSON) {
		json_open_object(json, NULL);
		json_write_integer(json, "scenario", (int64_t)row->number);
		json_write_text(json, "sweep", sweep);
		json_open_object(json, "set");
	} else {
		fprintf(json->stream, "%" PRIu64 ",%s", row->number, sweep);
	}
	FOR_INT(i, row->count) {
		const char *value = sweep_row_value(row, i, TEXT(64));
		if (row->form == SWEEP_JSON)
			json_write_text(json, row->varied[i], value);
		else
			fputc(',', json->stream), csv_text(json->stream, value);
	}
	if (row->form == SWEEP_JSON)
		json_close(json);
}

/* ---- JSON ---- */

static void write_json_cell(struct json *json, const struct cell *cell)
{
	if (!cell->there)
		return;
	switch (cell->kind) {
	case TRUTH: json_write_bool(json, cell->name, cell->number); break;
	case TIME: json_write_real(json, cell->name, (double)cell->number * 1e-12, 9); break;
	case SHARE: json_write_real(json, cell->name, (double)cell->number * 1e-3, 3); break;
	default: json_write_integer(json, cell->name, cell->number);
	}
}

static void sweep_row_write_json(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	struct json json = { .stream = stream };
	write_head(row, &json);
	json_write_text(&json, "status", status_of(row->plan));
	FOR_INT(i, CELLS)
		write_json_cell(&json, &cell[i]);
	if (*row->reason)
		json_write_text(&json, row->plan ? "guesses" : "reason", row->reason);
	json_end(&json);
}

/* ---- CSV ---- */

static void sweep_row_write_csv(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	write_head(row, &(struct json){ .stream = stream });
	fprintf(stream, ",%s", status_of(row->plan));
	FOR_INT(i, CELLS)
		if (!cell[i].there)
			fputc(',', stream);
		else if (cell[i].kind == TIME)
			fprintf(stream, ",%.9g", (double)cell[i].number * 1e-12);
		else if (cell[i].kind == SHARE)
			fprintf(stream, ",%.3g", (double)cell[i].number * 1e-3);
		else
			fprintf(stream, ",%" PRId64, cell[i].number);
	fputc(',', stream);
	csv_text(stream, row->reason);
	fputc('\n', stream);
}

/* ---- a table for people ---- */

enum { STATUS_WIDTH = 11, CELL_WIDTH = 10, KNOB_LEAST = 8, GRAPH_WIDTH = 24 };

static int knob_width(const char *name)
{
	int length = text_is(name, SWEEP_GRAPH) ? GRAPH_WIDTH : (int)strlen(name);
	return LARGER(length, KNOB_LEAST);
}

static int cell_width(const struct cell *cell)
{
	return cell->kind == SHARE ? (int)strlen("15 %") : CELL_WIDTH;
}

static char *cell_text(const struct cell *cell, char *text, size_t size)
{
	if (!cell->there)
		snprintf(text, size, "-");
	else if (cell->kind == BYTES)
		bytes_text(cell->number, text, size);
	else if (cell->kind == WORK)
		flops_text((double)cell->number, text, size);
	else if (cell->kind == SHARE)
		snprintf(text, size, "%" PRId64 " %%", (cell->number + 5) / 10);
	else if (cell->kind == TIME)
		snprintf(text, size, cell->number < 1000000000000 ? "%.4g ms" : "%.4g s",
			(double)cell->number * (cell->number < 1000000000000 ? 1e-9 : 1e-12));
	else
		snprintf(text, size, "%s", cell->number ? "yes" : "no");
	return text;
}

static void sweep_row_write_table(const struct sweep_row *row, const struct cell *cell, FILE *stream)
{
	fprintf(stream, "%8" PRIu64, row->number);
	FOR_INT(i, row->count)
		fprintf(stream, "  %*s", knob_width(row->varied[i]), sweep_row_value(row, i, TEXT(64)));
	fprintf(stream, "  %-*s", STATUS_WIDTH, status_of(row->plan));
	for (int i = 0; i < CELLS && row->plan; i++)
		if (cell[i].shown)
			fprintf(stream, "  %*s", cell_width(&cell[i]), cell_text(&cell[i], TEXT(64)));
	fprintf(stream, "%s%s\n", *row->reason ? "  " : "", row->reason);
}

/* ---- all three ---- */

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
	sweep_row_fill(NULL, cell);
	if (row->form == SWEEP_JSON)
		return;
	if (table && row->assumed)
		fprintf(stream, "times are %s\n", DEVICE_ASSUMED);
	fputs(table ? "scenario" : "scenario,sweep", stream);
	FOR_INT(i, row->count)
		write_name(stream, table, knob_width(row->varied[i]), row->varied[i]);
	write_name(stream, table, -STATUS_WIDTH, "status");
	FOR_INT(i, CELLS)
		if (!table || cell[i].shown)
			write_name(stream, table, cell_width(&cell[i]), table ? cell[i].heading : cell[i].name);
	fputs(table ? "\n" : ",reason\n", stream);
}

void sweep_row_write(const struct sweep_row *row, FILE *stream)
{
	struct cell cell[CELLS];
	sweep_row_fill(row->plan, cell);
	switch (row->form) {
	case SWEEP_CSV: sweep_row_write_csv(row, cell, stream); break;
	case SWEEP_TABLE: sweep_row_write_table(row, cell, stream); break;
	default: sweep_row_write_json(row, cell, stream);
	}
}

/* ---- rows of an earlier run ---- */

/* Where a cell ends that begins here, with its comma; NULL: no such cell. */
static const char *cell_end(const struct sweep_row *row, const struct cell *cell, bool must, const char *at)
{
	char *end;
	size_t length = strlen(cell->name);
	if (row->form == SWEEP_JSON) {
		if (!text_begins(at, ",\"") || strncmp(at + 2, cell->name, length) != 0 || !text_begins(at + 2 + length, "\":"))
			return must ? NULL : at;
		at += length + 4;
		if (cell->kind == TRUTH)
			return text_begins(at, "true") ? at + 4 : text_begins(at, "false") ? at + 5 : NULL;
	} else if (*at++ != ',') {
		return NULL;
	} else if (*at == ',') {
		return must ? NULL : at;
	}
	strtod(at, &end);
	return *at >= '0' && *at <= '9' ? end : NULL;
}

/* The last part of a row without a plan. */
static bool is_reason(bool json, const char *at)
{
	size_t begin = json ? strlen(",\"reason\":\"") : CELLS + 1;
	if (json ? strncmp(at, ",\"reason\":\"", begin) != 0 : strspn(at, ",") != begin)
		return false;
	at += begin;
	bool quoted = json || *at == '"';
	for (at += !json && quoted; *at && (quoted ? *at != '"' || (!json && at[1] == '"') : !strchr(",\"\n", *at)); at++)
		at += (json ? *at == '\\' : quoted && *at == '"') && at[1];
	return text_is(at, json ? "\"}\n" : quoted ? "\"\n" : "\n");
}

/* Behind the head: status, cells and reason, and nothing else. */
static bool is_rest(const struct sweep_row *row, const char *at)
{
	struct cell cell[CELLS];
	bool json = row->form == SWEEP_JSON;
	const char *before = json ? ",\"status\":\"" : ",", *behind = json ? "\"" : "";
	int state = 0;
	sweep_row_fill(NULL, cell);
	for (; state < ROW_STATES; state++) {
		char text[32];
		int length = PRINT_TO(text, "%s%s%s", before, state_text[state], behind);
		if (strncmp(at, text, (size_t)length) == 0 && at[length] == ',') {
			at += length;
			break;
		}
	}
	if (state == ROW_INFEASIBLE)
		return is_reason(json, at);
	for (int i = 0; i < CELLS && at && state < ROW_STATES; i++)
		at = cell_end(row, &cell[i], i < CELLS_ALWAYS, at);
	return state < ROW_STATES && text_is(at, json ? "}\n" : ",\n");
}

enum status sweep_row_read(const char *line, uint64_t *number, uint64_t *sweep, struct error *error)
{
	int end = 0;
	char digits[20], hex[20];
	int read = *line == '{' ? sscanf(line, "{\"scenario\":%19[0-9],\"sweep\":\"%16[0-9a-f]\",%n", digits, hex, &end)
		: sscanf(line, "%19[0-9],%16[0-9a-f],%n", digits, hex, &end);
	*number = read == 2 ? strtoull(digits, NULL, 10) : NONE;
	if (*number >= NONE || end == 0 || strlen(hex) != 16)
		return refuse(error, "is not a line of a sweep, as JSON or as CSV");
	*sweep = strtoull(hex, NULL, 16);
	return OK;
}

enum status sweep_row_check(const struct sweep_row *row, const char *line, struct error *error)
{
	char *head = NULL;
	size_t size = 0;
	struct json json = { .stream = text_stream(&head, &size) };
	NEEDED(error, json.stream);
	if (row->scenario)
		write_head(row, &json);
	else
		sweep_row_names(row, json.stream);
	bool written = fclose(json.stream) == 0, same = written && strncmp(line, head, size) == 0;
	same = same && (row->scenario ? is_rest(row, line + size) : !line[size]);
	free(head);
	return !written ? fail_memory(error)
		: same ? OK
		: refuse(error,
						  row->scenario ? "is not a whole line of this sweep" : "has other columns than this sweep");
}
