/* unit_calibrate.c: constants are found again from measurements that were made with them, noise and wrong rows among
 * them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/configs/calibrate.h"
#include "src/scenario/own_device.h"
#include "tests/common/support.h"

#define ROWS 16

/* ---- the fit alone: rows are sums of parts that factors divide or multiply ------------------- */

struct parts { double part[ROWS][3]; };

static double sum_of_parts(void *context, uint32_t row, const double *factor)
{
	const double *part = ((const struct parts *)context)->part[row];
	return part[0] / factor[0] + part[1] * factor[1] + part[2] / factor[2];
}

static double chance(uint64_t *random)
{
	return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

/* Rows as measured by a machine with the true factors, up to some share of noise. */
static void measure(struct parts *parts, const double *truth, double noise, uint64_t *random, struct fit_row *row)
{
	for (int i = 0; i < ROWS; i++) {
		for (int f = 0; f < 3; f++)
			parts->part[i][f] = 0.1 + chance(random);
		row[i] = (struct fit_row){ .measured = sum_of_parts(parts, (uint32_t)i, truth) *
				(1 + noise * (2 * chance(random) - 1)) };
	}
}

Test(calibrate, factors_are_found_again_from_noisy_rows)
{
	uint64_t seed = test_seed(), random = seed;
	for (int round = 0; round < (int)test_rounds(15, 50); round++) {
		double truth[3], noise = round % 2 ? 0.01 : 0;
		struct parts parts;
		struct fit_row row[ROWS];
		struct fit fit = { .row = row, .rows = ROWS, .factors = 3, .predict = sum_of_parts, .context = &parts };
		for (int f = 0; f < 3; f++)
			truth[f] = exp(1.4 * chance(&random) - 0.7);
		measure(&parts, truth, noise, &random, row);
		cr_assert_eq(fit_rows(&fit), OK);
		for (int f = 0; f < 3; f++) {
			cr_expect(fit.told[f], "SEED=%llu", (unsigned long long)seed);
			cr_expect_float_eq(log(fit.factor[f] / truth[f]), 0, noise > 0 ? fmax(0.05, 4 * fit.deviation[f]) : 0.005,
				"SEED=%llu: %f, not %f (%f)", (unsigned long long)seed, fit.factor[f], truth[f], fit.deviation[f]);
		}
		for (int i = 0; i < ROWS; i++) {
			cr_expect(!row[i].outlier, "SEED=%llu", (unsigned long long)seed);
			cr_expect_float_eq(row[i].fitted, row[i].measured, 0.03 * row[i].measured, "SEED=%llu", (unsigned long long)seed);
			cr_expect_float_eq(row[i].left_out, row[i].measured, 0.05 * row[i].measured, "SEED=%llu", (unsigned long long)seed);
		}
	}
}

Test(calibrate, a_wrong_row_is_named_and_hardly_counts)
{
	uint64_t seed = test_seed(), random = seed;
	for (int round = 0; round < (int)test_rounds(10, 30); round++) {
		static const double truth[3] = { 1.3, 0.8, 1.1 };
		struct parts parts;
		struct fit_row row[ROWS];
		struct fit fit = { .row = row, .rows = ROWS, .factors = 3, .predict = sum_of_parts, .context = &parts };
		measure(&parts, truth, 0.005, &random, row);
		uint32_t wrong = (uint32_t)(random_next(&random) % ROWS);
		row[wrong].measured *= round % 2 ? 2 : 0.5;
		cr_assert_eq(fit_rows(&fit), OK);
		for (uint32_t i = 0; i < ROWS; i++)
			cr_expect_eq(row[i].outlier, i == wrong, "SEED=%llu row %u of round %d, wrong %u", (unsigned long long)seed,
				i, round, wrong);
		for (int f = 0; f < 3; f++)
			cr_expect_float_eq(fit.factor[f], truth[f], 0.1, "SEED=%llu: %f, not %f", (unsigned long long)seed,
				fit.factor[f], truth[f]);
	}
}

Test(calibrate, what_rows_do_not_tell_stays_as_it_was)
{
	uint64_t seed = test_seed(), random = seed;
	static const double truth[3] = { 1.3, 0.8, 1 };
	struct parts parts;
	struct fit_row row[ROWS];
	struct fit fit = { .row = row, .rows = ROWS, .factors = 3, .predict = sum_of_parts, .context = &parts };
	measure(&parts, truth, 0, &random, row);
	for (int i = 0; i < ROWS; i++) {   /* no row has the third part */
		row[i].measured -= parts.part[i][2];
		parts.part[i][2] = 0;
	}
	cr_assert_eq(fit_rows(&fit), OK);
	cr_expect(fit.told[0] && fit.told[1] && !fit.told[2]);
	cr_expect_float_eq(fit.factor[0], 1.3, 0.01, "%f", fit.factor[0]);
	cr_expect_float_eq(fit.factor[1], 0.8, 0.01, "%f", fit.factor[1]);
	cr_expect_eq(fit.factor[2], 1);
	for (int i = 0; i < ROWS; i++) {   /* the third part goes with the first: the rows tell their sum only */
		parts.part[i][2] = parts.part[i][0];
		row[i].measured = parts.part[i][0] / 1.2 + parts.part[i][1] + parts.part[i][2] / 1.2;
	}
	cr_assert_eq(fit_rows(&fit), OK);
	cr_expect(!fit.told[0] != !fit.told[2] && fit.told[1], "%d %d %d", fit.told[0], fit.told[1], fit.told[2]);
	for (int i = 0; i < ROWS; i++)
		cr_expect_float_eq(row[i].fitted, row[i].measured, 0.02 * row[i].measured);
	/* one row alone, and two: something plausible, nothing undefined */
	for (fit.rows = 1; fit.rows <= 2; fit.rows++) {
		cr_assert_eq(fit_rows(&fit), OK);
		for (int f = 0; f < 3; f++)
			cr_expect(isfinite(fit.factor[f]) && fit.factor[f] > 0.09 && fit.factor[f] < 11);
		cr_expect(isfinite(row[0].left_out));
	}
}

Test(calibrate, failing_allocations_leave_nothing)
{
	static const double truth[3] = { 1, 1, 1 };
	uint64_t random = 1;
	struct parts parts;
	struct fit_row row[ROWS];
	struct fit fit = { .row = row, .rows = ROWS, .factors = 3, .predict = sum_of_parts, .context = &parts };
	measure(&parts, truth, 0, &random, row);
	EACH_REFUSAL(refused)
		refused.status = fit_rows(&fit);
}

/* ---- files of measured steps ----------------------------------------------------------------- */

#define HEADER "model,devices,tp,pp,batch,sp,recompute,seconds\n"

static void write_file(char *path, const char *text)
{
	int file = mkstemp(path);
	cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
}

static enum status read_text(const char *text, struct calibration *calibration, struct error *error)
{
	static struct scenario scenario;
	char path[] = "/tmp/tidemark-calibrate-XXXXXX";
	scenario_init(&scenario);
	write_file(path, text);
	*error = (struct error) { 0 };
	enum status status = calibration_read(path, "gpt2", &scenario, calibration, error);
	unlink(path);
	return status;
}

static void write_rows(char *text, size_t size, const char *const *rows, const double *seconds, int count)
{
	int at = snprintf(text, size, HEADER);
	for (int i = 0; i < count; i++)
		at += snprintf(text + at, size - (size_t)at, "%s,%.9f\n", rows[i], seconds[i]);
}

/* A machine with other constants measures; from its times the constants are found. */
Test(calibrate, a_machines_constants_are_found_from_its_steps)
{
	static const char *const rows[] = { "gpt2-xl:seq=512,8,8,1,64,1,none", "gpt2-xl:seq=512,8,2,1,64,0,none",
		"gpt2-xl:seq=512,8,1,1,64,0,full", "gpt2-xl,8,4,1,16,1,selective", "gpt2-xl,8,1,2,32,0,none",
		"gpt2-medium,8,1,1,64,0,none", "gpt2-medium,8,8,1,8,0,full", "gpt2-medium,8,4,2,32,0,none" };
	enum { COUNT = sizeof rows / sizeof *rows };
	uint64_t seed = test_seed(), random = seed;
	struct machine truth = device_preset(DEVICE_A100_80).machine, machine = truth;
	struct calibration calibration;
	struct error error;
	double seconds[COUNT];
	char text[2000];
	for (int i = 0; i < COUNT; i++)
		seconds[i] = 1;
	write_rows(text, sizeof text, rows, seconds, COUNT);
	cr_assert_eq(read_text(text, &calibration, &error), OK, "%s", error.text);
	truth.matrix = (uint16_t)(truth.matrix * 8 / 10);
	truth.near.rate = truth.near.rate * 3 / 2;
	for (int i = 0; i < COUNT; i++) {
		struct config_result result;
		cr_assert_eq(config_case_evaluate(calibration.row[i].opened, &truth, &overheads_all, &result), OK);
		seconds[i] = (double)result.time / 1e12 * (0.995 + 0.01 * chance(&random));
	}
	write_rows(text, sizeof text, rows, seconds, COUNT);
	calibration_free(&calibration);
	cr_assert_eq(read_text(text, &calibration, &error), OK, "%s", error.text);
	cr_assert_eq(calibration_fit(&calibration, &machine, &overheads_all, &error), OK, "%s", error.text);
	const struct fit *fit = &calibration.fit;
	cr_expect_float_eq(fit->factor[CALIBRATED_MATRIX], 0.8, 0.04, "SEED=%llu: %f", (unsigned long long)seed,
		fit->factor[CALIBRATED_MATRIX]);
	cr_expect_float_eq(fit->factor[CALIBRATED_NEAR], 1.5, 0.2, "SEED=%llu: %f", (unsigned long long)seed,
		fit->factor[CALIBRATED_NEAR]);
	cr_expect(!fit->told[CALIBRATED_FAR] && fit->factor[CALIBRATED_FAR] == 1);
	for (int i = 0; i < COUNT; i++)
		cr_expect_float_eq(fit->row[i].left_out, fit->row[i].measured, 0.05 * fit->row[i].measured, "SEED=%llu",
			(unsigned long long)seed);
	/* what is saved makes the machine anew */
	char *saved = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&saved, &size);
	OWN(scenario) scenario;
	scenario_init(&scenario);
	scenario.value[K_device] = DEVICE_A100_80;
	calibration_save(&calibration, &scenario, file);
	fclose(file);
	for (char *line = saved, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		cr_expect(*line == '#' || scenario_set(&scenario, line, &error) == OK, "%s", line);
	}
	struct machine again;
	scenario_machine(&scenario, &again);
	cr_expect(abs(again.matrix - machine.matrix) <= 1, "%d %d", again.matrix, machine.matrix);
	cr_expect_eq(again.near.rate, machine.near.rate);
	cr_expect_eq(again.far.rate, machine.far.rate);
	free(saved);
	calibration_free(&calibration);
}

