/* factor_roles.c: names for factors, from the ops that use them.
 *
 * A table that inputs index has the vocabulary for rows, one that counted positions index has positions. What
 * attention's batched products run over besides the batch are heads, and what is beside heads inside a product
 * is the head size. A dim that one parameter's product writes and another one's sums over is the width of a residual
 * stream, or ffn. */

#include "terms.h"

struct naming {
	const struct graph *graph;
	const struct rules *rules;
	struct factors *factors;
};

static const struct factor_term *term_of(const struct naming *naming, uint32_t tensor, uint32_t dim)
{
	return &naming->factors->dim[naming->factors->dim_start[tensor] + dim];
}

/* The only factor of a tensor's dim, or NONE. */
static uint32_t single(const struct naming *naming, uint32_t tensor, uint32_t dim)
{
	const struct factor_term *term = term_of(naming, tensor, dim);
	return naming->graph->tensor[tensor].dims > dim && term->count == 1 ? naming->factors->part[term->first] : NONE;
}

static void name(const struct naming *naming, uint32_t factor, enum factor_role role)
{
	if (factor != NONE && naming->factors->factor[factor].role == ROLE_NONE)
		naming->factors->factor[factor].role = (uint8_t)role;
}

/* Every factor of a product: grouped queries have groups times queries of a group for heads. */
static void name_term(const struct naming *naming, const struct factor_term *term, enum factor_role role)
{
	FOR(i, term->count)
		name(naming, naming->factors->part[term->first + i], role);
}

/* The rule of an op of the forward pass that has results, or NULL. */
static const struct rule *forward_rule(const struct naming *naming, uint32_t op)
{
	const struct graph *graph = naming->graph;
	return graph->op[op].phase == PHASE_FORWARD && graph_results(graph, op) > 0
		? rules_find(naming->rules, graph->op[op].type)
		: NULL;
}

/* A parameter, or one in another format: autocast and 8-bit products cast weights first. */
static bool factor_roles_is_parameter(const struct naming *naming, uint32_t tensor)
{
	const struct graph *graph = naming->graph;
	for (uint32_t writer; (writer = graph->tensor[graph_home(graph, tensor)->root].writer) != NONE;) {
		if (!(rules_traits(naming->rules, graph->op[writer].type) & TRAIT_CAST) || graph_operands(graph, writer) != 1)
			return false;
		tensor = graph_operand(graph, writer, 0);
	}
	return graph_home(graph, tensor)->kind == KIND_PARAMETER;
}

/* The table that inputs index with the most rows has the vocabulary; those of token types don't matter. */
static void name_table(const struct naming *naming, const uint32_t *read, int64_t *most)
{
	const struct graph *graph = naming->graph;
	uint32_t rows = graph->tensor[read[0]].dims == 2 ? single(naming, read[0], 0) : NONE;
	uint32_t writer = graph->tensor[read[1]].writer;
	if (rows == NONE)
		return;
	bool counted = writer != NONE && graph_operands(graph, writer) == 0;
	if (counted) {
		name(naming, rows, ROLE_POSITIONS);
	} else if (naming->factors->factor[rows].size > *most) {
		FOR(i, naming->factors->factors)
			if (naming->factors->factor[i].role == ROLE_VOCABULARY)
				naming->factors->factor[i].role = ROLE_NONE;
		name(naming, rows, ROLE_VOCABULARY);
		*most = naming->factors->factor[rows].size;
		name(naming, single(naming, read[0], 1), ROLE_HIDDEN);
	}
}

/* All factors but batch and sequence that a batched product has in common. */
static void name_heads(const struct naming *naming, const uint32_t *read)
{
	uint32_t dims = naming->graph->tensor[read[0]].dims;
	if (factor_roles_is_parameter(naming, read[0]) || factor_roles_is_parameter(naming, read[1]))
		return;
	for (uint32_t d = 0; d + 2 < dims; d++) {
		const struct factor_term *term = term_of(naming, read[0], d);
		FOR(i, term->count)
			if (naming->factors->factor[naming->factors->part[term->first + i]].fixed)
				name(naming, naming->factors->part[term->first + i], ROLE_HEADS);
	}
}

static void name_convolution(const struct naming *naming, const uint32_t *read, uint32_t result)
{
	const uint32_t tensor[2] = { read[0], result };
	FOR_INT(t, 2)
		FOR_FROM(d, 1, naming->graph->tensor[tensor[t]].dims)
			name(naming, single(naming, tensor[t], d), d == 1 ? ROLE_CHANNELS : ROLE_SPACE);
}

