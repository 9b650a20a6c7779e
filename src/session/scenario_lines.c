/* scenario_lines.c: edits of a scenario as the prompt and session files have them. */
#include <stdio.h>
#include <stdlib.h>

#include "opened.h"

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
		if (scenario->pin[i - 1].kind == PIN_FIGURE && strcmp(scenario->pin[i - 1].a, argument) == 0)
			return scenario_unpin(scenario, i, error);
	if (knob == KNOB_COUNT)
		return knob_unknown(argument, error);
	scenario->value[knob] = knobs[knob].normal;
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

enum status scenario_line_set(struct scenario *scenario, const char *argument, struct error *error)
{
	char word[200];
	enum status status = OK;
	do {
		const char *from = argument;
		argument += scenario_line_word(argument, word);
		status = *from && !*word ? refuse(error, "set KNOB=VALUE: the value is too long")
			: scenario_set(scenario, word, error);
	} while (status == OK && *argument);
	return status;
}
