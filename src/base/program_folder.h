/* program_folder.h: where the running program is. */
#pragma once

#include <stdbool.h>

enum { PROGRAM_PATH_BYTES = 4096 };

/* Writes the folder of the running program into folder, without the last /, links resolved. False where the system
 * doesn't tell. */
bool program_folder(char folder[PROGRAM_PATH_BYTES]);
