/* columns.h: the columns of the table of tensors: which there are, and the user's choice of them. */
#pragma once

#include "ui/screen/frame.h"

/* X(id, word, title, width (0: what is left), right-aligned, largest first, what it says) */
#define COLUMNS(X) \
	X(BYTES, "bytes", "bytes", 8, true, true, "the memory it takes") \
	X(KIND, "kind", "kind", 10, false, false, "parameter, activation, gradient, temporary ...") \
	X(NAME, "name", "name", 0, false, false, "its name; takes the width that is left") \
	X(FIRST, "made", "made", 8, true, false, "the op that makes it, by its place in the order") \
	X(LAST, "last", "last use", 8, true, false, "the last op that reads it, by its place in the order") \
	X(LIFE, "life", "ops alive", 9, true, true, "over how many ops it is alive") \
	X(OFFSET, "offset", "offset", 8, true, false, "its address in the arena") \
	X(READERS, "used", "used by", 7, true, true, "how many ops read it or write it again") \
	X(SHAPE, "shape", "shape", 20, false, false, "type of number and dims") \
	X(MAKER, "maker", "made by", 24, false, false, "the operator that makes it") \
	X(MODULE, "module", "module", 20, false, false, "the module of the op that makes it") \
	X(SOURCE, "source", "source", 28, false, false, "that op's line in the program") \
	X(SHARE, "share", "of peak", 7, true, true, "its share of the peak; nothing where it isn't alive there") \
	X(DTYPE, "dtype", "dtype", 5, false, false, "its type of number") \
	X(PHASE, "phase", "phase", 8, false, false, "forward, backward or update: of the op that makes it")
#define X(id, word, title, width, right, descending, help) COLUMN_##id,
enum column { COLUMNS(X) COLUMN_COUNT };
#undef X

struct column_text { const char *word, *title; int width; bool right, descending; const char *help; };
extern const struct column_text columns[COLUMN_COUNT];

enum { COLUMN_LIST_BYTES = 160 };

/* Columns from left to right. None: the usual ones, as many as fit. */
struct column_set {
	uint8_t column[COLUMN_COUNT]; /* enum column, each at most once */
	int count;
	bool changed; /* since it was written */
};

/* "bytes,name,life"; "usual". */
char *column_list_text(const struct column_set *set, char text[COLUMN_LIST_BYTES]);
/* The opposite. BAD_INPUT with what was expected; nothing has changed then. */
enum status column_list_read(struct column_set *set, const char *text, struct error *error);


/* The columns that fit a width, with their places. */
struct column_layout {
	enum column column[COLUMN_COUNT];
	int x[COLUMN_COUNT], width[COLUMN_COUNT];
	int count, left_out; /* left_out: of a set that the user chose */
};
void columns_arrange(const struct column_set *set, int width, struct column_layout *layout);
