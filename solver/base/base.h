/* base.h: what every solver file shares: status codes, memory, control.
 *
 * The solver keeps no global state, prints nothing and reads no clock. Work is
 * counted in ticks (about one memory access that misses the cache each), so that
 * the same input gives the same plan on every machine.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     base      statuses, errors, arenas, control, rows of lists
 *     memory    the allocator; tests put one that fails in its place
 *     names     unique names to dense numbers
 *     sort      many items by a number each
 *     max_flow  maximum flow and minimum cut
 *     milp      integer programs; the only file that knows GLPK
 *     proof     value, bound and gap of a result, in one form */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "No such op, tensor, storage": the ids of all of them are dense, from 0. */
#define NONE UINT32_MAX

/* Byte counts are int64_t. No single size and no sum of sizes may exceed this;
 * readers refuse what does, so sums inside the solver never overflow. */
#define BYTES_MAX (INT64_C(1) << 60)

enum status {
	OK,        /* done */
	NO_MEMORY, /* an allocation failed; nothing leaks, the input is unharmed */
	BAD_INPUT, /* the input breaks a documented rule; see the error's text */
	CANCELLED, /* control.cancel was set; best result so far where there is one */
	LIMIT,     /* effort is spent; best result so far */
	INFEASIBLE /* proved: no solution exists */
};

/* What went wrong, filled by whoever fails; line is 0 where it makes no sense. A function that returns a pointer says
 * with it which status it ended with: OK, or why it gives NULL. */
struct error {
	enum status status;
	unsigned line;
	char text[500];
};

