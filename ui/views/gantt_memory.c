/* gantt_memory.c: what ranks hold over the step, as areas: a band for each rank, all on one scale. */
#include "gantt.h"

enum { EIGHTHS = 8 };

static int64_t gantt_memory_most_of(
	const struct timetable *timetable, uint32_t first, uint32_t end, int64_t from, int64_t to)
{
	int64_t most = 0;
	for (uint32_t rank = first; rank < end; rank++) {
		int64_t bytes = timetable_most(timetable, rank, from, to);
		most = bytes > most ? bytes : most;
	}
	return most;
}

static int64_t fixed_of(const struct timetable *timetable, uint32_t first, uint32_t end)
{
	int64_t most = 0;
	for (uint32_t rank = first; rank < end; rank++)
		most = timetable->fixed[rank] > most ? timetable->fixed[rank] : most;
	return most;
}

/* A cell of the area: below what stays, above what is in flight. Without colours digits are tenths of the scale in a
 * band of one row. */
static void gantt_memory_draw_cell(struct frame *frame, int x, int y, int fixed, int height, bool over)
{
	enum role low = role_of_category(KIND_PARAMETER, 0), high = over ? ROLE_BAD : role_of_category(KIND_ACTIVATION, 0);
	if (height <= 0)
		return;
	if (frame->mono)
		frame_cell(frame, x, y, over ? '!' : 2 * fixed >= height ? 'p' : 'a', ROLE_TEXT, ROLE_TEXT);
	else if (frame->ascii)
		frame_cell(frame, x, y, ' ', ROLE_TEXT, 2 * fixed >= height ? low : high);
	else if (height < EIGHTHS)
		frame_cell(frame, x, y, 0x2580 + (uint32_t)height, 2 * fixed >= height ? low : high, ROLE_TEXT);
	else
		frame_cell(frame, x, y, fixed > 0 && fixed < EIGHTHS ? 0x2580 + (uint32_t)fixed : ' ', low,
			fixed >= EIGHTHS ? low : high);
}

static void draw_tenths(struct frame *frame, int x, int y, int64_t bytes, int64_t scale, bool over)
{
	int tenths = (int)((double)bytes / (double)scale * 10);
	frame_cell(frame, x, y, over ? '!' : '0' + (uint32_t)(tenths > 9 ? 9 : tenths), ROLE_TEXT, ROLE_TEXT);
}

static int clamp(int64_t eighths)
{
	return eighths < 0 ? 0 : eighths > EIGHTHS ? EIGHTHS : (int)eighths;
}

void gantt_draw_area(struct frame *frame, struct rect rect, const struct gantt *gantt,
	const struct timetable *timetable, uint32_t first, uint32_t end, int64_t scale, int64_t limit)
{
	double unit = scale > 0 ? (double)rect.height * EIGHTHS / (double)scale : 0;
	int64_t fixed = (int64_t)((double)fixed_of(timetable, first, end) * unit + 0.5);
	int budget = limit >= 0 && limit < scale ? rect.height - 1 - (int)((double)limit * unit) / EIGHTHS : -1;
	for (int x = 0; x < rect.width; x++) {
		int64_t from, to;
		gantt_column(gantt, x, &from, &to);
		int64_t bytes = gantt_memory_most_of(timetable, first, end, from, to), height = (int64_t)((double)bytes * unit + 0.5);
		bool over = limit >= 0 && bytes > limit;
		if (frame->mono && rect.height == 1) {
			draw_tenths(frame, rect.x + x, rect.y, bytes, scale, over);
			continue;
		}
		for (int row = 0; row < rect.height; row++) {
			int64_t below = (int64_t)(rect.height - 1 - row) * EIGHTHS;
			gantt_memory_draw_cell(
				frame, rect.x + x, rect.y + row, clamp(fixed - below), clamp(height - below), over && row <= budget);
		}
		if (budget > 0)
			frame_overlay(frame, rect.x + x, rect.y + budget, GLYPH_HEAVY, ROLE_BUDGET);
	}
}

