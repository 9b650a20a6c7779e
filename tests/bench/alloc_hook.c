/* alloc_hook.c: counts what is allocated as tensors are, by aligned requests, and its peak. tests/bench/torch_states
 * preloads it.
 *
 * PyTorch's CPU allocator asks for memory by posix_memalign(); nearly nothing else in the process does. The sizes asked
 * for are kept in a hash table of open addresses. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *__libc_realloc(void *, size_t);

enum { SLOTS = 1 << 20 };
static struct { void *block; size_t size; } table[SLOTS];
static long long live, peak;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

long long hook_live(void)
{
	return live;
}

long long hook_peak(void)
{
	return peak;
}

void hook_start(void)
{
	peak = live;
}

static size_t home(const void *block)
{
	return ((uintptr_t)block >> 6) * 0x9E3779B97F4A7C15u >> 44;
}

static void note(void *block, size_t size)
{
	pthread_mutex_lock(&lock);
	size_t at = home(block);
	while (table[at].block)
		at = (at + 1) % SLOTS;
	table[at].block = block;
	table[at].size = size;
	live += (long long)size;
	peak = live > peak ? live : peak;
	pthread_mutex_unlock(&lock);
}

/* Takes a block out; those behind it that would not be found any more move up. */
static void forget(void *block)
{
	pthread_mutex_lock(&lock);
	size_t at = home(block);
	while (table[at].block && table[at].block != block)
		at = (at + 1) % SLOTS;
	if (table[at].block) {
		live -= (long long)table[at].size;
		size_t hole = at;
		for (size_t next = (at + 1) % SLOTS; table[next].block; next = (next + 1) % SLOTS)
			if ((next - home(table[next].block)) % SLOTS >= (next - hole) % SLOTS) {
				table[hole] = table[next];
				hole = next;
			}
		table[hole].block = NULL;
	}
	pthread_mutex_unlock(&lock);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = __libc_memalign(alignment, size);
	if (!*block && size)
		return ENOMEM;
	note(*block, size);
	return 0;
}

void free(void *block)
{
	if (block && (uintptr_t)block % 64 == 0)
		forget(block);
	__libc_free(block);
}

void *realloc(void *block, size_t size)
{
	if (block && (uintptr_t)block % 64 == 0)
		forget(block);
	return __libc_realloc(block, size);
}
