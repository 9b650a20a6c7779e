/* graph_factors.h: the factors of the dims of the graph on the screen, found once per graph and only when a view shows
 * them. */
#pragma once

#include "solver/graph/graph.h"

/* solver/rules/factors.h and ui/screen/frame.h both have words that begin with ROLE_: views see factors through this
 * header alone. */
struct factors;

struct graph_factors {
	bool asked;
	uint64_t fingerprint;        /* of the graph that they were asked for */
	struct factors *factors;     /* NULL when they could not be found */
	struct factors_job *job;     /* the thread that looks for them, or NULL */
};

/* The factors of a graph: those from the last call when the graph is equal. rules_file: a user's operator rules, or
 * NULL. NULL when memory is out or the rules can't be read, and for large graphs while a thread of its own looks for
 * them. */
const struct factors *graph_factors_of(struct graph_factors *kept, const struct graph *graph, const char *rules_file);
/* True while that thread has not been waited for; graph_factors_of() or graph_factors_wait() do so. */
bool graph_factors_pending(const struct graph_factors *kept);
void graph_factors_wait(struct graph_factors *kept);
void graph_factors_free(struct graph_factors *kept);

/* A tensor's type and dims with what they carry, "f32[1024=batch*sequence, 2304]"; "" where the shape is unknown.
 * factors: of its graph, or NULL for the dims alone. Cut off to fit size. Returns text. */
char *carried_text(const struct graph *graph, uint32_t tensor, const struct factors *factors, char *text, size_t size);
