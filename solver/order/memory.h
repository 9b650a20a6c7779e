/* memory.h: a store of answers for one run, where the caller has none. */
#pragma once

#include "order.h"

struct order_memory {
	struct order_answer *answer; /* a hash table */
};

/* A store in memory, empty. It forgets what it has no memory for. Free with order_memory_free(). */
struct order_store order_memory_store(struct order_memory *memory);
void order_memory_free(struct order_memory *memory);
