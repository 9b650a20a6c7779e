/* stacks.c: stack traces, each kept once. */
#include <inttypes.h>

#include "snapshot.h"

#define NUMBERS_MOST (UINT32_C(1) << 28)
#define ITEMS_MOST   (UINT32_C(1) << 26) /* frames of all stacks: one list could be many, each a frame longer */

#define STACK_FRAMES_SINGLE 64 /* nobody writes longer ones frame by frame, which takes time by the square */

/* ---- tables ---- */

static size_t stacks_slot_of(const struct stack_table *table, uint64_t hash)
{
	size_t at = (size_t)hash_mix(hash) & (table->slots - 1);
	while (table->slot[at].id && table->slot[at].hash != hash)
		at = (at + 1) & (table->slots - 1);
	return at;
}

/* Room for one more, at most two thirds full. */
static bool stacks_grow(struct stack_table *table)
{
	if ((table->used + 1) * 3 <= table->slots * 2)
		return true;
	struct stack_table grown = { .slots = table->slots ? table->slots * 2 : 1024, .used = table->used };
	if (!(MAKE(grown.slot, grown.slots)))
		return false;
	FOR_SIZE(i, table->slots)
		if (table->slot[i].id)
			grown.slot[stacks_slot_of(&grown, table->slot[i].hash)] = table->slot[i];
	mem_free(table->slot);
	*table = grown;
	return true;
}

/* ---- adding ---- */

static uint32_t no_memory(struct stacks *stacks)
{
	stacks->no_memory = true;
	return 0;
}

uint32_t stacks_text(struct stacks *stacks, const char *text, size_t length)
{
	if (stacks->texts >= NUMBERS_MOST)
		return 0;
	if (!mem_reserve(&stacks->text, &stacks->text_room, (size_t)stacks->texts + 1, sizeof *stacks->text))
		return no_memory(stacks);
	char *copy = arena_text(&stacks->arena, text, length);
	uint32_t id = copy ? names_add(&stacks->text_names, copy, stacks->texts) : NONE;
	if (id == stacks->texts)
		stacks->text[stacks->texts++] = copy;
	return id == NONE ? no_memory(stacks) : id + 1;
}

/* Two things of one hash get hashes one apart. */
uint32_t stacks_frame(struct stacks *stacks, uint32_t file, uint32_t name, int64_t line)
{
	struct stack_table *table = &stacks->by_frame;
	if (stacks->frames >= NUMBERS_MOST)
		return 0;
	if (!stacks_grow(table) ||
		!mem_reserve(&stacks->frame, &stacks->frame_room, (size_t)stacks->frames + 1, sizeof *stacks->frame))
		return no_memory(stacks);
	for (uint64_t hash = hash_join(hash_join(hash_join(1, file), name), (uint64_t)line);; hash++) {
		size_t at = stacks_slot_of(table, hash);
		uint32_t id = table->slot[at].id;
		if (!id) {
			stacks->frame[stacks->frames++] = (struct stack_frame){ file, name, line };
			table->slot[at].hash = hash;
			table->used++;
			return table->slot[at].id = stacks->frames;
		}
		const struct stack_frame *frame = &stacks->frame[id - 1];
		if (frame->file == file && frame->name == name && frame->line == line)
			return id;
	}
}

