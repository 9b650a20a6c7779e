/* segment_rows.c: rules above ROAM's segments, and what it decided about an op. */
#include "order_rows.h"

/* How many segments begin at or before a position; or, counted in rows, which the rules before it shift. */
static uint32_t begun(const struct order_roam *roam, uint32_t place, bool in_rows)
{
	uint32_t low = 0, high = roam->segments;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (roam->segment[middle].first + (in_rows ? middle : 0) <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t segment_row(const struct order_roam *roam, uint32_t position)
{
	return position + begun(roam, position, false);
}

uint32_t segment_row_of_rule(const struct order_roam *roam, uint32_t row, uint32_t *position)
{
	uint32_t rules = begun(roam, row, true);
	if (rules && roam->segment[rules - 1].first + rules - 1 == row) {
		*position = roam->segment[rules - 1].first;
		return rules - 1;
	}
	*position = row - rules;
	return NONE;
}

uint32_t segment_at(const struct order_roam *roam, uint32_t position)
{
	uint32_t rules = begun(roam, position, false);
	return rules && position <= roam->segment[rules - 1].last ? rules - 1 : NONE;
}

uint32_t segment_of_waist(const struct order_roam *roam, uint32_t op, uint32_t position)
{
	uint32_t segment = segment_at(roam, position);
	return segment != NONE && roam->segment[segment].waist == op ? segment : NONE;
}

void segment_rule_draw(struct frame *frame, int y, const struct plan *plan, uint32_t number)
{
	const struct order_segment *segment = &plan->ordered->result.roam.segment[number];
	bool peak = plan->ordered->peak_position >= segment->first && plan->ordered->peak_position <= segment->last;
	int x = 2, width = frame->window.width;
	frame_repeat(frame, 0, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	x += frame_rest(frame, x, y, peak ? ROLE_PEAK : ROLE_LABEL,
		PRINTED(100, " segment %u, %s, peak %s", number, phase_names[segment->phase], BYTES(segment->peak)));
	x += frame_rest(frame, x, y, segment->exact ? ROLE_GOOD : ROLE_WARN, segment->exact ? ", exact " : ", heuristic ");
	if (segment->waist == NONE || width - x < 24)
		return;
	x += frame_rest(frame, x, y, ROLE_LABEL, "to the waist ");
	x += frame_name(frame, x, y, width - x - 1, ROLE_KEY, plan->graph->op[segment->waist].name);
	frame_rest(frame, x, y, ROLE_LABEL, " ");
}

/* "update branch of 2 ops, segments 4 to 7, runs in 5: delayed until it raises nothing" */
static void branch_text(const struct plan *plan, const struct order_branch *branch, char *text, size_t size)
{
	snprintf(text, size, "%sbranch of %u op%s, runs in segment %u of %u..%u: %s",
		 plan->graph->op[branch->op].phase == PHASE_UPDATE ? "update " : "", branch->ops, branch->ops == 1 ? "" : "s",
		 branch->segment, branch->earliest, branch->latest, order_branch_reasons[branch->why]);
}

void segment_choice_draw(struct frame *frame, int y, const struct plan *plan, uint32_t op, uint32_t position)
{
	const struct order_roam *roam = &plan->ordered->result.roam;
	uint32_t branch = roam->branch_of[op], waist = segment_of_waist(roam, op, position), at = segment_at(roam, position);
	int room = frame->window.width - 7;
	char text[200] = "";
	frame_text(frame, 0, y, 7, ROLE_LABEL, "roam");
	if (branch != NONE)
		branch_text(plan, &roam->branch[branch], text, sizeof text);
	else if (waist != NONE)
		PRINT_TO(text, "the waist that ends segment %u", waist);
	else if (at != NONE)
		PRINT_TO(text, "on the main path, in segment %u", at);
	frame_text(frame, 7, y, room, ROLE_TEXT, text);
}
