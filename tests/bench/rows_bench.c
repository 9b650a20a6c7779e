/* rows_bench.c: every measured step of a table, as tidemark predicts it. Fits are made of it: tests/bench/software_fit.
 *
 *     rows_bench TABLE DEVICE DEVICES_PER_NODE SOFTWARE ...
 *
 * Prints a line "row NUMBER TABLE DEVICE SOFTWARE FACTOR MEASURED WATTS BF16 MODEL ..." for each row, tabs between, then
 * "ready". Then each line of standard input, "NUMBER" and perhaps constants, is answered by seconds: as the preset and
 * the software have them, without the factor of measured steps, or with the constants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/lines.h"
#include "src/configs/model_source.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/scenario/profiles.h"

enum { TABLES_MAX = 16, CONSTANTS = 15 };

/* A table's row. */
struct measurement {
	struct scenario scenario; /* that the table is of, and what the row says of the step */
	bool float8;
	uint32_t hidden; /* percent of collectives inside layers */
	struct model_source source;
	struct config_case *opened;
	char model[160];
	enum device device; /* the row's own; DEVICE_NONE: the table's */
	uint32_t node; /* devices of a node; 0: as the scenario says */
	uint32_t devices;
	struct config config;
	double seconds; /* measured */
};

struct measurements { struct measurement *row; uint32_t rows; };

struct table { struct measurements rows; struct scenario scenario; };

#define COLUMNS_MAX 32

enum column {
	COLUMN_NONE,
	COLUMN_MODEL,
	COLUMN_DEVICES,
	COLUMN_SECONDS,
	COLUMN_BATCH,
	COLUMN_MICROBATCH,
	COLUMN_DP,
	COLUMN_TP,
	COLUMN_PP,
	COLUMN_CP,
	COLUMN_EP,
	COLUMN_SP,
	COLUMN_ZERO,
	COLUMN_CHUNKS,
	COLUMN_SCHEDULE,
	COLUMN_RECOMPUTE,
	COLUMN_FLOAT8,
	COLUMN_HIDDEN,
	COLUMN_DEVICE,
	COLUMN_NODE
};

static enum column rows_column_of(const char *name)
{
	static const char *const names[] = { "", "model", "devices", "seconds", "batch", "microbatch", "dp", "tp", "pp",
		"cp", "ep", "sp", "zero", "chunks", "schedule", "recompute", "float8", "hidden", "device", "devices_per_node" };
	int index = name_index(names, sizeof names / sizeof *names, name);
	return index < 0 ? COLUMN_NONE : (enum column)index;
}

