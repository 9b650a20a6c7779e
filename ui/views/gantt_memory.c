/* gantt_memory.c: what ranks hold over the step, as areas: a band for each rank, all on one scale. */
#include "gantt.h"

enum { EIGHTHS = 8, BAND_LEAST = 3, BAND_MOST = 12, AMOUNT = 10 };

/* A cell of the area: below what stays, above what is in flight. */
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

static int clamp(int64_t eighths)
{
	return eighths < 0 ? 0 : eighths > EIGHTHS ? EIGHTHS : (int)eighths;
}

static void gantt_memory_draw_area(struct frame *frame, struct rect rect, const struct gantt *gantt,
	const struct timetable *timetable, uint32_t rank, int64_t scale, int64_t limit)
{
	double unit = scale > 0 ? (double)rect.height * EIGHTHS / (double)scale : 0;
	int64_t fixed = (int64_t)((double)timetable->fixed[rank] * unit + 0.5);
	int budget = limit >= 0 && limit < scale ? rect.height - 1 - (int)((double)limit * unit) / EIGHTHS : -1;
	FOR_INT(x, rect.width) {
		int64_t from, to;
		gantt_column(gantt, x, &from, &to);
		int64_t bytes = timetable_most(timetable, rank, from, to), height = (int64_t)((double)bytes * unit + 0.5);
		bool over = limit >= 0 && bytes > limit;
		FOR_INT(row, rect.height) {
			int64_t below = (int64_t)(rect.height - 1 - row) * EIGHTHS;
			gantt_memory_draw_cell(
				frame, rect.x + x, rect.y + row, clamp(fixed - below), clamp(height - below), over && row <= budget);
		}
		if (budget > 0)
			frame_overlay(frame, rect.x + x, rect.y + budget, GLYPH_HEAVY, ROLE_BUDGET);
	}
}

static void draw_band(struct frame *frame, struct rect band, const struct gantt *gantt,
	const struct timetable *timetable, uint32_t rank, int64_t scale, int64_t limit)
{
	bool here = gantt->rank == rank, worst = timetable->worst == rank;
	int64_t most = timetable_peak(timetable, rank);
	frame_text(
		frame, 0, band.y, band.x - 1, here ? ROLE_TITLE : ROLE_LABEL, gantt_rank_text(rank, rank + 1, TEXT(32)));
	if (band.height > 1)
		frame_bytes(frame, band.x - 1, band.y + 1, scale == limit ? ROLE_BUDGET : ROLE_LABEL, scale);
	gantt_memory_draw_area(frame, band, gantt, timetable, rank, scale, limit);
	frame_bytes(frame, band.x + band.width + AMOUNT, band.y,
		limit >= 0 && most > limit ? ROLE_BAD : worst ? ROLE_PEAK : ROLE_FAINT, most);
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

void gantt_draw_memory(
	struct frame *frame, struct rect rect, const struct gantt *gantt, const struct timetable *timetable, int64_t limit)
{
	int64_t most = timetable_peak(timetable, timetable->worst), scale = limit > most && limit <= 2 * most ? limit : most;
	bool all = timetable->ranks * BAND_LEAST <= (uint32_t)rect.height;
	int high = all ? rect.height / (int)timetable->ranks : rect.height;
	high = SMALLER(high, BAND_MOST);
	for (uint32_t rank = 0, y = 0; rank < timetable->ranks; rank++)
		if (all || rank == gantt->rank)
			draw_band(frame, (struct rect){ rect.x, rect.y + (int)y++ * high, rect.width, high > 3 ? high - 1 : high },
				gantt, timetable, rank, scale, limit);
}
