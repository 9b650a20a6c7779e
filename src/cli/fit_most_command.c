/* fit_most_command.c: `tidemark fit --max batch|seq` and `--smallest-device`: the other questions about what fits. */
#include <inttypes.h>

#include "batch.h"
#include "fit_check.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"

/* ---- the most ---- */

static void print_most(FILE *file, const struct scenario *scenario, enum knob_id knob, const struct fit_most *most)
{
	char clock[DEVICE_CLOCK_TEXT], apart[48] = "";
	const char *cap = BYTES(most->budget);
	if (most->by > 1)
		PRINT_TO(apart, ", in steps of %" PRId64, most->by);
	if (most->most > 0)
		fprintf(file, "the largest that fits%s%s: --set %s=%" PRId64 ": %s of %s, a step %.4g ms%s%s%s\n",
			most->limited ? " so far" : "", apart, knobs[knob].name, most->most, BYTES(most->came.needs), cap,
			(double)most->came.step / 1e9, device_clock_text(scenario, clock), *most->came.guesses ? "; " : "",
			most->came.guesses);
	else
		fprintf(file, "nothing fits %s\n", cap);
	if (most->next > 0 && most->after.needs >= 0)
		fprintf(file, "%s: --set %s=%" PRId64 " needs %s%s, which is over%s%s\n",
			most->proved ? "proved" : "also planned", knobs[knob].name, most->next,
			most->proved ? "at least " : "", BYTES(most->after.needs), *most->after.guesses ? "; " : "",
			most->after.guesses);
	else if (most->next > 0)
		fprintf(file, "--set %s=%" PRId64 " can't be planned: %s\n", knobs[knob].name, most->next,
			text_clean(most->reason, TEXT(512)));
}

static void write_most(
	FILE *file, const struct scenario *scenario, const struct fit_asked *asked, const struct fit_most *most)
{
	struct json json = { .stream = file };
	json_open_object(&json, NULL);
	fit_write_asked(&json, scenario, asked);
	json_write_integer(&json, "memory_bytes", most->budget);
	json_write_text(&json, "knob", knobs[asked->most].name);
	json_write_integer(&json, "most", most->most);
	if (most->most > 0) {
		json_write_integer(&json, "needed_bytes", most->came.needs);
		json_write_decimal(&json, "step_seconds", most->came.step, 12);
		json_write_real(&json, "deviation", device_deviation(scenario) / 1e3, 3);
		if (*most->came.guesses)
			json_write_text(&json, "guesses", most->came.guesses);
	}
	if (most->next > 0) {
		json_write_integer(&json, "next", most->next);
		if (most->after.needs >= 0)
			json_write_integer(&json, "next_needed_bytes", most->after.needs);
		else
			json_write_text(&json, "next_reason", most->reason);
		if (most->proved)
			json_write_bool(&json, "next_proved", true);
		if (*most->after.guesses)
			json_write_text(&json, "next_guesses", most->after.guesses);
	}
	json_write_integer(&json, "plans", most->plans);
	if (most->limited)
		json_write_bool(&json, "limited", true);
	json_end(&json);
}

/* ---- devices ---- */

static const struct fit_device *fit_most_command_smallest(const struct fit_device *device, uint32_t devices)
{
	FOR(i, devices)
		if (device[i].planned && device[i].fits)
			return &device[i];
	return NULL;
}

static void print_devices(FILE *file, const struct fit_device *device, uint32_t devices)
{
	const struct fit_device *first = fit_most_command_smallest(device, devices);
	if (first)
		fprintf(file, "the smallest device on which the step fits: --set device=%s\n\n",
			knob_text(K_device, first->device, TEXT(64)));
	else
		fprintf(file, "the step fits on no device preset\n\n");
	fprintf(file, "  %-16s %10s  %10s %11s\n", "device", "memory", "needed", "step ms");
	FOR(i, devices) {
		const struct fit_device *row = &device[i];
		const char *name = knob_text(K_device, row->device, TEXT(64)), *memory = BYTES(row->memory);
		if (!row->planned) {
			fprintf(file, "  %-16s %10s  can't be planned\n", name, memory);
			continue;
		}
		const char *over = PRINTED(48, row->fits ? "fits" : "over by %s", BYTES(row->came.needs - row->memory));
		fprintf(file, "  %-16s %10s  %10s %11.4g%-7s  %s%s%s\n", name, memory, BYTES(row->came.needs),
			(double)row->came.step / 1e9, row->within, over, *row->came.guesses ? "; " : "", row->came.guesses);
	}
}

