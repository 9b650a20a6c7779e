/* calibrate.c: measured steps in, a machine's constants out. */
#include <math.h>
#include <stdlib.h>

#include "calibrate.h"
#include "src/base/lines.h"
#include "src/scenario/own_device.h"

#define COLUMNS_MAX 32

/* ---- reading ---- */

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

static enum column calibrate_column_of(const char *name)
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

static bool calibrate_take_field(struct measurement *row, enum column column, const char *text, uint32_t *batch)
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
static bool calibrate_complete(struct measurement *row, uint32_t batch)
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

static enum status calibrate_add_row(struct calibration *calibration, size_t *room, const struct measurement *row)
{
	NEED(mem_reserve(&calibration->row, room, calibration->rows + 1, sizeof *calibration->row));
	calibration->row[calibration->rows++] = *row;
	return OK;
}

static enum status calibrate_read_rows(
	struct lines *lines, const char *model, struct calibration *calibration, struct error *error)
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
				column[fields] = calibrate_column_of(field[fields]);
			continue;
		}
		for (uint32_t i = 0; i < fields && i < columns && status == OK; i++)
			if (*field[i] && !calibrate_take_field(&row, column[i], field[i], &batch))
				status = fail(error, BAD_INPUT, "\"%.60s\" is not possible there", field[i]);
		if (status == OK && !calibrate_complete(&row, batch))
			status = fail(error, BAD_INPUT,
				"seconds are missing, or the degrees don't multiply to devices, or the batch is no whole number of "
				"microbatches");
		if (status == OK)
			status = calibrate_add_row(calibration, &room, &row);
		if (status != OK)
			error->line = lines->number;
	}
	if (got < 0)
		status = error->status;
	if (status == OK && calibration->rows == 0)
		status = fail(error, BAD_INPUT, "no measurements");
	return status;
}

enum status calibration_read(const char *path, const char *model, const struct scenario *scenario,
	struct calibration *calibration, struct error *error)
{
	*calibration = (struct calibration) { 0 };
	struct lines lines;
	TRY(lines_open(&lines, path, error));
	enum status status = calibrate_read_rows(&lines, model, calibration, error);
	lines_close(&lines);
	for (uint32_t i = 0; i < calibration->rows && status == OK; i++) {
		struct measurement *row = &calibration->row[i];
		error->line = 0;
		if (scenario_copy(&row->scenario, scenario) != OK)
			return fail_memory(error);
		row->scenario.value[K_float8] |= row->float8;
		if (row->node > 0)
			row->scenario.value[K_devices_per_node] = row->node;
		if (row->device != DEVICE_NONE) {
			scenario_drop_figures(&row->scenario);
			row->scenario.value[K_device] = row->device;
		}
		TRY(scenario_by_data_sheets(&row->scenario, error));
		struct config_request request = { .devices = row->devices,
			.devices_per_node = (uint32_t)row->scenario.value[K_devices_per_node] };
		if (model_source_open(&row->source, row->model, NULL, &row->scenario) != 0)
			return fail(error, BAD_INPUT, "%.60s can't be opened", row->model);
		model_source_request(&row->source, &request);
		row->opened = config_case_open(&request, &row->config, error);
		status = row->opened ? OK : error->status;
	}
	return status;
}

void calibration_free(struct calibration *calibration)
{
	for (uint32_t i = 0; i < calibration->rows; i++) {
		config_case_free(calibration->row[i].opened);
		model_source_close(&calibration->row[i].source);
		scenario_done(&calibration->row[i].scenario);
	}
	mem_free(calibration->row);
	mem_free(calibration->fitted);
	*calibration = (struct calibration) { 0 };
}

/* ---- fitting ---- */

struct fitting {
	struct calibration *calibration;
	const struct machine *from;
	const struct overheads *overheads;
	enum status status;
};

/* What no step can tell: 8-bit products that reach more of their peak than 16-bit ones do of theirs by a fifth,
 * attention that is faster on pieces of a sequence than on all of it, links at less than half of what collectives alone
 * were measured at. Without these limits a fit makes up for other things by them. */
#define NARROW_MOST 1200
#define PIECES_MOST 1000
#define LINK_LEAST .5

static uint16_t calibrate_scaled(uint16_t share, double factor, double most)
{
	return (uint16_t)fmax(1, fmin(most, round(share * factor)));
}

static void calibrate_apply(const struct machine *from, const double *factor, struct machine *machine)
{
	*machine = *from;
	machine->matrix = calibrate_scaled(from->matrix, factor[CALIBRATED_MATRIX], 1000);
	machine->attention = calibrate_scaled(
		from->attention > 0 ? from->attention : 1000, factor[CALIBRATED_ATTENTION], 10000);
	machine->pieces = calibrate_scaled(from->pieces > 0 ? from->pieces : 1000, factor[CALIBRATED_PIECES], PIECES_MOST);
	machine->narrow = calibrate_scaled(from->narrow, factor[CALIBRATED_NARROW], NARROW_MOST);
	machine->fused = calibrate_scaled(from->fused, factor[CALIBRATED_TRAFFIC], 60000);
	machine->eager = calibrate_scaled(from->eager, factor[CALIBRATED_EAGER], 60000);
	machine->near.rate = (int64_t)((double)from->near.rate * fmax(LINK_LEAST, factor[CALIBRATED_NEAR]));
	machine->far.rate = (int64_t)((double)from->far.rate * fmax(LINK_LEAST, factor[CALIBRATED_FAR]));
}

