/* form.h: a factor string, parsed. Shared by the parser (rules.c) and the binder (bind.c). */
#pragma once

#include "rules.h"

#define FORM_FACTORS 24
#define FORM_SLOTS 24
#define SLOT_DIMS 8
#define PRODUCT_FACTORS 4

enum form_dim_kind {
	DIM_ONE,    /* 1 */
	DIM_BATCH,  /* ... */
	DIM_ANY,    /* _ */
	DIM_PRODUCT /* m, (g c), x.., y~k, y~k.. */
};

struct form_dim {
	uint8_t kind;
	bool optional; /* ?: may be 1 or missing */
	bool space;    /* ..: as many dims as the op has space */
	uint8_t count; /* factors of the product */
	uint8_t factor[PRODUCT_FACTORS];
};

struct form_factor {
	char name[16]; /* a window's is "y~k" */
	uint8_t marks; /* enum factor_mark */
	bool space;
	uint8_t over; /* a window: the factor of its positions, else FORM_FACTORS */
};

struct form_slot {
	bool optional, repeated;
	bool addend; /* & */
	uint8_t count;
	struct form_dim dim[SLOT_DIMS];
};

struct form {
	uint8_t operands, slots, factors; /* slot[0 .. operands) are operands, the rest results */
	uint8_t batch_marks;              /* marks of ... */
	struct form_slot slot[FORM_SLOTS];
	struct form_factor factor[FORM_FACTORS];
	struct form *next; /* the next alternative */
};

enum structure {
	EINSUM,
	RESHAPE,
	PERMUTE,
	EXPAND,
	SLICE,
	PAD,
	SELECT,
	PLACE,
	SPLIT,
	CAT,
	UNBIND,
	STACK,
	REDUCE_SUM,
	REDUCE_WHOLE,
	REDUCE_WHOLE_2,
	MOVE_1,
	MOVE_2,
	GATHER,
	SOURCE,
	OPAQUE,
	STRUCTURES
};

/* A rule and its parsed form; the rule is the first member, so that a pointer to it is one to this. */
struct parsed_rule {
	struct rule rule;
	enum structure structure;
	struct form *form; /* EINSUM only */
};

/* Factors by structure; see views.c. The binding's tensors and dims are there, without parts. */
struct binding;
enum status bind_structure(struct binding *binding, enum structure structure);

/* binding: how the binders fill a struct binding. Not for its users. All return false (NONE) when out of memory. */

bool binding_begin(struct binding *binding, uint32_t operands, uint32_t tensors);
/* Tensor by tensor, in order: their dims, still without parts. */
bool binding_tensor(struct binding *binding, uint32_t tensor, int dims, const int64_t *shape);
uint32_t binding_new_factor(struct binding *binding, int64_t size, uint8_t marks);
/* Appends a factor to a dim. A dim's factors must be appended one after the other. factor NONE gives false. */
bool binding_append(struct binding *binding, uint32_t dim, uint32_t factor);
bool binding_link(struct binding *binding, enum link_kind kind, uint32_t from, uint32_t to);
/* The dim gets the factors of another one. */
bool binding_same(struct binding *binding, uint32_t dim, uint32_t model);

static inline uint32_t binding_dims(const struct binding *binding, uint32_t tensor)
{
	return binding->dim_start[tensor + 1] - binding->dim_start[tensor];
}
