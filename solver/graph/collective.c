/* collective.c: the words of collectives and placements. */
#include <stdio.h>

#include "graph.h"

#define X(id, name) name,
const char *const collective_names[COLLECTIVE_KINDS] = { COLLECTIVES(X) COLLECTIVES_MORE(X) };
#undef X
#define X(id, name) "comm." name,
const char *const collective_types[COLLECTIVE_KINDS] = { COLLECTIVES(X) COLLECTIVES_MORE(X) };
#undef X

enum collective_kind collective_of_type(const char *type)
{
	if (strncmp(type, "comm.", 5) != 0)
		return COLLECTIVE_KINDS;
	enum collective_kind kind = 0;
	while (kind < COLLECTIVE_OTHER && strcmp(collective_types[kind], type) != 0)
		kind++;
	return kind;
}

char *axis_place_text(struct axis_place place, char *text, size_t size)
{
	if (place.dim < 0)
		snprintf(text, size, "%s", place.dim == PLACE_WHOLE ? "R" : "P");
	else if (place.blocks > 1)
		snprintf(text, size, "S(%d:%lld)", place.dim, (long long)place.blocks);
	else
		snprintf(text, size, "S(%d)", place.dim);
	return text;
}
