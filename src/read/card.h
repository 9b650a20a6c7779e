/* card.h: what was got of a file and what had to be added: the first thing to look at before a plan is believed. */
#ifndef TIDEMARK_READ_CARD_H
#define TIDEMARK_READ_CARD_H

#include "solver/graph/graph.h"
#include "src/base/json.h"

struct card {
	const char *format, *version;      /* version: NULL where the file says none */
	uint32_t known, inferred, missing; /* sizes of tensors */
	uint32_t phase[PHASE_COUNT];       /* ops */
	uint32_t unphased;                 /* ops of which nobody says it */
	uint32_t located;                  /* ops with a place in the program's source */
	int64_t state;                     /* bytes of optimizer state */
	uint32_t devices;                  /* of which this is one; 1: of its own */
};

/* O(graph). */
struct card card_of(const struct graph *graph);
/* The card as lines "label: text", the last one ended too; NULL when out of memory. Free with mem_free(). */
char *card_text(const struct graph *graph);
/* As the member "input". */
void card_json(const struct graph *graph, struct json *json);

#endif
