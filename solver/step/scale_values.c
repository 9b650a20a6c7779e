/* scale_values.c: how far a new batch or sequence reaches.
 *
 * The factors that carry them get their new values; what hangs on these through slices, joins and splits follows:
 * a slice that leaves some positions out leaves out as many, parts that are joined add up, equal parts stay equal. */

#include "scale.h"

struct reach {
	const struct graph *graph;
	const struct factors *factors;
	struct scale_values *values;
	bool *held; /* factor: a persistent tensor other than an input has it */
	struct error *error;
};

static int64_t scale_values_product(const struct factors *factors, const struct factor_term *term, const int64_t *value)
{
	int64_t result = 1;
	FOR(i, term->count) {
		uint32_t factor = factors->part[term->first + i];
		if (__builtin_mul_overflow(result, value ? value[factor] : factors->factor[factor].size, &result) ||
			result > BYTES_MAX)
			return BYTES_MAX;
	}
	return result;
}

static bool term_changed(const struct reach *reach, const struct factor_term *term)
{
	return scale_values_product(reach->factors, term, reach->values->value) !=
		scale_values_product(reach->factors, term, NULL);
}

/* The one factor of a term if it is free to follow others, else NONE. */
static uint32_t follower(const struct reach *reach, const struct factor_term *term)
{
	if (term->count != 1)
		return NONE;
	uint32_t factor = reach->factors->part[term->first];
	const struct factor *at = &reach->factors->factor[factor];
	bool set = reach->values->value[factor] != at->size;
	return set || at->fixed || at->role == ROLE_BATCH || at->role == ROLE_SEQUENCE ? NONE : factor;
}

static enum status seed(struct reach *reach, enum factor_role role, int64_t wanted)
{
	const struct factors *factors = reach->factors;
	if (wanted == 0)
		return OK;
	uint32_t factor = factors_of_role(factors, role);
	if (factor == NONE)
		return refuse(reach->error, "no input of the graph has a %s dim", factor_role_names[role]);
	if (wanted < 0 || wanted > BYTES_MAX)
		return refuse(reach->error, "a %s of %lld", factor_role_names[role], (long long)wanted);
	reach->values->value[factor] = wanted;
	return OK;
}

/* A slice: whole -> part. What is cut off stays as large; a part below half of the whole is a selection and stays. */
static bool follow_cut(struct reach *reach, const struct factor_link *link)
{
	const struct factors *factors = reach->factors;
	int64_t *value = reach->values->value;
	int64_t whole = scale_values_product(factors, &link->from, NULL),
			part = scale_values_product(factors, &link->to, NULL);
	if (part <= whole - part)
		return false;
	uint32_t to = follower(reach, &link->to), from = follower(reach, &link->from);
	if (term_changed(reach, &link->from) && to != NONE && !term_changed(reach, &link->to)) {
		int64_t rest = scale_values_product(factors, &link->from, value) - (whole - part);
		value[to] = LARGER(rest, 0);
		return value[to] != part;
	}
	if (term_changed(reach, &link->to) && from != NONE && !reach->held[from] && !term_changed(reach, &link->from)) {
		value[from] = scale_values_product(factors, &link->to, value) + (whole - part);
		return true;
	}
	return false;
}

/* All links of one join or split: from the parts to the whole, or back where the parts are equal. */
static bool follow_join(struct reach *reach, uint32_t first, uint32_t end)
{
	const struct factors *factors = reach->factors;
	const struct factor_link *link = factors->link;
	int64_t *value = reach->values->value, sum = 0;
	bool parts_changed = false, equal = true;
	FOR_FROM(i, first, end) {
		parts_changed |= term_changed(reach, &link[i].from);
		sum += scale_values_product(factors, &link[i].from, value);
		equal &= scale_values_product(factors, &link[i].from, NULL) == scale_values_product(factors, &link[first].from, NULL);
	}
	uint32_t whole = follower(reach, &link[first].to);
	if (parts_changed && whole != NONE && sum != value[whole]) {
		value[whole] = sum;
		return true;
	}
	if (parts_changed || !equal || !term_changed(reach, &link[first].to))
		return false;
	int64_t total = scale_values_product(factors, &link[first].to, value);
	bool moved = false;
	for (uint32_t i = first; i < end && total % (end - first) == 0; i++) {
		uint32_t part = follower(reach, &link[i].from);
		if (part != NONE) {
			value[part] = total / (end - first);
			moved = true;
		}
	}
	return moved;
}