static void write_devices(FILE *file, const struct scenario *scenario, const struct fit_asked *asked,
	const struct fit_device *device, uint32_t devices)
{
	const struct fit_device *first = fit_most_command_smallest(device, devices);
	struct json json = { .stream = file };
	json_open_object(&json, NULL);
	fit_write_asked(&json, scenario, asked);
	json_write_text(&json, "smallest", first ? knob_text(K_device, first->device, TEXT(64)) : NULL);
	json_open_array(&json, "devices");
	FOR(i, devices) {
		json_new_line(&json, 1);
		json_open_object(&json, NULL);
		json_write_text(&json, "device", knob_text(K_device, device[i].device, TEXT(64)));
		json_write_integer(&json, "memory_bytes", device[i].memory);
		json_write_bool(&json, "planned", device[i].planned);
		if (device[i].planned) {
			json_write_bool(&json, "fits", device[i].fits);
			json_write_integer(&json, "needed_bytes", device[i].came.needs);
			json_write_decimal(&json, "step_seconds", device[i].came.step, 12);
			json_write_real(&json, "deviation", device[i].deviation / 1e3, 3);
			if (*device[i].came.guesses)
				json_write_text(&json, "guesses", device[i].came.guesses);
		}
		json_close(&json);
	}
	json_close(&json);
	json_end(&json);
}

/* ---- both ---- */

struct answer {
	struct fit_most most;
	struct fit_device device[DEVICE_COUNT];
	uint32_t devices;
};

static enum status find_answer(const struct fit_asked *asked, struct planner *planner, struct graph *graph,
	const struct scenario *scenario, struct answer *answer, struct error *error)
{
	const int64_t *value = scenario->value;
	int64_t parts = value[K_microbatches] * (value[K_strategy] != 0 ? value[K_devices] : 1),
			by = asked->most == K_batch ? parts : 1;
	return asked->most == KNOB_COUNT ? fit_devices_find(planner, graph, scenario, answer->device, &answer->devices, error)
		: fit_most_find(planner, graph, scenario, asked->most, by, &answer->most, error);
}

static void fit_most_command_write_json(
	FILE *stream, const struct fit_asked *asked, const struct scenario *scenario, const struct answer *answer)
{
	if (asked->most == KNOB_COUNT)
		write_devices(stream, scenario, asked, answer->device, answer->devices);
	else
		write_most(stream, scenario, asked, &answer->most);
}

enum status fit_most_write_json(const struct fit_asked *asked, struct planner *planner, struct graph *graph,
	const struct scenario *scenario, FILE *stream, struct error *error)
{
	struct answer answer = { 0 };
	enum status status = find_answer(asked, planner, graph, scenario, &answer, error);
	if (status == OK || (status == INFEASIBLE && asked->most != KNOB_COUNT))
		fit_most_command_write_json(stream, asked, scenario, &answer);
	return status;
}

static enum status write_answer(const struct most_request *request, const struct scenario *scenario,
	const struct answer *answer, struct error *error)
{
	struct output output;
	TRY(output_open(&output, request->output, true, error));
	if (request->json)
		fit_most_command_write_json(output.stream, &request->asked, scenario, answer);
	else if (request->asked.most == KNOB_COUNT)
		print_devices(output.stream, answer->device, answer->devices);
	else
		print_most(output.stream, scenario, request->asked.most, &answer->most);
	return output_close(&output, OK, error);
}

int fit_most_serve(
	const struct most_request *request, struct planner *planner, struct graph *graph, const struct scenario *scenario)
{
	struct answer answer = { 0 };
	struct error error = { 0 };
	enum knob_id knob = request->asked.most;
	enum status status = find_answer(&request->asked, planner, graph, scenario, &answer, &error);
	bool fits = status == OK && (knob != KNOB_COUNT || fit_most_command_smallest(answer.device, answer.devices));
	if (status == INFEASIBLE && knob != KNOB_COUNT)
		status = OK;
	batch_progress_done();
	THEN(status, write_answer(request, scenario, &answer, &error));
	if (status != OK)
		return batch_signal() && status == CANCELLED ? batch_signal() : complain(request->path, &error, status);
	return batch_signal() ? batch_signal() : fits ? EXIT_FINE : EXIT_CONSTRAINT;
}
