/* tables.c: the tables in mdoc(7), so that the man page says what the program does. */

#include "help.h"
#include "src/scenario/knobs.h"
#include "options.h"
#include "src/scenario/own_device.h"
#include "src/session/commands.h"
#include "src/write/export.h"

/* Text as mdoc takes it: no macro at the beginning of a line, backslashes and quotes escaped. */
static void roff(const char *text, FILE *stream)
{
	for (const char *at = text; *at; at++) {
		if (*at == '\\')
			fputs("\\e", stream);
		else if (*at == '-')
			fputs("\\-", stream);
		else if (*at == '"')
			fputs("\\(dq", stream);
		else if (at == text && (*at == '.' || *at == '\''))
			fprintf(stream, "\\&%c", *at);
		else
			putc(*at, stream);
	}
}

static void words(const char *list, FILE *stream)
{
	char word[64];
	for (int i = 0; knob_word(list, i, word, sizeof word); i++) {
		fputs(i ? ", " : "One of ", stream);
		roff(word, stream);
	}
	fputs(".\n", stream);
}

/* What the words of recomputation mean. */
static void recompute_words(FILE *stream)
{
	static const struct { const char *name, *help; } words[] = {
#define X(id, name, help) { name, help },
		RECOMPUTES(X)
#undef X
#define X(id, name, help) { "ops:" name, help },
		RERUN_WORDS(X)
#undef X
	};
	FOR(i, COUNT_OF(words)) {
		roff(words[i].name, stream);
		fputs(": ", stream);
		roff(words[i].help, stream);
		fputs(i + 1 < COUNT_OF(words) ? ";\n" : ".\n", stream);
	}
}

static void write_knobs(FILE *stream)
{
	FOR_INT(id, KNOB_COUNT) {
		const struct knob *knob = &knobs[id];
		if (id == 0 || !text_is(knob->group, knobs[id - 1].group))
			fprintf(stream, "%s.Ss Knobs of %s\n.Bl -tag -width Ds\n", id ? ".El\n" : "", knob->group);
		fprintf(stream, ".It Cm %s\n", knob->name);
		roff(knob->help, stream);
		fputs(".\n", stream);
		if (knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH) {
			words(knob->type == KNOB_SWITCH ? "off|on" : knob->words, stream);
			if (id == K_recompute)
				recompute_words(stream);
		} else {
			roff(knob_text(id, knob->minimum, TEXT(64)), stream);
			fputs(" to ", stream);
			roff(knob_text(id, knob->maximum, TEXT(64)), stream);
			if (knob->words)
				fprintf(stream, ", or %s", knob->words);
			fputs(".\n", stream);
		}
		fputs("Default: ", stream);
		roff(knob_text(id, knob->normal, TEXT(64)), stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

static void write_commands(FILE *stream)
{
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(id, COMMAND_COUNT) {
		const struct command *command = &commands[id];
		fprintf(stream, ".It Cm %s", command->word);
		if (*command->arguments) {
			fputs(" Ar ", stream);
			roff(command->arguments, stream);
		}
		fputs("\n", stream);
		if (*command->keys) {
			fputs("Keys: ", stream);
			roff(command->keys, stream);
			fputs(".\n", stream);
		}
		roff(command->help, stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

static void tables_write_figures(FILE *stream)
{
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(i, FIGURE_COUNT) {
		fprintf(stream, ".It Cm %s\n", figure_name((enum figure_id)i));
		roff(figure_help((enum figure_id)i), stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

static void write_pins(FILE *stream)
{
	static const struct { const char *syntax, *help; } pins[] = {
#define X(id, syntax, help) { syntax, help },
		PINS(X)
#undef X
	};
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(i, PIN_KINDS) {
		fputs(".It Li \"", stream);
		roff(pins[i].syntax, stream);
		fputs("\"\n", stream);
		roff(pins[i].help, stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

static void write_exports(FILE *stream)
{
	char names[300];
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(kind, EXPORT_KIND_COUNT) {
		fprintf(stream, ".It Cm %s\n", export_kinds[kind].name);
		roff(export_kinds[kind].help, stream);
		fputs(".\n", stream);
		if (*export_view_names((enum export_kind_id)kind, ", ", names, sizeof names))
			fprintf(stream, "Views: %s.\n", names);
	}
	fputs(".El\n", stream);
}

static void write_views(FILE *stream)
{
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(i, export_view_count) {
		if (!export_views[i].help)
			continue;
		fprintf(stream, ".It Cm %s\n", export_views[i].name);
		roff(export_views[i].help, stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

static void write_subcommands(FILE *stream)
{
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(i, SUBCOMMAND_COUNT) {
		fprintf(stream, ".It Nm Cm %s Ar ", subcommands[i].name);
		roff(subcommands[i].operands, stream);
		fputs("\n", stream);
		roff(subcommands[i].help, stream);
		fputs(".\n", stream);
	}
	fputs(".El\n", stream);
}

/* "plan, export, sweep": who takes an option. Returns text. */
static char *takers(const struct option_row *row, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	*text = '\0';
	for (int i = 0; i <= SUBCOMMAND_explore; i++)
		if (row->commands >> i & 1)
			words_add(&words, "%s%s", words.at ? ", " : "",
				i == SUBCOMMAND_screen ? "export --screen" : i == SUBCOMMAND_explore ? "the explorer" : subcommands[i].name);
	return text;
}

static void write_options(FILE *stream)
{
	fputs(".Bl -tag -width Ds\n", stream);
	FOR_INT(i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		if (!row->help)
			continue;
		fputs(".It Fl ", stream);
		if (row->letter)
			fprintf(stream, "%c , Fl ", row->letter);
		fputs("\\-", stream);
		roff(option_name(row, TEXT(200)), stream);
		if (row->value) {
			fputs(*row->value == '=' ? " Ns Op = Ns Ar " : " Ar ", stream);
			roff(row->value + (*row->value == '='), stream);
		}
		fputs("\n", stream);
		roff(row->help, stream);
		fputs(".\n", stream);
		if (i != OPTION_help) {
			fputs("Of ", stream);
			roff(takers(row, TEXT(200)), stream);
			fputs(".\n", stream);
		}
	}
	fputs(".El\n", stream);
}

bool tables_write(const char *table, FILE *stream)
{
	static const struct { const char *name; void (*write)(FILE *stream); } tables[] = {
		{ "knobs", write_knobs },
		{ "commands", write_commands },
		{ "figures", tables_write_figures }, { "pins", write_pins },
		{ "exports", write_exports },
		{ "views", write_views },
		{ "subcommands", write_subcommands },
		{ "options", write_options },
	};
	FOR(i, COUNT_OF(tables))
		if (text_is(tables[i].name, table)) {
			tables[i].write(stream);
			return true;
		}
	return false;
}
