/* memory.c: a store of answers for one run, where the caller has none. */

#include "job.h"

/* What there is no memory for is forgotten. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) mem_alloc(1, size)
#define uthash_free(block, size) mem_free(block)
#include <uthash.h>

struct order_answer {
	uint64_t key[2];
	UT_hash_handle hh;
	size_t bytes;
	unsigned char data[];
};

static struct order_answer *answer_of(const struct order_memory *memory, const uint64_t key[2])
{
	struct order_answer *answer;
	HASH_FIND(hh, memory->answer, key, sizeof answer->key, answer);
	return answer;
}

static size_t order_memory_find(void *context, const uint64_t key[2], void *data, size_t bytes)
{
	const struct order_answer *answer = answer_of(context, key);
	size_t copied = !answer ? 0 : answer->bytes < bytes ? answer->bytes : bytes;
	if (answer)
		memcpy(data, answer->data, copied);
	return copied;
}

static void order_memory_drop(struct order_memory *memory, struct order_answer *answer)
{
	if (answer)
		HASH_DEL(memory->answer, answer);
	mem_free(answer);
}

static void order_memory_keep(void *context, const uint64_t key[2], const void *data, size_t bytes)
{
	struct order_memory *memory = context;
	struct order_answer *answer = mem_alloc(1, sizeof *answer + bytes);
	if (!answer)
		return;
	memcpy(answer->key, key, sizeof answer->key);
	memcpy(answer->data, data, answer->bytes = bytes);
	order_memory_drop(memory, answer_of(memory, key));
	HASH_ADD(hh, memory->answer, key, sizeof answer->key, answer);
	if (!answer->hh.tbl)
		mem_free(answer);
}

struct order_store order_memory_store(struct order_memory *memory)
{
	*memory = (struct order_memory) { 0 };
	return (struct order_store) { memory, order_memory_find, order_memory_keep };
}

void order_memory_free(struct order_memory *memory)
{
	while (memory->answer)
		order_memory_drop(memory, memory->answer);
}
