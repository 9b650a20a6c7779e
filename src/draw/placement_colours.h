/* placement_colours.h: colours of a drawing's nodes by where their results lie on the mesh. */
#pragma once

#include "groups.h"

#define PLACEMENT_COLOURS 7

struct placement_colours {
	uint32_t count;             /* placements that have a colour of their own; the rarer share the last */
	bool more;
	char text[PLACEMENT_COLOURS][48];
};

/* The placements of a drawing's nodes, most frequent first; none where the step is not split. */
void placement_colours_find(const struct drawing *drawing, struct placement_colours *colours);
/* The area's colour of a node, or NULL: a collective, or nothing is known of it. */
const char *placement_colour(
	const struct drawing *drawing, const struct placement_colours *colours, const struct draw_node *node);
const char *placement_area(uint32_t i);
/* "[S(0), R]" of a node's main result, "" where nothing is known. Returns text. */
char *placement_of_node(const struct drawing *drawing, const struct draw_node *node, char *text, size_t size);
