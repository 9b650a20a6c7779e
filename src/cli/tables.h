/* tables.h: prints the tables of knobs, commands, pins, exports and subcommands for the man page. */
#pragma once

#include <stdio.h>

/* mdoc(7) list items of one table: "knobs", "commands", "pins", "exports" or "subcommands". False for another name. */
bool tables_write(const char *table, FILE *stream);
