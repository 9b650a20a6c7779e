/* came_to.h: what "given", "auto" and the like stand for: the value that a knob's word comes to in a graph and in a
 * plan. */
#pragma once

#include "plan.h"

/* What a graph as read is: what "given" means. 0 or "": not known. */
struct given {
	int64_t batch, sequence;
	const char *precision, *optimizer;   /* words of these knobs; static texts */
	const char *train;                   /* "a whole step", "forward alone" */
};

struct factors;
/* factors: of the graph, or NULL where they are not known; rules_file: a user's operator rules, or NULL. O(graph). */
void given_find(const struct graph *graph, const struct factors *factors, const char *rules_file, struct given *given);

/* A knob's value in words, with what it comes to (in plan, which may be NULL, or of another scenario: then what follows
 * from a plan isn't known): "given (fp32)", "auto (4)", "3 (by zero)"; just "fp32" and so on behind a bracket where
 * room is less. Returns text. */
char *knob_came_to_text(int knob, const struct scenario *scenario, const struct given *given,
	const struct plan *plan, int room, char *text, size_t size);
/* Whether two plans' values of a knob come to the same: "given" and 8 samples, ZeRO stage 3 and strategy=zero's. */
bool knob_means_same(int knob, const struct given *given, const struct plan *one, const struct plan *other);
/* The next value up (1) or down (-1) that means another thing than the present one: from "given (8)" to 16, not to 1.
 */
int64_t knob_next(int knob, const struct scenario *scenario, const struct given *given,
	const struct plan *plan, int direction);

/* idle: knobs that change nothing in a plan: by its scenario, and by what its graph and its mesh have. */

/* Why no value of the knob would change the plan: "no op has scratch memory"; NULL where one does or may. Static text.
 * O(ops). */
const char *plan_knob_idle(const struct plan *plan, int knob);
