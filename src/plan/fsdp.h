/* fsdp.h: what PyTorch's caching allocator reserves where fully_shard (FSDP2) runs a step with ZeRO stage 3.
 *
 * The plan's order, with PyTorch's own allocations in the place of the plan's, after
 * torch/distributed/fsdp/_fully_shard (2.15): units        layers, as module paths tell them, and a root with all else.
 * A unit's parameters are gathered into one flat tensor and copied out of it. gathering    the flat tensors are
 * allocated in a stream of their own, whose memory no other stream takes again: a unit's own shards in their gathered
 * format, and the gathered ones. Forward, a flat tensor stays until the next unit has copied its own out; backward,
 * until it is copied out, and the next unit's comes ahead of that. the root     is gathered first and freed last, when
 * all gradients are reduced: fully_shard doesn't reshard the root after its forward pass. reducing     a unit's
 * gradients stay until all are there; then they are copied into a flat tensor in the format that sums have, which stays
 * until the next unit's. What each device keeps of the sum is allocated in a third stream. the last     layer, whose
 * backward pass follows its forward pass, is gathered once, as torchtitan has it. no copies    the shards are the
 * parameters in fp32 that the optimizer updates; there is no second copy of them in 16 bits. Two steps are played:
 * torch.optim makes moments in its first update, in memory that the backward pass has let go of. eager        kernels
 * and recompute=products: torch.utils.checkpoint keeps the results that its policy names, every second product's,
 * though nobody reads that of a layer's last product again. resharding   reshard_after_forward=off: a layer stays
 * gathered from its forward pass to the end of its backward pass. */
#pragma once

#include "src/scenario/scenario.h"

/* A step on a device, in its order. */
struct fsdp_step {
	const struct graph *graph;
	const struct scenario *scenario;
	const uint32_t *position;        /* [ops] */
	const uint32_t *first, *last;    /* [storages], NONE: never there */
	const int64_t *bytes;            /* [storages + ops], as struct laid_out has them */
};

/* What is allocated by which stream over two steps, in the arena; none where no layers are found whose parameters are
 * gathered. OK or NO_MEMORY. O(size log size). */
enum status fsdp_buffers(const struct fsdp_step *step, struct arena *arena, struct buffers *buffers);
