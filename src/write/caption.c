/* caption.c: a figure's caption: three paragraphs of text. */
#include <inttypes.h>

#include "caption.h"
#include "src/base/safe_text.h"
#include "src/scenario/knobs.h"

/* caption_files: what a caption says of files that a figure is drawn of: each line's plan and knobs, or a sweep's
 * colours and values. */

/* What a view shows, up to what else there is to know of it. */
static void caption_add_help(const char *help, struct words *words)
{
	words_add(words, "%c%.*s.", *help >= 'a' && *help <= 'z' ? *help - 'a' + 'A' : *help,
		*help ? (int)strcspn(help, ":;") - 1 : 0, *help ? help + 1 : "");
}

/* ---- plans ---- */

char *caption_knob(const json_t *value, int knob, char *text, size_t size)
{
	if (json_is_integer(value))
		knob_text((enum knob_id)knob, json_integer_value(value), text, size);
	else
		snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : "");
	return text;
}

/* The knobs that aren't at their defaults, and pins. */
static void add_scenario(const json_t *scenario, struct words *words)
{
	char text[600], normal[600];
	const char *between = "; ";
	const json_t *pin;
	size_t at;
	FOR_INT(knob, KNOB_COUNT) {
		const json_t *value = json_object_get(scenario, knobs[knob].name);
		caption_knob(value, knob, text, sizeof text);
		if (!*text || text_is(text, knob_text((enum knob_id)knob, knobs[knob].normal, normal, sizeof normal)))
			continue;
		words_add(words, "%s%s=%s", between, knobs[knob].name, text);
		between = ", ";
	}
	if (*between == ';')
		words_add(words, "; all knobs at their defaults");
	json_array_foreach(json_object_get(scenario, "pins"), at, pin)
		words_add(words, "; %s", json_is_string(pin) ? json_string_value(pin) : "");
}

static enum status caption_files_add_plan(const char *path, struct words *words, struct error *error)
{
	struct error wrong = { 0 };
	json_t *plan = plan_file_read(path, &wrong);
	if (!plan)
		return fail(error, wrong.status, "%s: %s", path, wrong.text);
	const json_t *peak = json_object_get(json_object_get(plan, "memory"), "peak_without_workspace_bytes");
	words_add(words, "\n");
	words_add_quoted(words, path);
	if (json_is_integer(peak))
		words_add(words, ": peak %s", BYTES(json_integer_value(peak)));
	add_scenario(json_object_get(plan, "scenario"), words);
	words_add(words, ".");
	json_decref(plan);
	return OK;
}

/* Of a sweep: the values of the knobs that it varies. What search and fit wrote names its rows itself. */
static enum status caption_add_sweep(const char *path, struct words *words, struct error *error)
{
	struct sweep_table table;
	enum status status = sweep_file_read(path, &table, error);
	bool varied = status == OK && text_is(table.rows_are, "scenario");
	for (uint32_t i = 0; varied && i < table.knobs; i++)
		FOR(k, table.knob[i].values)
			words_add(words, "%s%s%s%s", k ? "," : i ? "; " : "\nVaried: ", k ? "" : table.knob[i].name, k ? "" : "=",
				table.knob[i].value[k]);
	words_add(words, varied ? "." : "");
	sweep_table_done(&table);
	return status;
}

/* Of plan files each with its peak and the knobs that aren't at their defaults. Standard input was read by the figure:
 * of it nothing is said. BAD_INPUT where a file is not what the view is drawn of. */
static enum status caption_add_files(
	char *const *path, int paths, const char *help, bool table, struct words *words, struct error *error)
{
	caption_add_help(help, words);
	if (paths > 1)
		words_add(words, " %d plans.", paths);
	FOR_INT(i, paths) {
		bool plan = file_is_plan(path[i]);
		if (plan)
			TRY(caption_files_add_plan(path[i], words, error));
		if (plan || text_is(path[i], "-"))
			continue;
		words_add(words, "\n");
		words_add_quoted(words, path[i]);
		words_add(words, ".");
		TRY(table ? caption_add_sweep(path[i], words, error) : OK);
	}
	return OK;
}

