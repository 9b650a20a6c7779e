/* files.c: paths: what a file may name, the program's folder, where state is kept, the files below a folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "files.h"

/* ---- folders are compared once links are followed ---- */

enum { PATH_BYTES = 4096 };

void named_file_folder(const char *path, char folder[4096])
{
	const char *slash = strrchr(path, '/');
	snprintf(folder, PATH_BYTES, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

bool named_file_within(const char *path, const char *folder, bool writing)
{
	char real[PATH_BYTES], within[PATH_BYTES], parent[PATH_BYTES];
	struct stat state;
	bool there = lstat(path, &state) == 0; /* a link that leads nowhere is there: what would be made lies elsewhere */
	if (!there)
		named_file_folder(path, parent);
	if ((!there && !writing) || !realpath(there ? path : parent, real) || !realpath(folder, within))
		return false;
	if (there && (stat(path, &state) != 0 || !S_ISREG(state.st_mode)))
		return false;
	size_t length = strcmp(within, "/") == 0 ? 0 : strlen(within);
	return strncmp(real, within, length) == 0 && (real[length] == '/' || real[length] == '\0');
}

/* from the path that the kernel was given to run: argv[0] is the caller's to choose, and /proc may
 * not be mounted. */

bool program_folder(char folder[PROGRAM_PATH_BYTES])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	if (!given || !realpath(given, folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}

/* ---- the XDG state directory ---- */

bool state_path(const char *name, char path[STATE_PATH_BYTES])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length;
	if (state && *state == '/')
		length = snprintf(path, STATE_PATH_BYTES, "%s/tidemark/%s", state, name);
	else if (home && *home == '/')
		length = snprintf(path, STATE_PATH_BYTES, "%s/.local/state/tidemark/%s", home, name);
	else
		return false;
	return length < STATE_PATH_BYTES - 64;
}

bool state_make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); ; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
		if (slash)
			*slash = '/';
		if (!made || !slash)
			return made;
	}
}

/* ---- the files below a folder ---- */

#define DEPTH_MOST   8
#define ENTRIES_MOST 200000

struct walk {
	const char *top;
	bool (*wanted)(const char *base);
	struct folder_files *list;
	struct error *error;
};

static enum status walk_below(struct walk *walk, const char *below, int depth);

static enum status folder_walk_add(struct walk *walk, const char *name, int64_t bytes)
{
	struct folder_files *list = walk->list;
	struct folder_file file = { arena_text(&list->arena, name, strlen(name)), bytes };
	if (!(file.name && mem_reserve(&list->file, &list->room, list->files + 1, sizeof file)))
		return fail_memory(walk->error);
	list->file[list->files++] = file;
	return OK;
}

/* An entry; name: with the folders in front. */
static enum status folder_walk_take(struct walk *walk, const char *name, const char *base, int depth)
{
	char path[4096];
	struct stat state;
	if (++walk->list->entries > ENTRIES_MOST)
		return refuse(walk->error, "the folder has more than %d files", ENTRIES_MOST);
	if (PRINT_TO(path, "%s/%s", walk->top, name) >= (int)sizeof path || lstat(path, &state) != 0)
		return OK;
	if (S_ISDIR(state.st_mode))
		return depth < DEPTH_MOST ? walk_below(walk, name, depth + 1) : OK;
	return S_ISREG(state.st_mode) && walk->wanted(base) ? folder_walk_add(walk, name, (int64_t)state.st_size) : OK;
}

static enum status walk_below(struct walk *walk, const char *below, int depth)
{
	char path[4096], name[4096];
	enum status status = OK;
	if (PRINT_TO(path, "%s/%s", walk->top, below) >= (int)sizeof path)
		return OK;
	DIR *list = opendir(path);
	for (struct dirent *entry; list && status == OK && (entry = readdir(list));) {
		int length = PRINT_TO(name, "%s%s%s", below, *below ? "/" : "", entry->d_name);
		if (*entry->d_name != '.' && length < (int)sizeof name)
			status = folder_walk_take(walk, name, name + length - strlen(entry->d_name), depth);
	}
	if (list)
		closedir(list);
	return status;
}

static int folder_walk_by_name(const void *a, const void *b)
{
	return strcmp(((const struct folder_file *)a)->name, ((const struct folder_file *)b)->name);
}

enum status folder_walk(
	const char *path, bool (*wanted)(const char *base), struct folder_files *list, struct error *error)
{
	struct walk walk = { path, wanted, list, error };
	*list = (struct folder_files){ .file = NULL };
	TRY(walk_below(&walk, "", 0));
	if (list->files)
		qsort(list->file, list->files, sizeof *list->file, folder_walk_by_name);
	return OK;
}

void folder_files_free(struct folder_files *list)
{
	mem_free(list->file);
	arena_free(&list->arena);
	*list = (struct folder_files){ .file = NULL };
}
