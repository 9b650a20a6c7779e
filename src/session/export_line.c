/* export_line.c: reads and writes the words of an export. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

static const char *export_line_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* The length of an option's name with the blank or "=" behind it, 0 where something else stands. */
static size_t option_length(const char *at, const char *name)
{
	size_t length = strlen(name);
	return strncmp(at, name, length) == 0 &&
			(at[length] == '=' || at[length] == ' ' || at[length] == '\t' || at[length] == '\0')
		? length
		: 0;
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
	while (end && !option_length(end + 1, "--view") && !option_length(end + 1, "--stage"))
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
		return fail(error, BAD_INPUT, "export KIND FILE: which kind?");
	size_t last = strlen(line->kind) - 1;
	line->force = line->kind[last] == '!';
	if (line->force)
		line->kind[last] = '\0';
	for (at = export_line_skip_blanks(end); *at; at = export_line_skip_blanks(at)) {
		size_t view = option_length(at, "--view"), stage = option_length(at, "--stage");
		const char *what = view ? "--view: which view?"
			: stage ? "--stage: input or device?"
			: "export KIND FILE: which file?";
		bool fine = !view && !stage && !*line->path;
		at += view + stage;
		if (view)
			fine = export_line_take_value(&at, line->view, sizeof line->view);
		else if (stage)
			fine = export_line_take_value(&at, line->stage, sizeof line->stage) &&
			       (strcmp(line->stage, "input") == 0 || strcmp(line->stage, "device") == 0);
		else
			fine = fine && take_path(&at, line->path, sizeof line->path);
		if (!fine)
			return fail(error, BAD_INPUT, "%s", what);
	}
	return *line->path ? OK : fail(error, BAD_INPUT, "export KIND FILE: which file?");
}

char *export_line_text(const struct export_line *line, char *text, size_t size)
{
	const char *quote = strpbrk(line->path, " \t") ? "\"" : "", *around = strpbrk(line->view, " \t") ? "\"" : "";
	snprintf(text, size, "export %s %s%s%s%s%s%s%s%s%s", line->kind, quote, line->path, quote,
		*line->view ? " --view " : "", around, line->view, around, *line->stage ? " --stage " : "", line->stage);
	return text;
}