#define CAPTION_ROOM 16384 /* bytes of what is said beside the command */

/* ---- what the figure shows ---- */

/* Of "timeline:pair" that of "timeline". */
static const char *help_of(const struct export_options *options)
{
	const char *view = options->view ? options->view : "timeline";
	size_t length = strcspn(view, ":");
	for (int i = 0; i < export_view_count; i++)
		if (export_views[i].name && strncmp(export_views[i].name, view, length) == 0 &&
			strcspn(export_views[i].name, ":") == length)
			return export_views[i].help;
	return "";
}

static void add_contents(const struct plan *plan, const struct export_options *options, struct words *words)
{
	const char *help = help_of(options);
	char name[400];
	caption_add_help(help, words);
	words_add(words, "\n%s: %u ops, peak %s (%" PRId64 " B), arena %s (%" PRId64 " B)",
		text_clean(plan->graph->name, name, sizeof name), plan->graph->ops,
		BYTES(plan_peak(plan)), plan_peak(plan),
		BYTES(plan_arena(plan)), plan_arena(plan));
	words_add(words, plan->speed.devices > 1 ? "; of one of %u devices." : ".", plan->speed.devices);
}

/* ---- knobs and command ---- */

void caption_add_knobs(const struct scenario *scenario, struct words *words)
{
	const char *between = "Knobs: ";
	FOR_INT(knob, KNOB_COUNT)
		if (scenario->value[knob] != knobs[knob].normal) {
			words_add(words, "%s%s=%s", between, knobs[knob].name,
				knob_text((enum knob_id)knob, scenario->value[knob], TEXT(600)));
			between = ", ";
		}
	words_add(words, *between == ',' ? "; the others at their defaults." : "All knobs at their defaults.");
	FOR(i, scenario->pins)
		words_add(words, "%s%s", i ? "; " : "\nPins: ", pin_text(&scenario->pin[i], TEXT(600)));
}

/* The command is whole: its letters can become four in quotes. */
static size_t caption_room_for(char *const *command, int commands)
{
	size_t room = CAPTION_ROOM;
	FOR_INT(i, commands)
		room += 4 * strlen(command[i]) + 4;
	return room;
}

static void add_command(char *const *command, int commands, struct words *words)
{
	words_add(words, "\n\nDrawn by tidemark " TIDEMARK_VERSION ":\ntidemark");
	FOR_INT(i, commands) {
		words_add(words, " ");
		words_add_quoted(words, command[i]);
	}
	words_add(words, "\n");
}

enum status caption_write(const struct plan *plan, const struct export_options *options, char *const *command,
	int commands, FILE *stream, struct error *error)
{
	size_t room = caption_room_for(command, commands);
	struct words words = { mem_alloc(1, room), room, 0 };
	enum status status = words.text ? OK : fail_memory(error);
	if (status == OK) {
		add_contents(plan, options, &words);
		words.size = CAPTION_ROOM; /* pins without end leave room for the command */
		words_add(&words, "%s\n\n", options->said->text);
		caption_add_knobs(&plan->scenario, &words);
		words.size = room;
		add_command(command, commands, &words);
		text_write_clean(stream, words.text, "\n");
	}
	mem_free(words.text);
	return status;
}

enum status caption_write_files(char *const *path, int paths, const struct export_options *options,
	char *const *command, int commands, FILE *stream, struct error *error)
{
	size_t room = caption_room_for(command, commands);
	struct words words = { mem_alloc(1, room), room, 0 };
	NEEDED(error, words.text);
	words.size = CAPTION_ROOM; /* files without end leave room for the command */
	bool table = sweep_figure_view(options->view) || (text_is(options->view, "bars"));
	enum status status = caption_add_files(path, paths, help_of(options), table, &words, error);
	words_add(&words, "%s", options->said->text);
	words.size = room;
	if (status == OK) {
		add_command(command, commands, &words);
		text_write_clean(stream, words.text, "\n");
	}
	mem_free(words.text);
	return status;
}
