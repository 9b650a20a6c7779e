/* stacks.h: the stack traces of a snapshot, each once. Numbers count from 1; 0 is none, what is above a limit, and what
 * there was no memory for, which is noted. */
#pragma once

#include "solver/base/base.h"
#include "solver/base/names.h"

/* A place in the source. name: the function. Texts are numbers, too. */
struct stack_frame { uint32_t file, name; int64_t line; };

/* Open addressing by hash; equal hashes stand behind each other. */
struct stack_table {
	struct { uint64_t hash; uint32_t id; } *slot;
	size_t slots, used;
};

struct stacks {
	struct arena arena;
	struct names text_names;
	const char **text;
	struct stack_frame *frame;
	uint32_t *item;                 /* frames of all stacks, the innermost one first */
	struct { uint32_t first, count; } *stack;
	struct stack_table by_frame, by_stack;
	size_t text_room, frame_room, item_room, stack_room;
	uint32_t texts, frames, items, stack_count;
	bool no_memory;                 /* something is missing because memory ended */
};

#define STACK_FRAMES_MOST 1000          /* of one stack; what is further out is left away */

/* The number of a text, a frame, a stack, which is new or was there before. Expected O(length). */
uint32_t stacks_text(struct stacks *stacks, const char *text, size_t length);
uint32_t stacks_frame(struct stacks *stacks, uint32_t file, uint32_t name, int64_t line);
/* A stack with count frames further out than those of `inner` (0: none). */
uint32_t stacks_add(struct stacks *stacks, uint32_t inner, const uint32_t *frame, uint32_t count);
void stacks_free(struct stacks *stacks);

/* The number of the innermost frame that is neither the framework's nor another library's; of the innermost one where
 * there is no such. */
uint32_t stacks_place(const struct stacks *stacks, uint32_t stack);
/* "model.py:6 in forward"; "" of frame 0. Returns text. */
char *stacks_frame_text(const struct stacks *stacks, uint32_t frame, char *text, size_t size);
/* The functions of the program's own frames from the outermost to the innermost, with dots between; "" where there are
 * none. Returns text. */
char *stacks_path(const struct stacks *stacks, uint32_t stack, char *text, size_t size);
/* A frame's function, or "". */
const char *stacks_function(const struct stacks *stacks, uint32_t frame);
/* Whether a frame's file, or its function, has that word in its name. */
bool stacks_within(const struct stacks *stacks, uint32_t stack, const char *word);
