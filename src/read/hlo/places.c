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

static uint32_t root_of(const struct flat *flat, const uint32_t *alias_of, uint32_t tensor)
{
	for (uint32_t steps = 0; steps < flat->tensors; steps++) {
		uint32_t next = alias_of[tensor] != NONE ? alias_of[tensor] : flat->tensor[tensor].storage;
		if (next == tensor)
			break;
		tensor = next;
	}
	return tensor;
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

enum status hlo_places(const struct flat *flat, const uint32_t *alias_of, int64_t *address)
{
	struct swap *swap = mem_alloc(flat->tensors, sizeof *swap);
	uint32_t swaps = 0;
	if (!swap)
		return NO_MEMORY;
	for (uint32_t t = 0; t < flat->tensors; t++) {
		const struct flat_tensor *tensor = &flat->tensor[t];
		uint32_t root = root_of(flat, alias_of, t);
		address[t] = hlo_address(flat->module, tensor->of, tensor->leaf);
		int64_t place = root == t ? address[t] : hlo_address(flat->module, flat->tensor[root].of, flat->tensor[root].leaf);
		if (address[t] >= 0 && place >= 0 && address[t] != place && tensor->writer != NONE)
			swap[swaps++] = (struct swap){ place, address[t], tensor->shape->bytes, tensor->writer, end_of(flat, tensor), root };
	}
	for (uint32_t t = 0; t < flat->tensors && (uint64_t)swaps * flat->tensors < PAIRS_MOST; t++)
		if (address[t] >= 0 && flat->tensor[t].writer != NONE && root_of(flat, alias_of, t) == t)
			address[t] = follow(flat, swap, swaps, t, address[t]);
	mem_free(swap);
	return OK;
}