/* items[items .. items + count) is the new stack; it stays there where it is new. */
static uint32_t add_last(struct stacks *stacks, uint32_t count)
{
	struct stack_table *table = &stacks->by_stack;
	const uint32_t *item = stacks->item + stacks->items;
	uint64_t hash = count;
	FOR(i, count)
		hash = (hash ^ item[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
	for (;; hash++) {
		size_t at = stacks_slot_of(table, hash);
		uint32_t id = table->slot[at].id;
		if (!id) {
			stacks->stack[stacks->stack_count].first = stacks->items;
			stacks->stack[stacks->stack_count++].count = count;
			stacks->items += count;
			table->slot[at].hash = hash;
			table->used++;
			return table->slot[at].id = stacks->stack_count;
		}
		if (stacks->stack[id - 1].count == count &&
			memcmp(stacks->item + stacks->stack[id - 1].first, item, count * sizeof *item) == 0)
			return id;
	}
}

uint32_t stacks_add(struct stacks *stacks, uint32_t inner, const uint32_t *frame, uint32_t count)
{
	uint32_t before = inner ? stacks->stack[inner - 1].count : 0;
	if (before == STACK_FRAMES_MOST || (before >= STACK_FRAMES_SINGLE && count == 1))
		return inner;
	count = SMALLER(STACK_FRAMES_MOST - before, count);
	if (stacks->stack_count >= NUMBERS_MOST || stacks->items >= ITEMS_MOST)
		return 0;
	if (!stacks_grow(&stacks->by_stack) ||
		!mem_reserve(&stacks->stack, &stacks->stack_room, (size_t)stacks->stack_count + 1, sizeof *stacks->stack) ||
		!mem_reserve(&stacks->item, &stacks->item_room, (size_t)stacks->items + before + count, sizeof *stacks->item))
		return no_memory(stacks);
	if (before)
		memcpy(stacks->item + stacks->items, stacks->item + stacks->stack[inner - 1].first, before * sizeof *frame);
	memcpy(stacks->item + stacks->items + before, frame, count * sizeof *frame);
	return add_last(stacks, before + count);
}

void stacks_free(struct stacks *stacks)
{
	names_free(&stacks->text_names);
	mem_free(stacks->text);
	mem_free(stacks->frame);
	mem_free(stacks->item);
	mem_free(stacks->stack);
	mem_free(stacks->by_frame.slot);
	mem_free(stacks->by_stack.slot);
	arena_free(&stacks->arena);
	*stacks = (struct stacks){ 0 };
}

/* ---- reading ---- */

static const char *stacks_text_of(const struct stacks *stacks, uint32_t text)
{
	return text ? stacks->text[text - 1] : "";
}

/* A place in the user's own program, as far as the file's name tells. */
static bool is_own(const struct stacks *stacks, uint32_t frame)
{
	static const char *const foreign[] = { "site-packages/", "dist-packages/", "/torch/", "lib/python", "<frozen" };
	static const char *const beginning[] = { "torch/", "transformers/", "accelerate/", "lightning/", "deepspeed/" };
	const char *file = stacks_text_of(stacks, stacks->frame[frame - 1].file);
	FOR(i, COUNT_OF(beginning)) /* a profiler's files are of no folder */
		if (strncmp(file, beginning[i], strlen(beginning[i])) == 0)
			return false;
	FOR(i, COUNT_OF(foreign))
		if (strstr(file, foreign[i]))
			return false;
	return text_ends(file, ".py") || *file == '<';
}

uint32_t stacks_place(const struct stacks *stacks, uint32_t stack)
{
	if (!stack)
		return 0;
	const uint32_t *frame = stacks->item + stacks->stack[stack - 1].first;
	uint32_t count = stacks->stack[stack - 1].count;
	FOR(i, count)
		if (is_own(stacks, frame[i]))
			return frame[i];
	return count ? frame[0] : 0;
}

char *stacks_frame_text(const struct stacks *stacks, uint32_t frame, char *text, size_t size)
{
	*text = '\0';
	if (frame && stacks->frame[frame - 1].file == 0)
		snprintf(text, size, "%s", stacks_function(stacks, frame));
	else if (frame)
		snprintf(text, size, "%s:%" PRId64 " in %s", stacks_text_of(stacks, stacks->frame[frame - 1].file),
			stacks->frame[frame - 1].line, stacks_function(stacks, frame));
	return text;
}

const char *stacks_function(const struct stacks *stacks, uint32_t frame)
{
	return frame ? stacks_text_of(stacks, stacks->frame[frame - 1].name) : "";
}

char *stacks_path(const struct stacks *stacks, uint32_t stack, char *text, size_t size)
{
	size_t used = 0;
	*text = '\0';
	if (!stack)
		return text;
	const uint32_t *frame = stacks->item + stacks->stack[stack - 1].first;
	for (uint32_t i = stacks->stack[stack - 1].count; i-- > 0;) {
		const char *name = stacks_function(stacks, frame[i]);
		int length = is_own(stacks, frame[i]) ? snprintf(text + used, size - used, "%s%s", used ? "." : "", name) : 0;
		if (used + (size_t)length >= size) {
			text[used] = '\0';
			break;
		}
		used += (size_t)length;
	}
	return text;
}

bool stacks_within(const struct stacks *stacks, uint32_t stack, const char *word)
{
	for (uint32_t i = 0; stack && i < stacks->stack[stack - 1].count; i++) {
		const struct stack_frame *frame = &stacks->frame[stacks->item[stacks->stack[stack - 1].first + i] - 1];
		if (strstr(stacks_text_of(stacks, frame->file), word) || strstr(stacks_text_of(stacks, frame->name), word))
			return true;
	}
	return false;
}
