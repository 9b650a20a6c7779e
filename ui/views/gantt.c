/* gantt.c: rows of slots.
 *
 * Forward passes have the colour of activations, which they make; backward passes that of gradients. A cell that is
 * shorter than a slot belongs to what takes most of it. A cell in which more happens is a stack: the share of its time
 * that goes forward from below, then what goes backward, empty for waiting. */
#include "gantt.h"

#include "devices.h"

enum { EIGHTHS = 8, INFO_ROWS = 3, CURVE_LEAST = 4 };

static enum role role_of_pass(enum pass pass, uint32_t shade)
{
	return role_of_category(pass == PASS_FORWARD ? KIND_ACTIVATION
		: pass == PASS_WEIGHT ? KIND_PARAMETER
		: KIND_GRADIENT,
		(int)(shade & 1));
}

static enum role gantt_role_of(bool backward, uint32_t shade)
{
	return role_of_pass(backward ? PASS_BACKWARD : PASS_FORWARD, shade);
}

/* ---- what is shown ---- */

void gantt_take(struct gantt *gantt, const struct timetable *timetable)
{
	bool same = gantt->of == timetable->time;
	gantt->of = timetable->time;
	if (gantt->rank >= timetable->ranks)
		gantt->rank = timetable->ranks - 1;
	if (gantt->slot >= timetable->slots)
		gantt->slot = timetable->slots - 1;
	if (!same)
		gantt->from = gantt->span = gantt->top = gantt->ranks = 0;
}

static void gantt_settle(struct gantt *gantt, const struct timetable *timetable, struct rect plot)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, gantt->rank, gantt->slot);
	gantt->plot = plot;
	if (gantt->span <= 0 || gantt->span > timetable->time)
		gantt->span = timetable->time > 0 ? timetable->time : 1;
	if (gantt->ranks == 0 || gantt->ranks > timetable->ranks)
		gantt->ranks = timetable->ranks;
	if (gantt->ranks < (uint32_t)plot.height)
		gantt->ranks = SMALLER(timetable->ranks, (uint32_t)plot.height);
	if (slot->begin < gantt->from)
		gantt->from = slot->begin;
	if (slot->end > gantt->from + gantt->span)
		gantt->from = SMALLER(slot->begin, slot->end - gantt->span);
	if (gantt->from + gantt->span > timetable->time)
		gantt->from = timetable->time - gantt->span;
	gantt->from = LARGER(0, gantt->from);
	gantt->top = scroll_to(gantt->top, gantt->rank, timetable->ranks, (int)gantt->ranks);
	gantt->group = (gantt->ranks + (uint32_t)plot.height - 1) / (uint32_t)plot.height;
	gantt->plot.height = (int)((gantt->ranks + gantt->group - 1) / gantt->group);
}

void gantt_column(const struct gantt *gantt, int x, int64_t *from, int64_t *to)
{
	double span = (double)gantt->span / gantt->plot.width;
	*from = gantt->from + (int64_t)(span * x);
	*to = gantt->from + (int64_t)(span * (x + 1));
	if (*to <= *from)
		*to = *from + 1;
}

/* Where a time stands between columns. */
static double gantt_place_of(const struct gantt *gantt, int64_t time)
{
	return (double)(time - gantt->from) / (double)gantt->span * gantt->plot.width;
}

int gantt_column_of(const struct gantt *gantt, int64_t time)
{
	double place = gantt_place_of(gantt, time);
	return place < 0 ? -1 : place >= gantt->plot.width ? gantt->plot.width : (int)place;
}

static void gantt_row(
	const struct gantt *gantt, const struct timetable *timetable, int row, uint32_t *first, uint32_t *end)
{
	*first = gantt->top + (uint32_t)row * gantt->group;
	*end = *first + gantt->group;
	uint32_t last = SMALLER(gantt->top + gantt->ranks, timetable->ranks);
	*first = *first < last ? *first : last;
	*end = *end < last ? *end : last;
}

/* ---- cells ---- */