/* 8-bit products are faster, and what products hide takes no time. */
Test(calibrate, rows_say_what_a_step_computes_in_and_what_is_hidden)
{
	static const char text[] = "model,devices,batch,tp,seconds,float8,hidden\nllama:layers=8:seq=2048,8,8,2,1,0,"
							   "0\nllama:layers=8:seq=2048,8,8,2,1,1,0\n"
							   "llama:layers=8:seq=2048,8,8,2,1,0,100\n";
	struct calibration calibration;
	struct error error;
	OWN(scenario) scenario;
	struct machine machine;
	scenario_init(&scenario);
	scenario.value[K_device] = DEVICE_H100_80;
	scenario_machine(&scenario, &machine);
	cr_assert_eq(read_text(text, &calibration, &error), OK, "%s", error.text);
	cr_assert_eq(calibration.rows, 3);
	int64_t time[3];
	for (int i = 0; i < 3; i++) {
		struct overheads overheads = overheads_all;
		struct config_result result;
		overheads.inside = calibration.row[i].hidden * 10;
		cr_assert_eq(config_case_evaluate(calibration.row[i].opened, &machine, &overheads, &result), OK);
		time[i] = result.time;
		cr_expect_eq(result.link < 1000000, i == 2);   /* the rest of a division */
	}
	cr_expect(time[1] < time[0] && time[2] < time[0], "%ld %ld %ld", (long)time[0], (long)time[1], (long)time[2]);
	calibration_free(&calibration);
}

