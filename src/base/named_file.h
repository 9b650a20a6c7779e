/* named_file.h: a file that another file's content names, such as a session's line or a plan's pin: who wrote the
 * content must not choose which of the user's files are opened. */
#pragma once

#include <stdbool.h>

/* Whether path is a regular file in folder or below it, links followed; writing: or one that can be made there. */
bool named_file_within(const char *path, const char *folder, bool writing);
/* The folder of a file, into folder (4096 bytes): "." where the name has none. */
void named_file_folder(const char *path, char folder[4096]);
