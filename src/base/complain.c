/* complain.c: what goes wrong, on standard error. */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

/* The exit status that a failed call stands for. */
static int exit_status(enum status status)
{
	switch (status) {
	case OK: return EXIT_FINE;
	case BAD_INPUT: return EXIT_INPUT;
	case INFEASIBLE: return EXIT_CONSTRAINT;
	default: return EXIT_LIMIT;
	}
}

int complain(const char *file, const struct error *error, enum status status)
{
	fputs("tidemark: ", stderr);
	if (file)
		fprintf(stderr, "%s:", file);
	if (file && error->line)
		fprintf(stderr, "%u:", error->line);
	fprintf(stderr, "%s%s\n", file ? " " : "", error->text);
	return exit_status(status);
}

int usage_error(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("tidemark: ", stderr);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\nTry 'tidemark %s%s--help'.\n", command, *command ? " " : "");
	va_end(arguments);
	return EXIT_USAGE;
}
