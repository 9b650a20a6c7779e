/* files.h: paths: what a file may name, the program's folder, where state is kept. */
#pragma once

#include "solver/base/base.h"

/* named_file: a file that another file's content names, such as a session's line or a plan's pin: who wrote the
 * content must not choose which of the user's files are opened. */

/* Whether path is a regular file in folder or below it, links followed; writing: or one that can be made there. */
bool named_file_within(const char *path, const char *folder, bool writing);
/* The folder of a file, into folder (4096 bytes): "." where the name has none. */
void named_file_folder(const char *path, char folder[4096]);

/* program_folder: where the running program is. */

enum { PROGRAM_PATH_BYTES = 4096 };

/* Writes the folder of the running program into folder, without the last /, links resolved. False where the system
 * doesn't tell. */
bool program_folder(char folder[PROGRAM_PATH_BYTES]);

/* state_files: where the program keeps what it remembers: $XDG_STATE_HOME/tidemark, or ~/.local/state/tidemark. */

#define STATE_PATH_BYTES 4096

/* The path of a file or directory there; false where there is no home, or the path is too long. */
bool state_path(const char *name, char path[STATE_PATH_BYTES]);
/* Makes a directory and those above it, for the user alone. path is changed meanwhile. */
bool state_make_directories(char *path);