static void draw_band(struct frame *frame, struct rect band, const struct gantt *gantt,
	const struct timetable *timetable, uint32_t first, uint32_t end, int64_t scale, int64_t limit)
{
	char text[32];
	bool here = gantt->rank >= first && gantt->rank < end, worst = timetable->worst >= first && timetable->worst < end;
	int64_t most = 0;
	for (uint32_t rank = first; rank < end; rank++)
		most = timetable_peak(timetable, rank) > most ? timetable_peak(timetable, rank) : most;
	frame_text(
		frame, 0, band.y, band.x - 1, here ? ROLE_TITLE : ROLE_LABEL, gantt_rank_text(first, end, text, sizeof text));
	gantt_draw_area(frame, band, gantt, timetable, first, end, scale, limit);
	frame_right(frame, frame->window.width, band.y,
		limit >= 0 && most > limit ? ROLE_BAD
		: worst ? ROLE_PEAK
		: ROLE_FAINT,
		bytes_text(most, text, sizeof text));
	int peak = worst
		? gantt_column_of(gantt, timetable_slot(timetable, timetable->worst, timetable->peak[timetable->worst])->begin)
		: -1;
	if (peak >= 0 && peak < band.width)
		frame_glyph(frame, band.x + peak, band.y, GLYPH_PEAK, ROLE_PEAK);
	int64_t time = timetable_slot(timetable, gantt->rank, gantt->slot)->begin;
	int cursor = here ? gantt_column_of(gantt, time) : -1;
	if (cursor >= 0 && cursor < band.width)
		frame_mark(frame, (struct rect){ band.x + cursor, band.y, 1, band.height }, MARK_REVERSE);
}

static void gantt_memory_draw_title(struct frame *frame, struct rect rect, const struct gantt *gantt,
	const struct timetable *timetable, int64_t scale, int64_t limit)
{
	char text[100], word[32];
	int x = rect.x;
	snprintf(text, sizeof text, "most on rank %u: %s", timetable->worst,
		bytes_text(timetable_peak(timetable, timetable->worst), word, sizeof word));
	frame_part(frame, &x, rect.y, rect.x + rect.width,
		limit >= 0 && timetable_peak(timetable, timetable->worst) > limit ? ROLE_BAD : ROLE_TITLE, text);
	snprintf(text, sizeof text, "full height %s%s", bytes_text(scale, word, sizeof word),
		scale == limit ? ", the budget" : "");
	frame_part(frame, &x, rect.y, rect.x + rect.width, ROLE_FAINT, text);
	snprintf(text, sizeof text, "budget %s", bytes_text(limit, word, sizeof word));
	if (limit >= 0 && limit != scale)
		frame_part(frame, &x, rect.y, rect.x + rect.width, ROLE_BUDGET, text);
	snprintf(text, sizeof text, "the highest of %u ranks a row", gantt->group);
	if (gantt->group > 1)
		frame_part(frame, &x, rect.y, rect.x + rect.width, ROLE_FAINT, text);
	if (frame->mono)
		frame_part(frame, &x, rect.y, rect.x + rect.width, ROLE_FAINT, "digits: tenths");
}

void gantt_draw_memory(
	struct frame *frame, struct rect rect, struct gantt *gantt, const struct timetable *timetable, int64_t limit)
{
	int room = rect.height - 2, rows = (uint32_t)room < timetable->ranks ? room : (int)timetable->ranks,
		amounts = rect.width >= 32 ? 10 : 0;
	int64_t most = timetable_peak(timetable, timetable->worst), scale = limit > most && limit <= 2 * most ? limit : most;
	if (room < 1 || rect.width < GANTT_LABELS + 8)
		return;
	gantt_settle(gantt, timetable,
		(struct rect){ rect.x + GANTT_LABELS, rect.y + 1, rect.width - GANTT_LABELS - amounts, rows });
	gantt_memory_draw_title(frame, rect, gantt, timetable, scale, limit);
	rows = gantt->plot.height;
	int high = gantt->high = room / rows;
	for (int row = 0; row < rows; row++) {
		uint32_t first, end;
		gantt_row(gantt, timetable, row, &first, &end);
		if (first >= end)
			break;
		struct rect band = { gantt->plot.x, gantt->plot.y + row * high, gantt->plot.width, high > 2 ? high - 1 : high };
		draw_band(frame, band, gantt, timetable, first, end, scale, limit);
	}
	gantt_draw_axis(frame, gantt, rect.y + 1 + rows * high);
}
