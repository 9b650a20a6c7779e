/* help_command.c: one word, looked up in every table that has words. */
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"

#include <unistd.h>

#include "help.h"
#include "options.h"
#include "src/base/complain.h"
#include "src/session/commands.h"
#include "src/session/glossary.h"
#include "src/write/export.h"

enum { TEXT_COLUMN = 6 };

static const struct { const char *word, *meaning; } glossary[] = {
#define X(word, meaning) { word, meaning },
	WORDS(X)
#undef X
};
enum { GLOSSARY_COUNT = COUNT_OF(glossary) };

void help_print(void)
{
	fputs("usage: tidemark [GRAPH]\n       tidemark COMMAND ...\n\n"
	      "Explores the memory plan of a training step: in what order its operators run, at which\n"
	      "offset every tensor lives, and how far that is from a proven minimum.\n\n"
	      "  tidemark [GRAPH]\n      explore in the terminal; where standard output is none, print a report\n", stdout);
	FOR_INT(i, SUBCOMMAND_COUNT) {
		printf("  tidemark %s %s\n", subcommands[i].name, subcommands[i].operands);
		words_print(stdout, "", TEXT_COLUMN, subcommands[i].help);
	}
	fputs("  tidemark help COMMAND|KNOB|DEVICE|WORD\n", stdout);
	words_print(stdout, "", TEXT_COLUMN,
		"how a command is used, with its options; what a knob's values mean; a device's figures with their sources; "
		"what a word of the screen means");
	fputs("\nOptions of the explorer:\n", stdout);
	command_line_help(SUBCOMMAND_explore);
	putchar('\n');
	words_print(stdout, "", 0,
		"GRAPH is a built-in model or a Hugging Face config.json, also with sizes (llama3-8b:layers=4:lora=16), or a graph "
		"in the native format, DOT, ONNX, XLA HLO as text or proto, StableHLO, a log of torch.compile or its folder, or a "
		"PyTorch memory snapshot; gz or not, or - for standard input; without GRAPH a sample opens. See tidemark(1) and "
		"tidemark(5).");
}

static void help_command_print_names(const char *title, const char *(*name)(int i), int count)
{
	char text[4000];
	struct words words = { text, sizeof text, 0 };
	*text = '\0';
	FOR_INT(i, count)
		words_add(&words, "%s%s", i ? ", " : "", name(i));
	words_print(stdout, title, TEXT_COLUMN, text);
}

static const char *help_command_name(int i) { return subcommands[i].name; }
static const char *knob_name(int i) { return knobs[i].name; }
static const char *glossary_name(int i) { return glossary[i].word; }

static const char *device_name(int i)
{
	static char word[64];
	return knob_word(knobs[K_device].words, i + 1, word, sizeof word) ? word : "";
}

/* Of help itself. */
static void print_usage(void)
{
	puts("usage: tidemark help [COMMAND|KNOB|DEVICE|WORD]");
	puts("How a command is used, and what a word means:");
	help_command_print_names("  commands:", help_command_name, SUBCOMMAND_COUNT);
	help_command_print_names("  knobs:", knob_name, KNOB_COUNT);
	help_command_print_names("  devices, with the source of every figure:", device_name, DEVICE_COUNT - 1);
	help_command_print_names("  words of the screen:", glossary_name, GLOSSARY_COUNT);
	words_print(stdout, "", 0,
		"Values of knobs, options, kinds and views of exports, and the explorer's commands are also words.");
	puts("\nFor example:\n  tidemark help recompute\n  tidemark help a100-80gb\n  tidemark help bubble");
}

/* ---- one word ---- */

static bool print_glossary(const char *word)
{
	FOR_INT(i, GLOSSARY_COUNT)
		if (words_have(glossary[i].word, word)) {
			puts(glossary[i].word);
			words_print(stdout, "", TEXT_COLUMN, glossary[i].meaning);
			return true;
		}
	return false;
}

static bool print_key(const char *word)
{
	FOR_INT(i, COMMAND_COUNT)
		if (text_is(commands[i].word, word)) {
			printf("in the explorer :%s%s%s%s%s\n", word, *commands[i].arguments ? " " : "", commands[i].arguments,
				*commands[i].keys ? ", keys " : "", commands[i].keys);
			words_print(stdout, "", TEXT_COLUMN, commands[i].help);
			return true;
		}
	return false;
}

/* "schedule=1f1b", of every knob that has the word; devices are told elsewhere. */
static bool print_values(const char *word)
{
	char value[64], text[300];
	bool found = false;
	FOR_INT(knob, KNOB_COUNT)
		for (int i = 0;
			knobs[knob].type == KNOB_CHOICE && knob != K_device && knob_word(knobs[knob].words, i, value, sizeof value);
			i++) {
			if (!text_is(value, word))
				continue;
			printf("--set %s=%s\n", knobs[knob].name, word);
			words_print(stdout, "", TEXT_COLUMN,
				*knob_word_help((enum knob_id)knob, i, text, sizeof text) ? text : knobs[knob].help);
			found = true;
		}
	return found;
}

static bool print_exports(const char *word)
{
	bool found = false;
	FOR_INT(i, EXPORT_KIND_COUNT)
		if (text_is(export_kinds[i].name, word)) {
			printf("tidemark export GRAPH --as %s\n", word);
			words_print(stdout, "", TEXT_COLUMN, export_kinds[i].help);
			found = true;
		}
	FOR_INT(i, export_view_count)
		if (export_views[i].help && text_is(export_views[i].name, word)) {
			printf("tidemark export GRAPH --view %s\n", word);
			words_print(stdout, "", TEXT_COLUMN, export_views[i].help);
			found = true;
		}
	return found;
}

