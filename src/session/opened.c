/* opened.c: watches a file by its size, its time and its number. */
#include "opened.h"
#include "src/base/files.h"
#include "src/base/output.h"

#include <sys/stat.h>

static struct file_state opened_state_of(const char *path)
{
	struct stat state;
	if (!*path || stat(path, &state) != 0)
		return (struct file_state){ 0 };
	return (struct file_state){ (int64_t)state.st_size, (int64_t)state.st_mtim.tv_sec, (int64_t)state.st_mtim.tv_nsec,
		(uint64_t)state.st_ino };
}

static bool same(const struct file_state *a, const struct file_state *b)
{
	return a->bytes == b->bytes && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds && a->file == b->file;
}

void opened_note(struct opened *opened, const char *path, const struct read_options *reading)
{
	char *whole = path && strcmp(path, "-") != 0 ? realpath(path, NULL) : NULL;
	*opened = (struct opened){ 0 };
	PRINT_TO(opened->path, "%s", whole ? whole : path && strcmp(path, "-") != 0 ? path : "");
	if (reading)
		opened->reading = *reading;
	opened->read = opened->seen = opened_state_of(opened->path);
	free(whole);
}

enum status opened_words(
	const char *argument, char *path, size_t size, struct read_options *reading, struct error *error)
{
	bool quotes = *argument == '"';
	const char *begin = argument + quotes, *end = quotes ? strrchr(begin, '"') : strstr(begin, " --");
	if (!end)
		end = begin + strlen(begin);
	snprintf(path, size, "%.*s", (int)(end - begin), begin);
	*reading = (struct read_options){ 0 };
	return read_options_parse(reading, end + (quotes && *end), error);
}

bool opened_changed(struct opened *opened)
{
	struct file_state now = opened_state_of(opened->path);
	bool changed = now.file && !same(&now, &opened->read) && !same(&now, &opened->seen);
	opened->seen = now.file ? now : opened->seen;
	return changed;
}

/* BAD_INPUT where the path is that file: nothing is written over it. */
static enum status opened_spare(const struct opened *opened, const char *path, struct error *error)
{
	if (*opened->path && output_same_file(opened->path, path))
		return refuse(error, "%.200s is the graph that is open: give the file another name", path);
	return OK;
}

enum status opened_check_source(const char *folder, const char *path, struct error *error)
{
	struct stat state;
	if (stat(path, &state) != 0 || S_ISDIR(state.st_mode))
		return OK; /* who opens it says so */
	if (!S_ISREG(state.st_mode))
		return refuse(error, "%.200s is not a regular file", path);
	if (folder && !named_file_within(path, folder, false) && !named_file_within(path, ".", false))
		return refuse(error,
			"%.200s is neither below the session's folder nor below this one: --allow-write lets a session read and write "
			"anywhere", path);
	return OK;
}

enum status opened_check_target(
	const struct opened *opened, const char *folder, const char *path, struct error *error)
{
	TRY(opened_spare(opened, path, error));
	if (folder && !named_file_within(path, folder, true))
		return refuse(error,
			"%.200s is not below the session's folder: --allow-write lets a session read and write anywhere", path);
	return OK;
}