static double calibrate_predict(void *context, uint32_t row, const double *factor)
{
	struct fitting *fitting = context;
	struct machine machine;
	struct config_result result = { .time = 1 };
	struct overheads overheads = *fitting->overheads;
	const struct measurement *measured = &fitting->calibration->row[row];
	if (measured->hidden > 0)
		overheads.inside = measured->hidden * 10;
	struct machine from = *fitting->from;
	if (measured->device != DEVICE_NONE)
		scenario_machine(&measured->scenario, &from);
	calibrate_apply(&from, factor, &machine);
	enum status status = config_case_evaluate(measured->opened, &machine, &overheads, &result);
	if (fitting->status == OK)
		fitting->status = status;
	return (double)(result.time > 0 ? result.time : 1) / 1e12;
}

enum status calibration_fit(
	struct calibration *calibration, struct machine *machine, const struct overheads *overheads, struct error *error)
{
	struct machine from = *machine;
	struct fitting fitting = { calibration, &from, overheads, OK };
	struct fit *fit = &calibration->fit;
	*fit = (struct fit){
		.rows = calibration->rows, .factors = CALIBRATED_COUNT, .predict = calibrate_predict, .context = &fitting
	};
	fit->row = calibration->fitted = mem_alloc(calibration->rows, sizeof *fit->row);
	if (!fit->row)
		return fail_memory(error);
	for (uint32_t i = 0; i < fit->rows; i++)
		fit->row[i].measured = calibration->row[i].seconds;
	enum status status = fit_rows(fit);
	status = status == OK ? fitting.status : status;
	calibrate_apply(&from, fit->factor, machine);
	machine->memory = from.memory;
	calibration->machine = *machine;
	fit->context = NULL;
	if (status == INFEASIBLE)
		return fail(error, BAD_INPUT, "a measured pipeline has more pieces than the model has blocks");
	return status == NO_MEMORY ? fail_memory(error) : status;
}

static const char *const constant_names[] = {
#define X(id, name) name,
	CALIBRATED(X)
#undef X
};

static double percent_off(double seconds, const struct fit_row *row)
{
	return 100 * (seconds / row->measured - 1);
}

/* The largest error, without or with rows left out of their fit, and without outliers. */
static double worst(const struct fit *fit, bool left_out)
{
	double most = 0;
	for (uint32_t i = 0; i < fit->rows; i++)
		if (!fit->row[i].outlier)
			most = fmax(most, fabs(percent_off(left_out ? fit->row[i].left_out : fit->row[i].fitted, &fit->row[i])));
	return most;
}

void calibration_print(const struct calibration *calibration, FILE *file)
{
	const struct fit *fit = &calibration->fit;
	char text[200];
	uint32_t outliers = 0;
	fprintf(file, "fitted to %u measured steps:\n", fit->rows);
	for (int c = 0; c < CALIBRATED_COUNT; c++)
		if (fit->told[c])
			fprintf(file, "  %-22s x %.3f, give or take %.1f %%\n", constant_names[c], fit->factor[c], 100 * fit->deviation[c]);
		else
			fprintf(file, "  %-22s as before: these steps don't tell\n", constant_names[c]);
	fprintf(file, "  measured    fitted     error  left out     error\n");
	for (uint32_t i = 0; i < fit->rows; i++) {
		const struct fit_row *row = &fit->row[i];
		outliers += row->outlier;
		fprintf(file, "%8.4f s %8.4f s %+8.2f%% %8.4f s %+8.2f%%  %s %s%s\n", row->measured, row->fitted,
			percent_off(row->fitted, row), row->left_out, percent_off(row->left_out, row), calibration->row[i].model,
			config_text(&calibration->row[i].config, text, sizeof text),
			row->outlier ? "  (far off: counts little)" : "");
	}
	fprintf(file, "worst error %.2f %%, %.2f %% of rows left out of the fit", worst(fit, false), worst(fit, true));
	if (outliers > 0)
		fprintf(file, ", %u that %s far off not counted", outliers, outliers > 1 ? "are" : "is");
	fprintf(file, "\n\n");
}

void calibration_save(const struct calibration *calibration, const struct scenario *scenario, FILE *file)
{
	const struct fit *fit = &calibration->fit;
	char text[64], value[200];
	fprintf(file, "# fitted to %u measured steps, worst error %.2f %%, %.2f %% of rows left out\n", fit->rows,
		worst(fit, false), worst(fit, true));
	fprintf(file, "device=%s\n", knob_text(K_device, scenario->value[K_device], text, sizeof text));
	if (scenario->value[K_software] != SOFTWARE_GIVEN)
		fprintf(file, "measured=100%%\nsoftware=%s\n",
			knob_text(K_software, scenario->value[K_software], text, sizeof text));
	static const struct { enum figure_id figure; enum calibrated constant; } lines[] = {
		{ FIGURE_MATRIX, CALIBRATED_MATRIX }, { FIGURE_ATTENTION, CALIBRATED_ATTENTION },
		{ FIGURE_PIECES, CALIBRATED_PIECES }, { FIGURE_NARROW, CALIBRATED_NARROW }, { FIGURE_FUSED, CALIBRATED_TRAFFIC },
		{ FIGURE_EAGER, CALIBRATED_EAGER }, { FIGURE_NEAR, CALIBRATED_NEAR }, { FIGURE_FAR, CALIBRATED_FAR }
	};
	struct device_preset preset = { .machine = calibration->machine };
	bool eager = scenario->value[K_kernels];   /* then what is fused has the traffic of eager kernels */
	if (eager)
		preset.machine.eager = preset.machine.fused;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		enum figure_id figure = eager && lines[i].figure == FIGURE_FUSED ? FIGURE_EAGER : lines[i].figure;
		if (fit->told[lines[i].constant] && !(eager && lines[i].constant == CALIBRATED_EAGER))
			fprintf(file, "%s=%s\n", figure_name(figure), figure_text(figure, &preset, value, sizeof value));
	}
}