/* Rows of several presets: one set of factors, each on its own preset's constants, with the software that is set; links
 * as rows say what is near. */
Test(calibrate, rows_of_several_devices_are_fitted_together)
{
	static const struct {
		enum device device;
		const char *row;
	} rows[] = { { DEVICE_H100_80, "gpt2-xl:seq=512,h100-80gb,8,8,8,1,64,1,none" },
		{ DEVICE_H100_80, "gpt2-xl:seq=512,h100-80gb,8,8,1,1,64,0,full" },
		{ DEVICE_H100_80, "gpt2-medium,h100-80gb,8,8,1,1,64,0,none" },
		{ DEVICE_H200_141, "gpt2-xl,h200-141gb,8,8,4,1,16,1,none" },
		{ DEVICE_H200_141, "gpt2-xl:seq=512,h200-141gb,4,8,1,1,64,0,full" },
		{ DEVICE_H200_141, "gpt2-medium,h200-141gb,8,8,8,1,8,0,full" } };
	enum { COUNT = sizeof rows / sizeof *rows };
	static const char header[] = "model,device,devices_per_node,devices,tp,pp,batch,sp,recompute,seconds\n";
	struct calibration calibration;
	struct error error;
	double seconds[COUNT];
	char text[2000];
	for (int pass = 0; pass < 2; pass++) {
		int at = snprintf(text, sizeof text, "%s", header);
		for (int i = 0; i < COUNT; i++)
			at += snprintf(text + at, sizeof text - (size_t)at, "%s,%.9f\n", rows[i].row, pass ? seconds[i] : 1);
		cr_assert_eq(read_text(text, &calibration, &error), OK, "%s", error.text);
		cr_expect_eq(calibration.row[4].opened != NULL && calibration.row[4].scenario.value[K_devices_per_node] == 4, true);
		for (int i = 0; i < COUNT && pass == 0; i++) {
			struct machine truth = device_preset(rows[i].device).machine;
			truth.joins_updates = true;    /* as scenarios of compiled kernels have it */
			struct config_result result;
			truth.matrix = (uint16_t)(truth.matrix * 7 / 10);
			cr_assert_eq(config_case_evaluate(calibration.row[i].opened, &truth, &overheads_all, &result), OK);
			seconds[i] = (double)result.time / 1e12;
		}
		if (pass == 0)
			calibration_free(&calibration);
	}
	struct machine machine = device_preset(DEVICE_A100_80).machine;      /* no row is of the scenario's own device */
	cr_assert_eq(calibration_fit(&calibration, &machine, &overheads_all, &error), OK, "%s", error.text);
	cr_expect_float_eq(
		calibration.fit.factor[CALIBRATED_MATRIX], 0.7, 0.03, "%f", calibration.fit.factor[CALIBRATED_MATRIX]);
	for (int i = 0; i < COUNT; i++)
		cr_expect_float_eq(calibration.fit.row[i].fitted, seconds[i], 0.02 * seconds[i], "row %d: %f", i,
			calibration.fit.row[i].fitted);
	calibration_free(&calibration);
}

