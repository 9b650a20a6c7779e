/* pickle.h: walks over a Python pickle (protocols 2 to 5) without building anything from it and without calling
 * anything.
 *
 * The machine of pickletools.py, as far as dicts, lists, tuples, sets, texts, bytes and numbers need it. Whatever would
 * import, call or build an object (GLOBAL, REDUCE, BUILD, ...) ends the walk. A value on the stack has 24 bytes,
 * whatever it is: texts are words that the reader knows, or what the visitor keeps of them; dicts and lists are what
 * the visitor notes in them. The memo has four bytes per entry, and a limit. So memory is that of the memo, of a stack
 * with a limit, and what the visitor keeps. */
#pragma once

#include "src/base/source.h"

enum pickle_kind { PICKLE_OTHER, PICKLE_NUMBER, PICKLE_WORD, PICKLE_DICT, PICKLE_LIST };

struct pickle_value {
	uint8_t kind;
	bool again;           /* a dict or list out of the memo: what is noted in it is not known any more */
	uint8_t note;         /* the visitor's own, 0 in a new dict or list */
	uint32_t count;       /* of a list: its items so far */
	uint32_t kept; /* the visitor's own number, 0 in a new dict or list: unlike note and number, the memo has it, too */
	uint32_t memo;        /* of the pickle machine */
	int64_t number;       /* a number; the word's index; the visitor's own, 0 in a new dict or list */
};
#define PICKLE_TEXT_MOST 4096

/* The visitor sees each dict and list when its members come, what is inside first. Anything but OK ends the walk. */
struct pickle_visitor {
	const char *const *words;  /* texts to know, at most 200 of at most 30 bytes; NULL ends them */
	/* count pairs of key and value come to the dict */
	enum status (*pairs)(
		void *context, struct pickle_value *dict, const struct pickle_value *pair, uint32_t count, struct error *error);
	/* count items come to the list, behind list->count others */
	enum status (*items)(
		void *context, struct pickle_value *list, const struct pickle_value *item, uint32_t count, struct error *error);
	/* A text of at most PICKLE_TEXT_MOST bytes that is no word: the number to keep, 0: none. NULL: none of them is of
	 * interest. */
	uint32_t (*text)(void *context, const char *text, size_t length);
	void *context;
};

/* Reads one pickle, up to its STOP; *root is what it is. BAD_INPUT with the byte in error's text where it is truncated,
 * isn't a pickle of these protocols, wants to call something, or needs a stack of more than a million values. O(bytes).
 */
enum status pickle_walk(
	struct source source, const struct pickle_visitor *visitor, struct pickle_value *root, struct error *error);
