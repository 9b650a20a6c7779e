/* runs_log.c: the solver's log. Effort is counted in ticks, so that equal runs have equal logs. */
#include "runs_log.h"

enum { EFFORT = 12, PEAK = 24, BOUND = 35, GAP = 45, BY = 47 };

static void runs_log_draw_bound(struct frame *frame, int y, int64_t best, int64_t bound, bool proved)
{
	char text[32];
	frame_right(frame, PEAK, y, ROLE_TEXT, bytes_text(best, text, sizeof text));
	if (bound < 0)
		return;
	frame_right(frame, BOUND, y, ROLE_BOUND, bytes_text(bound, text, sizeof text));
	frame_right(
		frame, GAP, y, proved ? ROLE_GOOD : ROLE_WARN, proved ? "proved" : gap_text(best, bound, text, sizeof text));
}

static void draw_improvement(struct frame *frame, int y, const struct improvement *improvement)
{
	char text[32];
	frame_right(frame, EFFORT, y, ROLE_FAINT, count_text(improvement->ticks, text));
	runs_log_draw_bound(frame, y, improvement->peak, improvement->bound, improvement->peak == improvement->bound);
	frame_name(frame, BY, y, frame->window.width - BY, ROLE_TEXT, improvement->winner ? improvement->winner : "");
}

/* What the bounds rest on. */
static void draw_grounds(struct frame *frame, struct rect rect, const struct plan *plan)
{
	char ground[300], text[400], bytes[32];
	snprintf(text, sizeof text, "no order is below %s: %s", bytes_text(plan_bound(plan), bytes, sizeof bytes),
		 plan_order_ground(plan, (size_t)rect.width, ground, sizeof ground));
	frame_wrapped(frame, rect, ROLE_FAINT, text);
	int used = text_rows(text, rect.width);
	snprintf(text, sizeof text, "no layout is below %s: %s",
		bytes_text(plan->laid_out->layout.proof.bound, bytes, sizeof bytes),
		plan_layout_ground(plan, ground, sizeof ground));
	frame_wrapped(frame, (struct rect){ rect.x, rect.y + used, rect.width, rect.height - used }, ROLE_FAINT, text);
}

void runs_log_draw(struct frame *frame, struct rect rect, const struct plan *plan)
{
	const struct ordered *ordered = plan->ordered;
	int rows = rect.height - 2;
	uint32_t shown = rows > 0 ? (uint32_t)rows : 0,
			 first = ordered->improvements > shown ? ordered->improvements - shown : 0;
	frame_right(frame, EFFORT, rect.y, ROLE_LABEL, "ticks");
	frame_right(frame, PEAK, rect.y, ROLE_LABEL, "best");
	frame_right(frame, BOUND, rect.y, ROLE_LABEL, "bound");
	frame_right(frame, GAP, rect.y, ROLE_LABEL, "gap");
	frame_text(frame, BY, rect.y, rect.width - BY, ROLE_LABEL, "order by");
	int y = rect.y + 1;
	for (uint32_t i = first; i < ordered->improvements; i++)
		draw_improvement(frame, y++, &ordered->improvement[i]);
	if (y >= rect.y + rect.height)
		return;
	frame_right(frame, EFFORT, y, ROLE_LABEL, "layout");
	runs_log_draw_bound(
		frame, y, plan_arena(plan), plan->laid_out->layout.proof.bound, proof_closed(&plan->laid_out->layout.proof));
	frame_name(frame, BY, y, rect.width - BY, ROLE_TEXT,
		plan->laid_out->layout.strategy ? plan->laid_out->layout.strategy : "");
	draw_grounds(frame, (struct rect){ 1, y + 2, rect.width - 2, rect.y + rect.height - y - 2 }, plan);
}