static void scale_values_follow_links(struct reach *reach)
{
	const struct factors *factors = reach->factors;
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t i = 0, end; i < factors->links; i = end) {
			end = i + 1;
			if (factors->link[i].kind == LINK_CUT)
				moved |= follow_cut(reach, &factors->link[i]);
			if (factors->link[i].kind != LINK_JOIN)
				continue;
			while (end < factors->links && factors->link[end].op == factors->link[i].op && factors->link[end].kind == LINK_JOIN)
				end++;
			moved |= follow_join(reach, i, end);
		}
	}
}

/* Whether a factor is counted out by an op without operands (arange): slots that tokens are compared with. */
static bool is_counted(const struct reach *reach, uint32_t factor)
{
	const struct factors *factors = reach->factors;
	FOR(op, reach->graph->ops) {
		if (graph_operands(reach->graph, op) > 0)
			continue;
		FOR_ITEMS(t, &reach->graph->writes, op) {
			uint32_t start = factors->dim_start[t];
			if (reach->graph->tensor[t].dims == 1 && factors->dim[start].count == 1 &&
				factors->part[factors->dim[start].first] == factor)
				return true;
		}
	}
	return false;
}

/* An expert's capacity: a tensor made from nothing for [tokens, experts, slots], its slots counted out. Slots are
 * a share of the tokens, so they grow with them (rounded up). Returns whether there is one that has to follow. */
static bool follow_tokens(struct reach *reach, uint32_t op)
{
	const struct factors *factors = reach->factors;
	const struct graph *graph = reach->graph;
	if (graph_operands(graph, op) > 0 || graph_results(graph, op) != 1)
		return false;
	uint32_t t = graph_result(graph, op, 0), slots = NONE;
	int64_t before = 1, after = 1;
	FOR_SPAN(d, factors->dim_start, t) {
		uint32_t free_factor = follower(reach, &factors->dim[d]);
		if (term_changed(reach, &factors->dim[d])) {
			before *= scale_values_product(factors, &factors->dim[d], NULL);
			after *= scale_values_product(factors, &factors->dim[d], reach->values->value);
		} else if (free_factor != NONE && factors->factor[free_factor].size > 1 && !reach->held[free_factor]) {
			slots = free_factor;
		}
	}
	if (slots == NONE || before == after || before <= 0 || graph->tensor[t].dims < 3 || !is_counted(reach, slots))
		return false;
	int64_t scaled;
	if (__builtin_mul_overflow(factors->factor[slots].size, after, &scaled))
		return false;
	reach->values->value[slots] = (scaled + before - 1) / before;
	reach->values->capacities++;
	return true;
}

/* Slots that an op of their own fills with tokens [tokens, width]: [experts, slots, width]. As above; rounded numbers
 * alone are counted as taken to grow. */
