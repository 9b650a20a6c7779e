/* factor_roles.c: names for factors, from the ops that use them.
 *
 * A table that inputs index has the vocabulary for rows, one that counted positions index has positions. What
 * attention's batched products run over besides the batch are heads, and what stands beside heads inside a product
 * is the head size. An inner dim of two parameters' products, written by one and summed by the other, is ffn.
 */

#include "factor_roles.h"

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
	for (uint32_t i = 0; i < term->count; i++)
		name(naming, naming->factors->part[term->first + i], role);
}

/* A parameter, or one in another format: autocast and 8-bit products cast weights first. */
static bool is_parameter(const struct naming *naming, uint32_t tensor)
{
	const struct graph *graph = naming->graph;
	for (uint32_t writer; (writer = graph->tensor[graph->storage[graph->tensor[tensor].storage].root].writer) != NONE;) {
		if (!(rules_traits(naming->rules, graph->op[writer].type) & TRAIT_CAST) || csr_length(&graph->reads, writer) != 1)
			return false;
		tensor = graph->reads.item[graph->reads.start[writer]];
	}
	return graph->storage[graph->tensor[tensor].storage].kind == KIND_PARAMETER;
}

/* The table that inputs index with the most rows has the vocabulary; those of token types don't matter. */
static void name_table(const struct naming *naming, const uint32_t *read, int64_t *most)
{
	const struct graph *graph = naming->graph;
	uint32_t rows = graph->tensor[read[0]].dims == 2 ? single(naming, read[0], 0) : NONE;
	uint32_t writer = graph->tensor[read[1]].writer;
	if (rows == NONE)
		return;
	bool counted = writer != NONE && csr_length(&graph->reads, writer) == 0;
	if (counted) {
		name(naming, rows, ROLE_POSITIONS);
	} else if (naming->factors->factor[rows].size > *most) {
		for (uint32_t i = 0; i < naming->factors->factors; i++)
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
	if (is_parameter(naming, read[0]) || is_parameter(naming, read[1]))
		return;
	for (uint32_t d = 0; d + 2 < dims; d++) {
		const struct factor_term *term = term_of(naming, read[0], d);
		for (uint32_t i = 0; i < term->count; i++)
			if (naming->factors->factor[naming->factors->part[term->first + i]].fixed)
				name(naming, naming->factors->part[term->first + i], ROLE_HEADS);
	}
}

static void name_convolution(const struct naming *naming, const uint32_t *read, uint32_t result)
{
	const uint32_t tensor[2] = { read[0], result };
	for (int t = 0; t < 2; t++)
		for (uint32_t d = 1; d < naming->graph->tensor[tensor[t]].dims; d++)
			name(naming, single(naming, tensor[t], d), d == 1 ? ROLE_CHANNELS : ROLE_SPACE);
}

static void name_by_op(const struct naming *naming, const struct rule *rule, uint32_t op, int64_t *most)
{
	const struct graph *graph = naming->graph;
	const uint32_t *read = graph->reads.item + graph->reads.start[op], *written = graph->writes.item + graph->writes.start[op];
	uint32_t operands = csr_length(&graph->reads, op);
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
static void name_classes(const struct naming *naming, const struct rules *rules)
{
	const struct graph *graph = naming->graph;
	for (uint32_t op = 0; op < graph->ops; op++) {
		const struct rule *rule = graph->op[op].phase == PHASE_FORWARD ? rules_find(rules, graph->op[op].type) : NULL;
		if (!rule || csr_length(&graph->reads, op) < 2 || !(rule->traits & TRAIT_CLASSES))
			continue;
		uint32_t classes = single(naming, graph->reads.item[graph->reads.start[op]], 1);
		if (classes != NONE && naming->factors->factor[classes].fixed)
			name(naming, classes, ROLE_VOCABULARY);
	}
}

/* What follows heads inside one dim. */
static void name_head_size(const struct naming *naming)
{
	const struct factors *factors = naming->factors;
	for (uint32_t d = 0; d < factors->dim_start[naming->graph->tensors]; d++)
		for (uint32_t i = 1; i < factors->dim[d].count; i++) {
			const uint32_t *part = factors->part + factors->dim[d].first + i;
			if (factors->factor[part[-1]].role == ROLE_HEADS)
				name(naming, *part, ROLE_HEAD_SIZE);
		}
}

/* Marks the dims of the parameters of products: bit 0, summed; bit 1, written. */
static void mark_inner(const struct naming *naming, const struct rule *rule, uint32_t op, uint8_t *inner)
{
	const struct graph *graph = naming->graph;
	if (!rule_contracts(rule) || csr_length(&graph->reads, op) < 2 || csr_length(&graph->writes, op) != 1)
		return;
	uint32_t result = graph->writes.item[graph->writes.start[op]], dims = graph->tensor[result].dims;
	uint32_t written = dims > 0 ? single(naming, result, dims - 1) : NONE;
	FOR_ROW(i, &graph->reads, op) {
		uint32_t t = graph->reads.item[i];
		if (!is_parameter(naming, t) || graph->tensor[t].dims < 2 || graph->tensor[t].dims > 3)
			continue;
		for (uint32_t d = graph->tensor[t].dims - 2u; d < graph->tensor[t].dims; d++) { /* a stack of matrices: one per expert */
			uint32_t factor = single(naming, t, d);
			if (factor != NONE)
				inner[factor] |= factor == written ? 2 : 1;
		}
	}
}

bool factor_roles_find(const struct graph *graph, const struct rules *rules, struct factors *factors)
{
	struct naming naming = { graph, rules, factors };
	uint8_t *inner = mem_alloc(factors->factors, sizeof *inner);
	int64_t most = 0;
	if (!inner)
		return false;
	for (uint32_t op = 0; op < graph->ops; op++) {
		const struct rule *rule = graph->op[op].phase == PHASE_FORWARD ? rules_find(rules, graph->op[op].type) : NULL;
		if (!rule || csr_length(&graph->writes, op) == 0)
			continue;
		name_by_op(&naming, rule, op, &most);
		mark_inner(&naming, rule, op, inner);
	}
	name_classes(&naming, rules);
	name_head_size(&naming);
	for (uint32_t i = 0; i < factors->factors; i++)
		if (inner[i] == 3 && factors->factor[i].fixed)
			name(&naming, i, ROLE_FFN);
	mem_free(inner);
	return true;
}

const char *factors_name_of(const struct factors *factors, const struct factor_term *term)
{
	const uint32_t *part = factors->part + term->first;
	if (term->count == 1)
		return factor_role_names[factors->factor[part[0]].role];
	bool hidden = term->count == 2 && factors->factor[part[0]].role == ROLE_HEADS && factors->factor[part[1]].role == ROLE_HEAD_SIZE;
	return hidden ? factor_role_names[ROLE_HIDDEN] : "";
}
