/* state_files.h: where the program keeps what it remembers: $XDG_STATE_HOME/tidemark, or ~/.local/state/tidemark. */
#pragma once

#include <stdbool.h>

#define STATE_PATH_BYTES 4096

/* The path of a file or directory there; false where there is no home, or the path is too long. */
bool state_path(const char *name, char path[STATE_PATH_BYTES]);
/* Makes a directory and those above it, for the user alone. path is changed meanwhile. */
bool state_make_directories(char *path);
