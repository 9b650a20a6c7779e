/* notes.h: what is told with a plan, line by line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NOTES_BYTES 2000
#define NOTE_GUESS \
	"guess: "   /* begins a note of what nobody knows: up to its first semicolon what, then what would tell */
#define NOTE_LEFT_OUT "left out: "   /* begins a note of what a search passes over as the step is large */
#define GUESSES_BYTES 300

/* Appends a line; what there is no room for is cut off. */
void note(char notes[NOTES_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "guess: the workspace of 2 ops is scaled like their tensors, ...": all that is guessed, for a line of a table; ""
 * where nothing is. Returns text. */
char *notes_guesses(const char *notes, char text[GUESSES_BYTES]);
/* Whether a line is of what is guessed. */
bool note_is_guess(const char *line);
