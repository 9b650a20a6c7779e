/* factors.h: what every dim of a plan's graph carries: batch, sequence, heads, hidden, ... */
#pragma once

#include "export.h"
#include "src/base/json.h"

/* A dim's factors, outermost first: "batch*sequence", "3*hidden"; a part without a role is its size, "" is a dim of
 * which no part has a role. Cut off to fit size. Returns text. */
char *factors_text(const struct factors *factors, const struct factor_term *term, char *text, size_t size);

/* The factors of a graph, by the built-in rules and those of rules_file (or NULL). OK, NO_MEMORY, or BAD_INPUT for
 * the rules (which can't come from standard input a second time). Free with factors_free(). */
enum status factors_of_graph(
	const struct graph *graph, const char *rules_file, struct factors *factors, struct error *error);

/* The member `"factors": {tensor: [a text for every dim]}` of the plan file. */
void factors_write_json(const struct factors *factors, const struct graph *graph, struct json *json);
