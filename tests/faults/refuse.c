/* refuse.c: loaded before the C library, makes the n-th allocation of a program fail, and counts what its own code
 * doesn't free. For inject.c.
 *
 * Allocations of libraries count, too; those before the program's libraries are set up don't. A block is the program's
 * own when the call came from the program's own code: graphics libraries keep caches until the end. */
#include "refuse.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <errno.h>

enum { PLACES = 1 << 20 };

/* glibc's own names of what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static struct refuse_state *state;
static uintptr_t code_begin, code_end;      /* the program's own */
static void *own[PLACES];                   /* blocks of its own: a hash table with linear probing */
static char gone;                           /* its address marks a place whose block was freed */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static long live;

/* ---- blocks of the program's own ------------------------------------------------------------- */

static size_t first_place(const void *block)
{
	return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 44) % PLACES;
}

static void note(void *block, const void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	if (!state || !block || at < code_begin || at >= code_end)
		return;
	while (atomic_flag_test_and_set(&lock))
		;
	size_t i = first_place(block);
	for (int steps = 0; own[i] && own[i] != &gone && steps < PLACES; steps++)
		i = (i + 1) % PLACES;
	own[i] = block;
	live++;
	atomic_flag_clear(&lock);
}

static void forget(void *block)
{
	if (!state || !block)
		return;
	while (atomic_flag_test_and_set(&lock))
		;
	size_t i = first_place(block);
	for (int steps = 0; own[i] && own[i] != block && steps < PLACES; steps++)
		i = (i + 1) % PLACES;
	if (own[i] == block) {
		own[i] = &gone;
		live--;
	}
	atomic_flag_clear(&lock);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* The first object is the program itself. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			code_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			code_end = code_begin + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	/* Not Python's, which runs readers: it has faults of its own. */
	const char *path = strncmp(program_invocation_short_name, "tidemark", 8) == 0 ? getenv(REFUSE_STATE) : NULL;
	int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = descriptor >= 0 ? mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
		: MAP_FAILED;
	if (descriptor >= 0)
		close(descriptor);
	if (shared == MAP_FAILED)
		return;
	void *frame[4];
	backtrace(frame, 4);   /* its first call allocates */
	dl_iterate_phdr(find_program, NULL);
	long nobody = 0;
	struct refuse_state *here = shared;
	atomic_compare_exchange_strong(&here->first, &nobody, getpid());
	state = here;
}

__attribute__((destructor)) static void end(void)
{
	if (state && atomic_load(&state->first) == getpid())
		atomic_store(&state->live, live);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static bool refused(void)
{
	if (!state)
		return false;
	long number = atomic_fetch_add(&state->allocations, 1) + 1;
	if (number < state->at || number > state->last)
		return false;
	if (state->trace) {
		void *frame[40];
		state->trace = 0;
		backtrace_symbols_fd(frame, backtrace(frame, 40), STDERR_FILENO);
	}
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	void *block = refused() ? NULL : __libc_malloc(size);
	note(block, __builtin_return_address(0));
	return block;
}

void *calloc(size_t count, size_t size)
{
	void *block = refused() ? NULL : __libc_calloc(count, size);
	note(block, __builtin_return_address(0));
	return block;
}

void *realloc(void *block, size_t size)
{
	if (refused())
		return NULL;
	forget(block);
	void *moved = __libc_realloc(block, size);
	note(moved, __builtin_return_address(0));
	return moved;
}

void free(void *block)
{
	forget(block);
	__libc_free(block);
}
