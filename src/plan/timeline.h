/* timeline.h: live bytes over the steps of a plan, by groups that a reader can tell apart, and thinned for figures. */
#pragma once

#include "plan.h"

/* Name, colour. Colour-blind readers tell any two apart, and grey prints those that are stacked on each other
 * (unit_palette). */
#define TIMELINE_GROUPS(X) \
	X(STATE, "parameters and state", "#E6E6E6") \
	X(ACTIVATION, "activations", "#56B4E9") \
	X(GRADIENT, "gradients", "#C44A00") \
	X(TEMPORARY, "temporaries", "#F5EA50") \
	X(WORKSPACE, "workspace", "#3B2A8C")
#define X(id, name, colour) GROUP_##id,
enum timeline_group { TIMELINE_GROUPS(X) GROUP_COUNT };
#undef X
extern const char *const group_names[GROUP_COUNT], *const group_colours[GROUP_COUNT];

/* The group of a kind of storage, of KIND_COUNT that of workspaces. */
enum timeline_group group_of_kind(int kind);

/* Bytes of each group at each position: [ops], in sum the live bytes. mem_free() it; NULL when out of memory.
 * O(storages + ops). */
int64_t (*timeline_groups(const struct plan *plan))[GROUP_COUNT];

/* The memory limit where a figure up to so many bytes has a line for it; -1: none is set, or one so far above that it
 * would flatten what is drawn. */
int64_t timeline_limit(const struct plan *plan, int64_t bytes);

/* Positions to draw, at most `most` >= 8 of them, ascending: of each stretch its lowest and its highest point, and the
 * first and the last of all; the peak (the first highest point of all) is one of them. keep: [most]. O(count). */
uint32_t timeline_thin(const int64_t *live, uint32_t count, uint32_t most, uint32_t *keep);
