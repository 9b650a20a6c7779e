/* heap_shim.c: counts the bytes on the heap, for the package, which compiles and preloads it.
 *
 * Every malloc, free and relative is passed on to glibc; the running sum of the blocks' usable sizes
 * and its maximum are kept. Large blocks must come from the heap as well, not from mmap, whose whole
 * pages would blur the sum: so counted, a block is at most 48 bytes larger than asked for. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

enum { TENSOR_ALIGNMENT = 64 };                      /* what PyTorch's allocator asks for */
static const uintptr_t reach = (uintptr_t)1 << 37;   /* bytes of heap, from `first` on, that `aligned` has a bit for */

static atomic_llong live, peak;
static uintptr_t first;
static atomic_uchar
	*aligned; /* one bit for each TENSOR_ALIGNMENT bytes of heap: a block that was asked for so aligned begins there */

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
	void *bits = mmap(
		NULL, reach / TENSOR_ALIGNMENT / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	mallopt(M_MMAP_MAX, 0);
	first = (uintptr_t)sbrk(0) & -(uintptr_t)TENSOR_ALIGNMENT;
	aligned = bits == MAP_FAILED ? NULL : bits;
}

/* The place of a block's bit in `aligned`, or -1. */
static intptr_t bit_of(const void *block)
{
	uintptr_t from = (uintptr_t)block - first;

	return aligned && (uintptr_t)block >= first && from < reach && from % TENSOR_ALIGNMENT == 0
		? (intptr_t)(from / TENSOR_ALIGNMENT)
		: -1;
}

static int is_aligned(const void *block)
{
	intptr_t bit = bit_of(block);

	return bit >= 0 && (aligned[bit / 8] >> bit % 8 & 1);
}

static void *mark(void *block, int on)
{
	intptr_t bit = bit_of(block);

	if (bit >= 0 && on)
		atomic_fetch_or(&aligned[bit / 8], 1u << bit % 8);
	else if (bit >= 0 && is_aligned(block))
		atomic_fetch_and(&aligned[bit / 8], ~(1u << bit % 8));
	return block;
}

/* What a block counts: nothing below HEAP_LEAST bytes (environment), the interpreter's own, unless it is aligned as
 * tensors are. */
static long long weight(void *block)
{
	static long long least = -1;
	const char *text;
	long long size = (long long)malloc_usable_size(block);

	if (least < 0)
		least = (text = getenv("HEAP_LEAST")) ? atoll(text) : 0;
	return size >= least || is_aligned(block) ? size : 0;
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
	return counted(mark(__libc_memalign(alignment, size), alignment >= TENSOR_ALIGNMENT));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return counted(mark(__libc_memalign(alignment, size), alignment >= TENSOR_ALIGNMENT));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	void *new_block = counted(mark(__libc_memalign(alignment, size), alignment >= TENSOR_ALIGNMENT));

	if (!new_block && size)
		return ENOMEM;
	*block = new_block;
	return 0;
}

void *realloc(void *block, size_t size)
{
	long long old_size = weight(block);
	void *new_block = __libc_realloc(mark(block, 0), size);

	if (new_block || !size) /* else it failed and the old block stays */
		live -= old_size;
	return counted(new_block);
}

void free(void *block)
{
	live -= weight(block);
	__libc_free(mark(block, 0));
}
