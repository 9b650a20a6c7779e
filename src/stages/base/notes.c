/* notes.c: see notes.h. */
#include "notes.h"

#include <stdarg.h>

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

bool note_is_guess(const char *line)
{
	return strncmp(line, NOTE_GUESS, strlen(NOTE_GUESS)) == 0;
}

char *notes_guesses(const char *notes, char text[GUESSES_BYTES])
{
	size_t used = 0, prefix = strlen(NOTE_GUESS);
	text[0] = '\0';
	for (const char *at = notes; *at; at += strcspn(at, "\n") + 1)
		if (note_is_guess(at) && used + 1 < GUESSES_BYTES)
			used += (size_t)snprintf(text + used, GUESSES_BYTES - used, "%s%.*s", used > 0 ? ", " : NOTE_GUESS,
				(int)strcspn(at + prefix, ";\n"), at + prefix);
	return text;
}
