/* rules.h: what each operator does to the dims of its tensors: one table for shapes, FLOPs, factor
 * propagation, sharding and gradients.
 *
 * A rule's factor string names the indices of an operator as an einsum does:
 *
 *     aten.addmm     n?, m k+, k+ n -> m n
 *
 * Operands before the arrow, results after it, commas between tensors, blanks between dims. A dim is
 *     m          a factor; the same name is the same extent wherever it stands
 *     (g c)      a product of factors, the first one outermost
 *     1          an extent of one
 *     ...        any number of leading dims that broadcast as in NumPy
 *     _          any number of dims, none of which is ever sharded or equal to another one (with * a list of weights)
 *     x..        any number of dims, the same number wherever x.. stands (the space of a convolution)
 *     y~k        a window that moves over y: y is the number of its positions, k its width (y~: unknown width)
 * A factor's marks, valid for the whole rule:
 *     +  summed over: a result that lacks the factor is a partial sum when the factor is sharded
 *     ^  needed in its full extent (softmax, norms): sharded only with extra communication
 *     !  never sharded (the time of a scan)
 *     ?  on a dim: it may be 1 or missing (broadcast)
 * A tensor may carry ? before it (it may be missing), then & (it is added: where a reduced factor that it lacks is
 * sharded, one shard adds it), and * behind it (there may be more of the same, or none).
 * " | " separates alternatives (transposed operands): the first that fits the shapes holds.
 * A string that begins with @ names a structural rule, for ops whose meaning is in attributes that not all graphs
 * record; binding infers it from the shapes, and some from arguments where an op has them:
 *     @reshape   splits and merges dims (view, flatten, squeeze, unsqueeze)
 *     @permute   reorders dims                   @expand    repeats along dims of extent 1
 *     @slice     shortens dims                   @pad       lengthens dims (and the gradient of @slice)
 *     @select    drops one dim                   @place     inserts one dim (the gradient of @select)
 *     @split     cuts one dim into the results   @cat       joins the operands along one dim
 *     @unbind    one result per index of a dim   @stack     the reverse
 *     @reduce+ / @reduce^   removes dims, or leaves 1 there: those that the second argument names; @reduce^2: the third
 *     @move      moves elements along the dims that the second argument names (@move2: the third); without, along any
 *     @gather    replaces one dim of the first operand by all dims of the second
 *     @source    makes a tensor from nothing (arange, empty)
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     rules         the set of rules, and the parser of factor strings
 *     rows          rows of the tables of rules
 *     aten          rules of PyTorch's operators
 *     onnx          rules of ONNX's operators
 *     plain         rules of operators in plain words
 *     form          a parsed factor string
 *     binding       the factors of one op
 *     bind          from a factor string, shapes and, of convolutions, arguments to a binding
 *     views         the same for views, slices and joins, from shapes alone
 *     cost          FLOPs and bytes moved of an op
 *     terms         products of factors under unification
 *     gradient_flow what depends on data, and what flows into weight updates only
 *     factors       factors of all dims of a graph
 *     factor_roles  which factor is batch, heads, vocabulary, ...
 *     strides       which views need a copy
 *     units         what each op can be split along
 *     alike         tensors and ops that are alike */
#pragma once

#include "solver/graph/graph.h"

/* How an op's FLOPs follow from its factors. */
enum rule_cost {
	COST_NONE,    /* a view: touches no data, its result is an alias */
	COST_ELEMENT, /* one per element of its largest tensor */
	COST_CONTRACTION,   /* a multiplication and an addition per point of the product of all factors,
						 * for each result of more than one dim */
	COST_GROUPED, /* the same of products that are kernels of their own, one for each of the first dim: experts */
	COST_RECURRENCE, /* a layer of a recurrent network over operand 0 [times, samples, features]: a multiplication and
					  * an addition per time, sample and weight. Of its results, one of one dim in bytes is what it
					  * keeps for its backward pass */
	COST_ATTENTION, /* two such products: scores, as wide as queries, and their use, as wide as values */
	COST_ATTENTION_BACKWARD /* five: three and two */
};

/* What else is known of an operator: the last column of the table, and what follows from a structural rule. What only
 * one room asks for stands here too, so that no operator is known by its name anywhere else. */
