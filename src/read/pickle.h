/* pickle.h: walks over a Python pickle (protocols 2 to 5) without building anything from it and without calling anything.
 *
 * The machine of pickletools.py, as far as dicts, lists, tuples, sets, texts, bytes and numbers need it. Whatever would import,
 * call or build an object (GLOBAL, REDUCE, BUILD, ...) ends the walk. A value on the stack has 16 bytes, whatever it is: texts
 * are words that the reader knows, or nothing; dicts and lists are what the reader's visitor notes in them. The memo has a byte
 * per entry. So memory is that of the memo, at most a byte for each byte of the file, and of a stack with a limit.
 */
#ifndef TIDEMARK_READ_PICKLE_H
#define TIDEMARK_READ_PICKLE_H

#include "native.h"

enum pickle_kind { PICKLE_OTHER, PICKLE_NUMBER, PICKLE_WORD, PICKLE_DICT, PICKLE_LIST };

struct pickle_value {
	uint8_t kind;
	bool again;           /* a dict or list out of the memo: what is noted in it is not known any more */
	uint8_t note;         /* the visitor's own, 0 in a new dict or list */
	uint32_t count;       /* of a list: its items so far */
	int64_t number;       /* a number; the word's index; the visitor's own, 0 in a new dict or list */
};

/* The visitor sees each dict and list when its members come, what is inside first. Anything but OK ends the walk. */
struct pickle_visitor {
	const char *const *words;  /* texts to know, at most 200 of at most 30 bytes; NULL ends them */
	/* count pairs of key and value come to the dict */
	enum status (*pairs)(void *context, struct pickle_value *dict, const struct pickle_value *pair, uint32_t count, struct error *error);
	/* count items come to the list, behind list->count others */
	enum status (*items)(void *context, struct pickle_value *list, const struct pickle_value *item, uint32_t count, struct error *error);
	void *context;
};

/* Reads one pickle, up to its STOP; *root is what it is. BAD_INPUT with the byte in error's text where it is truncated, isn't a pickle
 * of these protocols, wants to call something, or needs a stack of more than a million values. O(bytes). */
enum status pickle_walk(struct source source, const struct pickle_visitor *visitor, struct pickle_value *root, struct error *error);

#endif
