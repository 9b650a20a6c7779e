/* source.h: where a reader's bytes come from: a file, plain or gz, or whatever else can be read piece by piece. */
#pragma once

#include <sys/types.h>

#include "solver/base/base.h"

/* Where bytes come from: like read(2), but -1 sets error->text. */
struct source {
	ssize_t (*read)(void *context, void *buffer, size_t size, struct error *error);
	void *context;
};

/* A text in memory as a source. */
struct text_left { const char *at; size_t left; };
struct source source_of_text(struct text_left *text);

/* Begins and ends a wait for a file's bytes, which may last for ever (a pipe). A signal ends the program there at once:
 * there is nothing yet that could be told. */
void source_wait(bool begins);
bool source_waits(void);

/* A file being read, decompressed on the way. The first bytes can be looked at without taking them. */
struct input;

/* NULL and *error when there is no such file, it is a directory, or can't be read. path "-" is standard input. */
struct input *input_open(const char *path, struct error *error);
void input_close(struct input *input);
/* Bytes at the beginning (at most 64 KiB, fewer in a short file); *size says how many. */
const char *input_peek(const struct input *input, size_t *size);
/* Whether an object or an array begins there. Of a file of another kind, or of a device that never ends, these bytes
 * say enough: no gigabytes need be read. */
bool input_begins_json(const struct input *input);
/* The whole content from its beginning; at most limit bytes, else BAD_INPUT, and a 0 behind them. Free
 * with mem_free(). */
char *input_all(struct input *input, size_t limit, size_t *size, struct error *error);
/* That of a file. */
char *input_text(const char *path, size_t limit, size_t *size, struct error *error);
/* Puts the file, and the line where there is one, before what is wrong with it. Returns the status. */
enum status input_name(const char *file, struct error *error);
/* As a source for the readers: everything from the beginning. */
struct source input_source(struct input *input);
