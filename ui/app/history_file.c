/* history_file.c: one line of the prompt a line, the newest last; columns in a line of their own file. */
#include "history_file.h"
#include "src/base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_LONG = 1000, LOCK_TRIES = 50 };

/* Waits for the lock, a tenth of a second at most: it is held for as long as the file is read and shortened. Where
 * there are no locks, without. */
static void lock(int file)
{
	for (int i = 0; i < LOCK_TRIES && flock(file, LOCK_EX | LOCK_NB) != 0; i++)
		poll(NULL, 0, 2);
}

/* Locked, open for adding, and not one that another program has replaced meanwhile. -1: it can't be opened. */
static int open_locked(const char *path)
{
	struct stat here, there;
	for (;;) {
		int file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (file < 0)
			return -1;
		lock(file);
		if (fstat(file, &here) != 0 || stat(path, &there) != 0 ||
			(here.st_ino == there.st_ino && here.st_dev == there.st_dev))
			return file;
		close(file);
	}
}

/* Replaces the file by what is in memory. */
static void history_file_shorten(const struct history *history, const char *path)
{
	struct error error;
	struct output output;
	if (output_open(&output, path, true, &error) != OK)
		return;
	for (uint32_t i = history->count; i > 0; i--)
		fprintf(output.stream, "%s\n", history->line[(history->next + HISTORY_LINES - i) % HISTORY_LINES]);
	output_close(&output, OK, &error); /* what fails leaves the long file as it is */
}

void history_load(struct history *history, const char *path)
{
	char line[LINE_SIZE + 1];
	uint32_t lines = 0;
	if (access(path, R_OK) != 0)
		return;
	int locked = open_locked(path);
	FILE *file = locked >= 0 ? fdopen(locked, "r") : fopen(path, "re");
	if (!file) {
		if (locked >= 0)
			close(locked);
		return;
	}
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
	if (lines > LINES_LONG)
		history_file_shorten(history, path);
	fclose(file); /* with the lock: what others add goes to the new file */
}

void history_append(const char *path, const char *line)
{
	char text[LINE_SIZE + 2];
	int length = PRINT_TO(text, "%s\n", line);
	int file = open_locked(path);
	if (file < 0)
		return;
	ssize_t written = write(file, text, (size_t)length);
	(void)written;
	close(file);
}

void columns_load(struct column_set *set, const char *path)
{
	char line[200], list[COLUMN_LIST_BYTES];
	struct error error;
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "use %159s", list) == 1)
			column_list_read(set, list, &error);
	if (file)
		fclose(file);
	set->changed = false;
}

enum status columns_save(struct column_set *set, const char *path, struct error *error)
{
	char list[COLUMN_LIST_BYTES];
	struct output output;
	TRY(output_open(&output, path, true, error));
	fprintf(output.stream, "use %s\n", column_list_text(set, list));
	set->changed = false;
	return output_close(&output, OK, error);
}
