/* notes.c: see notes.h. */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void note(char notes[NOTES_BYTES], const char *format, ...)
{
	size_t used = strlen(notes);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(notes + used, NOTES_BYTES - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(notes);
	memcpy(notes + used, "\n", 2);
}