/* Sets the error's status and text (error may be NULL) and returns the status given. */
enum status fail(struct error *error, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define refuse(error, ...) fail(error, BAD_INPUT, __VA_ARGS__)
/* fail() with what to say when an allocation failed; returns NO_MEMORY. */
enum status fail_memory(struct error *error);
/* What a status says where nothing more is known: "out of memory". */
const char *status_text(enum status status);
/* fail() with just that; OK is no failure, and leaves the text. Returns the status. */
enum status fail_status(struct error *error, enum status status);
/* Sets the error's status alone (error may be NULL) and returns it: the text stands already, or all went well. */
enum status error_set(struct error *error, enum status status);

/* Leaves the function with a call's status if that isn't OK. */
#define TRY(...) do { enum status tried_ = (__VA_ARGS__); if (tried_ != OK) return tried_; } while (0)
/* Goes on where all went well so far: status becomes the call's. */
#define THEN(status, ...) do { if ((status) == OK) (status) = (__VA_ARGS__); } while (0)
/* Leaves the function with NO_MEMORY if an allocation failed: NEED(a && b). */
#define NEED(...) do { if (!(__VA_ARGS__)) return NO_MEMORY; } while (0)
/* The same, and *error says so. */
#define NEEDED(error, ...) do { if (!(__VA_ARGS__)) return fail_memory(error); } while (0)

/* A local that is freed where its block is left, by TYPE_drop(): OWN(arena) arena = { 0 }; OWN(graph) *graph =
 * graph_open(...). DROP() makes that of a function that takes a pointer. */
#define OWN(type) __attribute__((cleanup(type##_drop))) struct type
#define DROP(type, release) static inline void type##_drop(struct type **own) { release(*own); }

/* ---- memory --------------------------------------------------------------
 * All three return NULL when out of memory or when count * size overflows.
 * Tests link a replacement of memory.c which fails the n-th call. */
void *mem_alloc(size_t count, size_t size); /* zeroed; count 0 gives a valid pointer */
void *mem_resize(void *block, size_t count, size_t size); /* new part not zeroed; on NULL the old block stays */
void mem_free(void *block); /* NULL is fine */
/* A list's room, zeroed, in an assignment or where it is declared: HELD int64_t *MAKE(size, count); */
#define MAKE(list, count) list = mem_alloc(count, sizeof *(list))
/* HELD int64_t *MAKE(size, count): freed where its block is left. */
#define HELD __attribute__((cleanup(mem_drop)))
void mem_drop(void *held); /* the address of the pointer */
/* How many of them the system refused, on all threads, since the program began: what went wrong after one most likely
 * went wrong for that. */
unsigned long mem_refused(void);
/* One of another allocator was refused. */
void mem_note_refused(void);

/* Makes room for `wanted` elements in a growing array: array is the address of its pointer (NULL at first), *room the
 * elements that it holds (0 at first). The room doubles, so n appends cost O(n); the array is no NULL afterwards.
 * False when out of memory: the array and its room stay as they are. */
bool mem_grow(void *array, size_t *room, size_t wanted, size_t size);
static inline bool mem_reserve(void *array, size_t *room, size_t wanted, size_t size)
{
	return (wanted <= *room && *room > 0) || mem_grow(array, room, wanted, size);
}
/* The same of a list and its room by their names. */
#define GROWN(list, room, wanted) mem_reserve(&(list), &(room), wanted, sizeof *(list))

/* An arena: many allocations, freed at once. A failed allocation leaves the arena
 * usable, and arena_free frees everything given out before: no clean-up ladders. */
struct arena {
	struct arena_chunk *chunk;
	size_t bytes; /* given out so far, for metering */
};
void *arena_alloc(struct arena *arena, size_t count, size_t size); /* zeroed, 16-byte aligned */
char *arena_text(struct arena *arena, const char *text, size_t length); /* a terminated copy */
void arena_free(struct arena *arena);
#define arena_drop arena_free
/* Room in an arena for a list, zeroed: NEED(ROOM(arena, list, count)) leaves the function where there is none. */
#define ROOM(arena, list, count) ((list) = arena_alloc(arena, count, sizeof *(list)))
/* The same where the list is declared: uint32_t *MAKE_IN(arena, list, count); */
#define MAKE_IN(arena, list, count) list = arena_alloc(arena, count, sizeof *(list))
/* For up to ten lists, all of as many: ROOMS(arena, count, list, other, ...). */
#define ROOMS(arena, count, ...) \
	ROOMS_OF(__VA_ARGS__, ROOMS_10, ROOMS_9, ROOMS_8, ROOMS_7, ROOMS_6, ROOMS_5, ROOMS_4, ROOMS_3, ROOMS_2, \
		0)(arena, count, __VA_ARGS__)
#define ROOMS_OF(a, b, c, d, e, f, g, h, i, j, which, ...) which
#define ROOMS_2(arena, count, a, b) (ROOM(arena, a, count) && ROOM(arena, b, count))
#define ROOMS_3(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_2(arena, count, __VA_ARGS__))
#define ROOMS_4(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_3(arena, count, __VA_ARGS__))
#define ROOMS_5(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_4(arena, count, __VA_ARGS__))
#define ROOMS_6(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_5(arena, count, __VA_ARGS__))
#define ROOMS_7(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_6(arena, count, __VA_ARGS__))
#define ROOMS_8(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_7(arena, count, __VA_ARGS__))
#define ROOMS_9(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_8(arena, count, __VA_ARGS__))
#define ROOMS_10(arena, count, a, ...) (ROOM(arena, a, count) && ROOMS_9(arena, count, __VA_ARGS__))

/* ---- control ---- */

/* What a running solver says of itself. Called from the solving thread. */
struct progress {
	const char *stage;   /* static text: "order: cuts" */
	double fraction;     /* done so far, 0..1, or < 0 where unknown */
	int64_t best, bound; /* bytes, or < 0 where there is none yet */
};

/* One per solver run: cancellation, effort, progress. All fields may be zero. */
struct control {
	const atomic_bool *cancel; /* polled at least every 10 ms of work; may be NULL */
	uint64_t ticks;            /* spent so far */
	uint64_t limit;            /* stop (status LIMIT) at so many ticks; 0: no limit */
	void (*report)(void *context, const struct progress *progress);
	void *context;
};

/* Adds ticks; true when the run must stop (cancelled or out of effort). */
bool control_spend(struct control *control, uint64_t ticks);
/* CANCELLED, LIMIT or OK: why control_spend said so. */
enum status control_status(const struct control *control);
void control_report(struct control *control, const char *stage, double fraction, int64_t best, int64_t bound);

/* ---- small shared things ---- */

/* For qsort(): numbers upwards. */
int compare_uint32(const void *left, const void *right);
int compare_int64(const void *left, const void *right);
#define SORT(list, count, compare) qsort(list, count, sizeof *(list), compare)
/* What such a function returns: by two numbers upwards, where they are equal the tie. */
#define COMPARE(left, right, tie) ((left) < (right) ? -1 : (left) > (right) ? 1 : (tie))
/* Such a function of two of a type, a and b. */
#define COMPARATOR(name, type, ...) static int name(const void *left, const void *right) \
	{ \
		const type *a = left, *b = right; \
		return __VA_ARGS__; \
	}

/* Moves low up to the first of low .. high - 1 that isn't before what is sought, where those before it come first.
 * `before` is said of a middle one. O(log(high - low)). */
#define BISECT(low, high, middle, before) \
	while ((low) < (high)) { \
		uint32_t middle = (low) + ((high) - (low)) / 2; \
		if (before) \
			(low) = middle + 1; \
		else \
			(high) = middle; \
	}

/* Whose set i is in, where each element has another one of its set, or itself. Shortens the way for the next call. */
static inline uint32_t set_root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Whether a word is among those of a list, which have blanks between them. O(length). */
bool word_listed(const char *list, const char *word);

static inline bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static inline bool text_ends(const char *text, const char *with)
{
	size_t length = strlen(text), tail = strlen(with);
	return length >= tail && strcmp(text + length - tail, with) == 0;
}

/* Compressed rows: row i holds item[start[i]] .. item[start[i + 1] - 1]. */
struct csr {
	uint32_t *start;
	uint32_t *item;
};
static inline uint32_t csr_length(const struct csr *csr, uint32_t row)
{
	return csr->start[row + 1] - csr->start[row];
}
static inline uint32_t csr_at(const struct csr *csr, uint32_t row, uint32_t i)
{
	return csr->item[csr->start[row] + i];
}
/* FOR(op, graph->ops) counts op from 0; count is looked at anew each time. */
#define FOR(i, count) for (uint32_t i = 0; i < (count); i++)
#define FOR_WHILE(i, count, ...) for (uint32_t i = 0; i < (count) && (__VA_ARGS__); i++)
#define FOR_DOWN(i, count) for (uint32_t i = (count); i-- > 0;) /* count - 1 .. 0 */
#define FOR_INT(i, count) for (int i = 0; i < (count); i++)
#define FOR_SIZE(i, count) for (size_t i = 0; i < (count); i++)
#define FOR_FROM(i, begin, end) for (uint32_t i = (begin); i < (end); i++)
/* those of a row of a plain list of starts, [rows + 1] */
#define FOR_SPAN(i, start, row) for (uint32_t i = (start)[row]; i < (start)[(row) + 1]; i++)
#define COPY(to, from, count) memcpy(to, from, (count) * sizeof *(to))
#define CLEAR(list, count) memset(list, 0, (count) * sizeof *(list))
#define FILL_NONE(list, count) memset(list, 0xff, (count) * sizeof *(list)) /* NONE, or -1 */
#define PRINT_TO(text, ...) snprintf(text, sizeof(text), __VA_ARGS__) /* an array */
/* Room for what a function writes, "char *text, size_t size": it ends with the block around. */
#define TEXT(size) (char[size]){ 0 }, size
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
/* the places of a row's items: FOR_ROW(i, &graph->pred, op) use(graph->pred.item[i]); */
#define FOR_ROW(i, csr, row) for (uint32_t i = (csr)->start[row]; i < (csr)->start[(row) + 1]; i++)
/* the items themselves: FOR_ITEMS(before, &graph->pred, op) use(before); */
#define FOR_ITEMS(item_, csr, row) for (uint32_t item_, item_##_at = (csr)->start[row]; \
	item_##_at < (csr)->start[(row) + 1] && (item_ = (csr)->item[item_##_at], true); item_##_at++)

/* Rows from pairs (row[i], item[i]), i < pairs; the pairs' order is kept within a row. */
enum status csr_of_pairs(struct arena *arena, uint32_t rows, uint32_t pairs, const uint32_t *row, const uint32_t *item,
	struct csr *result);
/* Sorts every row and drops duplicates, in place. */
void csr_unique(struct csr *csr, uint32_t rows);
/* Transposes rows x columns; the result's rows list ascending items. */
enum status csr_transpose(
	struct arena *arena, const struct csr *csr, uint32_t rows, uint32_t columns, struct csr *result);

static inline int64_t align_up(int64_t bytes, int64_t alignment)
{
	return alignment > 1 ? (bytes + alignment - 1) / alignment * alignment : bytes;
}

/* Of any type, each of them looked at twice. */
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static inline int64_t smaller_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The least of some values, at most `most`. */
static inline int64_t least_of(const int64_t *value, size_t count, int64_t most)
{
	for (size_t i = 0; i < count; i++)
		most = smaller_of(value[i], most);
	return most;
}

/* Of two numbers that aren't below 0: their sum, INT64_MAX at the most. */
static inline int64_t sum_or_most(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Of numbers >= 0, not both 0. */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The least number that both, >= 1, divide; BYTES_MAX where it is larger. */
static inline int64_t common_multiple(int64_t a, int64_t b)
{
	int64_t multiple;
	if (__builtin_mul_overflow(a / common_divisor(a, b), b, &multiple) || multiple > BYTES_MAX)
		return BYTES_MAX;
	return multiple;
}

/* 64-bit mixing (splitmix64's finaliser) for fingerprints; not for secrets. */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 30; x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27; x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}
static inline uint64_t hash_join(uint64_t hash, uint64_t value)
{
	return hash_mix(hash * UINT64_C(0x9e3779b97f4a7c15) + value + 1);
}
static inline uint64_t text_hash(const char *text)
{
	uint64_t hash = 7;
	for (; *text; text++)
		hash = hash_join(hash, (unsigned char)*text);
	return hash;
}

/* Small deterministic random numbers (splitmix64); state is the caller's. */
static inline uint64_t random_next(uint64_t *state)
{
	return hash_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* 0 .. count - 1. */
static inline uint32_t random_below(uint64_t *state, uint32_t count)
{
	return (uint32_t)(random_next(state) % count);
}

/* At least 0 and less than 1. */
static inline double random_part(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}
