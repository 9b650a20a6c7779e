/* clash.c: why two pins contradict each other, in words. */
#include <inttypes.h>
#include <stdio.h>

#include "layout.h"

char *layout_clash_text(const struct layout_clash *clash, char *text, size_t size)
{
	const int64_t *n = clash->number;
	switch (clash->kind) {
	case LAYOUT_CLASH_OVERLAP:
		snprintf(text, size, "are pinned to overlapping places: to bytes %" PRId64 " to %" PRId64 " and %" PRId64 " to %" PRId64
			", and both are alive at step %" PRId64, n[0], n[1], n[2], n[3], n[4]);
		break;
	case LAYOUT_CLASH_BEHIND:
		snprintf(text, size, "are pinned one behind the other, the second to %" PRId64 ", but %" PRId64 " bytes lie before it", n[0], n[1]);
		break;
	case LAYOUT_CLASH_GROUP: snprintf(text, size, "are pinned to places that don't lie as their group does"); break;
	case LAYOUT_CLASH_NONE: snprintf(text, size, "don't contradict each other"); break;
	}
	return text;
}

enum status layout_clash_fail(const struct layout_clash *clash, struct error *error)
{
	char text[300];
	return fail(error, INFEASIBLE, "buffers %u and %u %s", clash->buffer[0], clash->buffer[1], layout_clash_text(clash, text, sizeof text));
}
