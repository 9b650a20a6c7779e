/* complain.c: what goes wrong, on standard error. */
#include "complain.h"
#include "safe_text.h"

#include <stdarg.h>

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

void complain_line(const char *format, ...)
{
	char text[4000];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	fputs("tidemark: ", stderr);
	text_write_clean(stderr, text, "\n");
	putc('\n', stderr);
}

int complain(const char *file, const struct error *error, enum status status)
{
	bool starved = (mem_refused() > 0 || error->status == NO_MEMORY) && (status == BAD_INPUT || status == INFEASIBLE);
	if (starved)
		status = NO_MEMORY;
	fputs("tidemark: ", stderr);
	if (file) {
		text_write_clean(stderr, file, "");
		putc(':', stderr);
	}
	if (file && error->line)
		fprintf(stderr, "%u:", error->line);
	fputs(file ? " " : "", stderr);
	fputs(starved && error->status != NO_MEMORY ? "out of memory: " : "", stderr);
	text_write_clean(stderr, *error->text ? error->text : status_text(status), "\n");
	putc('\n', stderr);
	return exit_status(status);
}

int usage_error(const char *command, const char *format, ...)
{
	char text[2000];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	fputs("tidemark: ", stderr);
	text_write_clean(stderr, text, "\n");
	fprintf(stderr, "\nTry 'tidemark %s%s--help'.\n", command, *command ? " " : "");
	va_end(arguments);
	return EXIT_USAGE;
}
