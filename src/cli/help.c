/* help.c: the tables as lines for people. */
#include "help.h"

#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/scenario/profiles.h"
#include "src/session/commands.h"
#include "src/tidemark.h"

enum { NAME_COLUMN = 25, WORD_COLUMN = 18 };

static const char *const examples[SUBCOMMAND_COUNT] = {
	[SUBCOMMAND_plan] = "tidemark plan step.jsonl.gz --set batch=16 --set recompute=selective --json -o plan.json",
	[SUBCOMMAND_sweep] = "tidemark sweep step.jsonl.gz --vary batch=1,8,32 --vary recompute=none,full --table",
	[SUBCOMMAND_export] = "tidemark export step.jsonl.gz --as pdf --view timeline --width 240 -o figure.pdf",
	[SUBCOMMAND_compare] = "tidemark compare snapshot.pickle step.jsonl.gz",
	[SUBCOMMAND_layout] = "tidemark layout buffers.csv --capacity 1048576",
	[SUBCOMMAND_check] = "tidemark check step.jsonl.gz plan.json",
	[SUBCOMMAND_search] = "tidemark search llama3-70b --devices 64 --device h100-80gb",
	[SUBCOMMAND_model] = "tidemark model llama3-8b --layers 4 -o llama.jsonl",
	[SUBCOMMAND_fit] = "tidemark fit step.jsonl.gz --memory 24GiB --devices 8",
	[SUBCOMMAND_replay] = "tidemark replay samples/lessons/order.tide --table",
};

void help_print_example(enum subcommand_id command)
{
	printf("\nFor example:\n  %s\n", examples[command]);
}

/* "given, or 1 to 16777216", "off or on", "none, data, ...". */
static void values_text(enum knob_id id, char *text, size_t size)
{
	const struct knob *knob = &knobs[id];
	struct words words = { text, size, 0 };
	char word[64], normal[64];
	*text = '\0';
	for (int i = 0; knob->type == KNOB_CHOICE && knob_word(knob->words, i, word, sizeof word); i++)
		words_add(&words, "%s%s", i ? ", " : "", word);
	if (knob->type == KNOB_SWITCH)
		words_add(&words, "off, on");
	else if (knob->type != KNOB_CHOICE && knob->words)
		words_add(&words, "%s, or ", knob->words);
	if (knob->type == KNOB_NUMBER)
		words_add(&words, "%lld to %lld", (long long)knob->minimum, (long long)knob->maximum);
	else if (knob->type != KNOB_CHOICE && knob->type != KNOB_SWITCH)
		words_add(&words, "%s", knob_units[knob->type]);
	words_add(&words, " (%s)", knob_text(id, knob->normal, normal, sizeof normal));
}

static void cli_help_print_knob(enum knob_id id)
{
	char values[400];
	words_print(stdout, PRINTED(40, "  %s", knobs[id].name), NAME_COLUMN - 2, knobs[id].help);
	values_text(id, values, sizeof values);
	words_print(stdout, "", NAME_COLUMN, values);
}

void help_print_knobs(void)
{
	puts("\nKnobs, for --set K=V:");
	FOR_INT(knob, KNOB_COUNT)
		cli_help_print_knob((enum knob_id)knob);
	words_print(stdout, "", 0,
		"In parentheses: what holds where a knob isn't set. `tidemark help KNOB` says what each of its words means.");
}

void help_print_knob(int id)
{
	char word[64];
	printf("--set %s=VALUE\n", knobs[id].name);
	cli_help_print_knob(id);
	for (int i = 0; knobs[id].type == KNOB_CHOICE && knob_word(knobs[id].words, i, word, sizeof word); i++)
		words_print(stdout, PRINTED(80, "  %s", word), WORD_COLUMN,
			id == K_device ? device_text((enum device)i, false, TEXT(300)) : knob_word_help(id, i, TEXT(300)));
}

bool help_print_device(const char *name)
{
	struct device_figure figure[DEVICE_FIGURES];
	struct scenario scenario;
	int64_t device;
	struct error error;
	if (text_is(name, "none") || knob_parse(K_device, name, &device, &error) != OK)
		return false;
	scenario_init(&scenario);
	scenario_put(&scenario, K_device, device);
	int figures = device_figures(&scenario, figure);
	printf("--set device=%s\n  %-24s%13s%22s\n", name, "", "data sheet", "counted with");
	FOR_INT(i, figures) {
		puts(PRINTED(120, "  %-24s%13s%22s", figure[i].name, figure[i].sheet, figure[i].counted));
		words_print(stdout, "", 6, figure[i].why);
	}
	words_print(stdout, "data sheet:", 6, device_sheet_source((enum device)device));
	words_print(stdout, "what is reached of it:", 6, device_reached_text(&scenario, TEXT(700)));
	for (int i = SOFTWARE_GIVEN + 1; i < SOFTWARE_COUNT; i++) {
		scenario_put(&scenario, K_software, i);
		if (profile_measured((enum device)device, (enum software)i))
			words_print(stdout, PRINTED(120, "with software=%s:", software_name((enum software)i)), 6,
				device_reached_text(&scenario, TEXT(700)));
	}
	struct device_preset preset = device_preset((enum device)device);
	puts("as lines of a device file (device=@FILE):");
	for (int i = FIGURE_NAME + 1; i < FIGURE_COUNT; i++)
		printf("      %s=%s\n", figure_name((enum figure_id)i),
			figure_text((enum figure_id)i, &preset, TEXT(700)));
	scenario_done(&scenario);
	return true;
}

void help_print_pins(void)
{
	static const struct { const char *syntax, *help; } pins[] = {
#define X(id, syntax, help) { syntax, help },
		PINS(X)
#undef X
	};
	puts("\nPIN:");
	FOR_INT(i, PIN_KINDS)
		words_print(stdout, PRINTED(80, "  %s", pins[i].syntax), NAME_COLUMN + 8, pins[i].help);
}

void help_print_words(const char *title, const char *const *names, const char *const *helps, int count)
{
	printf("\n%s:\n", title);
	FOR_INT(i, count)
		words_print(stdout, PRINTED(80, "  %s", names[i]), WORD_COLUMN, helps[i]);
}

void help_print_session_words(void)
{
	puts("\nLines of a session file, which `:save` in the explorer writes:");
	FOR_INT(i, COMMAND_COUNT) {
		if (!session_knows(commands[i].word))
			continue;
		words_print(stdout, PRINTED(80, "  %s %s", commands[i].word, commands[i].arguments), NAME_COLUMN + 4,
			commands[i].help);
	}
}
