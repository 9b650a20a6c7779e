/* places.c: reads placements of DTensors. */
#include "fx.h"

#include <stdlib.h>

uint32_t places_read(const char *text, uint32_t most, struct axis_places *places)
{
	*places = (struct axis_places){ 0 };
	for (; *text && places->axes < most; places->axes++) {
		struct axis_place *place = &places->on[places->axes];
		char *end;
		text += *text == '_';
		*place = (struct axis_place){ *text == 'P' ? PLACE_PARTIAL : PLACE_WHOLE, 1 };
		if (*text != 'R' && *text != 'P' && *text != 'S')
			break;
		bool shard = *text++ == 'S';
		if (shard && *text != '(')
			break;
		long dim = *text == '(' ? strtol(text + 1, &end, 10) : 0;
		if (shard && (dim < 0 || dim >= DIMS_MAX))
			break;
		if (shard)
			place->dim = (int8_t)dim;
		if (shard && *end == ',')
			place->blocks = strtol(end + 1, NULL, 10) > 1 ? strtol(end + 1, NULL, 10) : 1;
		text += *text == '(' ? strcspn(text, ")") : 0;
		text += *text == ')';
		text += *text == '[' ? strcspn(text, "]") : 0;
		text += *text == ']';
	}
	return places->axes;
}

const char *place_move(struct axis_place from, struct axis_place to)
{
	if (from.dim == to.dim && (from.dim < 0 || from.blocks == to.blocks))
		return NULL;
	if (from.dim == PLACE_PARTIAL)
		return to.dim == PLACE_WHOLE ? "comm.all_reduce" : "comm.reduce_scatter";
	if (from.dim == PLACE_WHOLE || to.dim == PLACE_PARTIAL)
		return NULL;
	return to.dim == PLACE_WHOLE ? "comm.all_gather" : "comm.all_to_all";
}
