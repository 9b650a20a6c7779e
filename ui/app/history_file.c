/* history_file.c: one line of the prompt a line, the newest last. */
#include "history_file.h"
#include "src/base/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { LINES_LONG = 1000 };

/* Replaces the file by what is in memory. */
static void shorten(const struct history *history, const char *path)
{
	struct error error;
	struct output output;
	if (output_open(&output, path, true, &error) != OK)
		return;
	for (uint32_t i = history->count; i > 0; i--)
		fprintf(output.stream, "%s\n", history->line[(history->next + HISTORY_LINES - i) % HISTORY_LINES]);
	output_close(&output, OK, &error);   /* what fails leaves the long file as it is */
}

void history_load(struct history *history, const char *path)
{
	char line[LINE_SIZE + 1];
	uint32_t lines = 0;
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	for (bool whole = true; fgets(line, sizeof line, file); ) {
		size_t length = strcspn(line, "\n");
		bool starts = whole;
		whole = line[length] == '\n';
		line[length] = '\0';
		/* A line that is too long was not typed here. */
		if (starts && whole)
			history_add(history, line);
		lines += whole;
	}
	fclose(file);
	if (lines > LINES_LONG)
		shorten(history, path);
}

void history_append(const char *path, const char *line)
{
	char text[LINE_SIZE + 2];
	int length = snprintf(text, sizeof text, "%s\n", line);
	int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	ssize_t written = write(file, text, (size_t)length);
	(void)written;
	close(file);
}
