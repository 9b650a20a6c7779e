/* names.h: an index from unique names to dense ids (open addressing; grows by doubling). */
#pragma once

#include "base.h"

struct names {
	struct { const char *name; uint32_t id, hash; } *slot;
	uint32_t mask, used;
};

/* Adds a name, which must outlive the index, with its id. A name that is there keeps its first id.
 * Returns the id that the name has now, or NONE when out of memory. O(length) amortised. */
uint32_t names_add(struct names *names, const char *name, uint32_t id);
uint32_t names_find(const struct names *names, const char *name);
/* Every id i becomes id[i]. */
void names_renumber(struct names *names, const uint32_t *id);
void names_free(struct names *names);

/* Texts of which many are equal, each kept once. */
struct texts {
	struct names names;
	const char **text;
	uint32_t count;
	size_t room;
};

/* The text as it is kept in the arena, the first time copied to it; NULL when out of memory. Expected O(length). */
const char *texts_keep(struct texts *texts, struct arena *arena, const char *text);
void texts_free(struct texts *texts);

/* ---- names of solvers' steps: each solver is a table of them, and a loop ---- */

/* Leaves steps out, "layout.wheel,order.shave", to measure their worth. Before any thread begins. */
void steps_leave_out(const char *names);
bool step_runs(const char *name);
