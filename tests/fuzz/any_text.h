/* any_text.h: what a reader of graphs makes of any text: a graph, or a reason why not. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int read_any_text(
	const uint8_t *data, size_t size, struct graph *(*read)(const char *text, size_t size, struct error *error))
{
	struct error error = { 0 };
	char *copy = malloc(size + 1);   /* the sanitizer watches its end */
	if (!copy)
		abort();
	memcpy(copy + 1, data, size);
	OWN(graph) *graph = read(copy + 1, size, &error);
	if (!graph && (error.status != BAD_INPUT || !error.text[0])) {
		fprintf(stderr, "no reason is given\n");
		abort();
	}
	free(copy);
	return 0;
}
