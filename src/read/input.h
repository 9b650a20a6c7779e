/* input.h: opens graph files: plain or gz, "-" for standard input, the format found by content. */
#ifndef TIDEMARK_READ_INPUT_H
#define TIDEMARK_READ_INPUT_H

#include "native.h"
#include "read_options.h"

/* A file being read, decompressed on the way. The first bytes can be looked at without taking them. */
struct input;

/* NULL and *error when there is no such file, it is a directory, or can't be read. path "-" is standard input. */
struct input *input_open(const char *path, struct error *error);
void input_close(struct input *input);
/* Bytes at the beginning (at most 64 KiB, fewer in a short file); *size says how many. */
const char *input_peek(const struct input *input, size_t *size);
/* The whole content from its beginning; at most limit bytes, else BAD_INPUT. Free with mem_free(). */
char *input_all(struct input *input, size_t limit, size_t *size, struct error *error);
/* As a source for the readers: everything from the beginning. */
struct source input_source(struct input *input);

/* Reads a graph of any format that is known. Errors as the formats' readers give them. options NULL: as the formats' files have it. */
struct graph *graph_open(const char *path, const struct read_options *options, struct error *error);

#endif
