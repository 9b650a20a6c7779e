/* memory.c: a store of answers for one run, where the caller has none. */
#include <string.h>

#include "memory.h"

struct order_answer {
	uint64_t key[2];
	void *data;            /* NULL: a free slot */
	size_t bytes;
};

static struct order_answer *slot_of(const struct order_memory *memory, const uint64_t key[2])
{
	uint32_t mask = memory->slots - 1, i = (uint32_t)key[0] & mask;
	while (memory->slot[i].data && (memory->slot[i].key[0] != key[0] || memory->slot[i].key[1] != key[1]))
		i = (i + 1) & mask;
	return &memory->slot[i];
}

static size_t find(void *context, const uint64_t key[2], void *data, size_t bytes)
{
	const struct order_memory *memory = context;
	if (memory->count == 0)
		return 0;
	const struct order_answer *answer = slot_of(memory, key);
	if (!answer->data)
		return 0;
	size_t copied = answer->bytes < bytes ? answer->bytes : bytes;
	memcpy(data, answer->data, copied);
	return copied;
}

static bool grow(struct order_memory *memory)
{
	struct order_memory larger = { .slots = memory->slots ? 2 * memory->slots : 64, .count = memory->count };
	larger.slot = mem_alloc(larger.slots, sizeof *larger.slot);
	if (!larger.slot)
		return false;
	for (uint32_t i = 0; i < memory->slots; i++)
		if (memory->slot[i].data)
			*slot_of(&larger, memory->slot[i].key) = memory->slot[i];
	mem_free(memory->slot);
	*memory = larger;
	return true;
}

static void keep(void *context, const uint64_t key[2], const void *data, size_t bytes)
{
	struct order_memory *memory = context;
	if (2 * memory->count >= memory->slots && !grow(memory))
		return;
	void *copy = mem_alloc(1, bytes);
	if (!copy)
		return;
	memcpy(copy, data, bytes);
	struct order_answer *answer = slot_of(memory, key);
	memory->count += answer->data == NULL;
	mem_free(answer->data);
	*answer = (struct order_answer) { { key[0], key[1] }, copy, bytes };
}

struct order_store order_memory_store(struct order_memory *memory)
{
	*memory = (struct order_memory) { 0 };
	return (struct order_store) { memory, find, keep };
}

void order_memory_free(struct order_memory *memory)
{
	for (uint32_t i = 0; i < memory->slots; i++)
		mem_free(memory->slot[i].data);
	mem_free(memory->slot);
}
