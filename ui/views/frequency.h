/* frequency.h: the tensors of a plan counted by what they are: kind, type of number, module, operator,
 * phase. */
#pragma once

#include <regex.h>

#include "view.h"

/* row_filter: which rows of a table are shown.
 *
 * Words between blanks must all hold. A word is a part of the row's name or kind, letters of either case alike;
 *     ~word      has its letters in their order
 *     /word/     a regular expression (POSIX, extended) that fits the name
 *     field:word as above, but of one field: kind, dtype, module, type, phase, name; field=word: all of the field
 *     !word      any of these, but not */

#define ROW_FIELDS(X) \
	X(NAME, "name") X(KIND, "kind") X(DTYPE, "dtype") X(MODULE, "module") X(TYPE, "type") X(PHASE, "phase")
#define X(id, name) ROW_##id,
enum row_field { ROW_FIELDS(X) ROW_FIELD_COUNT };
#undef X
extern const char *const row_field_names[ROW_FIELD_COUNT];

#define FILTER_WORDS 8

struct filter_word {
	enum { WORD_PART, WORD_WHOLE, WORD_FUZZY, WORD_REGEX } how;
	bool not, any_field; /* any: name or kind */
	enum row_field field;
	char text[100];
	regex_t regex;
};

struct row_filter {
	struct filter_word word[FILTER_WORDS];
	int words;
};

/* Free with row_filter_free() in any case. BAD_INPUT: a regular expression that is none; words are left out then. */
enum status row_filter_read(const char *text, struct row_filter *filter, struct error *error);
void row_filter_free(struct row_filter *filter);
/* Whether a row passes; value: of its fields, none NULL. */
bool row_filter_passes(const struct row_filter *filter, const char *const value[ROW_FIELD_COUNT]);
/* A tensor's fields; module, type and phase are those of the op that makes it, "" where none does. */
void tensor_fields(const struct graph *graph, uint32_t tensor, const char *value[ROW_FIELD_COUNT]);

struct frequency_row {
	const char *value; /* of the field; the graph's */
	uint32_t length;   /* bytes of the value that count: of a module its first parts */
	uint32_t count;    /* of tensors that are storages of their own */
	int64_t bytes, at_peak; /* of these tensors, of what is alive at the peak */
};

struct frequency {
	enum row_field field; /* counted by; ROW_NAME: off */
	int parts;            /* of a module's path that count */
	struct frequency_row *row; /* [rows] most bytes at the peak first */
	uint32_t rows, selected, top;
	uint64_t serial; /* of the plan counted */
	char filter[100];
};

void frequency_free(struct frequency *frequency);
/* Counts what passes; kept until plan, field or filter change. False when out of memory. O(n log n). */
bool frequency_count(
	struct frequency *frequency, const struct plan *plan, const struct row_filter *filter, const char *text);
void frequency_draw(struct frequency *frequency, const struct plan *plan, struct frame *frame);
/* The word for frequency.h that shows the selected row's tensors, into text; "" where there is none. Returns text. */
char *frequency_word(const struct frequency *frequency, char *text, size_t size);