#define TRAITS(X) \
	/* values */ \
	X(RANDOM, "random")             /* draws numbers: run again, it makes others */ \
	X(NOISE, "noise")               /* ... and its results are nothing else */ \
	X(ADDITION, "addition")         /* adds its operands */ \
	X(LINEAR, "linear")             /* of one operand: of a sum it makes the sum of what it makes of the summands */ \
	X(JOINTLY_LINEAR, "jointly_linear") /* of several, all of which are such sums; with LINEAR, all but the first */ \
	X(VERBATIM, "verbatim")         /* all elements of its operand, in another shape or order */ \
	X(COPY, "copy")                 /* all elements of its operand in fresh memory */ \
	X(CAST, "cast")                 /* ... perhaps in another format */ \
	X(SCATTER, "scatter")           /* adds rows into a table by indices, its second operand */ \
	X(ROWS, "rows")                 /* touches only the rows of a table that it is asked for; all of @gather */ \
	X(DIVIDES, "divides")           /* an update by a quotient: Adam's */ \
	X(UNSCALES, "unscales")         /* the check of a scaled loss */ \
	/* what it is to a model */ \
	X(PRODUCT, "product")           /* of matrices, as around the scores of an attention */ \
	X(BIASED, "biased")             /* a product and its bias in one kernel */ \
	X(HEADS, "heads")               /* a product whose first dim may hold heads */ \
	X(SOFTMAX, "softmax")           /* may make the scores of an attention */ \
	X(EMBEDDING, "embedding")       /* a table, and the indices of its rows */ \
	X(CONVOLUTION, "convolution") \
	X(CLASSES, "classes")           /* a loss that tells classes apart: dim 1 of its first operand */ \
	X(CHOICE, "choice")             /* of some along the last dim: of experts, say */ \
	X(DISPATCH, "dispatch")         /* tokens to experts' slots, and by its second operand [tokens, experts] */ \
	X(ROUTES, "routes")             /* tokens to slots or back, or the gradient of that */ \
	/* numbers */ \
	X(WIDE, "wide")                 /* mixed precision computes it in f32 */ \
	X(STATISTICS, "statistics")     /* results but the first are statistics, f32 in any precision */ \
	/* how it does without a whole dim, by small all-reduces */ \
	X(SUMS_OF_ROWS, "sums_of_rows") X(MAXIMA_OF_ROWS, "maxima_of_rows") X(SUMS_OF_CHANNELS, "sums_of_channels") \
	/* from the factor string */ \
	/* its operands' and results' shapes say all of it; no rule with @ but @reshape and @permute */ \
	X(SHAPED, "shaped") \
	X(SLICE, "slice") X(SOURCE, "source") X(OPAQUE, "opaque")
#define X(id, name) TRAIT_BIT_##id,
enum trait_bit { TRAITS(X) TRAIT_COUNT };
#undef X
#define X(id, name) TRAIT_##id = 1 << TRAIT_BIT_##id,
enum trait { TRAITS(X) };
#undef X
extern const char *const trait_names[TRAIT_COUNT];
/* Of built-in operators alone: random, of one operand, and its first result is the operand times the second one, a
 * mask, times a constant. */
#define TRAIT_MASKED (UINT32_C(1) << 31)
_Static_assert(TRAIT_COUNT < 32, "its bit is taken");

struct rule {
	/* the operator, without overload: "aten.addmm", "onnx.Gemm"; in the tables some: "aten.sin cos" */
	const char *type;
	enum rule_cost cost;
	const char *factors; /* see above */
	/* The operands that get a gradient: their indices, blank-separated; "*": all floating-point ones; "": none. */
	const char *gradients;
	/* What the backward op reads besides the results' gradients, blank-separated:
	 *     i1      operand 1           i1|2    operand 1, if operand 2 needs a gradient
	 *     o0      result 0            i0*     operand 0, but only its shape: kept by eager PyTorch, not by an ideal plan
	 *     x:f32(b c)   an extra tensor over the rule's factors that the graph doesn't show as a result */
	const char *saved;
	uint32_t traits;      /* enum trait, or'ed */
	const char *backward; /* the backward op's type; NULL: the type with "_backward" */
};

static inline bool rule_contracts(const struct rule *rule)
{
	return rule->cost == COST_CONTRACTION || rule->cost == COST_GROUPED;
}

/* Each of the tables ends with a type of NULL. */
extern const struct rule rules_aten[], rules_onnx[], rules_plain[];
/* Types whose kernel in PyTorch fills memory of its operand's size, which its result, one number, keeps. */
extern const char rules_aten_roomy[];
enum rule_autocast { AUTOCAST_LIKE, AUTOCAST_NARROW, AUTOCAST_WIDE, AUTOCAST_WIDE_RESULT, AUTOCAST_ATTENTION };
extern const struct autocast_rule { const char *names; enum rule_autocast mode; } rules_aten_autocast[]; /* NULL ends */