static bool follow_dispatch(struct reach *reach, const struct rules *rules, uint32_t op)
{
	const struct factors *factors = reach->factors;
	const struct graph *graph = reach->graph;
	if (!(rules_traits(rules, graph->op[op].type) & TRAIT_DISPATCH) || graph_operands(graph, op) == 0 ||
		graph_results(graph, op) == 0)
		return false;
	uint32_t flat = graph_operand(graph, op, 0), stack = graph_result(graph, op, 0);
	if (graph->tensor[flat].dims != 2 || graph->tensor[stack].dims != 3)
		return false;
	const struct factor_term *tokens = &factors->dim[factors->dim_start[flat]],
							 *slots = &factors->dim[factors->dim_start[stack] + 1];
	uint32_t follows = follower(reach, slots);
	int64_t before = scale_values_product(factors, tokens, NULL),
			after = scale_values_product(factors, tokens, reach->values->value), scaled;
	if (before == after || before <= 0 || follows == NONE || reach->held[follows] ||
		__builtin_mul_overflow(factors->factor[follows].size, after, &scaled) || scaled > INT64_MAX - before)
		return false;
	reach->values->value[follows] = (scaled + before - 1) / before;
	reach->values->capacities += scaled % before != 0;
	return true;
}

/* What a recurrent layer keeps for its backward pass: bytes of which shapes say nothing. */
static void follow_reserve(struct reach *reach, const struct rules *rules, uint32_t op)
{
	const struct factors *factors = reach->factors;
	const struct graph *graph = reach->graph;
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	if (!rule || rule->cost != COST_RECURRENCE || graph_operands(graph, op) == 0 ||
		graph_results(graph, op) == 0)
		return;
	uint32_t x = graph_operand(graph, op, 0), y = graph_result(graph, op, 0);
	int64_t before[4], after[4], from = 1, to = 1; /* times, samples, features, hidden; those of the operand multiplied */
	if (graph->tensor[x].dims != 3 || graph->tensor[y].dims != 3)
		return;
	FOR(d, 4) {
		const struct factor_term *term = &factors->dim[d < 3 ? factors->dim_start[x] + d : factors->dim_start[y] + 2];
		before[d] = scale_values_product(factors, term, NULL);
		after[d] = scale_values_product(factors, term, reach->values->value);
		from *= d < 3 ? before[d] : 1;
		if (d < 3 && __builtin_mul_overflow(to, after[d], &to))
			to = BYTES_MAX;
	}
	FOR_ITEMS(written, &graph->writes, op) {
		const struct tensor *kept = &graph->tensor[written];
		const struct factor_term *term = &factors->dim[factors->dim_start[written]];
		if (kept->dtype != DTYPE_U8 || kept->dims != 1 || kept->bytes <= 0 || term->count != 1 ||
			memcmp(before, after, sizeof before) == 0)
			continue;
		bool known = lstm_reserve(before) == kept->bytes;
		reach->values->value[factors->part[term->first]] = known ? lstm_reserve(after)
			: to >= BYTES_MAX / kept->bytes ? BYTES_MAX : (kept->bytes * to + from - 1) / from;
		reach->values->reserves += !known;
	}
}

/* Factors of parameters and buffers don't follow a slice of them. */
static bool mark_held(struct reach *reach)
{
	const struct factors *factors = reach->factors;
	ROOM(&reach->values->arena, reach->held, factors->factors);
	FOR_WHILE(t, reach->graph->tensors, reach->held) {
		const struct tensor *tensor = &reach->graph->tensor[t];
		if (tensor->writer != NONE || !kind_persistent(tensor->kind) || tensor->kind == KIND_INPUT)
			continue;
		FOR_SPAN(d, factors->dim_start, t)
			FOR(i, factors->dim[d].count)
				reach->held[factors->part[factors->dim[d].first + i]] = true;
	}
	return reach->held != NULL;
}

/* A buffer that is only read through slices, and large enough, stays as it is: the slices take less of it. */
static bool scale_values_stays_whole(const struct reach *reach, const struct rules *rules, uint32_t t)
{
	const struct graph *graph = reach->graph;
	const struct tensor *tensor = &graph->tensor[t];
	uint32_t start = reach->factors->dim_start[t];
	if (tensor->writer != NONE || (tensor->kind != KIND_BUFFER && tensor->kind != KIND_CONSTANT))
		return false;
	FOR(d, tensor->dims)
		if (reach->values->shape[start + d] > tensor->shape[d])
			return false;
	FOR_ITEMS(op, &graph->users, tensor->storage) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		bool reads = false;
		FOR_ITEMS(item, &graph->reads, op)
			reads |= item == t;
		if (reads && (!rule || !(rule->traits & TRAIT_SLICE)))
			return false;
	}
	return true;
}