/* A cell of which share[0] goes forward and share[1] backward, of a whole. */
static void draw_shares(struct frame *frame, int x, int y, const double share[2])
{
	double busy = share[0] + share[1];
	int forward = (int)(share[0] * EIGHTHS + 0.5), all = (int)(busy * EIGHTHS + 0.5);
	bool back = share[1] > share[0];
	if (all == 0) {
		frame_glyph(frame, x, y, busy > 0 ? GLYPH_SHADE : GLYPH_DOT, ROLE_FAINT);
	} else if (frame->mono) {
		bool both = share[back] < 0.75 * busy;
		frame_cell(frame, x, y, 2 * all < EIGHTHS ? ':' : both ? 'x' : back ? 'b' : 'f', ROLE_TEXT, ROLE_TEXT);
	} else if (frame->ascii) {
		frame_cell(frame, x, y, 2 * all < EIGHTHS ? ':' : ' ', 2 * all < EIGHTHS ? gantt_role_of(back, 0) : ROLE_TEXT,
			   2 * all < EIGHTHS ? ROLE_TEXT : gantt_role_of(back, 0));
	} else if (forward == 0 || forward >= EIGHTHS) {
		bool whole = all >= EIGHTHS;
		frame_cell(frame, x, y, whole ? ' ' : 0x2580 + (uint32_t)all, whole ? ROLE_TEXT : gantt_role_of(back, 0),
			whole ? gantt_role_of(back, 0) : ROLE_TEXT);
	} else {
		/* two of three: what is above the forward part is the larger of backward and waiting */
		bool waits = EIGHTHS - all > all - forward;
		frame_cell(frame, x, y, 0x2580 + (uint32_t)forward, gantt_role_of(false, 0),
			waits ? ROLE_TEXT : gantt_role_of(true, 0));
	}
}

static void draw_sums(struct frame *frame, int y, const struct gantt *gantt, const struct timetable *timetable,
	uint32_t first, uint32_t end)
{
	FOR_INT(x, gantt->plot.width) {
		int64_t from, to, sum[2] = { 0, 0 };
		gantt_column(gantt, x, &from, &to);
		FOR_FROM(rank, first, end) {
			int64_t share[PASS_COUNT];
			timetable_shares(timetable, rank, from, to, share);
			sum[0] += share[PASS_FORWARD];
			sum[1] += share[PASS_BACKWARD] + share[PASS_INPUT] + share[PASS_WEIGHT];
		}
		double all = (double)(to - from) * (end - first);
		draw_shares(frame, gantt->plot.x + x, y, (const double[2]){ (double)sum[0] / all, (double)sum[1] / all });
	}
}

/* A slot as columns [*left, *right); false where it is shorter than a column or not shown. */
static bool span_of(const struct gantt *gantt, const struct pipeline_slot *slot, int *left, int *right)
{
	double begin = gantt_place_of(gantt, slot->begin), end = gantt_place_of(gantt, slot->end);
	*left = begin < 0 ? 0 : (int)(begin + 0.5);
	*right = end > gantt->plot.width ? gantt->plot.width : (int)(end + 0.5);
	return end - begin >= 1 && *right > *left;
}

static const char pass_letters[PASS_COUNT] = {
	[PASS_FORWARD] = 'f', [PASS_BACKWARD] = 'b', [PASS_INPUT] = 'b', [PASS_WEIGHT] = 'w'
};

static void draw_slot(struct frame *frame, int y, const struct gantt *gantt, const struct pipeline_slot *slot)
{
	char number[16] = "";
	int left, right;
	if (!span_of(gantt, slot, &left, &right))
		return;
	int digits = PRINT_TO(number, "%u", slot->microbatch);
	for (int x = left; x < right; x++) {
		bool letter = x - left < digits && (digits < right - left || (digits == 1 && !frame->mono));
		uint32_t code = letter ? (uint32_t)number[x - left] : frame->mono ? (uint32_t)pass_letters[slot->pass] : ' ';
		frame_cell(frame, gantt->plot.x + x, y, code, frame->mono ? ROLE_TEXT : ROLE_EMPTY,
			   frame->mono ? ROLE_TEXT : role_of_pass((enum pass)slot->pass, slot->microbatch));
	}
}

