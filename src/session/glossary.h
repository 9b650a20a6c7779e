/* glossary.h: the words of the screen, each in one line: `?` lists them behind the commands, `tidemark help WORD` says
 * them. */
#pragma once

/* X(word, or several with commas between, what it means) */
#define WORDS(X) \
	X("peak", "the most bytes alive at any op of the order, with its workspace; the arena can't be smaller") \
	X("arena", "the memory that all buffers span at their addresses") \
	X("proved", "no order, or no layout, has less: the bound is reached") \
	X("gap", "how far the plan is above its lower bound") \
	X("bound", "proved: no order, or no layout, takes less") \
	X("op number", "an op's place in the order, counted from 0") \
	X("always", "alive through the whole step: parameters, optimizer state, inputs") \
	X("this op", "the op at the cursor reads it, or writes it") \
	X("unavoidable", "made before this op and needed after it, whatever the order") \
	X("cheapest choice", "of all that could be alive while this op runs, the least is this much: a minimum cut of the " \
		"graph") \
	X("this order", "another order would free it earlier, or make it later") \
	X("needs, leaves", "bytes live while an op that could run next runs, and what it adds or takes away for " \
		"good") \
	X("hole", "free bytes between buffers at one op") \
	X("fragmentation", "how far the arena is above the peak") \
	X("needs", "what a device needs in all: arena, or the least limit at which three steps hold in PyTorch's " \
		"allocator, simulated; with what is gathered ahead, buffers and context") \
	X("AS PLANNED ONLY", "within the memory cap at the plan's addresses, not in PyTorch") \
	X("holes", "memory that an allocator has and no tensor uses while the most is live") \
	X("workspace", "scratch memory of an op, only while it runs") \
	X("extra copies, redundant_bytes", "what a device holds beyond its share of one copy of a tensor") \
	X("microbatch, microbatches", "how many parts the batch is cut into (the knob); a microbatch is one of them, batch " \
		"/ microbatches samples") \
	X("mbs", "the size of a microbatch, in samples; microbatches is their number") \
	X("bubble", "the share of a pipeline's time in which its ranks wait") \
	X("in flight", "microbatches whose activations wait for their backward pass") \
	X("ZeRO", "what data parallel devices split: 1 optimizer state, 2 also gradients, 3 also parameters") \
	X("dp, tp, pp, cp, ep", "degrees of data, tensor, pipeline, context and expert parallelism") \
	X("R, S(d), P", "a tensor on an axis of devices: whole on each, cut along dim d, or a summand") \
	X("baseline", "the plan that others are compared with: b makes a plan that") \
	X("estimated", "by the formulas of a search, not of a plan; what isn't called so is planned") \
	X("reserve", "memory that contexts and libraries take beside the plan") \
	X("mesh", "the grid of devices, with an axis for each degree of parallelism above 1") \
	X("collective", "an op that moves data between devices: all-gather, reduce-scatter, all-reduce, all-to-all") \
	X("rank", "a pipeline's place in line, counted from 0; each has devices / pp devices") \
	X("expert", "a sharding by a published rule, as strategy=data, megatron, zero and tap write them") \
	X("gathered ahead", "parameters that a device has gathered before their layer runs; the plan's peak doesn't count " \
		"them, whether it fits does") \
	X("MFU", "the share of the step in which all devices would do its matrix products at their peak") \
	X("windows", "stretches of an order, each ordered anew by exact search") \
	X("segment, waist", "of order=roam: a stretch of the order, and the op at its end that all paths run through") \
	X("dive", "each buffer in turn at the lowest offset that is free; by start, load, area: in which turn")
