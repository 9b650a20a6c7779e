/* fuzz_scenario.c: lines of knobs and pins: taken, or refused with a word; what is taken is written so that it reads
 * back alike. */
#include <string.h>

#include "src/scenario/knobs.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct scenario *scenario, const char *line)
{
	struct error error = { 0 };
	char text[600], again[600];
	uint32_t pins = scenario->pins;
	if (strncmp(line, "pin ", 4) != 0 && strncmp(line, "keep ", 5) != 0 && strncmp(line, "offload ", 8) != 0) {
		must(scenario_set(scenario, line, &error) == OK || error.text[0]);
	} else if (scenario_pin(scenario, line, &error) != OK) {
		must(error.text[0] != '\0');
	} else {
		must(scenario->pins == pins + 1);
		pin_text(&scenario->pin[pins], text, sizeof text);
		/* names in quotes that hold quotes, or longer ones, can't be written */
		if (strlen(line) < 500 && scenario_pin(scenario, text, NULL) == OK) {
			pin_text(&scenario->pin[pins + 1], again, sizeof again);
			must(strcmp(text, again) == 0);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(scenario) scenario;
	char *text = malloc(size + 1), *save = NULL, word[600];
	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	scenario_init(&scenario);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take(&scenario, line);
	for (int knob = 0; knob < KNOB_COUNT; knob++) {
		int64_t value;
		must(knob_parse((enum knob_id)knob, knob_text((enum knob_id)knob, scenario.value[knob], word, sizeof word),
				 &value, NULL) == OK);
		must(value == scenario.value[knob]);
	}
	free(text);
	return 0;
}
