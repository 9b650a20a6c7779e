/* dot_child.h: tidemark-dot as a child: the only way from this program to Graphviz. */
#pragma once

#include "solver/graph/graph.h"

struct dot_limits {
	int64_t memory;            /* bytes; 0: 4 GiB */
	int64_t milliseconds;      /* of wall time; 0: 60 s */
	int64_t edges;             /* in a DOT graph that is read; 0: 1,000,000 */
	const atomic_bool *cancel; /* may be NULL; answered within 100 ms */
};

/* Reads DOT text of either dialect. Errors of tidemark-dot are passed on, with their line. limits may be NULL. */
struct graph *dot_child_read(const char *text, size_t size, const struct dot_limits *limits, struct error *error);

/* Draws DOT text as "svg", "pdf" or "png". positions: nodes stand at their pos=, nothing is laid out. LIMIT when
 * it takes too long, or what comes is no whole picture. *picture: length bytes; free with mem_free(). limits may be
 * NULL. */
enum status dot_child_render(const char *text, size_t size, const char *format, bool positions,
	const struct dot_limits *limits, char **picture, size_t *length, struct error *error);
