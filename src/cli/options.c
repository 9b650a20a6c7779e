/* options.c: command lines: one table of options, one parser. */
#include <getopt.h>

#include "batch.h"
#include "help.h"
#include "options.h"
#include "src/base/output.h"
#include "src/scenario/knobs.h"

const struct option_row option_rows[] = {
#define X(id, name, letter, value, commands, help) { name, letter, value, commands, help },
	OPTIONS(X)
#undef X
#define X(field, least, most, help) { #field, 0, "N", BY(model), help },
	MODEL_SIZES(X)
#undef X
};
const int option_row_count = COUNT_OF(option_rows);

enum { OPTION_COLUMN = 25, ROWS_MOST = COUNT_OF(option_rows) + KNOB_COUNT, NAME_SIZE = 24, FIRST_VALUE = 256 };

/* The options of one command, as getopt_long() wants them; an option's value is its row's number behind FIRST_VALUE;
 * knobs come behind the rows. */
struct taken {
	struct option option[ROWS_MOST + 1];
	char name[ROWS_MOST][NAME_SIZE], letters[2 * ROWS_MOST + 2];
	int count;
};

char *option_name(const struct option_row *row, char *text, size_t size)
{
	snprintf(text, size, "%s", row->name);
	for (char *at = text; *at; at++)
		*at = *at == '_' ? '-' : *at;
	return text;
}

static bool options_has(const struct taken *taken, const char *name)
{
	FOR_INT(i, taken->count)
		if (text_is(taken->option[i].name, name))
			return true;
	return false;
}

/* The explorer's come later, when its session is open. */
static bool options_take_knobs(enum subcommand_id command)
{
	return command != SUBCOMMAND_explore && option_rows[OPTION_set].commands >> command & 1;
}

static void options_collect(enum subcommand_id command, struct taken *taken)
{
	size_t used = 0;
	taken->count = 0;
	taken->letters[used++] = ':';
	FOR_INT(i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		if (!(row->commands >> command & 1))
			continue;
		option_name(row, taken->name[taken->count], NAME_SIZE);
		taken->option[taken->count] = (struct option){ taken->name[taken->count],
			!row->value ? no_argument
			: *row->value == '=' ? optional_argument
			: required_argument,
			NULL, FIRST_VALUE + i };
		taken->count++;
		if (row->letter)
			taken->letters[used++] = row->letter;
		if (row->letter && row->value)
			taken->letters[used++] = ':';
	}
	taken->letters[used] = '\0';
	for (int i = 0; options_take_knobs(command) && i < KNOB_COUNT; i++)
		if (!options_has(taken, knobs[i].name))
			taken->option[taken->count++] = (struct option){ knobs[i].name, required_argument, NULL,
				FIRST_VALUE + option_row_count + i };
	taken->option[taken->count] = (struct option){ 0 };
}

/* ---- what is wrong ---- */

static const char *options_command_name(enum subcommand_id command)
{
	return command == SUBCOMMAND_explore ? "" : command == SUBCOMMAND_screen ? "export" : subcommands[command].name;
}

/* Says that unknown option, and which comes nearest: "--vieuw", or that it is a knob: "--memory". */
static int say_unknown(const char *command, const char *word, const struct taken *taken)
{
	char name[64];
	struct nearest nearest = { .wanted = name };
	bool sets = false;
	PRINT_TO(name, "%.*s", (int)strcspn(word, "="), word);
	FOR_INT(i, taken->count) {
		nearest_consider(&nearest, taken->option[i].name);
		sets |= text_is(taken->option[i].name, "set");
	}
	if (sets && knob_find(name) != KNOB_COUNT)
		return usage_error(command, "--%s: unknown option; it is a knob: --set %s=VALUE", name, name);
	if (text_is(command, "sweep") && text_is(name, "json"))
		return usage_error(command, "--json: unknown option; a sweep writes lines of JSON anyway, -o FILE says where");
	if (text_is(name, "lora"))
		return usage_error(command, "--lora: unknown option; adapters are the model's, as in llama3-8b:lora=16");
	return usage_error(command, "--%s: unknown option%s", name, nearest_text(&nearest, "--", TEXT(120)));
}

/* How many options begin with the word, up to its '='. */
static int beginnings(const char *word, const struct taken *taken)
{
	size_t length = strcspn(word, "=");
	int count = 0;
	FOR_INT(i, taken->count)
		count += strncmp(taken->option[i].name, word, length) == 0;
	return count;
}

