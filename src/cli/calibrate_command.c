/* calibrate_command.c: `tidemark calibrate`: a device's preset from traces of the profiler. */
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "options.h"
#include "src/base/output.h"
#include "src/base/words.h"
#include "src/configs/device_fit.h"

#define NODE_MOST 1024

struct calibrating {
	struct command_line line;
	enum device base;                /* DEVICE_NONE: the one that the traces name */
	const char *name;
	int64_t devices_per_node;
	struct samples samples;
};

static int take_base(struct calibrating *calibrating, const char *value)
{
	struct error error = { 0 };
	int64_t device = DEVICE_NONE;
	if (knob_parse(K_device, value, &device, &error) != OK)
		return usage_error("calibrate", "--base: %s", error.text);
	calibrating->base = (enum device)device;
	return device != DEVICE_NONE ? EXIT_FINE
		: usage_error("calibrate", "--base none: expected a preset, such as h100-80gb");
}

static int calibrate_command_take_option(void *context, int row, const char *value)
{
	struct calibrating *calibrating = context;
	struct device_preset ignored;
	struct error error = { 0 };
	switch (row) {
	case OPTION_base: return take_base(calibrating, value);
	case OPTION_name:
		calibrating->name = value;
		return figure_parse(FIGURE_NAME, value, &ignored, &error) == OK
			? EXIT_FINE
			: usage_error("calibrate", "--name: %s", error.text);
	default: return option_number(&calibrating->line, row, value, 1, NODE_MOST, &calibrating->devices_per_node);
	}
}

/* The file's name without folder and ending, of letters that a name may have. */
static void calibrate_command_name_of(const struct calibrating *calibrating, char *name, size_t size)
{
	const char *path = calibrating->line.output, *slash = path ? strrchr(path, '/') : NULL;
	snprintf(name, size, "%s",
		calibrating->name ? calibrating->name
		: path && strcmp(path, "-") != 0 ? slash ? slash + 1 : path
		: "measured");
	if (!calibrating->name)
		name[strcspn(name, ".")] = '\0';
	for (char *at = name; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at))
			*at = '-';
	if (!*name)
		snprintf(name, size, "measured");
}

static enum status save(const struct calibrating *calibrating, const struct device_fit *fit, struct error *error)
{
	struct output output;
	char name[40], title[300];
	struct words words = { title, sizeof title, 0 };
	calibrate_command_name_of(calibrating, name, sizeof name);
	words_add(&words, "measured in %d trace%s of %s", calibrating->line.operands,
		calibrating->line.operands == 1 ? "" : "s",
		*calibrating->samples.device ? calibrating->samples.device
		: fit->base == DEVICE_CPU ? "a processor"
		: "a device without a name");
	for (char *at = title; *at; at++)
		*at = *at < ' ' ? ' ' : *at;
	TRY(output_open(&output, calibrating->line.output, true, error));
	device_fit_save(fit, &calibrating->samples, title, name, output.stream);
	enum status status = output_close(&output, OK, error);
	if (status == OK && calibrating->line.output && strcmp(calibrating->line.output, "-") != 0) {
		puts(title);
		device_fit_print(fit, &calibrating->samples, "", stdout);
		printf("--set device=@%s counts with it\n", calibrating->line.output);
	}
	return status;
}

static int calibrate_command_run(struct calibrating *calibrating)
{
	struct error error = { 0 };
	struct device_fit fit;
	struct rules *rules = rules_new();
	enum status status = rules ? OK : fail_memory(&error);
	const char *path = NULL;
	struct samples *samples = &calibrating->samples;
	for (int i = 0; i < calibrating->line.operands && status == OK; i++) {
		path = calibrating->line.operand[i];
		status = samples_open(samples, path, rules, (uint32_t)calibrating->devices_per_node, &error);
	}
	samples_join(samples);
	if (status == OK && calibrating->base == DEVICE_NONE)
		calibrating->base = samples->gpu ? device_called(samples->device, samples->memory) : DEVICE_CPU;
	if (status == OK && calibrating->base == DEVICE_NONE)
		status = fail(&error, BAD_INPUT,
			"no preset is of the device \"%.90s\": name one that has its peaks with --base", samples->device);
	if (status == OK && samples->unowned > 0)
		complain_line("note: %u of %u kernels, %.3g s, are of no operator in their trace (CUDA graphs, another "
					  "thread's) and don't count",
			samples->unowned, samples->kernels, samples->unowned_seconds);
	THEN(status, device_fit_find(&fit, calibrating->base, samples->memory, samples) == OK ? OK : fail_memory(&error));
	if (status == OK) {
		path = NULL;
		status = save(calibrating, &fit, &error);
	}
	if (rules)
		rules_free(rules);
	return status == OK ? EXIT_FINE : complain(path, &error, status);
}

int calibrate_command(int argc, char **argv)
{
	struct calibrating calibrating = { .devices_per_node = 8 };
	calibrating.line = (struct command_line){
		.command = SUBCOMMAND_calibrate, .take = calibrate_command_take_option, .context = &calibrating, .several = true
	};
	int code = command_line_parse(&calibrating.line, argc, argv);
	if (code == EXIT_FINE && !calibrating.line.helped)
		code = calibrate_command_run(&calibrating);
	samples_free(&calibrating.samples);
	return code;
}
