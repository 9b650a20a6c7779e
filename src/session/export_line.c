/* export_line.c: reads and writes the words of an export. */

#include "commands.h"
#include "src/write/export.h"

static const char *export_line_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* What may follow the file; those without a question are switches. */
enum option { LINE_VIEW, LINE_STAGE, LINE_WIDTH, LINE_NO_TITLE, LINE_NO_LEGEND, LINE_FACTORS, LINE_OPTIONS };
static const struct { const char *name, *question; } line_options[LINE_OPTIONS] = { { "--view", "which view?" },
	{ "--stage", "input or device?" }, { "--width", "how many points?" }, { "--no-title", NULL },
	{ "--no-legend", NULL }, { "--factors", NULL } };

/* The option that a word is, or LINE_OPTIONS. */
static enum option export_line_option(const char *at)
{
	FOR_INT(i, LINE_OPTIONS) {
		size_t length = strlen(line_options[i].name);
		if (strncmp(at, line_options[i].name, length) == 0 &&
			(at[length] == ' ' || at[length] == '\t' || at[length] == '\0' || (at[length] == '=' && line_options[i].question)))
			return (enum option)i;
	}
	return LINE_OPTIONS;
}

/* Copies what stands before end; false when it is empty or too long. */
static bool export_line_take(char *to, size_t size, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);
	if (length == 0 || length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* An option's value: a word, perhaps in quotes. Moves *at behind it. */
static bool export_line_take_value(const char **at, char *to, size_t size)
{
	const char *from = **at == '=' ? *at + 1 : export_line_skip_blanks(*at);
	bool quoted = *from == '"';
	from += quoted;
	const char *end = from + strcspn(from, quoted ? "\"" : " \t");
	*at = end + (quoted && *end);
	return export_line_take(to, size, from, end);
}

/* The file's name: in quotes, or up to the next option or the end. */
static bool take_path(const char **at, char *to, size_t size)
{
	if (**at == '"')
		return export_line_take_value(at, to, size);
	const char *end = strstr(*at, " --"), *from = *at;
	while (end && export_line_option(end + 1) == LINE_OPTIONS)
		end = strstr(end + 1, " --");
	end = end ? end : from + strlen(from);
	*at = end;
	while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return export_line_take(to, size, from, end);
}

enum status export_line_parse(const char *argument, struct export_line *line, struct error *error)
{
	*line = (struct export_line){ 0 };
	const char *at = export_line_skip_blanks(argument), *end = at + strcspn(at, " \t");
	if (!export_line_take(line->kind, sizeof line->kind, at, end))
		return refuse(error, "export KIND FILE: which kind?");
	size_t last = strlen(line->kind) - 1;
	line->force = line->kind[last] == '!';
	if (line->force)
		line->kind[last] = '\0';
	bool *switches[LINE_OPTIONS] = { [LINE_NO_TITLE] = &line->no_title, [LINE_NO_LEGEND] = &line->no_legend,
		[LINE_FACTORS] = &line->factors };
	for (at = export_line_skip_blanks(end); *at; at = export_line_skip_blanks(at)) {
		enum option option = export_line_option(at);
		bool known = option < LINE_OPTIONS, fine = known || !*line->path;
		at += known ? strlen(line_options[option].name) : 0;
		if (option == LINE_VIEW)
			fine = export_line_take_value(&at, line->view, sizeof line->view);
		else if (option == LINE_STAGE)
			fine = export_line_take_value(&at, line->stage, sizeof line->stage) &&
				(text_is(line->stage, "input") || text_is(line->stage, "device"));
		else if (option == LINE_WIDTH)
			fine = export_line_take_value(&at, line->width, sizeof line->width) && strtod(line->width, NULL) >= CANVAS_LEAST &&
				strtod(line->width, NULL) <= CANVAS_MOST;
		else if (known)
			*switches[option] = true;
		else
			fine = fine && take_path(&at, line->path, sizeof line->path);
		if (!fine && known)
			return refuse(error, "%s: %s", line_options[option].name, line_options[option].question);
		if (!fine)
			return refuse(error, "export KIND FILE: which file?");
	}
	return *line->path ? OK : refuse(error, "export KIND FILE: which file?");
}

char *export_line_text(const struct export_line *line, char *text, size_t size)
{
	const char *quote = strpbrk(line->path, " \t") ? "\"" : "", *around = strpbrk(line->view, " \t") ? "\"" : "";
	struct words words = { text, size, 0 };
	words_add(&words, "export %s %s%s%s", line->kind, quote, line->path, quote);
	if (*line->view)
		words_add(&words, " --view %s%s%s", around, line->view, around);
	if (*line->stage)
		words_add(&words, " --stage %s", line->stage);
	if (*line->width)
		words_add(&words, " --width %s", line->width);
	words_add(&words, "%s%s%s", line->no_title ? " --no-title" : "", line->no_legend ? " --no-legend" : "",
		line->factors ? " --factors" : "");
	return text;
}
