/* native_text.h: graphs from the native format's text, and back. */
#pragma once

#include <stdlib.h>

#include "src/read/native.h"

static inline struct graph *graph_of_text(const char *text, size_t size, struct error *error)
{
	struct source source = source_of_text(&(struct text_left){ text, size });
	return native_read(&source, error);
}

/* Free it with free(). */
static inline char *text_of_graph(const struct graph *graph, size_t *size)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, size);
	if (!stream)
		abort();
	native_write(graph, stream);
	fclose(stream);
	return text;
}