static void gantt_cell(struct frame *frame, int x, int y, char letter, enum role role)
{
	frame_cell(frame, x, y, frame->mono ? (uint32_t)letter : ' ', ROLE_TEXT, frame->mono ? ROLE_TEXT : role);
}

/* What comes after the pipeline on every rank. */
static void draw_after(struct frame *frame, int y, const struct gantt *gantt, const struct timetable *timetable)
{
	int left = gantt_column_of(gantt, timetable->pipeline_time), right = gantt_column_of(gantt, timetable->time);
	for (int x = LARGER(0, left); x < right && timetable->time > timetable->pipeline_time; x++) {
		int64_t from, to;
		gantt_column(gantt, x, &from, &to);
		if (from + to >= 2 * timetable->pipeline_time)
			gantt_cell(frame, gantt->plot.x + x, y, 'u', role_of_category(KIND_OPTIMIZER, 0));
	}
}

static void mark_slot(struct frame *frame, const struct gantt *gantt, const struct timetable *timetable, uint32_t rank,
	uint32_t i, enum mark mark)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
	int left, right;
	if (rank < gantt->top || rank >= gantt->top + gantt->ranks || slot->end <= gantt->from ||
		slot->begin >= gantt->from + gantt->span)
		return;
	if (!span_of(gantt, slot, &left, &right)) {
		left = gantt_column_of(gantt, slot->begin);
		right = left + 1;
	}
	int y = gantt->plot.y + (int)((rank - gantt->top) / gantt->group);
	if (left >= 0 && left < gantt->plot.width)
		frame_mark(frame, (struct rect){ gantt->plot.x + left, y, right - left, 1 }, mark);
}

/* ---- rows ---- */

char *gantt_rank_text(uint32_t first, uint32_t end, char *text, size_t size)
{
	if (end - first > 1)
		snprintf(text, size, "%u-%u", first, end - 1);
	else
		snprintf(text, size, "rank %u", first);
	return text;
}

/* Of a row's ranks the busy share and the highest peak. */
static void gantt_draw_amounts(
	struct frame *frame, int y, const struct timetable *timetable, uint32_t first, uint32_t end, int64_t limit)
{
	double busy = 0;
	int64_t most = 0;
	int right = frame->window.width;
	FOR_FROM(rank, first, end) {
		busy += (double)timetable->busy[rank];
		most = timetable_peak(timetable, rank) > most ? timetable_peak(timetable, rank) : most;
	}
	frame_right(frame, right - 10, y, ROLE_TEXT, PRINTED(32, "%.0f %%",
		timetable->pipeline_time ? 100 * busy / (end - first) / (double)timetable->pipeline_time : 0.0));
	bool worst = timetable->worst >= first && timetable->worst < end;
	frame_bytes(frame, right, y, limit >= 0 && most > limit ? ROLE_BAD : worst ? ROLE_PEAK : ROLE_FAINT, most);
}

static void draw_rows(struct frame *frame, const struct gantt *gantt, const struct timetable *timetable, int64_t limit)
{
	FOR_INT(row, gantt->plot.height) {
		uint32_t first, end;
		int y = gantt->plot.y + row;
		gantt_row(gantt, timetable, row, &first, &end);
		if (first >= end)
			break;
		bool here = gantt->rank >= first && gantt->rank < end;
		frame_text(frame, 0, y, gantt->plot.x - 1, here ? ROLE_TITLE : ROLE_LABEL,
			gantt_rank_text(first, end, TEXT(32)));
		draw_sums(frame, y, gantt, timetable, first, end);
		for (uint32_t i = timetable_at(timetable, first, gantt->from); end - first == 1 && i < timetable->slots; i++)
			draw_slot(frame, y, gantt, timetable_slot(timetable, first, i));
		draw_after(frame, y, gantt, timetable);
		if (frame->window.width >= GANTT_AMOUNTS_FROM)
			gantt_draw_amounts(frame, y, timetable, first, end, limit);
	}
}

