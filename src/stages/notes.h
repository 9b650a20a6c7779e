/* notes.h: what is told with a plan, line by line. */
#pragma once

#define NOTES_BYTES 2000

/* Appends a line; what there is no room for is cut off. */
void note(char notes[NOTES_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
