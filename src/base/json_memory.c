/* json_memory.c: jansson's allocations are mem_alloc()'s, so that tests can make them fail as they do all others. */
#include "json_memory.h"

#include "solver/base/base.h"

static _Thread_local bool failed;

/* When jansson gets no memory for a larger hash table it goes on with the freed smaller one, and without a larger
 * buffer for a string it reads on behind the end of the old one. Such a block (a power of two of at least LEAST bytes)
 * is a piece of this instead, and the flag says that nobody wants the result. */
enum { RESERVE = 4 << 20, LEAST = 32 };
static _Alignas(16) unsigned char reserve[RESERVE];
static atomic_size_t taken;   /* never given back: one failure is rare enough */

static void *from_reserve(size_t size)
{
	if (size < LEAST || (size & (size - 1)) || size > RESERVE)
		return NULL;
	size_t begin = atomic_fetch_add(&taken, size);
	if (begin > RESERVE - size) {
		atomic_fetch_sub(&taken, size);
		return NULL;
	}
	memset(reserve + begin, 0, size);
	return reserve + begin;
}

static void *json_memory_allocate(size_t size)
{
	void *block = mem_alloc(1, size);
	if (block)
		return block;
	failed = true;
	return from_reserve(size);
}

static void json_memory_release(void *block)
{
	uintptr_t at = (uintptr_t)block, begin = (uintptr_t)reserve;
	if (at < begin || at >= begin + RESERVE)
		mem_free(block);
}

void json_memory_watch(void)
{
	json_set_alloc_funcs(json_memory_allocate, json_memory_release);
}

bool json_memory_failed(void)
{
	bool was = failed;
	failed = false;
	return was;
}

const char *json_wrong(const json_error_t *problem)
{
	switch (json_error_code(problem)) {
	case json_error_premature_end_of_input: return "it ends too early";
	case json_error_end_of_input_expected: return "there is more behind its end";
	case json_error_stack_overflow: return "it is nested too deeply";
	case json_error_invalid_utf8: return "it has bytes that are not UTF-8";
	case json_error_null_character: case json_error_null_byte_in_key: return "a text in it has a NUL";
	case json_error_duplicate_key: return "a key is there twice";
	case json_error_numeric_overflow: return "a number is too large";
	default: return "a value, a comma or a bracket is missing or wrong";
	}
}

json_t *json_read_text(const char *text, size_t size, const char *what, struct error *error)
{
	json_error_t problem;
	json_memory_failed();
	json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	if (json_memory_failed()) {
		json_decref(value);
		fail_memory(error);
		return NULL;
	}
	if (!value) {
		fail(error, BAD_INPUT, "not %s: %s", what, json_wrong(&problem));
		if (error)
			error->line = problem.line > 0 ? (unsigned)problem.line : 0;
	}
	return value;
}