static void gantt_draw_axis(struct frame *frame, const struct gantt *gantt, int y)
{
	char text[32];
	int x = gantt->plot.x, width = gantt->plot.width;
	int used = frame_text(frame, x, y, width, ROLE_LABEL, TIME(gantt->from));
	time_text(gantt->from + gantt->span, text, sizeof text);
	if (used + text_cells(text) < width)
		frame_right(frame, x + width, y, ROLE_LABEL, text);
	if (used + 2 * text_cells(text) + 12 < width)
		frame_text(frame, x + width / 2 - 2, y, 4, ROLE_FAINT, "time");
}

static void draw_totals(
	struct frame *frame, int y, int end, const struct gantt *gantt, const struct timetable *timetable)
{
	int x = 0;
	if (timetable->ranks == 1)
		frame_part(frame, &x, y, end, ROLE_TITLE, "1 rank"); /* a schedule orders several */
	else
		frame_part(frame, &x, y, end, ROLE_TITLE, "%s, %u ranks", schedule_names[timetable->schedule], timetable->ranks);
	frame_part(frame, &x, y, end, ROLE_TITLE, "bubble %.1f %%", timetable_bubble(timetable) / 10.0);
	if (gantt->passes > 1)
		frame_part(frame, &x, y, end, ROLE_WARN,
			"one of %lld passes %s", (long long)gantt->passes, TIME(timetable->time));
	frame_part(frame, &x, y, end, ROLE_TEXT,
		"step %s", TIME(gantt->passes > 1 ? gantt->step : timetable->time));
	if (gantt->group > 1)
		frame_part(frame, &x, y, end, ROLE_FAINT, "%u a row", gantt->group);
	frame_part(frame, &x, y, end, ROLE_TEXT,
		"%u microbatch%s", timetable->microbatches, timetable->microbatches == 1 ? "" : "es");
	if (timetable->chunks > 1)
		frame_part(frame, &x, y, end, ROLE_TEXT, "%u chunks", timetable->chunks);
}

static int draw_sample(struct frame *frame, int x, int y, char letter, enum role role, const char *text)
{
	gantt_cell(frame, x, y, letter, role);
	return x + 2 + frame_text(frame, x + 2, y, frame->window.width - x - 2, ROLE_FAINT, text) + 2;
}

static void gantt_draw_legend(struct frame *frame, int y, bool split)
{
	int x = draw_sample(frame, 0, y, 'f', gantt_role_of(false, 0), "forward");
	x = draw_sample(frame, x, y, 'b', gantt_role_of(true, 0), "backward");
	if (split)
		x = draw_sample(frame, x, y, 'w', role_of_pass(PASS_WEIGHT, 0), "weight gradients");
	x = draw_sample(frame, x, y, 'u', role_of_category(KIND_OPTIMIZER, 0), "update");
	frame_glyph(frame, x, y, GLYPH_DOT, ROLE_FAINT);
	x += 2 + frame_text(frame, x + 2, y, frame->window.width - x - 2, ROLE_FAINT, "waits") + 2;
	if (frame->mono && frame->window.width - x >= 20)
		frame_rest(frame, x, y, ROLE_FAINT, "x both  : some");
}

/* ---- the slot under the cursor ---- */

static const char *pass_text(
	const struct timetable *timetable, const struct pipeline_slot *slot, char *text, size_t size)
{
	int used = snprintf(text, size, "%s of microbatch %u", pass_names[slot->pass], slot->microbatch);
	if (timetable->chunks > 1)
		snprintf(text + used, size - (size_t)used, ", chunk %u", slot->piece / timetable->ranks);
	return text;
}

