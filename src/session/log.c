/* log.c: the commands of a session, in memory and in a file. */
#include <dirent.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "src/base/files.h"
#include "src/base/output.h"

#define END_MARK "# end of session\n"
#define SESSIONS "sessions"

struct session_log {
	char *text;
	size_t used, capacity;
	FILE *file;
	char *path;
};

static void log_open_file(struct session_log *log)
{
	char path[STATE_PATH_BYTES], stamp[32];
	time_t now = time(NULL);
	struct tm broken_down;
	if (!state_path(SESSIONS, path) || !state_make_directories(path) || !localtime_r(&now, &broken_down))
		return;
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &broken_down);
	size_t length = strlen(path);
	snprintf(path + length, sizeof path - length, "/%s-%ld.tide", stamp, (long)getpid());
	log->path = mem_alloc(strlen(path) + 1, 1);
	log->file = log->path ? fopen(path, "we") : NULL;
	if (log->file) {
		memcpy(log->path, path, strlen(path));
	} else {
		mem_free(log->path);
		log->path = NULL;
	}
}

struct session_log *log_new(bool with_file)
{
	struct session_log *MAKE(log, 1);
	if (!log)
		return NULL;
	log->capacity = 4096;
	log->text = mem_alloc(log->capacity, 1);
	if (!log->text) {
		mem_free(log);
		return NULL;
	}
	if (with_file)
		log_open_file(log);
	log_add(log, SESSION_HEAD "%u", SESSION_VERSION);
	return log;
}

void log_free(struct session_log *log)
{
	if (!log)
		return;
	if (log->file) {
		fputs(END_MARK, log->file);
		fclose(log->file);
	}
	mem_free(log->path);
	mem_free(log->text);
	mem_free(log);
}

void log_add(struct session_log *log, const char *format, ...)
{
	va_list arguments;
	char line[8192];
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof line - 1)
		return;
	line[length] = '\n';
	size_t size = (size_t)length + 1;
	if (log->file) {
		fwrite(line, 1, size, log->file);
		fflush(log->file);
	}
	if (log->used + size + 1 > log->capacity) {
		char *text = mem_resize(log->text, log->capacity * 2 + size, 1);
		if (!text)
			return;
		log->text = text;
		log->capacity = log->capacity * 2 + size;
	}
	memcpy(log->text + log->used, line, size);
	log->used += size;
	log->text[log->used] = '\0';
}

enum status log_save(const struct session_log *log, const char *path, bool replace, struct error *error)
{
	struct output output;
	TRY(output_open(&output, path, replace, error));
	fputs(log->text, output.stream);
	return output_close(&output, OK, error);
}

/* ---- the newest ---- */

static bool ended_well(const char *path)
{
	char tail[sizeof END_MARK] = "";
	FILE *file = fopen(path, "re");
	if (!file)
		return true;
	if (fseek(file, -(long)strlen(END_MARK), SEEK_END) == 0)
		tail[fread(tail, 1, strlen(END_MARK), file)] = '\0';
	fclose(file);
	return text_is(tail, END_MARK);
}

char *log_newest(bool *ended)
{
	char path[STATE_PATH_BYTES], newest[256] = "";
	DIR *list = state_path(SESSIONS, path) ? opendir(path) : NULL;
	if (!list)
		return NULL;
	/* Names begin with the date: the newest is the last in the alphabet. */
	for (struct dirent *entry; (entry = readdir(list)); )
		if (strstr(entry->d_name, ".tide") && strcmp(entry->d_name, newest) > 0)
			PRINT_TO(newest, "%s", entry->d_name);
	closedir(list);
	if (!*newest)
		return NULL;
	size_t size = strlen(path) + strlen(newest) + 2;
	char *result = mem_alloc(size, 1);
	if (result) {
		snprintf(result, size, "%s/%s", path, newest);
		*ended = ended_well(result);
	}
	return result;
}

void log_export(struct session_log *log, const struct plan *plan, const struct scenario *asked, const char *line)
{
	long long planned = scenario_effort(&plan->scenario), wanted = scenario_effort(asked);
	if (planned != wanted)
		log_add(log, "set effort=%lld", planned);
	if (plan->limited)
		log_add(log, "# the plan was cut short: a replay may write a better one");
	log_add(log, "%s", line);
	if (planned != wanted)
		log_add(log, "set effort=%lld", wanted);
}
