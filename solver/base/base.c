/* base.c: errors, arenas, control, compressed rows. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

enum status fail(struct error *error, enum status status, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(error->text, sizeof error->text, format, arguments);
		va_end(arguments);
	}
	return error_set(error, status);
}

enum status error_set(struct error *error, enum status status)
{
	if (error)
		error->status = status;
	return status;
}

const char *status_text(enum status status)
{
	switch (status) {
	case NO_MEMORY: return "out of memory";
	case CANCELLED: return "cancelled";
	case LIMIT: return "a limit was reached";
	case INFEASIBLE: return "that can't be";
	default: return "can't be read";
	}
}

enum status fail_status(struct error *error, enum status status)
{
	return status == OK ? error_set(error, OK) : fail(error, status, "%s", status_text(status));
}

enum status fail_memory(struct error *error)
{
	return fail_status(error, NO_MEMORY);
}

bool mem_grow(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t larger = *room < 32 ? 64 : *room < SIZE_MAX / 2 ? *room * 2 : SIZE_MAX;
	if (larger < wanted)
		larger = wanted;
	void *block;
	memcpy(&block, array, sizeof block); /* the caller's pointer has a type of its own */
	block = mem_resize(block, larger, size);
	if (!block)
		return false;
	memcpy(array, &block, sizeof block);
	*room = larger;
	return true;
}

/* ---- arena ---- */

#define CHUNK_LEAST (1u << 10)
#define CHUNK_BYTES (64u << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

static struct arena_chunk *chunk_new(struct arena *arena, size_t bytes)
{
	/* Chunks grow with the arena, so that big arenas have few of them and small ones little to clear. */
	size_t size = LARGER(arena->bytes, CHUNK_LEAST);
	if (size > CHUNK_BYTES)
		size = LARGER(arena->bytes / 4, CHUNK_BYTES);
	if (size < bytes)
		size = bytes;
	if (size > SIZE_MAX - sizeof(struct arena_chunk))
		return NULL;
	struct arena_chunk *chunk = mem_alloc(1, sizeof *chunk + size);
	if (!chunk && size > bytes) {
		size = bytes;
		chunk = mem_alloc(1, sizeof *chunk + size);
	}
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 16)
		return NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes == 0)
		bytes = 16;
	struct arena_chunk *chunk = arena->chunk;
	if (!chunk || chunk->size - chunk->used < bytes)
		chunk = chunk_new(arena, bytes);
	if (!chunk)
		return NULL;
	void *block = chunk->data + chunk->used;
	chunk->used += bytes;
	arena->bytes += bytes;
	return block;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1, 1);
	if (copy)
		memcpy(copy, text, length);
	return copy;
}

void arena_free(struct arena *arena)
{
	while (arena->chunk) {
		struct arena_chunk *chunk = arena->chunk;
		arena->chunk = chunk->next;
		mem_free(chunk);
	}
	arena->bytes = 0;
}

void mem_drop(void *held)
{
	void *block;
	memcpy(&block, held, sizeof block);
	mem_free(block);
}

/* ---- control ---- */

bool control_spend(struct control *control, uint64_t ticks)
{
	control->ticks += ticks;
	return control_status(control) != OK;
}

enum status control_status(const struct control *control)
{
	if (control->cancel && atomic_load_explicit(control->cancel, memory_order_relaxed))
		return CANCELLED;
	return control->limit && control->ticks >= control->limit ? LIMIT : OK;
}

void control_report(struct control *control, const char *stage, double fraction, int64_t best, int64_t bound)
{
	if (!control->report)
		return;
	struct progress progress = { stage, fraction, best, bound };
	control->report(control->context, &progress);
}

/* ---- compressed rows ---- */

enum status csr_of_pairs(struct arena *arena, uint32_t rows, uint32_t pairs, const uint32_t *row, const uint32_t *item,
	struct csr *result)
{
	NEED(ROOM(arena, result->start, (size_t)rows + 2) && ROOM(arena, result->item, pairs));
	/* Counts stand two rows further, so that filling moves every start to its place. */
	uint32_t *next = result->start + 1;
	FOR(i, pairs)
		next[row[i] + 1]++;
	FOR(r, rows)
		next[r + 1] += next[r];
	FOR(i, pairs)
		result->item[next[row[i]]++] = item[i];
	return OK;
}

void csr_unique(struct csr *csr, uint32_t rows)
{
	uint32_t kept = 0, begin = 0;
	FOR(row, rows) {
		uint32_t end = csr->start[row + 1];
		bool sorted = true;
		FOR_FROM(i, begin + 1, end)
			sorted &= csr->item[i - 1] <= csr->item[i];
		if (!sorted)
			SORT(csr->item + begin, end - begin, compare_uint32);
		csr->start[row] = kept;
		FOR_FROM(i, begin, end)
			if (i == begin || csr->item[i] != csr->item[i - 1])
				csr->item[kept++] = csr->item[i];
		begin = end;
	}
	csr->start[rows] = kept;
}

enum status csr_transpose(
	struct arena *arena, const struct csr *csr, uint32_t rows, uint32_t columns, struct csr *result)
{
	NEED(ROOM(arena, result->start, (size_t)columns + 1) && ROOM(arena, result->item, csr->start[rows]));
	FOR(i, csr->start[rows])
		result->start[csr->item[i]]++;
	uint32_t sum = 0;
	for (uint32_t column = 0; column <= columns; column++) {
		uint32_t count = column < columns ? result->start[column] : 0;
		result->start[column] = sum;
		sum += count;
	}
	/* Fill in row order, then shift the starts back by one row. */
	FOR(row, rows)
		FOR_ITEMS(item, csr, row)
			result->item[result->start[item]++] = row;
	for (uint32_t column = columns; column > 0; column--)
		result->start[column] = result->start[column - 1];
	result->start[0] = 0;
	return OK;
}

int compare_uint32(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return COMPARE(*a, *b, 0);
}

int compare_int64(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;
	return COMPARE(*a, *b, 0);
}

bool word_listed(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = length > 0 ? strstr(list, word) : NULL; at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}
