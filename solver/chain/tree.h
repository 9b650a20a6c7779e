/* tree.h: factor graphs, and the elimination of their variables one at a time in exact integers.
 *
 * Bucket elimination (Dechter, Artificial Intelligence 113, 1999, section 4): a variable's bucket sums all factors that
 * know it and passes on the least sum for each assignment of the others. Factors have two numbers per entry, cost and
 * usage, weighed anew by each pass: alpha * cost + beta * usage. */
#pragma once

#include "solver/base/base.h"

/* Forbidden entries. The largest weight of anything allowed is far below; several of them may be added up without a
 * look. */
#define CHAIN_BLOCKED (INT64_C(1) << 59)
#define CHAIN_WEIGHT_MAX (INT64_C(1) << 57)
static inline bool chain_blocked(int64_t weight)
{
	return weight >= INT64_C(1) << 58;
}

struct chain_factor {
	uint32_t count, *var;  /* distinct; the last one's value runs fastest in the tables */
	size_t size;           /* product of the domains; 1 for no variable */
	int64_t *cost, *usage; /* [size]; cost CHAIN_BLOCKED: forbidden. usage NULL: 0 */
	int64_t *weight;       /* [size] not NULL: a link, its entries are weights given by the caller before each pass */
};

struct chain_graph {
	uint32_t vars, factors;
	uint32_t kept;    /* the first variables: not eliminated, they are the root's scope, in their order */
	uint32_t *domain; /* [vars] */
	uint32_t *alone;  /* [vars] the factor that knows this one only, NONE: none */
	struct chain_factor *factor;
	uint32_t var_room, factor_room;
	struct arena *arena; /* the caller's: holds everything */
	bool failed;         /* out of memory */
};

/* Both return the new number; on lack of memory failed is set. The factor's arrays are the caller's and stay where they
 * are. */
uint32_t chain_graph_var(struct chain_graph *graph, uint32_t domain);
uint32_t chain_graph_factor(struct chain_graph *graph, const struct chain_factor *factor);
/* What a variable's values cost and use by themselves, so many times over; usage NULL: nothing. All of it is one
 * factor. */
void chain_graph_add(struct chain_graph *graph, uint32_t var, const int64_t *cost, const int64_t *usage, int64_t times);

/* A factor, or the message of a child, as its bucket sees it. */
struct chain_part {
	uint32_t factor, child; /* one of them is NONE */
	size_t *stride;         /* [count] of the bucket's scope, in the part's table */
	uint32_t levels;        /* the same within a piece, with neighbours that run on as one: */
	uint32_t *extent;       /* [levels] values, */
	size_t *step;           /* [levels] stride */
	const int64_t *source;  /* its table as of the last pass, in the bucket's weights */
	int64_t *scaled;        /* where that is its own */
};

struct chain_bucket {
	uint32_t var; /* eliminated here: the scope's last; NONE: the root */
	uint32_t parent;
	uint32_t count, *scope;
	size_t size, rows; /* assignments of the scope; of the scope without var */
	uint32_t outer; /* variables of the scope that a piece of the table has one assignment of: pieces are small */
	size_t piece; /* entries of one */
	bool plain;   /* no usage and no link here or below: tables hold costs, computed once */
	bool ready;
	uint32_t parts;
	struct chain_part *part;
	int64_t *table; /* [size] the root's sums of parts; NULL: made in pieces */
	int64_t *up;   /* [rows] the least over var; the root's is its table */
};

struct chain_tree {
	const struct chain_graph *graph;
	uint32_t buckets; /* graph->vars - graph->kept + 1, the root last; children come before parents */
	struct chain_bucket *bucket;
	uint32_t *bucket_of; /* [vars] where a variable is eliminated */
	size_t entries;      /* work of a pass */
	int64_t alpha, beta; /* of the last pass up */
	int64_t *scratch;    /* [largest piece] */
	struct arena arena;
};

/* LIMIT: tables of more than budget entries, or too many variables. Greedy order of least fill; variables of links last
 * where that stays small. */
enum status chain_tree_build(
	struct chain_tree *tree, const struct chain_graph *graph, size_t budget, struct control *control);
void chain_tree_free(struct chain_tree *tree);

/* Returns the least weight of all (the root's least entry), CHAIN_BLOCKED or more where nothing is allowed. */
int64_t chain_tree_up(struct chain_tree *tree, int64_t alpha, int64_t beta, struct control *control);
/* Values of a row of a bucket's scope (without var). */
void chain_tree_digits(const struct chain_tree *tree, const struct chain_bucket *bucket, size_t row, uint32_t *value);
/* The best values of every variable, given those of the root's scope. */
void chain_tree_decode(const struct chain_tree *tree, uint32_t *value);
