/* columns.c: which columns the table of tensors has, and in which places. */
#include "columns.h"

#include "src/base/words.h"

#define X(id, word, title, width, right, descending, help) { word, title, width, right, descending, help },
const struct column_text columns[COLUMN_COUNT] = { COLUMNS(X) };
#undef X

enum { NAME_MIN = 12, NAME_CHOSEN = 20, NAME_WANTED = 32, GAP = 2, LEFT_OUT = 4 /* " +12" */ };

/* The usual columns, those that stay longest first. */
static const enum column usual[] = { COLUMN_BYTES, COLUMN_KIND, COLUMN_FIRST, COLUMN_LAST, COLUMN_OFFSET, COLUMN_LIFE,
				     COLUMN_READERS, COLUMN_SHAPE, COLUMN_MAKER, COLUMN_MODULE, COLUMN_SOURCE };
enum { USUAL = COUNT_OF(usual), USUAL_FIRST = 4 };

/* ---- lists of columns ---- */

static int column_place(const struct column_set *set, enum column column)
{
	FOR_INT(i, set->count)
		if (set->column[i] == column)
			return i;
	return -1;
}

static enum status column_find(const char *word, enum column *column, struct error *error)
{
	struct nearest nearest = { .wanted = word };
	FOR_INT(i, COLUMN_COUNT) {
		*column = (enum column)i;
		if (text_is(columns[i].word, word))
			return OK;
		nearest_consider(&nearest, columns[i].word);
	}
	return refuse(error, "unknown column \"%s\"%s", word, nearest_text(&nearest, "", TEXT(120)));
}

/* A word that is no column (the nearest is named), one twice, or none at all are refused. */
enum status column_list_read(struct column_set *set, const char *text, struct error *error)
{
	struct column_set read = { .changed = true };
	enum column column;
	for (const char *at = text; !text_is(text, "usual"); at++) {
		size_t length = strcspn(at, ",");
		char word[24];
		PRINT_TO(word, "%.*s", (int)length, at);
		TRY(column_find(word, &column, error));
		if (column_place(&read, column) >= 0)
			return refuse(error, "column %s is there twice", word);
		read.column[read.count++] = (uint8_t)column;
		at += length;
		if (!*at)
			break;
	}
	*set = read;
	return OK;
}

char *column_list_text(const struct column_set *set, char text[COLUMN_LIST_BYTES])
{
	struct words words = { text, COLUMN_LIST_BYTES, 0 };
	snprintf(text, COLUMN_LIST_BYTES, "usual");
	FOR_INT(i, set->count)
		words_add(&words, "%s%s", i ? "," : "", columns[set->column[i]].word);
	return text;
}

/* ---- changing what is shown ---- */

/* ---- places ---- */

/* Which usual columns fit, the last ones going first; the name grows before the rarer columns come. */
static void arrange_usual(int width, struct column_layout *layout)
{
	bool show[COLUMN_COUNT] = { [COLUMN_NAME] = true };
	int used = NAME_MIN + GAP;
	FOR_INT(i, USUAL) {
		int more = columns[usual[i]].width + GAP, name = i < USUAL_FIRST ? 0 : NAME_WANTED - NAME_MIN;
		show[usual[i]] = used + more + name <= width;
		used += show[usual[i]] ? more : 0;
	}
	FOR_INT(i, COLUMN_COUNT)
		if (show[i])
			layout->column[layout->count++] = (enum column)i;
}

/* How many of the user's columns fit; one does. */
static int columns_fitting(const struct column_set *set, int width)
{
	int count = 0;
	for (int used = 0; count < set->count; count++) {
		used += (set->column[count] == COLUMN_NAME ? NAME_CHOSEN : columns[set->column[count]].width) + GAP;
		if (used > width && count > 0)
			break;
	}
	return count;
}

void columns_arrange(const struct column_set *set, int width, struct column_layout *layout)
{
	int used = 0, x = 0, fits = columns_fitting(set, width);
	*layout = (struct column_layout){ .count = 0 };
	if (set->count == 0)
		arrange_usual(width, layout);
	if (fits < set->count)
		fits = columns_fitting(set, width -= LEFT_OUT);
	FOR_INT(i, fits)
		layout->column[layout->count++] = (enum column)set->column[i];
	layout->left_out = set->count - fits;
	FOR_INT(i, layout->count)
		used += columns[layout->column[i]].width + GAP;
	FOR_INT(i, layout->count) {
		layout->x[i] = x;
		layout->width[i] = layout->column[i] != COLUMN_NAME ? columns[layout->column[i]].width
			: width > used ? width - used
			: 1;
		x += layout->width[i] + GAP;
	}
}
