/* apply.h: the step as a graph in which ops run again. */
#pragma once

#include "search.h"

/* What a copy of an op with a mask is: its operand times the mask, times a constant. */
#define RECOMPUTE_MASKED_TYPE "aten._masked_scale.default"

/* The graph of a sequence that recompute_play_all() made of the states [storages]: its program order is the sequence.
 * Copies of ops are called NAME.again, have phase backward and are marked recomputed; what they write is called
 * NAME.again too. Views of what is written anew are made anew right before what reads them. They write no running
 * statistics again, and a random op that runs again reads the state that "tidemark.random_state" saved before its first
 * run; with masks kept, a copy of what has one is of RECOMPUTE_MASKED_TYPE, and reads the op's operand and the mask.
 * graph_build() orders every copy before what overwrites its operands. A new reference, or NULL with *error.
 * O(sequence). */
struct graph *recompute_build(const struct recompute_replay *replay, const uint8_t *state, struct error *error);

/* The order [ops of the step] that an order of such a graph stands for: copies left out. OK or NO_MEMORY. O(ops). */
enum status recompute_order_back(
	const struct recompute_step *step, const struct graph *graph, const uint32_t *order, uint32_t *back);
