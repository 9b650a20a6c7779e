/* support.c: what unit tests share. Replaces solver/base/memory.c by an allocator that counts and can fail. */
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "src/check/check.h"
#include "src/read/input.h"
#include "src/write/plan_json.h"

/* Tests run from the top of the tree: their programs are too deep in BUILD to find the readers in Python. */
__attribute__((constructor)) static void name_readers(void)
{
	setenv("TIDEMARK_READERS", "src/read/python", 0);
}

uint64_t test_seed(void)
{
	const char *seed = getenv("SEED");
	return seed ? strtoull(seed, NULL, 0) : 20261121;
}

uint32_t test_rounds(uint32_t usual, uint32_t all)
{
	const char *asked = getenv("ROUNDS"), *is_long = getenv("LONG");
	if (asked && strtoul(asked, NULL, 0) > 0)
		return (uint32_t)strtoul(asked, NULL, 0);
	return is_long && *is_long && *is_long != '0' ? all : usual;
}

static atomic_long blocks;
static atomic_long allowed = -1;   /* allocations until the next ones fail; -1: all succeed */

void memory_allow(long allocations)
{
	atomic_store(&allowed, allocations);
}

long memory_next(long n)
{
	return n + (n < 100 ? 1 : (long)test_rounds((uint32_t)n / 50, 1));
}

long memory_blocks(void)
{
	return atomic_load(&blocks);
}

bool memory_refuse(struct refusal *refused)
{
	memory_allow(-1);
	if (refused->allowed >= 0) {
		cr_assert_eq(memory_blocks(), refused->before, "a leak after %ld allocations", refused->allowed);
		cr_assert(refused->status == OK || refused->status == NO_MEMORY, "status %d after %ld allocations",
			(int)refused->status, refused->allowed);
		if (refused->status == OK)
			return false;
	}
	refused->allowed = refused->allowed < 0 ? 0 : memory_next(refused->allowed);
	memory_allow(refused->allowed);
	return true;
}

static struct rules *built_in;

struct rules *test_rules(void)
{
	if (!built_in)
		cr_assert_not_null(built_in = rules_new());
	return built_in;
}

void memory_all_freed(void)
{
	rules_free(built_in);
	cr_assert_eq(memory_blocks(), 0, "%ld blocks of memory are still there", memory_blocks());
}

static atomic_ulong refused;

unsigned long mem_refused(void)
{
	return atomic_load(&refused);
}

void mem_note_refused(void)
{
	atomic_fetch_add(&refused, 1);
}

static bool refused_now(void)
{
	long left = atomic_load(&allowed);
	if (left < 0)
		return false;
	if (left == 0) {
		mem_note_refused();
		return true;
	}
	atomic_store(&allowed, left - 1);
	return false;
}

void *mem_alloc(size_t count, size_t size)
{
	void *block = refused_now() ? NULL : calloc(count ? count : 1, size ? size : 1);
	if (block)
		atomic_fetch_add(&blocks, 1);
	return block;
}

void *mem_resize(void *block, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || refused_now())
		return NULL;
	void *moved = realloc(block, bytes ? bytes : 1);
	if (moved && !block)
		atomic_fetch_add(&blocks, 1);
	return moved;
}

void mem_free(void *block)
{
	if (block)
		atomic_fetch_sub(&blocks, 1);
	free(block);
}

int64_t program_peak(const struct graph *graph)
{
	struct memory_rules rules = { .alignment = 1 };
	struct problem problem;
	if (problem_of_graph(graph, &rules, &problem, NULL) != OK)
		return -1;
	int64_t peak = problem_peak(&problem, problem.program, NULL, NULL);
	problem_free(&problem);
	return peak;
}

char *plan_text(const struct plan *plan)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	plan_write_json(plan, NULL, false, stream);
	fclose(stream);
	return text;
}

enum status check_plan_text(const struct graph *graph, const char *text, struct error *error)
{
	char path[] = "/tmp/tidemark-plan-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs(text, file);
	fclose(file);
	enum status status = plan_check(graph, path, &(struct check_options){ .planned = true, .numbers = true },
		&(struct check_outcome){ .over = 0 }, error);
	remove(path);
	return status;
}

struct graph *open_sample(const char *name)
{
	char path[200];
	struct error error = { 0 };
	snprintf(path, sizeof path, "samples/%s.jsonl.gz", name);
	struct graph *graph = graph_open(path, NULL, &error);
	cr_assert(graph, "%s: %s", path, error.text);
	return graph;
}