Test(calibrate, a_bad_file_is_refused_with_its_line)
{
	static const struct {
		const char *text;
		unsigned line;
	} bad[] = { { "", 0 }, { HEADER, 0 }, { HEADER "gpt2,8,8,1,8,0,none,\n", 2 },
		{ HEADER "# a comment\n\ngpt2,8,8,1,8,0,none,-1\n", 4 },
		{ HEADER "gpt2,8,8,1,8,0,none,1\ngpt2,8,3,1,8,0,none,1\n", 3 }, { HEADER "gpt2,8,8,1,8,2,none,1\n", 2 },
		{ HEADER "gpt2,8,8,1,8,0,often,1\n", 2 }, { HEADER "gpt2,8,8,1,8,0,none,nan\n", 2 },
		{ HEADER "gpt2,x,8,1,8,0,none,1\n", 2 }, { "devices,seconds,float8\n8,1,2\n", 2 },
		{ "devices,seconds,hidden\n8,1,101\n", 2 }, { "devices,seconds,device\n8,1,h1000\n", 2 },
		{ "devices,seconds,device\n8,1,none\n", 2 }, { "devices,seconds,devices_per_node\n8,1,0\n", 2 } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct calibration calibration;
		struct error error;
		cr_expect_eq(read_text(bad[i].text, &calibration, &error), BAD_INPUT, "%s", bad[i].text);
		cr_expect(!bad[i].line || error.line == bad[i].line, "\"%s\": line %u", bad[i].text, error.line);
		calibration_free(&calibration);
	}
}