/* "tidemark search --overhead X", of each command that has the option. */
static bool print_options(const char *word)
{
	char name[64];
	bool found = false;
	FOR_INT(i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		bool optional = row->value && *row->value == '=';
		if (!row->help || !text_is(option_name(row, name, sizeof name), word + 2 * (text_begins(word, "--"))))
			continue;
		FOR_INT(command, SUBCOMMAND_COUNT)
			if (row->commands >> command & 1)
				printf("tidemark %s --%s%s%s\n", subcommands[command].name, name,
					row->value ? optional ? "=" : " " : "", row->value ? row->value + optional : "");
		words_print(stdout, "", TEXT_COLUMN, row->help);
		found = true;
	}
	return found;
}

static bool help_command_print_knob(const char *word)
{
	enum knob_id knob = knob_find(word);
	if (knob != KNOB_COUNT)
		help_print_knob(knob);
	return knob != KNOB_COUNT;
}

/* One figure of the device, or all of them. */
static bool help_print_figures(const char *word)
{
	bool found = false;
	FOR_INT(i, FIGURE_COUNT)
		if (text_is(word, "figures") || figure_find(word) == (enum figure_id)i) {
			printf("--set %s=VALUE\n", figure_name((enum figure_id)i));
			words_print(stdout, "", TEXT_COLUMN, figure_help((enum figure_id)i));
			found = true;
		}
	return found;
}

/* Everything that the word means. False: nothing. */
static bool print_word(const char *word)
{
	static bool (*const print[])(const char *word) = { help_command_print_knob, help_print_figures, help_print_device,
		print_glossary, print_values, print_exports, print_key, print_options };
	bool found = false;
	FOR(i, COUNT_OF(print))
		found |= print[i](word);
	return found;
}

/* ---- what there isn't ---- */

static void consider_all(struct nearest *nearest)
{
	char word[84];
	FOR_INT(i, KNOB_COUNT)
		nearest_consider(nearest, knobs[i].name);
	FOR_INT(i, FIGURE_COUNT)
		nearest_consider(nearest, figure_name((enum figure_id)i));
	FOR_INT(knob, KNOB_COUNT)
		for (int i = 0; knobs[knob].type == KNOB_CHOICE && knob_word(knobs[knob].words, i, word, sizeof word); i++)
			nearest_consider(nearest, word);
	FOR_INT(i, GLOSSARY_COUNT)
		for (const char *at = glossary[i].word; *at; at += strspn(at, ", ")) {
			PRINT_TO(word, "%.*s", (int)strcspn(at, ","), at);
			nearest_consider(nearest, word);
			at += strcspn(at, ",");
		}
	FOR_INT(i, COMMAND_COUNT)
		nearest_consider(nearest, commands[i].word);
	FOR_INT(i, EXPORT_KIND_COUNT)
		nearest_consider(nearest, export_kinds[i].name);
	FOR_INT(i, export_view_count)
		nearest_consider(nearest, export_views[i].help ? export_views[i].name : "");
}

/* "; the nearest is plan" for "plna". */
static char *nearest_word(const char *word, bool any, char *text, size_t size)
{
	struct nearest nearest = { .wanted = word };
	FOR_INT(i, SUBCOMMAND_COUNT)
		nearest_consider(&nearest, subcommands[i].name);
	if (any)
		consider_all(&nearest);
	return nearest_text(&nearest, "", text, size);
}

/* "; --overhead is an option of search". */
static char *option_text(const char *word, char *text, size_t size)
{
	char name[64];
	FOR_INT(i, option_row_count)
		for (int command = 0; option_rows[i].help && command < SUBCOMMAND_COUNT &&
			text_is(option_name(&option_rows[i], name, sizeof name), word);
			command++)
			if (option_rows[i].commands >> command & 1) {
				return printed(text, size, "; --%s is an option of tidemark %s", name, subcommands[command].name);
			}
	*text = '\0';
	return text;
}

int help_no_command(const char *word)
{
	char text[120];
	if (!*option_text(word, text, sizeof text))
		nearest_word(word, false, text, sizeof text);
	return usage_error("", "unknown command %s%s", word, text);
}

bool help_misspelt(const char *word, bool help)
{
	if (*word == '-' || access(word, F_OK) == 0 || strpbrk(word, "./"))
		return false;
	return help || *nearest_word(word, false, TEXT(120)) || *option_text(word, TEXT(120));
}

int help_command(int argc, char **argv)
{
	static char option[] = "--help";
	char text[200];
	struct words words = { text, sizeof text, 0 };
	*text = '\0';
	for (int i = 1; i < argc; i++)
		words_add(&words, "%s%s", i > 1 ? " " : "", argv[i]);
	if (argc == 1)
		help_print();
	else if (text_is(text, "--help") || text_is(text, "-h") || text_is(text, "help"))
		print_usage();
	else {
		FOR_INT(i, SUBCOMMAND_COUNT)
			if (text_is(text, subcommands[i].name))
				return subcommands[i].run(2, (char *[]){ argv[1], option, NULL });
		if (!print_word(text))
			return usage_error("help", "no command, knob, device or word %s%s", text,
				nearest_word(text, true, TEXT(120)));
	}
	return EXIT_FINE;
}
