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

#include "src/configs/calibrate.h"
#include "src/configs/config_search.h"
#include "src/scenario/own_device.h"
#include "src/scenario/profiles.h"

enum { TABLES_MAX = 16, CONSTANTS = 15 };

struct table { struct calibration rows; struct scenario scenario; };

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
	if (calibration_read(path, "gpt2", &table->scenario, &table->rows, &error) != OK) {
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
	scenario_plain_machine(&row->scenario, &machine);
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
