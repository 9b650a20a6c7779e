/* places.c: XLA's addresses for the storages of a flat module.
 *
 * Where a tensor is written in another's memory here, but XLA gave it another place Q of the same size, XLA may use the other's place P for something else
 * meanwhile. Q is free then: what XLA puts into P during that time goes to the same byte of Q. So the memory stays as large as XLA's.
 */
#include "assignment.h"
#include "flat.h"

#define CHAIN_MOST 64          /* places that lead to one another */
#define PAIRS_MOST 200000000u  /* tensors times such places, at most: above, those stay as they are */

struct swap { int64_t from, to, bytes; uint32_t first, last, storage; };

/* next[t]: the tensor whose memory t is written in, itself where it has its own. The end of t's chain, which all tensors on the way then lead to at once. */
static uint32_t root_of(uint32_t *next, uint32_t tensors, uint32_t tensor)
{
	uint32_t root = tensor;
	for (uint32_t steps = 0; steps < tensors && next[root] != root; steps++)
		root = next[root];
	while (tensor != root && next[tensor] != root) {
		uint32_t after = next[tensor];
		next[tensor] = root;
		tensor = after;
	}
	return root;
}

/* The last op of a tensor's life. */
static uint32_t end_of(const struct flat *flat, const struct flat_tensor *tensor)
{
	return tensor->result ? flat->ops : tensor->last != NONE && tensor->last < flat->ops ? tensor->last : tensor->writer;
}

/* The place that XLA's use of `bytes` at an address during a tensor's life goes to. */
static int64_t follow(const struct flat *flat, const struct swap *swap, uint32_t swaps, uint32_t id, int64_t address)
{
	const struct flat_tensor *tensor = &flat->tensor[id];
	for (uint32_t steps = 0, i = 0; i < swaps && steps < CHAIN_MOST; i++) {
		const struct swap *at = &swap[i];
		if (at->storage == id || tensor->writer > at->last || end_of(flat, tensor) < at->first || address < at->from || address + tensor->shape->bytes > at->from + at->bytes)
			continue;
		address = at->to + (address - at->from);
		steps++;
		i = (uint32_t)-1;      /* from the beginning */
	}
	return address;
}

static uint32_t find_swaps(const struct flat *flat, uint32_t *next, int64_t *address, struct swap *swap)
{
	uint32_t swaps = 0;
	for (uint32_t t = 0; t < flat->tensors; t++) {
		const struct flat_tensor *tensor = &flat->tensor[t];
		uint32_t root = root_of(next, flat->tensors, t);
		address[t] = hlo_address(flat->module, tensor->of, tensor->leaf);
		int64_t place = root == t ? address[t] : hlo_address(flat->module, flat->tensor[root].of, flat->tensor[root].leaf);
		if (address[t] >= 0 && place >= 0 && address[t] != place && tensor->writer != NONE)
			swap[swaps++] = (struct swap){ place, address[t], tensor->shape->bytes, tensor->writer, end_of(flat, tensor), root };
	}
	return swaps;
}

enum status hlo_places(const struct flat *flat, const uint32_t *alias_of, int64_t *address)
{
	HELD struct swap *swap = mem_alloc(flat->tensors, sizeof *swap);
	HELD uint32_t *next = mem_alloc(flat->tensors, sizeof *next);
	for (uint32_t t = 0; t < flat->tensors && next; t++)
		next[t] = alias_of[t] != NONE ? alias_of[t] : flat->tensor[t].storage;
	uint32_t swaps = swap && next ? find_swaps(flat, next, address, swap) : 0;
	for (uint32_t t = 0; t < flat->tensors && swap && next && (uint64_t)swaps * flat->tensors < PAIRS_MOST; t++)
		if (address[t] >= 0 && flat->tensor[t].writer != NONE && root_of(next, flat->tensors, t) == t)
			address[t] = follow(flat, swap, swaps, t, address[t]);
	return swap && next ? OK : NO_MEMORY;
}
