/* gantt.h: a pipeline's schedule in cells: a row for each rank, time to the right; and what the ranks hold meanwhile.
 */
#pragma once

#include "view.h"

/* What is looked at. Zeroed: the whole step, the cursor at its first slot. */
struct gantt {
	int64_t passes, step; /* accumulation: the timetable is of one of so many passes, and what the whole step takes */
	int64_t needs;        /* of the planned rank, by the ledger */
	uint32_t planned, rank, slot; /* the cursor's */
	int64_t from, span;   /* picoseconds shown; span 0: all */
	uint32_t top, ranks;  /* ranks shown, of which several may share a row; ranks 0: all */
	int64_t of; /* the time of what it was drawn for; of another the window begins anew */
	struct rect plot;     /* of the rows when they were drawn last, in the window */
	uint32_t group;       /* ranks in a row then */
};

/* Takes over another timetable: what doesn't exist there any more is forgotten. */
void gantt_take(struct gantt *gantt, const struct timetable *timetable);

/* Slots with their microbatch's number where there is room, else how much of a cell's time goes forward, backward or
 * by; totals, what the slot under the cursor waits for and, where there is room, what its rank holds over the step.
 * limit: bytes of a device, < 0: any. */
void gantt_draw(
	struct frame *frame, struct rect rect, struct gantt *gantt, const struct timetable *timetable, int64_t limit);
/* Moves and zooms; false for other commands. */
bool gantt_command(struct gantt *gantt, const struct timetable *timetable, enum command_id command);
/* A click in the window of the last drawing. */
void gantt_click(struct gantt *gantt, const struct timetable *timetable, int x, int y);

/* ---- between gantt.c and gantt_memory.c ---- */

/* The picoseconds that a column shows, [from, to), to > from. */
void gantt_column(const struct gantt *gantt, int x, int64_t *from, int64_t *to);
/* The column in which a time stands; outside the plot where it isn't shown. */
int gantt_column_of(const struct gantt *gantt, int64_t time);
/* What every rank holds over the time shown, where there is room, else the cursor's rank; the highest is marked. */
void gantt_draw_memory(
	struct frame *frame, struct rect rect, const struct gantt *gantt, const struct timetable *timetable, int64_t limit);
/* "rank 3", "ranks 8-15". Returns text. */
char *gantt_rank_text(uint32_t first, uint32_t end, char *text, size_t size);

enum { GANTT_LABELS = 9, GANTT_AMOUNTS = 17, GANTT_AMOUNTS_FROM = 46 };