/* letter: ':' or '?', as getopt_long() says what is wrong with a word. */
static int say_wrong(const char *command, int letter, const char *word, const struct taken *taken)
{
	bool is_long = text_begins(word, "--");
	if (letter == ':')
		return usage_error(command, "%s%.*s: its value is missing", is_long ? "" : "-", is_long ? 60 : 1,
			is_long ? word : (char[]){ (char)optopt, '\0' });
	if (!is_long)
		return usage_error(command, "-%c: unknown option", optopt);
	if (optopt != 0)
		return usage_error(command, "%.60s: the option takes no value", word);
	if (beginnings(word + 2, taken) > 1)
		return usage_error(command, "%.60s: several options begin so", word);
	return say_unknown(command, word + 2, taken);
}

/* ---- help ---- */

void command_line_help(enum subcommand_id command)
{
	char text[2 * NAME_SIZE + 8], letter[8], head[2 * NAME_SIZE + 20];
	FOR_INT(i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		if (!(row->commands >> command & 1) || !row->help)
			continue;
		PRINT_TO(letter, row->letter ? "-%c, " : "    ", row->letter);
		bool optional = row->value && *row->value == '=';
		PRINT_TO(text, "--%s%s%s%s", option_name(row, TEXT(NAME_SIZE)),
			optional ? "["
			: row->value ? " "
			: "",
			row->value ? row->value : "", optional ? "]" : "");
		PRINT_TO(head, "  %s%s", letter, text);
		words_print(stdout, head, OPTION_COLUMN, row->help);
	}
}

static void print_help(const struct command_line *line)
{
	const struct subcommand
		*subcommand = &subcommands[line->command == SUBCOMMAND_screen ? SUBCOMMAND_export : line->command];
	printf("usage: tidemark %s %s [OPTION]...\n", subcommand->name, subcommand->operands);
	words_print(stdout, "", 0, subcommand->help);
	putchar('\n');
	command_line_help((enum subcommand_id)(subcommand - subcommands));
	if (line->help)
		line->help();
	bool takes_knobs = option_rows[OPTION_set].commands >> (subcommand - subcommands) & 1;
	if (option_rows[OPTION_pin].commands >> (subcommand - subcommands) & 1)
		help_print_pins();
	if (takes_knobs)
		help_print_knobs();
	help_print_example((enum subcommand_id)(subcommand - subcommands));
}

/* ---- parsing ---- */

/* How a graph is read: every command that reads one has these. */
static int take_reading(struct command_line *line, int row, const char *value)
{
	struct error error = { 0 };
	if (read_options_take(&line->reading, option_name(&option_rows[row], TEXT(NAME_SIZE)), value, &error) != OK)
		return usage_error(options_command_name(line->command), "%s", error.text);
	return EXIT_FINE;
}

static int options_take(struct command_line *line, int row, const char *value)
{
	if (row >= option_row_count) {
		const char *name = knobs[row - option_row_count].name;
		size_t size = strlen(name) + strlen(value) + 2;
		HELD char *text = mem_alloc(size, 1);
		if (!text)
			return complain(NULL, &(struct error) { 0 }, NO_MEMORY);
		snprintf(text, size, "%s=%s", name, value);
		return options_take(line, OPTION_set, text);
	}
	if (row == OPTION_help) {
		line->helped = true;
		if (line->command != SUBCOMMAND_explore)
			print_help(line);
		else if (line->help)
			line->help();
		return EXIT_FINE;
	}
	if (line->scenario && row == OPTION_set)
		return batch_set(line->scenario, value);
	if (line->scenario && row == OPTION_pin)
		return batch_pin(line->scenario, value);
	switch (row) {
	case OPTION_fusions: case OPTION_graph: case OPTION_dim: return take_reading(line, row, value);
	case OPTION_rules: line->rules_file = value; return EXIT_FINE;
	case OPTION_output: line->output = value; return EXIT_FINE;
	case OPTION_json: line->json = true; return EXIT_FINE;
	case OPTION_time: return batch_seconds(options_command_name(line->command), value, &line->seconds);
	default: return line->take(line->context, row, value);
	}
}

/* As many operands as the words that name them. */
static int check_operands(struct command_line *line, int count, char **operand)
{
	const char *names = subcommands[line->command == SUBCOMMAND_screen ? SUBCOMMAND_export : line->command].operands,
			   *command = options_command_name(line->command);
	int wanted = 0;
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		if (wanted++ == count)
			return usage_error(command, "which %.*s?", (int)length, at);
		at += length;
	}
	line->operand = operand;
	line->operands = count;
	if (count == wanted)
		return EXIT_FINE;
	const char *more = operand[wanted], *value = strchr(more, '=');
	bool knob = value && knob_find(PRINTED(64, "%.*s", value ? (int)(value - more) : 0, more)) != KNOB_COUNT;
	if (line->several && !knob)
		return EXIT_FINE;
	if (knob)
		return usage_error(command, "\"%s\" is no %s: a knob is set by --set %s", more, names, more);
	return wanted == 1 ? usage_error(command, "more than one %s", names) : usage_error(command, "what is \"%s\"?", more);
}

