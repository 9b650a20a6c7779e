/* factors.h: which dim of which tensor of a graph carries which factor.
 *
 * Every rule says which dims of its op are the same index. Joined over the whole graph this gives classes of dims
 * that can only change together: factors. A dim is a product of factors, outermost first (batch * sequence after a
 * view, heads * head size inside hidden), or constant 1. What carries the batch and the sequence is found from the
 * inputs; heads, hidden and the others from the ops that use them, never from names. */
#pragma once

#include "rules.h"

#define FACTOR_ROLES(X) \
	X(NONE, "") X(BATCH, "batch") X(SEQUENCE, "sequence") X(HIDDEN, "hidden") X(HEADS, "heads") X(HEAD_SIZE, "head size") \
	X(FFN, "ffn") X(VOCABULARY, "vocabulary") X(POSITIONS, "positions") X(EXPERTS, "experts") X(CHANNELS, \
		"channels") X(SPACE, "space")
#define X(id, name) ROLE_##id,
enum factor_role { FACTOR_ROLES(X) ROLE_COUNT };
#undef X
extern const char *const factor_role_names[ROLE_COUNT];

struct factor {
	int64_t size;
	uint8_t role;  /* enum factor_role */
	bool fixed;    /* a parameter has it: it can't change without changing the model */
	uint32_t dims; /* tensor dims that carry it */
};

/* part[first .. first + count): a product of factors; empty: the constant 1. */
struct factor_term { uint32_t first, count; };

/* Extents of one op that hang together without being equal; see enum link_kind. */
struct factor_link { enum link_kind kind; uint32_t op; struct factor_term from, to; };

enum factor_issue_kind {
	ISSUE_OPAQUE, /* no rule for the op's type */
	ISSUE_MISFIT, /* the rule doesn't fit the shapes */
	ISSUE_CLASH,  /* two factors that can't be one meet in a dim */
	ISSUE_REDUCTION,       /* an operand has the batch where the result has a parameter's dim of 1: at a larger batch
	                        * a sum comes before this op */
	ISSUE_AMBIGUOUS /* equal extents allow another reading; the likelier was taken */
};
struct factor_issue { enum factor_issue_kind kind; uint32_t op, operand; };

struct factors {
	uint32_t factors, links, issues;
	struct factor *factor;
	uint32_t *dim_start; /* [tensors + 1]: the dims of a tensor */
	struct factor_term *dim;
	uint32_t *part;             /* of all terms */
	struct factor_link *link;   /* by op, ascending */
	struct factor_issue *issue; /* by op, ascending */
	struct arena arena;
};

/* Finds the factors of all dims. Ops without a fitting rule are listed and join nothing.
 * OK or NO_MEMORY. Nearly linear in the number of dims (union-find). Free with factors_free(). */
enum status factors_find(const struct graph *graph, const struct rules *rules, struct factors *factors);
void factors_free(struct factors *factors);
#define factors_drop factors_free

/* What a dim carries, in a word: its factor's role; "hidden" for heads times head size; "" where there is none. */
const char *factors_name_of(const struct factors *factors, const struct factor_term *term);

/* The only factor of a role, or NONE (also when there are several). */
uint32_t factors_of_role(const struct factors *factors, enum factor_role role);