static void name_by_op(const struct naming *naming, const struct rule *rule, uint32_t op, int64_t *most)
{
	const struct graph *graph = naming->graph;
	const uint32_t *read = graph->reads.item + graph->reads.start[op],
				   *written = graph->writes.item + graph->writes.start[op];
	uint32_t operands = graph_operands(graph, op);
	if (operands == 2 && (rule->traits & TRAIT_EMBEDDING))
		name_table(naming, read, most);
	else if (operands == 2 && (rule->traits & TRAIT_HEADS))
		name_heads(naming, read);
	else if (operands >= 3 && rule->cost == COST_ATTENTION && graph->tensor[read[0]].dims == 4)
		name_term(naming, term_of(naming, read[0], 1), ROLE_HEADS);
	else if (operands >= 2 && (rule->traits & TRAIT_CONVOLUTION))
		name_convolution(naming, read, written[0]);
	else if (operands == 2 && (rule->traits & TRAIT_DISPATCH))
		name(naming, single(naming, read[1], 1), ROLE_EXPERTS);
	else if (operands >= 1 && (rule->traits & TRAIT_CHOICE) && graph->tensor[read[0]].dims > 0) {
		uint32_t choices = single(naming, read[0], graph->tensor[read[0]].dims - 1u);
		if (choices != NONE && naming->factors->factor[choices].fixed)
			name(naming, choices, ROLE_EXPERTS);
	}
}

/* What a loss tells apart is the vocabulary, also where no table shares it: untied output projections, classifiers. */
static void name_classes(const struct naming *naming)
{
	const struct graph *graph = naming->graph;
	FOR(op, graph->ops) {
		const struct rule *rule = forward_rule(naming, op);
		if (!rule || graph_operands(graph, op) < 2 || !(rule->traits & TRAIT_CLASSES))
			continue;
		uint32_t classes = single(naming, graph_operand(graph, op, 0), 1);
		if (classes != NONE && naming->factors->factor[classes].fixed)
			name(naming, classes, ROLE_VOCABULARY);
	}
}

/* What follows heads inside one dim. */
static void name_head_size(const struct naming *naming)
{
	const struct factors *factors = naming->factors;
	FOR(d, factors->dim_start[naming->graph->tensors])
		FOR_FROM(i, 1, factors->dim[d].count) {
			const uint32_t *part = factors->part + factors->dim[d].first + i;
			if (factors->factor[part[-1]].role == ROLE_HEADS)
				name(naming, *part, ROLE_HEAD_SIZE);
		}
}

/* ---- which factors lie between products ---- */

enum { SUMMED = 1, WRITTEN = 2, INNER = SUMMED | WRITTEN }; /* what products of parameters do along a factor */

/* A parameter's matrix: what its product sums over, and the factor that it writes. NONE: not a single factor. */
struct matrix { uint32_t in, out; };

struct products {
	struct matrix *matrix; /* in program order */
	uint32_t matrices;
	uint8_t *along;  /* [factors] */
	struct csr near; /* factor -> the other factors of its matrices */
	struct arena *arena;
};

/* The matrices of an op: a parameter of two dims, or a stack of them, one per expert. */
static void add_matrices(const struct naming *naming, const struct rule *rule, uint32_t op, struct products *products)
{
	const struct graph *graph = naming->graph;
	if (!rule_contracts(rule) || graph_operands(graph, op) < 2 || graph_results(graph, op) != 1)
		return;
	uint32_t result = graph_result(graph, op, 0), dims = graph->tensor[result].dims;
	uint32_t written = dims > 0 ? single(naming, result, dims - 1) : NONE;
	FOR_ITEMS(t, &graph->reads, op) {
		if (!factor_roles_is_parameter(naming, t) || graph->tensor[t].dims < 2 || graph->tensor[t].dims > 3)
			continue;
		struct matrix matrix = { NONE, NONE };
		FOR_FROM(d, graph->tensor[t].dims - 2u, graph->tensor[t].dims) {
			uint32_t factor = single(naming, t, d);
			if (factor == NONE)
				continue;
			*(factor == written ? &matrix.out : &matrix.in) = factor;
			products->along[factor] |= factor == written ? WRITTEN : SUMMED;
		}
		products->matrix[products->matrices++] = matrix;
	}
}

static enum status list_products(const struct naming *naming, struct products *products)
{
	const struct graph *graph = naming->graph;
	uint32_t factors = naming->factors->factors, reads = graph->reads.start[graph->ops], pairs = 0;
	uint32_t *row, *item;
	NEED(ROOMS(products->arena, 2 * (size_t)reads, row, item) && ROOM(products->arena, products->matrix, reads) &&
		ROOM(products->arena, products->along, factors));
	FOR(op, graph->ops) {
		const struct rule *rule = forward_rule(naming, op);
		if (rule)
			add_matrices(naming, rule, op, products);
	}
	FOR(i, products->matrices) {
		struct matrix matrix = products->matrix[i];
		if (matrix.in == NONE || matrix.out == NONE)
			continue;
		row[pairs] = item[pairs + 1] = matrix.in;
		row[pairs + 1] = item[pairs] = matrix.out;
		pairs += 2;
	}
	return csr_of_pairs(products->arena, factors, pairs, row, item, &products->near);
}

