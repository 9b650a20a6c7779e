/* caption_files.c: captions of figures of files. */
#include "caption_files.h"

#include <jansson.h>
#include <string.h>

#include "src/base/bytes.h"
#include "src/draw/figure.h"
#include "src/draw/figure_sweep.h"
#include "src/read/plan_file.h"

static bool is_standard(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* ---- plans ---- */

/* The knobs that aren't at their defaults, and pins. */
static void add_scenario(const json_t *scenario, struct words *words)
{
	char text[600], normal[600];
	const char *between = "; ";
	const json_t *pin;
	size_t at;
	for (int knob = 0; knob < KNOB_COUNT; knob++) {
		const json_t *value = json_object_get(scenario, knobs[knob].name);
		if (json_is_integer(value))
			knob_text((enum knob_id)knob, json_integer_value(value), text, sizeof text);
		else
			snprintf(text, sizeof text, "%s", json_is_string(value) ? json_string_value(value) : "");
		if (!*text || strcmp(text, knob_text((enum knob_id)knob, knobs[knob].normal, normal, sizeof normal)) == 0)
			continue;
		words_add(words, "%s%s=%s", between, knobs[knob].name, text);
		between = ", ";
	}
	if (*between == ';')
		words_add(words, "; all knobs at their defaults");
	json_array_foreach(json_object_get(scenario, "pins"), at, pin)
		words_add(words, "; %s", json_is_string(pin) ? json_string_value(pin) : "");
}

static enum status caption_files_add_plan(const char *path, int line, struct words *words, struct error *error)
{
	struct error wrong = { 0 };
	char bytes[32];
	json_t *plan = plan_file_read(path, &wrong);
	if (!plan)
		return fail(error, wrong.status, "%s: %s", path, wrong.text);
	const json_t *peak = json_object_get(json_object_get(plan, "memory"), "peak_without_workspace_bytes");
	words_add(words, "\n");
	words_add_quoted(words, path);
	words_add(words, " (%s%s)", curve_colours[line % (int)CURVES_MOST], line % 2 ? ", dashed" : "");
	if (json_is_integer(peak))
		words_add(words, ": peak %s", bytes_text(json_integer_value(peak), bytes, sizeof bytes));
	add_scenario(json_object_get(plan, "scenario"), words);
	words_add(words, ".");
	json_decref(plan);
	return OK;
}

enum status caption_add_plans(char *const *path, int paths, struct words *words, struct error *error)
{
	enum status status = OK;
	words_add(words, "Live memory over the order of %d plans, a line each; a square is a plan's peak.", paths);
	for (int i = 0; i < paths && status == OK; i++)
		if (!is_standard(path[i]))
			status = caption_files_add_plan(path[i], i, words, error);
	return status;
}

/* ---- sweeps ---- */

enum status caption_add_sweep(const char *path, bool pareto, struct words *words, struct error *error)
{
	struct sweep_table table;
	char colours[2000] = "";
	words_add(words,
		pareto ? "Every scenario's memory and time, and those that no other one beats: "
		: "Memory and time over the values of a knob, a line for each combination of the others: ");
	words_add_quoted(words, path);
	words_add(words, ".");
	if (is_standard(path))
		return OK;
	enum status status = sweep_file_read(path, &table, error);
	THEN(status, sweep_colours(&table, pareto, colours, sizeof colours, error));
	if (status == OK && *colours)
		words_add(words, "\n%s.", colours);
	if (status == OK)
		words_add(words, "\nHollow: over the memory of a device.%s\n\nVaried:",
			pareto ? " Joined and named: none that fits has less of both." : "");
	for (uint32_t i = 0; status == OK && i < table.knobs; i++)
		for (uint32_t k = 0; k < table.knob[i].values; k++)
			words_add(words, "%s%s%s%s",
				k ? ","
				: i ? "; "
				: " ",
				k ? "" : table.knob[i].name, k ? "" : "=", table.knob[i].value[k]);
	if (status == OK)
		words_add(words, ".");
	sweep_table_done(&table);
	return status;
}