/* Splits a line at commas, in place; blanks around fields go. */
static uint32_t fields_of(char *line, char **field)
{
	uint32_t count = 0;
	for (char *at = line; at && count < COLUMNS_MAX;) {
		char *comma = strchr(at, ',');
		if (comma)
			*comma = '\0';
		while (*at == ' ')
			at++;
		for (char *end = at + strlen(at); end > at && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r');)
			*--end = '\0';
		field[count++] = at;
		at = comma ? comma + 1 : NULL;
	}
	return count;
}

static bool parse_count(const char *text, uint32_t *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	*value = (uint32_t)number;
	return end != text && !*end && number <= 1u << 24;
}

static bool rows_take_field(struct measurement *row, enum column column, const char *text, uint32_t *batch)
{
	struct config *config = &row->config;
	uint32_t value = 0,
			 *const counts[] = { [COLUMN_DEVICES] = &row->devices,
				 [COLUMN_BATCH] = batch,
				 [COLUMN_MICROBATCH] = &config->microbatch,
				 [COLUMN_DP] = &config->dp,
				 [COLUMN_TP] = &config->tp,
				 [COLUMN_PP] = &config->pp,
				 [COLUMN_CP] = &config->cp,
				 [COLUMN_EP] = &config->ep,
				 [COLUMN_CHUNKS] = &config->chunks,
				 [COLUMN_NODE] = &row->node };
	char *end;
	int64_t device;
	int word;
	switch (column) {
	case COLUMN_NONE:
		return true;
	case COLUMN_MODEL:
		snprintf(row->model, sizeof row->model, "%s", text);
		return true;
	case COLUMN_SECONDS:
		row->seconds = strtod(text, &end);
		return end != text && !*end && isfinite(row->seconds) && row->seconds > 0;
	case COLUMN_SP:
	case COLUMN_ZERO:
		*(column == COLUMN_SP ? &config->sp : &config->zero) = parse_count(text, &value) ? (uint8_t)value : UINT8_MAX;
		return value <= (column == COLUMN_SP ? 1u : 3u) && (config->sp | config->zero) != UINT8_MAX;
	case COLUMN_HIDDEN:
		return parse_count(text, &row->hidden) && row->hidden <= 100;
	case COLUMN_FLOAT8:
		row->float8 = strcmp(text, "1") == 0;
		return row->float8 || strcmp(text, "0") == 0;
	case COLUMN_DEVICE:
		row->device = knob_parse(K_device, text, &device, NULL) == OK ? (enum device)device : DEVICE_NONE;
		return row->device != DEVICE_NONE;
	case COLUMN_SCHEDULE:
		word = name_index(schedule_names, SCHEDULE_COUNT, text);
		config->schedule = (uint8_t)word;
		return word >= 0;
	case COLUMN_RECOMPUTE:
		word = name_index(recompute_names, RECOMPUTE_AUTO, text);
		config->recompute = (uint8_t)word;
		return word >= 0;
	default:
		return parse_count(text, counts[column]) && *counts[column] > 0;
	}
}

/* What the columns leave open, and whether all fit together. */
static bool rows_complete(struct measurement *row, uint32_t batch)
{
	struct config *config = &row->config;
	uint64_t inner = (uint64_t)config->tp * config->pp * config->cp * config->ep;
	if (row->seconds <= 0 || inner == 0 || inner > row->devices || row->devices % inner != 0)
		return false;
	if (config->dp == 0)
		config->dp = row->devices / (uint32_t)inner;
	if (schedule_folded((enum schedule)config->schedule))
		config->chunks = 2;
	else if (config->chunks > 1)
		config->schedule = SCHEDULE_INTERLEAVED;
	uint64_t together = (uint64_t)config->dp * config->ep * config->microbatch;
	config->microbatches = batch == 0 ? 1 : (uint32_t)(batch / together);
	return config->dp * inner == row->devices && (batch == 0 || batch % together == 0) && config->microbatches > 0;
}

static enum status rows_add_row(struct measurements *measured, size_t *room, const struct measurement *row)
{
	NEED(mem_reserve(&measured->row, room, measured->rows + 1, sizeof *measured->row));
	measured->row[measured->rows++] = *row;
	return OK;
}

static enum status rows_read_rows(
	struct lines *lines, const char *model, struct measurements *measured, struct error *error)
{
	char *line = lines->text, *field[COLUMNS_MAX];
	enum column column[COLUMNS_MAX];
	uint32_t columns = 0;
	size_t room = 0;
	enum status status = OK;
	int got = 0;
	while (status == OK && (got = lines_next(lines, error)) > 0) {
		struct measurement row = {
			.config = { .tp = 1, .pp = 1, .cp = 1, .ep = 1, .microbatch = 1, .chunks = 1, .schedule = SCHEDULE_1F1B }
		};
		uint32_t batch = 0, fields;
		error->line = lines->number;
		if (line[strspn(line, " \r\n")] == '\0' || line[0] == '#')
			continue;
		fields = fields_of(line, field);
		snprintf(row.model, sizeof row.model, "%s", model);
		if (columns == 0) {
			for (columns = fields, fields = 0; fields < columns; fields++)
				column[fields] = rows_column_of(field[fields]);
			continue;
		}
		for (uint32_t i = 0; i < fields && i < columns && status == OK; i++)
			if (*field[i] && !rows_take_field(&row, column[i], field[i], &batch))
				status = fail(error, BAD_INPUT, "\"%.60s\" is not possible there", field[i]);
		if (status == OK && !rows_complete(&row, batch))
			status = fail(error, BAD_INPUT,
				"seconds are missing, or the degrees don't multiply to devices, or the batch is no whole number of "
				"microbatches");
		if (status == OK)
			status = rows_add_row(measured, &room, &row);
		if (status != OK)
			error->line = lines->number;
	}
	if (got < 0)
		status = error->status;
	if (status == OK && measured->rows == 0)
		status = fail(error, BAD_INPUT, "no measurements");
	return status;
}

/* Columns: devices, seconds, and model, batch, microbatch, dp, tp, pp, cp, ep, sp, zero, chunks, schedule, recompute,
 * float8, hidden, device, devices_per_node; others are ignored. Defaults: the model given, 1, none; dp what is left of
 * devices, batch one microbatch for each. BAD_INPUT with the line. */
static enum status rows_read(const char *path, const char *model, const struct scenario *scenario,
	struct measurements *measured, struct error *error)
{
	*measured = (struct measurements) { 0 };
	struct lines lines;
	TRY(lines_open(&lines, path, error));
	enum status status = rows_read_rows(&lines, model, measured, error);
	lines_close(&lines);
	for (uint32_t i = 0; i < measured->rows && status == OK; i++) {
		struct measurement *row = &measured->row[i];
		error->line = 0;
		if (scenario_copy(&row->scenario, scenario) != OK)
			return fail_memory(error);
		row->scenario.value[K_float8] |= row->float8;
		if (row->device != DEVICE_NONE) {
			scenario_drop_figures(&row->scenario);
			scenario_put(&row->scenario, K_device, row->device);
		}
		char node[40];
		snprintf(node, sizeof node, "devices_per_node=%d", (int)row->node);
		TRY(row->node > 0 ? scenario_set(&row->scenario, node, error) : OK);
		TRY(scenario_by_data_sheets(&row->scenario, error));
		struct config_request request = { .devices = row->devices,
			.devices_per_node = (uint32_t)row->scenario.device.node };
		if (model_source_open(&row->source, row->model, NULL, &row->scenario) != 0)
			return fail(error, BAD_INPUT, "%.60s can't be opened", row->model);
		model_source_request(&row->source, &request);
		row->opened = config_case_open(&request, &row->config, error);
		status = row->opened ? OK : error->status;
	}
	return status;
}

static void set(struct scenario *scenario, const char *knob, const char *value)
{
	char text[200];
	struct error error = { 0 };
	snprintf(text, sizeof text, "%s=%s", knob, value);
	if (scenario_set(scenario, text, &error) != OK) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
}

static void table_read(struct table *table, char **words, uint32_t first)
{
	char path[300];
	struct error error = { 0 };
	const char *root = getenv("MEASURED") ? getenv("MEASURED") : "tests/bench/measured";
	scenario_init(&table->scenario);
	set(&table->scenario, "device", words[1]);
	set(&table->scenario, "software", words[3]);
	set(&table->scenario, "devices_per_node", words[2]);
	snprintf(path, sizeof path, "%s/%s.csv", root, words[0]);
	if (rows_read(path, "gpt2", &table->scenario, &table->rows, &error) != OK) {
		fprintf(stderr, "%s: %s\n", path, error.text);
		exit(1);
	}
	for (uint32_t i = 0; i < table->rows.rows; i++) {
		const struct measurement *row = &table->rows.row[i];
		const struct device_preset preset = device_preset((enum device)row->scenario.value[K_device]);
		const struct measured *steps = profile_measured(
			(enum device)row->scenario.value[K_device], (enum software)row->scenario.value[K_software]);
		printf("row\t%u\t%s\t%s\t%s\t%g\t%.9g\t%lld\t%lld\t%s dp %u tp %u pp %u cp %u, %u devices\n", first + i, words[0],
			preset.name, words[3], steps ? steps->factor / 1e3 : 1, row->seconds, (long long)preset.machine.power,
			(long long)preset.matrix_sheet[FORMAT_BF16], row->model, row->config.dp, row->config.tp, row->config.pp,
			row->config.cp, row->devices);
	}
}

/* Shares in thousandths, nanoseconds, links as parts of the data sheet's. */
static void take(struct machine *machine, const struct device_preset *preset, const double *v)
{
	machine->matrix = (uint16_t)fmax(1, round(v[0]));
	machine->sustained[FORMAT_F16] = machine->sustained[FORMAT_BF16] = (uint16_t)round(v[1]);
	machine->sustained[FORMAT_F8] = (uint16_t)round(v[2]);
	uint16_t *const shares[] = { &machine->attention, &machine->pieces, &machine->narrow, &machine->fused, &machine->eager,
		&machine->casts };
	for (int i = 0; i < 6; i++)
		*shares[i] = (uint16_t)v[3 + i];
	machine->launch = (int64_t)(v[9] * 1000);
	machine->ramp = (int64_t)(v[10] * 1000);
	machine->near = (struct link){ (int64_t)(v[13] * 1000), (int64_t)((double)preset->near_sheet.rate * v[11]) };
	machine->far = (struct link){ (int64_t)(v[14] * 1000), (int64_t)((double)preset->far_sheet.rate * v[12]) };
}

static double predict(const struct table *table, uint32_t i, const double *constants)
{
	const struct measurement *row = &table->rows.row[i];
	struct config_result result = { 0 };
	struct overheads overheads = overheads_all;
	struct machine machine;
	const struct device_preset preset = device_preset((enum device)row->scenario.value[K_device]);
	overheads.inside = row->hidden * 10;
	machine = scenario_plain_machine(&row->scenario);
	if (constants)
		take(&machine, &preset, constants);
	return config_case_evaluate(row->opened, &machine, &overheads, &result) == OK ? (double)result.time / 1e12 : 0;
}

int main(int argc, char **argv)
{
	static struct table table[TABLES_MAX];
	static char line[2000];
	int tables = 0;
	uint32_t rows = 0;
	for (int at = 1; at + 3 < argc && tables < TABLES_MAX; at += 4, tables++) {
		table_read(&table[tables], argv + at, rows);
		rows += table[tables].rows.rows;
	}
	printf("ready\t%u\n", rows);
	for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
		double value[CONSTANTS];
		int values = 0, of = 0;
		char *at = line, *end;
		uint32_t i = (uint32_t)strtoul(line, &at, 10);
		for (; values < CONSTANTS && (value[values] = strtod(at, &end), end != at); at = end)
			values++;
		for (; of < tables && i >= table[of].rows.rows; of++)
			i -= table[of].rows.rows;
		printf("%.9g\n", of < tables ? predict(&table[of], i, values == CONSTANTS ? value : NULL) : 0);
	}
	return 0;
}