/* How many products of parameters an op's operands have come through, at most. */
static uint32_t depth_of(const struct naming *naming, const uint32_t *depth, uint32_t op)
{
	const struct graph *graph = naming->graph;
	uint32_t most = 0;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t of = depth[graph->tensor[read].storage];
		most = LARGER(of, most);
	}
	return most;
}

/* Whether the forward pass computes with a storage more than once. */
static bool used_twice(const struct naming *naming, uint32_t storage)
{
	const struct graph *graph = naming->graph;
	uint32_t uses = 0;
	for (uint32_t i = graph->users.start[storage]; i < graph->users.start[storage + 1] && uses < 2; i++) {
		uint32_t op = graph->users.item[i];
		const struct rule *rule = forward_rule(naming, op);
		uses += rule && rule->cost != COST_NONE && op != graph->storage[storage].allocator;
	}
	return uses == 2;
}

/* A sum of what products made of something and of this itself is a residual stream: what lies between products along it
 * is the model's width, which every layer reads. depth: of storages, as depth_of() has it. */
static void name_residual(
	const struct naming *naming, const struct products *products, const uint32_t *depth, uint32_t op)
{
	const struct graph *graph = naming->graph;
	uint32_t most = depth_of(naming, depth, op);
	bool skips = false;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t storage = graph->tensor[read].storage;
		skips |= graph->storage[storage].kind != KIND_PARAMETER && depth[storage] < most && used_twice(naming, storage);
	}
	uint32_t result = graph_result(graph, op, 0);
	FOR_WHILE(d, graph->tensor[result].dims, skips) {
		uint32_t factor = single(naming, result, d);
		if (factor != NONE && products->along[factor] == INNER)
			name(naming, factor, ROLE_HIDDEN);
	}
}

static enum status name_residuals(const struct naming *naming, struct products *products)
{
	const struct graph *graph = naming->graph;
	uint32_t *depth;
	NEED(ROOM(products->arena, depth, graph->storages));
	FOR(op, graph->ops) {
		const struct rule *rule = forward_rule(naming, op);
		if (!rule)
			continue;
		if (rule->traits & TRAIT_ADDITION)
			name_residual(naming, products, depth, op);
		bool product = false;
		FOR_ITEMS(read, &graph->reads, op)
			product |= rule_contracts(rule) && factor_roles_is_parameter(naming, read);
		uint32_t of = depth_of(naming, depth, op) + product;
		FOR_ITEMS(written, &graph->writes, op)
			depth[graph->tensor[written].storage] = of;
	}
	return OK;
}

/* What a product writes and a later one sums over is the width of a feed-forward layer, but for the sum of such a
 * layer: of two products in a row, the first is split by columns, the second by rows (Megatron, arXiv 1909.08053,
 * section 3). */
static void name_inner(const struct naming *naming, const struct products *products)
{
	const struct factor *factor = naming->factors->factor;
	FOR(i, products->matrices) {
		uint32_t out = products->matrix[i].out;
		if (out == NONE || products->along[out] != INNER || !factor[out].fixed || factor[out].role != ROLE_NONE)
			continue;
		bool beside = false;
		for (uint32_t n = products->near.start[out]; n < products->near.start[out + 1] && !beside; n++) {
			uint8_t role = factor[products->near.item[n]].role;
			beside = role == ROLE_FFN || role == ROLE_HEADS;
		}
		if (!beside)
			name(naming, out, ROLE_FFN);
	}
}

enum status factor_roles_find(const struct graph *graph, const struct rules *rules, struct factors *factors)
{
	struct naming naming = { graph, rules, factors };
	OWN(arena) arena = { 0 };
	struct products products = { .arena = &arena };
	int64_t most = 0;
	FOR(op, graph->ops) {
		const struct rule *rule = forward_rule(&naming, op);
		if (rule)
			name_by_op(&naming, rule, op, &most);
	}
	name_classes(&naming);
	name_head_size(&naming);
	TRY(list_products(&naming, &products));
	TRY(name_residuals(&naming, &products));
	name_inner(&naming, &products);
	return OK;
}

const char *factors_name_of(const struct factors *factors, const struct factor_term *term)
{
	const uint32_t *part = factors->part + term->first;
	if (term->count == 1)
		return factor_role_names[factors->factor[part[0]].role];
	bool hidden = term->count == 2 && factors->factor[part[0]].role == ROLE_HEADS &&
		factors->factor[part[1]].role == ROLE_HEAD_SIZE;
	return hidden ? factor_role_names[ROLE_HIDDEN] : "";
}
