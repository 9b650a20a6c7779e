/* caption.h: a figure's caption: what it shows, under which knobs, and the command that draws it again. */
#pragma once

#include "export.h"

/* Of a figure of one plan. command: the words of the command line behind the program's name. BAD_INPUT, NO_MEMORY. */
enum status caption_write(const struct plan *plan, const struct export_options *options, char *const *command,
	int commands, FILE *stream, struct error *error);
/* Of a figure of files: several plans over each other, a sweep. */
enum status caption_write_files(char *const *path, int paths, const struct export_options *options,
	char *const *command, int commands, FILE *stream, struct error *error);