/* Microbatches in flight on a rank while slot i runs. */
static uint32_t in_flight(const struct timetable *timetable, uint32_t rank, uint32_t i)
{
	uint32_t held = 0;
	for (uint32_t k = 0; k <= i; k++) {
		int pass = timetable_slot(timetable, rank, k)->pass;
		held += pass == PASS_FORWARD;
		held -= k < i && (pass == PASS_BACKWARD || pass == PASS_WEIGHT);
	}
	return held;
}

static void gantt_draw_info(struct frame *frame, int y, const struct gantt *gantt, const struct timetable *timetable)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, gantt->rank, gantt->slot);
	struct slot_reason reason = timetable_reason(timetable, gantt->rank, gantt->slot);
	const struct pipeline_slot *other = timetable_slot(timetable, reason.rank, reason.slot);
	size_t at = (size_t)gantt->rank * timetable->slots + gantt->slot;
	char text[200];
	int width = frame->window.width;
	frame_print(frame, 0, y, ROLE_TITLE, "rank %u: %s, %s to %s", gantt->rank,
		pass_text(timetable, slot, TEXT(80)), TIME(slot->begin),
		TIME(slot->end));
	if (reason.wait == WAIT_START)
		PRINT_TO(text, "begins the step");
	else {
		PRINT_TO(text, "waits for %s: %s", reason.wait == WAIT_BUSY ? "its rank" : PRINTED(32, "rank %u", reason.rank),
			pass_text(timetable, other, TEXT(80)));
	}
	int x = frame_rest(frame, 0, y + 1, ROLE_TEXT, text);
	int64_t before = gantt->slot ? timetable_slot(timetable, gantt->rank, gantt->slot - 1)->end : 0;
	if (slot->begin > before)
		frame_part(frame, &x, y + 1, width, ROLE_WARN, "%s idle before", TIME(slot->begin - before));
	x = frame_print(frame, 0, y + 2, ROLE_TEXT, "holds %s, %u in flight",
		BYTES(timetable->bytes[at]), in_flight(timetable, gantt->rank, gantt->slot));
	frame_part(frame, &x, y + 2, width, ROLE_FAINT,
		"at most %s", BYTES(timetable_peak(timetable, gantt->rank)));
	frame_part(frame, &x, y + 2, width, ROLE_TEXT,
		"rank %u needs %s", gantt->planned, BYTES(gantt->needs));
}

/* ---- all of it ---- */

void gantt_draw(
	struct frame *frame, struct rect rect, struct gantt *gantt, const struct timetable *timetable, int64_t limit)
{
	int info = rect.height >= 9 ? INFO_ROWS : 0, legend = rect.height >= 7,
		amounts = rect.width >= GANTT_AMOUNTS_FROM ? GANTT_AMOUNTS : 0;
	int room = rect.height - 2 - info - legend, rows = (uint32_t)room < timetable->ranks ? room : (int)timetable->ranks;
	if (room < 1 || rect.width < GANTT_LABELS + 8)
		return;
	gantt_settle(gantt, timetable,
		(struct rect){ rect.x + GANTT_LABELS, rect.y + 1, rect.width - GANTT_LABELS - amounts, rows });
	rows = gantt->plot.height;
	int curve = room - rows - 1 >= CURVE_LEAST ? room - rows - 1 : 0;
	draw_totals(frame, rect.y, rect.x + rect.width - amounts, gantt, timetable);
	if (amounts)
		frame_right(frame, rect.x + rect.width, rect.y, ROLE_LABEL, "busy     alive");
	draw_rows(frame, gantt, timetable, limit);
	struct slot_reason reason = timetable_reason(timetable, gantt->rank, gantt->slot);
	if (reason.wait != WAIT_START)
		mark_slot(frame, gantt, timetable, reason.rank, reason.slot, MARK_UNDERLINE);
	mark_slot(frame, gantt, timetable, gantt->rank, gantt->slot, MARK_REVERSE);
	int y = rect.y + 1 + rows;
	gantt_draw_axis(frame, gantt, y++);
	if (curve)
		gantt_draw_memory(frame, (struct rect){ gantt->plot.x, y + info, gantt->plot.width, curve }, gantt, timetable, limit);
	if (info)
		gantt_draw_info(frame, y, gantt, timetable);
	if (legend)
		gantt_draw_legend(frame, rect.y + rect.height - 1, timetable->split);
}

