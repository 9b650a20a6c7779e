/* waiting.h: what lasts longer than a microbatch on a rank: activations and gradients that wait for the backward pass,
 * in as many copies as there are microbatches in flight, and sums of gradients. */
#pragma once

#include "making.h"

/* Notes what an op of the rank reads: activations that are held for it, gradients to be added up. */
void waiting_note_uses(struct making *making, uint32_t op);
/* The same of what is sent to other ranks' later passes. */
void waiting_note_sends(struct making *making);

/* Adds a microbatch's gradient to the sum: the op "NAME.accumulate". */
void waiting_accumulate(struct making *making, uint32_t storage);

/* The i-th tensor whose memory is filled in the forward pass and waits for the backward pass: a storage's root, where
 * an op of this rank or the input fills it; else every name under which it was sent here. NONE: there are no more. *i
 * counts on. */
uint32_t waiting_tensor(const struct making *making, uint32_t storage, uint32_t *i);

/* The end of the backward pass: the op "pipeline.flush" reads the copies in flight and follows all ops of both passes.
 */
void waiting_end(struct making *making);
