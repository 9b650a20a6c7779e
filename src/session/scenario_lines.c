/* scenario_lines.c: edits of a scenario as the prompt and session files have them. */

#include "opened.h"
#include "src/base/words.h"
#include "src/base/source.h"
#include "src/read/launch.h"
#include "src/scenario/knobs.h"

enum status scenario_line_unpin(struct scenario *scenario, const char *argument, struct error *error)
{
	char *end;
	unsigned long n = strtoul(argument, &end, 10);
	return end == argument || *end ? refuse(error, "unpin N: which pin?")
		: scenario_unpin(scenario, (uint32_t)n, error);
}

enum status scenario_line_reset(struct scenario *scenario, const char *argument, struct error *error)
{
	if (!*argument) {
		scenario_done(scenario);
		scenario_init(scenario);
		return OK;
	}
	enum knob_id knob = knob_find(argument);
	for (uint32_t i = scenario->pins; i > 0 && knob == KNOB_COUNT; i--)
		if (scenario->pin[i - 1].kind == PIN_FIGURE && text_is(scenario->pin[i - 1].a, argument))
			return scenario_unpin(scenario, i, error);
	if (knob == KNOB_COUNT)
		return knob_unknown(argument, error);
	scenario_put(scenario, knob, knobs[knob].normal);
	return OK;
}

size_t scenario_line_word(const char *argument, char word[200])
{
	const char *end = argument;
	size_t length;
	do
		end += strcspn(end, " \t") + strspn(end + strcspn(end, " \t"), " \t");
	while (*end && strcspn(end, "=") > strcspn(end, " \t"));
	for (length = (size_t)(end - argument); length > 0 && strchr(" \t", argument[length - 1]); length--)
		;
	snprintf(word, 200, "%.*s", length < 200 ? (int)length : 0, argument);
	return (size_t)(end - argument);
}

/* All that a file of knobs or of a launcher sets; its notes are left in error->text. */
static enum status scenario_line_file(struct scenario *scenario, const char *path, struct error *error)
{
	OWN(launch) launch;
	char notes[sizeof error->text] = "";
	struct words words = { notes, sizeof notes, 0 };
	enum status status = launch_read(&launch, path, scenario->value[K_devices], error);
	FOR_WHILE(i, launch.lines, status == OK) {
		const struct error *said = &launch.line[i].said;
		if (launch.line[i].note)
			words_add(&words, "%s; ", said->text);
		else if ((status = scenario_set(scenario, said->text, error)) != OK)
			error->line = said->line;
	}
	if (status != OK)
		return input_name(path, error);
	PRINT_TO(error->text, "%s", notes);
	return OK;
}

enum status scenario_line_set(struct scenario *scenario, const char *argument, struct error *error)
{
	char word[200];
	enum status status = OK;
	do {
		const char *from = argument;
		argument += scenario_line_word(argument, word);
		status = *from && !*word ? refuse(error, "set KNOB=VALUE: the value is too long")
			: *word == '@' ? scenario_line_file(scenario, word + 1, error)
			: scenario_set(scenario, word, error);
	} while (status == OK && *argument);
	return status;
}
