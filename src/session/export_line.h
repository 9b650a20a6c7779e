/* export_line.h: the words of an export at the prompt and in session files: KIND FILE [--view V] [--stage S]. */
#pragma once

#include "solver/base/base.h"

struct export_line {
	char kind[64];
	char path[4096];
	char view[1024], stage[16];  /* "": not given */
	bool force;                  /* a "!" after the kind: a file that exists is replaced */
};

/* Reads what follows the word `export`. The file's name may stand in double quotes and has to when it contains " --".
 * BAD_INPUT says what is missing or wrong; the kind is not looked up. */
enum status export_line_parse(const char *argument, struct export_line *line, struct error *error);
/* The whole command, as export_line_parse() reads it back, without the "!". Returns text. */
char *export_line_text(const struct export_line *line, char *text, size_t size);
