/* flat.h: a computation as a list of ops over arrays: tuples are gone, calls are inlined, and so are fusions where they
 * are opened. */
#pragma once

#include "hlo.h"

struct flat_tensor {
	const struct hlo_instruction *of;
	const struct hlo_shape *shape; /* an array */
	const char *prefix;            /* of its name: the calls around it */
	uint32_t leaf, leaves;         /* which of the instruction's arrays */
	uint32_t writer, last;         /* ops; writer NONE: there from the start. last: NONE without a reader */
	uint32_t parameter;            /* its number, or NONE */
	uint32_t storage;              /* the tensor whose memory it lies in: itself, or one that has it for itself */
	uint32_t over;                 /* the operand that it is written over, or NONE */
	uint32_t home;                 /* of a result, the parameter whose memory it must end in; NONE: anywhere */
	bool constant, result;         /* result: of the whole */
	bool stays; /* its memory isn't for anybody else: a constant, or an argument that the caller keeps */
	bool unused; /* stands for another tensor */
};

struct flat_op {
	const struct hlo_instruction *of;
	const struct hlo_computation *in;
	const char *prefix, *path; /* path: op_name of the call that it was in, which its own continues; NULL: in none */
	uint32_t read, reads, write, writes; /* ranges of flat.argument */
	int64_t workspace;
	int depth; /* of the calls around it */
};

struct flat {
	const struct hlo_module *module;
	struct error *error;
	struct arena *arena;
	int64_t *body[2]; /* [computations]: the most that lives in it, -1: not known yet; where arguments stay, where they
						 don't */
	bool open;
	uint64_t steps;
	struct flat_tensor *tensor;
	struct flat_op *op;
	uint32_t *argument, *result; /* result: the root's arrays */
	bool *
		apart; /* scratch of hlo_shares() [instructions of the longest computation]: for a fusion's arrays of a shape */
	const struct hlo_computation *apart_in;
	const struct hlo_shape *apart_of;
	uint32_t tensors, ops, arguments, results;
	size_t tensor_room, op_room, argument_room;
};

/* Fills *flat (its first five members are set) with the entry. OK, BAD_INPUT or NO_MEMORY. */
enum status hlo_flatten(struct flat *flat, uint32_t computation);
void hlo_flat_done(struct flat *flat);

/* Whether op's array k can be written where its read r lies: what it reads there it reads before it writes it.
 * O(instructions of a fusion). */
bool hlo_shares(struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t r);

/* Multiplications and additions; -1 where an instruction in it doesn't tell. memo: [computations], all -2 at first. */
int64_t hlo_flops(const struct hlo_module *module, const struct hlo_computation *computation,
	const struct hlo_instruction *instruction, int64_t *memo);

static inline bool opcode(const struct hlo_instruction *instruction, const char *text)
{
	return strcmp(instruction->opcode, text) == 0;
}
