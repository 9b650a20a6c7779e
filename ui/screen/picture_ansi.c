/* picture_ansi.c: cells as text between "select graphic rendition" sequences. */
#include "picture.h"

static bool same_look(struct look a, struct look b)
{
	return a.colour == b.colour && a.ground == b.ground && a.marks == b.marks;
}

/* The 16 colours by their short numbers, 30.. or 40.. and 90.. or 100.., others by index. */
static void write_colour(FILE *stream, int colour, int base)
{
	if (colour < 8)
		fprintf(stream, ";%d", base + colour);
	else if (colour < 16)
		fprintf(stream, ";%d", base + 60 + colour - 8);
	else
		fprintf(stream, ";%d;5;%d", base + 8, colour);
}

static void write_look(FILE *stream, struct look look)
{
	static const struct { enum mark mark; int number; } marks[] = {
		{ MARK_BOLD, 1 }, { MARK_DIM, 2 }, { MARK_UNDERLINE, 4 }, { MARK_REVERSE, 7 },
	};
	fputs("\033[0", stream);
	FOR(i, COUNT_OF(marks))
		if (look.marks & marks[i].mark)
			fprintf(stream, ";%d", marks[i].number);
	if (look.colour >= 0)
		write_colour(stream, look.colour, 30);
	if (look.ground > 0)
		write_colour(stream, look.ground - 1, 40);
	fputs("m", stream);
}

void picture_ansi(const struct frame *frame, const struct palette *palette, FILE *stream)
{
	static const struct look plain = { .colour = -1 };
	FOR_INT(y, frame->height) {
		struct look now = plain;
		FOR_INT(x, frame->width) {
			const struct cell *cell = &frame->cell[y * frame->width + x];
			struct look look = cell_look(palette, cell);
			char bytes[5];
			if (cell->code == 0)
				continue;
			/* A blank has no colour of its own: it takes that of the text before it. */
			if (cell->code == ' ' && !((look.marks | now.marks) & (MARK_REVERSE | MARK_UNDERLINE)) && look.ground == now.ground)
				look = now;
			if (!same_look(look, now))
				write_look(stream, look);
			now = look;
			text_encode(cell->code, bytes);
			fputs(bytes, stream);
		}
		if (!same_look(now, plain))
			fputs("\033[0m", stream);
		fputs("\n", stream);
	}
}