static enum status scale_values_find_shapes(struct reach *reach, const struct rules *rules)
{
	const struct factors *factors = reach->factors;
	struct scale_values *values = reach->values;
	FOR(t, reach->graph->tensors) {
		const struct tensor *tensor = &reach->graph->tensor[t];
		int64_t elements = 1;
		FOR_SPAN(d, factors->dim_start, t) {
			values->shape[d] = scale_values_product(factors, &factors->dim[d], values->value);
			values->changed[t] |= values->shape[d] != tensor->shape[d - factors->dim_start[t]];
			if (__builtin_mul_overflow(elements, values->shape[d], &elements) || elements > BYTES_MAX / 16)
				return refuse(reach->error, "tensor %s would be too large", tensor->name);
		}
		if (values->changed[t] && scale_values_stays_whole(reach, rules, t)) {
			values->changed[t] = false;
			FOR(d, tensor->dims)
				values->shape[factors->dim_start[t] + d] = tensor->shape[d];
		}
		bool fixed = tensor->writer == NONE && (tensor->kind == KIND_PARAMETER || tensor->kind == KIND_OPTIMIZER);
		if (values->changed[t] && fixed)
			return refuse(reach->error, "parameter %s would have to change its shape", tensor->name);
	}
	return OK;
}

/* A table that is indexed by counted positions (arange) must have enough rows. */
static enum status check_positions(struct reach *reach, const struct rules *rules)
{
	const struct graph *graph = reach->graph;
	FOR(op, graph->ops) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		if (!rule || !(rule->traits & TRAIT_EMBEDDING) || graph_operands(graph, op) != 2)
			continue;
		const uint32_t *read = graph->reads.item + graph->reads.start[op];
		uint32_t writer = graph->tensor[read[1]].writer, start = reach->factors->dim_start[read[1]];
		if (writer == NONE || graph_operands(graph, writer) != 0 || !reach->values->changed[read[1]] ||
			graph->tensor[read[0]].dims == 0 ||
			graph->tensor[read[1]].dims != 1) /* [batch, seq] is filled with one number: token types */
			continue;
		int64_t rows = graph->tensor[read[0]].shape[0], wanted = reach->values->shape[start];
		if (wanted > rows)
			return refuse(reach->error, "the position table %s has %lld rows, %lld are needed",
				graph->tensor[read[0]].name, (long long)rows, (long long)wanted);
	}
	return OK;
}

enum status scale_values_find(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_values *values, struct error *error)
{
	struct reach reach = { .graph = graph, .factors = factors, .values = values, .error = error };
	*values = (struct scale_values) { 0 };
	NEED(ROOM(&values->arena, values->value, factors->factors) &&
		ROOM(&values->arena, values->shape, factors->dim_start[graph->tensors]) &&
		ROOM(&values->arena, values->changed, graph->tensors) && mark_held(&reach));
	FOR(i, factors->factors)
		values->value[i] = factors->factor[i].size;
	TRY(seed(&reach, ROLE_BATCH, request->batch));
	TRY(seed(&reach, ROLE_SEQUENCE, request->sequence));
	scale_values_follow_links(&reach);
	FOR(op, graph->ops)
		if (follow_tokens(&reach, op) || follow_dispatch(&reach, rules, op))
			scale_values_follow_links(&reach);
	FOR(op, graph->ops)
		follow_reserve(&reach, rules, op);
	TRY(scale_values_find_shapes(&reach, rules));
	return check_positions(&reach, rules);
}
