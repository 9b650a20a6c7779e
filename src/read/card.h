/* card.h: what was got of a file and what had to be added: the first thing to look at before a plan is believed. */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/json.h"

/* The card as lines "label: text", the last one ended too; NULL when out of memory. Free with mem_free(). */
char *card_text(const struct graph *graph);
/* What of it fits a few rows of a screen, as one line: format, sizes, phases, the command that supplies the rest, and
 * what was assumed: of that as much as fits most bytes, the rest counted. NULL when out of memory, or where the file
 * says nothing of this: native graphs and built-in models. Free with mem_free(). */
char *card_brief(const struct graph *graph, size_t most);
/* Whether its ops are the allocations of a memory snapshot, of which nobody says what they compute. */
bool graph_of_allocations(const struct graph *graph);
/* As the member "input". */
void card_json(const struct graph *graph, struct json *json);