/* ---- commands ---- */

static void gantt_go_to(struct gantt *gantt, const struct timetable *timetable, uint32_t rank, int64_t time)
{
	gantt->rank = rank < timetable->ranks ? rank : timetable->ranks - 1;
	gantt->slot = timetable_at(timetable, gantt->rank, LARGER(0, time));
}

/* The slot keeps its place on the screen. */
static void gantt_zoom(struct gantt *gantt, const struct timetable *timetable, bool in)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, gantt->rank, gantt->slot);
	int64_t span = in ? gantt->span / 2 : gantt->span * 2, middle = slot->begin + (slot->end - slot->begin) / 2;
	int64_t least = SMALLER(2 * (slot->end - slot->begin), timetable->time / 4);
	double share = (double)(middle - gantt->from) / (double)gantt->span;
	if (gantt->span <= 0 || (in && span < least))
		return;
	gantt->span = SMALLER(timetable->time, span);
	gantt->from = middle - (int64_t)(share * (double)gantt->span);
	gantt->ranks = in ? gantt->ranks / 2 : gantt->ranks * 2;
	gantt->top = gantt->rank > gantt->ranks / 2 ? gantt->rank - gantt->ranks / 2 : 0;
	gantt->ranks = gantt->ranks ? gantt->ranks : 1;
}

bool gantt_command(struct gantt *gantt, const struct timetable *timetable, enum command_id command)
{
	int64_t begin = timetable_slot(timetable, gantt->rank, gantt->slot)->begin, column = gantt->span / 64 + 1;
	uint32_t page = gantt->group * (uint32_t)LARGER(gantt->plot.height, 1);
	switch (command) {
	case COMMAND_LEFT: gantt->slot -= gantt->slot > 0; break;
	case COMMAND_RIGHT: gantt->slot += gantt->slot + 1 < timetable->slots; break;
	case COMMAND_COLUMN_LEFT: gantt_go_to(gantt, timetable, gantt->rank, begin - column); break;
	case COMMAND_COLUMN_RIGHT: gantt_go_to(gantt, timetable, gantt->rank, begin + column); break;
	case COMMAND_UP: gantt_go_to(gantt, timetable, gantt->rank > 0 ? gantt->rank - 1 : 0, begin); break;
	case COMMAND_DOWN: gantt_go_to(gantt, timetable, gantt->rank + 1, begin); break;
	case COMMAND_PAGE_UP: gantt_go_to(gantt, timetable, gantt->rank > page ? gantt->rank - page : 0, begin); break;
	case COMMAND_PAGE_DOWN: gantt_go_to(gantt, timetable, gantt->rank + page, begin); break;
	case COMMAND_FIRST: gantt->slot = 0; break;
	case COMMAND_LAST: gantt->slot = timetable->slots - 1; break;
	case COMMAND_PEAK:
		gantt->rank = timetable->worst;
		gantt->slot = timetable->peak[timetable->worst];
		break;
	case COMMAND_ZOOM_IN: gantt_zoom(gantt, timetable, true); break;
	case COMMAND_ZOOM_OUT: gantt_zoom(gantt, timetable, false); break;
	default: return false;
	}
	return true;
}

void gantt_click(struct gantt *gantt, const struct timetable *timetable, int x, int y)
{
	int column = x - gantt->plot.x, row = y - gantt->plot.y;
	uint32_t first, end;
	if (column < 0 || column >= gantt->plot.width || y < gantt->plot.y || row < 0 || row >= gantt->plot.height ||
		gantt->group == 0)
		return;
	int64_t from, to;
	gantt_row(gantt, timetable, row, &first, &end);
	gantt_column(gantt, column, &from, &to);
	if (first < end)
		gantt_go_to(gantt, timetable, first, from + (to - from) / 2);
}