/* A set of rules, parsed: the built-in ones and what a user added. */
struct rules;

/* The built-in rules. NULL when out of memory. */
struct rules *rules_new(void);
void rules_free(struct rules *rules);
DROP(rules, rules_free)
/* Adds a rule, or replaces the one of that type, whose traits it has besides its own; copies its strings. BAD_INPUT
 * with the place in the factor string. */
enum status rules_add(struct rules *rules, const struct rule *rule, struct error *error);

/* Rule i of the set, from 0; NULL behind the last one. */
const struct rule *rules_at(const struct rules *rules, uint32_t i);
/* The rule of an op type, or NULL. "aten.add_.Tensor" is looked up whole, without overload ("aten.add_"),
 * and without the mark of in-place ops ("aten.add"). O(length). */
const struct rule *rules_find(const struct rules *rules, const char *type);
/* The traits of an op type, 0 where no rule has it. O(length). */
uint32_t rules_traits(const struct rules *rules, const char *type);
/* How PyTorch's autocast on a GPU runs an op (aten/src/ATen/autocast_mode.h): as its operands are, in 16 bits, in f32,
 * with f32 results; ATTENTION: in f32, with all ops of its attention. A product's backward kernel is one. O(list). */
enum rule_autocast rules_autocast(const struct rules *rules, const char *type);
/* Whether an operator is the backward kernel of another one. */
bool rules_is_backward(const struct rule *rule, const struct rule *backward);

/* ---- binding: a rule applied to the shapes of one op ---- */

enum factor_mark {
	FACTOR_REDUCED = 1, /* summed over */
	FACTOR_WHOLE = 2, /* needed in its full extent */
	FACTOR_WINDOW = 4, /* a window over another factor: sharding it needs a halo */
	FACTOR_FORBIDDEN = 8, /* never sharded */
	FACTOR_UNIT = 16, /* an extent of one for good: a broadcast or kept dim */
	FACTOR_OPEN = 32 /* a dim that is new, over which the operand is repeated: of extent 1 it is no less the batch than
						any other */
};

/* How two factors of one op that are not equal hang together. */
enum link_kind {
	LINK_BROADCAST, /* from, of extent 1, may be the same factor as to, or a broadcast dim: shapes don't tell */
	LINK_WINDOW,    /* from is a window over the positions to */
	LINK_CUT,       /* to is a slice of from */
	LINK_JOIN       /* to is the sum of all factors that are linked to it */
};

struct binding_factor { int64_t size; uint8_t marks; };
struct binding_dim { int64_t size; uint32_t first, count; }; /* part[first .. first + count), outermost first */
struct binding_link { enum link_kind kind; uint32_t from, to; };

/* Operands come before results. Reused from op to op: zero it before its first use, binding_free() at the end. */
struct binding {
	uint32_t operands, tensors, factors, parts, links;
	uint32_t *dim_start; /* [tensors + 1]: a tensor's dims are dim[dim_start[t] .. dim_start[t + 1]) */
	struct binding_dim *dim;
	uint32_t *part; /* factors of the dims */
	struct binding_factor *factor;
	struct binding_link *link;
	uint64_t addends; /* bit t: operand t is added (&) */
	const struct arguments *arguments; /* of the op that is being bound, if it has some; else NULL */
	bool ambiguous; /* equal extents: the shapes allow another binding too; the likelier one was taken */
	size_t room_tensors, room_dims, room_parts, room_factors, room_links;
};

/* What is known of a tensor: shape NULL where nothing is (a result: dims < 0). */
struct rule_tensor { const int64_t *shape; int dims; };

/* Binds a rule to the shapes of an op's operands and results; in_place: the first result is the first operand.
 * BAD_INPUT when the rule doesn't fit them (*error says how). A result of unknown dims (< 0) is filled in where
 * the rule is no structural one: read its extents from binding->dim. O(dims), but for optional tensors. */
enum status rule_bind(const struct rule *rule, const struct rule_tensor *tensor, uint32_t operands, uint32_t results,
	bool in_place, struct binding *binding, struct error *error);
void binding_free(struct binding *binding);
#define binding_drop binding_free

/* FLOPs of a bound op. */
int64_t rule_flops(const struct rule *rule, const struct binding *binding);

/* Binds the rule of a graph's op. BAD_INPUT also where a shape is unknown. */
enum status rule_bind_op(
	const struct rule *rule, const struct graph *graph, uint32_t op, struct binding *binding, struct error *error);
