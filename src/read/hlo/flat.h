/* flat.h: a computation as a list of ops over arrays: tuples are gone, calls are inlined, and so are fusions where they are opened. */
#pragma once

#include <string.h>

#include "hlo.h"

struct flat_tensor {
	const struct hlo_instruction *of;
	const struct hlo_shape *shape;    /* an array */
	const char *prefix;               /* of its name: the calls around it */
	uint32_t leaf, leaves;            /* which of the instruction's arrays */
	uint32_t writer, last;            /* ops; writer NONE: there from the start. last: NONE without a reader */
	uint32_t parameter;               /* its number, or NONE */
	uint32_t storage;                 /* the tensor in whose memory it is written: itself, or one that dies with its writer */
	bool constant, result;            /* result: of the whole */
	bool unused;                      /* stands for another tensor */
};

struct flat_op {
	const struct hlo_instruction *of;
	const struct hlo_computation *in;
	const char *prefix, *path;             /* path: op_name of the call that it was in, which its own continues; NULL: in none */
	uint32_t read, reads, write, writes;   /* ranges of flat.argument */
	int64_t workspace;
};

struct flat {
	const struct hlo_module *module;
	struct error *error;
	struct arena *arena;
	int64_t *body;                    /* [computations]: peak of what is allocated in it, -1: not known yet */
	bool open;
	uint64_t steps;
	struct flat_tensor *tensor;
	struct flat_op *op;
	uint32_t *argument, *result;      /* result: the root's arrays */
	bool *apart;                      /* scratch of hlo_shares() [instructions of the longest computation] */
	uint32_t tensors, ops, arguments, results;
	size_t tensor_room, op_room, argument_room;
};

/* Fills *flat (its first five members are set) with the entry. OK, BAD_INPUT or NO_MEMORY. */
enum status hlo_flatten(struct flat *flat, uint32_t computation);
void hlo_flat_done(struct flat *flat);

/* Of a fusion's or another op's array k: the argument (among the op's reads) in whose memory it can be written, from *from on; NONE: no more.
 * Such an op reads an element before it writes it. O(instructions of the fusion). */
uint32_t hlo_shares(const struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t *from);

/* Array k is an update of a part of that argument: the rest of it stays as it is. */
bool hlo_updates(const struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t argument);

/* XLA's addresses: address [tensors], -1 where it gave none; alias_of: the tensor in whose memory one is written beside flat_tensor.storage, or NONE. For those
 * that have a storage of their own. O(tensors * those in another's memory). */
enum status hlo_places(const struct flat *flat, const uint32_t *alias_of, int64_t *address);

/* Multiplications and additions; -1 where an instruction in it doesn't tell. memo: [computations], all -2 at first. */
int64_t hlo_flops(const struct hlo_module *module, const struct hlo_computation *computation, const struct hlo_instruction *instruction, int64_t *memo);

static inline bool opcode(const struct hlo_instruction *instruction, const char *text)
{
	return strcmp(instruction->opcode, text) == 0;
}
