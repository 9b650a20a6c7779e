/* folder_walk.h: the files below a folder, in the order of their names. */
#pragma once

#include "solver/base/base.h"

/* name: below the folder, "run_1/graph.txt"; bytes: its size. Lists are sorted by name. */
struct folder_file { const char *name; int64_t bytes; };
struct folder_files {
	struct arena arena;
	struct folder_file *file;
	size_t files, room, entries;
};

/* Lists the regular files whose last name wanted() likes, to a depth of eight folders; no link is followed, and names
 * that begin with a dot are left out. BAD_INPUT: more than 200,000 entries. Free with folder_files_free(), after an
 * error too. O(entries log entries). */
enum status folder_walk(
	const char *path, bool (*wanted)(const char *base), struct folder_files *list, struct error *error);
void folder_files_free(struct folder_files *list);
