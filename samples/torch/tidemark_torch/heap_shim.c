/* heap_shim.c: counts the bytes on the heap, for the package, which compiles and preloads it.
 *
 * Every malloc, free and relative is passed on to glibc; the running sum of the blocks' usable sizes
 * and its maximum are kept. Large blocks must come from the heap as well, not from mmap, whose whole
 * pages would blur the sum: so counted, a block is at most 48 bytes larger than asked for.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static atomic_llong live, peak;

long long heap_live(void)
{
	return live;
}

/* The largest heap_live() since the last call of heap_start_peak(). */
long long heap_peak(void)
{
	return peak;
}

void heap_start_peak(void)
{
	peak = live;
}

__attribute__((constructor)) static void use_heap_only(void)
{
	mallopt(M_MMAP_MAX, 0);
}

/* What a block counts: nothing below HEAP_LEAST bytes (environment), the interpreter's own. */
static long long weight(void *block)
{
	static long long least = -1;
	const char *text;

	if (least < 0)
		least = (text = getenv("HEAP_LEAST")) ? atoll(text) : 0;
	return (long long)malloc_usable_size(block) >= least ? (long long)malloc_usable_size(block) : 0;
}

static void *counted(void *block)
{
	long long now = atomic_fetch_add(&live, weight(block)) + weight(block);
	long long before = peak;

	while (now > before && !atomic_compare_exchange_weak(&peak, &before, now))
		;
	return block;
}

void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return counted(__libc_calloc(count, size));
}

void *memalign(size_t alignment, size_t size)
{
	return counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	void *new_block = counted(__libc_memalign(alignment, size));

	if (!new_block && size)
		return ENOMEM;
	*block = new_block;
	return 0;
}

void *realloc(void *block, size_t size)
{
	long long old_size = weight(block);
	void *new_block = __libc_realloc(block, size);

	if (new_block || !size) /* else it failed and the old block stays */
		live -= old_size;
	return counted(new_block);
}

void free(void *block)
{
	live -= weight(block);
	__libc_free(block);
}