/* The file that an option reads, or NULL: "--rules F", "--set @F", "--set device=@F". */
static const char *file_read(int row, const char *value)
{
	if (row == OPTION_rules)
		return value;
	if (row < option_row_count && row != OPTION_set)
		return NULL;
	value = *value != '@' && strchr(value, '=') ? strchr(value, '=') + 1 : value;
	return *value == '@' ? value + 1 : NULL;
}

static void note_files(struct command_line *line, int row, const char *value)
{
	static const int writers[] = { OPTION_output, OPTION_caption };
	FOR_INT(i, FILES_WRITTEN)
		if (row == writers[i])
			line->written[i] = (struct file_option){ row, value };
	const char *read = file_read(row, value);
	if (read && line->reads < FILES_READ)
		line->read[line->reads++] = (struct file_option){ row, read };
}

static int say_same(
	const struct command_line *line, const struct file_option *written, const char *other, const char *what)
{
	char name[NAME_SIZE];
	return usage_error(options_command_name(line->command),
		"--%s %.60s would overwrite %.60s, which %s: give it another name",
		option_name(&option_rows[written->row], name, sizeof name), written->file, other, what);
}

/* Nothing is written over what the command reads, nor over what it writes elsewhere. */
static int check_files(const struct command_line *line)
{
	int code = EXIT_FINE;
	for (int i = 0; i < FILES_WRITTEN && code == EXIT_FINE; i++) {
		const struct file_option *written = &line->written[i];
		if (!written->file || text_is(written->file, "-"))
			continue;
		for (int k = 0; k < line->operands && code == EXIT_FINE; k++)
			if (output_same_file(written->file, line->operand[k]))
				code = say_same(line, written, line->operand[k], "is read");
		for (int k = 0; k < line->reads && code == EXIT_FINE; k++)
			if (output_same_file(written->file, line->read[k].file))
				code = say_same(line, written, line->read[k].file, "is read");
		for (int k = 0; k < i && code == EXIT_FINE; k++)
			if (line->written[k].file && text_is(written->file, line->written[k].file))
				code = say_same(line, written, line->written[k].file, "is also written");
	}
	return code;
}

int command_line_parse(struct command_line *line, int argc, char **argv)
{
	struct taken taken;
	int value, code = EXIT_FINE;
	options_collect(line->command, &taken);
	optind = 1;
	opterr = 0;
	while (code == EXIT_FINE && !line->helped &&
		(value = getopt_long(argc, argv, taken.letters, taken.option, NULL)) != -1) {
		if (value == ':' || value == '?')
			return say_wrong(options_command_name(line->command), value, argv[optind - 1], &taken);
		int row = value - FIRST_VALUE;
		for (int i = 0; value < FIRST_VALUE && i < option_row_count; i++)
			if (option_rows[i].letter == value && option_rows[i].commands >> line->command & 1)
				row = i;
		note_files(line, row, optarg);
		code = options_take(line, row, optarg);
	}
	if (code != EXIT_FINE || line->helped)
		return code;
	if (line->command != SUBCOMMAND_explore) {
		code = check_operands(line, argc - optind, argv + optind);
		return code == EXIT_FINE ? check_files(line) : code;
	}
	line->operand = argv + optind;
	return EXIT_FINE;
}

/* ---- values ---- */

int option_number(
	const struct command_line *line, int row, const char *value, int64_t least, int64_t most, int64_t *number)
{
	char *end;
	long long got = strtoll(value, &end, 10);
	if (end == value || *end || got < least || got > most)
		return usage_error(options_command_name(line->command), "--%s %s: expected a number from %lld to %lld",
			option_name(&option_rows[row], TEXT(NAME_SIZE)), value, (long long)least, (long long)most);
	*number = got;
	return EXIT_FINE;
}

int option_word(
	const struct command_line *line, int row, const char *value, const char *const *words, int count, int *index)
{
	char text[200] = "";
	struct words list = { text, sizeof text, 0 };
	if ((*index = name_index(words, count, value)) >= 0)
		return EXIT_FINE;
	for (int i = 0; i < count; i++)
		words_add(&list, "%s%s",
			i == 0 ? ""
			: i + 1 == count ? " or "
			: ", ",
			words[i]);
	return usage_error(options_command_name(line->command), "--%s %s: expected %s",
		option_name(&option_rows[row], TEXT(NAME_SIZE)), value, text);
}
