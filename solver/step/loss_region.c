/* loss_region.c: finds the ops around a loss that touch tensors as large as its logits. */
#include <stdarg.h>
#include <stdio.h>

#include "loss_chunks.h"

struct finding {
	const struct graph *graph;
	const struct rules *rules;
	const struct factors *factors;
	struct loss_region *region;
	uint32_t logits;
};

__attribute__((format(printf, 2, 3))) static enum status loss_region_refuse(
	struct finding *finding, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(finding->region->why, sizeof finding->region->why, format, arguments);
	va_end(arguments);
	return INFEASIBLE;
}

static bool has_part(const struct factors *factors, const struct factor_term *term, uint32_t factor)
{
	FOR(p, term->count)
		if (factors->part[term->first + p] == factor)
			return true;
	return false;
}

int loss_region_dim(const struct loss_region *region, const struct factors *factors, const struct graph *graph,
	uint32_t tensor, uint32_t *factor, uint32_t *place)
{
	FOR_INT(d, graph->tensor[tensor].dims) {
		const struct factor_term *term = &factors->dim[factors->dim_start[tensor] + (uint32_t)d];
		FOR(p, term->count) {
			uint32_t of = factors->part[term->first + p];
			if (of != region->cut && (of != region->longer || region->longer == NONE))
				continue;
			*factor = of;
			*place = p;
			return d;
		}
	}
	return -1;
}

static int loss_region_rows_of(const struct finding *finding, uint32_t tensor, uint32_t *factor)
{
	uint32_t place;
	return loss_region_dim(finding->region, finding->factors, finding->graph, tensor, factor, &place);
}

static bool loss_region_has_rows(const struct finding *finding, uint32_t tensor)
{
	uint32_t factor;
	return loss_region_rows_of(finding, tensor, &factor) >= 0;
}

/* It has a dim of classes, too: as the logits' dim 1. */
static bool has_classes(const struct finding *finding, uint32_t tensor)
{
	const struct factors *factors = finding->factors;
	const struct factor_term *classes = &factors->dim[factors->dim_start[finding->logits] + 1];
	FOR_SPAN(d, factors->dim_start, tensor)
		FOR(p, classes->count)
			if (has_part(factors, &factors->dim[d], factors->part[classes->first + p]))
				return true;
	return false;
}

static bool loss_region_is_large(const struct finding *finding, uint32_t tensor)
{
	return has_classes(finding, tensor) && loss_region_has_rows(finding, tensor);
}

/* ---- the loss ---- */

static int64_t loss_bytes(const struct graph *graph, const struct rules *rules, uint32_t op)
{
	bool loss = (rules_traits(rules, graph->op[op].type) & TRAIT_CLASSES) && graph_operands(graph, op) >= 2;
	const struct tensor *logits = loss ? &graph->tensor[graph_operand(graph, op, 0)] : NULL;
	return logits && logits->dims >= 2 ? logits->bytes : 0;
}

uint32_t loss_region_losses(const struct graph *graph, const struct rules *rules)
{
	uint32_t losses = 0;
	int64_t most = 1;
	FOR(op, graph->ops) {
		int64_t bytes = loss_bytes(graph, rules, op);
		losses = bytes > most ? 1 : losses + (bytes == most);
		most = larger_of(most, bytes);
	}
	return losses;
}

static enum status find_loss(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	int64_t most = 0;
	region->loss = NONE;
	FOR(op, graph->ops) {
		int64_t bytes = loss_bytes(graph, finding->rules, op);
		if (bytes <= most)
			continue;
		most = bytes;
		region->loss = op;
	}
	if (region->loss == NONE)
		return loss_region_refuse(finding, "the graph has no loss that tells classes apart");
	const struct op *loss = &graph->op[region->loss];
	if (graph_operands(graph, region->loss) > 2)
		return loss_region_refuse(finding, "op %s weighs its classes", loss->name);
	int64_t reduction;
	region->mean = !argument_integer(arguments_item(loss->arguments, 3), &reduction) || reduction != 2;
	if (!argument_integer(arguments_item(loss->arguments, 4), &region->ignored))
		region->ignored = -100;
	finding->logits = graph_operand(graph, region->loss, 0);
	if (graph->tensor[graph_result(graph, region->loss, 0)].dims != 0)
		return loss_region_refuse(finding, "op %s makes a loss for every row, not their mean", loss->name);
	return OK;
}

/* The innermost factor of the logits' rows: the sequence where there is one. */
static enum status find_cut(struct finding *finding)
{
	const struct factors *factors = finding->factors;
	struct loss_region *region = finding->region;
	region->cut = region->longer = NONE;
	FOR_SPAN(d, factors->dim_start, finding->logits) {
		const struct factor_term *term = &factors->dim[d];
		FOR_WHILE(p, term->count, d != factors->dim_start[finding->logits] + 1)
			if (factors->factor[factors->part[term->first + p]].size > 1)
				region->cut = factors->part[term->first + p];
	}
	return region->cut == NONE ? loss_region_refuse(finding, "op %s has one row", finding->graph->op[region->loss].name)
		: OK;
}

/* The factor that the cut is a slice of, where ops on the logits leave rows out. */
static void find_longer(struct finding *finding)
{
	const struct factors *factors = finding->factors;
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	FOR_WHILE(i, factors->links, region->longer == NONE) {
		const struct factor_link *link = &factors->link[i];
		if (link->kind != LINK_CUT || link->from.count != 1 || link->to.count != 1)
			continue;
		uint32_t from = factors->part[link->from.first], to = factors->part[link->to.first];
		bool large = false;
		FOR_ITEMS(written, &graph->writes, link->op)
			large |= has_classes(finding, written);
		if (large && from != to && (from == region->cut || to == region->cut))
			region->longer = from == region->cut ? to : from;
	}
}

/* ---- its ops ---- */

static bool touches_marked(const struct graph *graph, uint32_t op, const bool *marked)
{
	bool touches = false;
	FOR_ITEMS(read, &graph->reads, op)
		touches |= marked[read];
	FOR_ITEMS(written, &graph->writes, op)
		touches |= marked[written];
	return touches;
}

static void mark_large(const struct finding *finding, uint32_t op, bool *marked)
{
	const struct graph *graph = finding->graph;
	FOR_ITEMS(read, &graph->reads, op)
		marked[read] |= loss_region_is_large(finding, read);
	FOR_ITEMS(written, &graph->writes, op)
		marked[written] |= loss_region_is_large(finding, written);
}

/* Ops that are joined to the loss by tensors as large as its logits: another loss over as many classes has ops of its
 * own. Walks there and back until nothing is added. */
static void find_inside(const struct finding *finding, bool *marked)
{
	const struct graph *graph = finding->graph;
	bool *inside = finding->region->inside, more = true;
	marked[finding->logits] = loss_region_is_large(finding, finding->logits);
	for (int pass = 0; more; pass++) {
		more = false;
		FOR(i, graph->ops) {
			uint32_t op = pass % 2 ? graph->ops - 1 - i : i;
			bool updates = graph->op[op].phase == PHASE_UPDATE && !op_releases(&graph->op[op]);
			if (inside[op] || updates || !touches_marked(graph, op, marked))
				continue;
			mark_large(finding, op, marked);
			more = inside[op] = true;
		}
	}
}

/* A view of rows that just the region reads: it comes with the region, so that rows are cut before it. */
static bool is_feeding_view(const struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	const struct rule *rule = rules_find(finding->rules, graph->op[op].type);
	if (!rule || rule->cost != COST_NONE || graph_operands(graph, op) != 1 || graph_results(graph, op) != 1)
		return false;
	uint32_t operand = graph_operand(graph, op, 0), result = graph_result(graph, op, 0),
			 readers = 0, from, to;
	const struct tensor *tensor = &graph->tensor[result];
	if (tensor->alias == NONE || tensor->kind == KIND_OUTPUT || loss_region_rows_of(finding, operand, &from) < 0 ||
		loss_region_rows_of(finding, result, &to) < 0 || from != to)
		return false;
	FOR_ITEMS(user, &graph->users, tensor->storage) {
		FOR_ITEMS(read, &graph->reads, user) {
			if (read == result && !finding->region->inside[user])
				return false;
			readers += read == result;
		}
	}
	return readers > 0;
}

/* Where an op's only operand and result differ in the factor of their rows. */
static enum status find_move(struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	uint32_t from, to;
	if (graph_operands(graph, op) != 1 || graph_results(graph, op) != 1 || region->longer == NONE)
		return OK;
	if (loss_region_rows_of(finding, graph_operand(graph, op, 0), &from) < 0 ||
		loss_region_rows_of(finding, graph_result(graph, op, 0), &to) < 0 || from == to)
		return OK;
	uint32_t *move = to == region->cut ? &region->shorten : &region->lengthen;
	if (*move != NONE)
		return loss_region_refuse(
			finding, "ops %s and %s leave out rows of the logits", graph->op[*move].name, graph->op[op].name);
	region->moved[op] = true;
	*move = op;
	return OK;
}

static enum status find_ops(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	region->first = region->last = region->shorten = region->lengthen = region->backward = NONE;
	HELD bool *MAKE(marked, graph->tensors);
	NEED(marked);
	find_inside(finding, marked);
	FOR_DOWN(op, graph->ops)
		region->inside[op] = region->inside[op] || is_feeding_view(finding, op);
	FOR(op, graph->ops) {
		if (!region->inside[op])
			continue;
		region->first = region->first == NONE ? op : region->first;
		if (!op_releases(&graph->op[op]) || graph_operands(graph, op) > 1)
			region->last = op; /* where the program lets go of the logits isn't of their chunks */
		region->ops++;
		if (find_move(finding, op) != OK)
			return INFEASIBLE;
		if (graph->op[op].added != ADDED_NOTHING || graph->op[op].collective)
			return loss_region_refuse(finding, "op %s is not of the model's own", graph->op[op].name);
	}
	FOR_ITEMS(read, &graph->reads, region->loss) {
		uint32_t from;
		if (loss_region_rows_of(finding, read, &from) < 0 || from != region->cut)
			return loss_region_refuse(finding, "the rows of %s are not known", graph->tensor[read].name);
	}
	return region->inside[region->loss] ? OK : loss_region_refuse(finding, "the rows of the logits are not known");
}

static void loss_region_find_backward(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	const struct rule *loss = rules_find(finding->rules, graph->op[region->loss].type);
	char type[128];
	PRINT_TO(type, "%.100s_backward", loss->type);
	const struct rule *gradient = rules_find(finding->rules, loss->backward ? loss->backward : type);
	FOR(op, graph->ops)
		if (region->inside[op] && gradient && rules_find(finding->rules, graph->op[op].type) == gradient)
			region->backward = op;
}

/* ---- what it reads and leaves ---- */

/* A first gradient that reads the loss for its shape alone. */
static bool is_seed(const struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	const struct rule *rule = rules_find(finding->rules, graph->op[op].type);
	return rule && rule == rules_find(finding->rules, "aten.ones_like") && graph_operands(graph, op) == 1 &&
		graph_results(graph, op) == 1 && graph->tensor[graph_result(graph, op, 0)].dims == 0;
}

/* Sums of what chunks make of it give what the whole makes. Means say which dims they had. */
static bool loss_region_adds_up(const struct finding *finding, uint32_t op)
{
	const struct rule *rule = rules_find(finding->rules, finding->graph->op[op].type);
	bool sums = rule && (rule_contracts(rule) || (rule->traits & TRAIT_LINEAR));
	return sums && !(rule->traits & TRAIT_BIASED) && !(rule->factors[0] == '@' && *rule->saved);
}

bool loss_region_leaves(const struct graph *graph, const struct loss_region *region, uint32_t tensor)
{
	FOR_ITEMS(user, &graph->users, graph->tensor[tensor].storage)
		FOR_ITEMS(read, &graph->reads, user)
			if (read == tensor && !region->inside[user] && !region->seed[user])
				return true;
	return graph->tensor[tensor].kind == KIND_OUTPUT;
}

static enum status check_result(struct finding *finding, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = finding->graph;
	const struct loss_region *region = finding->region;
	uint32_t first = graph_result(graph, region->loss, 0);
	if (!loss_region_leaves(finding->graph, finding->region, tensor) || tensor == first)
		return OK;
	if (kind_persistent(graph->tensor[tensor].kind))
		return loss_region_refuse(
			finding, "op %s writes %s, which stays from step to step", graph->op[op].name, graph->tensor[tensor].name);
	uint32_t factor;
	if (loss_region_rows_of(finding, tensor, &factor) >= 0 && factor == region->longer && region->lengthen == NONE)
		return loss_region_refuse(finding, "op %s makes rows that have no loss", graph->op[op].name);
	if (loss_region_has_rows(finding, tensor))
		return loss_region_is_large(finding, tensor) ? loss_region_refuse(finding, "op %s needs all logits at once: %s",
														   graph->op[op].name, graph->tensor[tensor].name)
														: OK;
	if (op == region->loss || !loss_region_adds_up(finding, op))
		return loss_region_refuse(
			finding, "what op %s makes of all rows does not add up from chunks of them", graph->op[op].name);
	return OK;
}

static enum status find_roles(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	enum status status = OK;
	FOR_FROM(op, region->first, region->last + 1)
		FOR_ITEMS(written, &graph->writes, op)
			if (region->inside[op])
				region->role[written] = LOSS_INSIDE;
	for (uint32_t op = region->first; op <= region->last && status == OK; op++) {
		if (!region->inside[op])
			continue;
		FOR_ITEMS(tensor, &graph->reads, op) {
			uint32_t factor;
			if (region->role[tensor] != LOSS_WHOLE || loss_region_rows_of(finding, tensor, &factor) < 0)
				continue;
			region->role[tensor] = LOSS_CUT;
			if (factor == region->longer && region->shorten == NONE)
				return loss_region_refuse(finding, "op %s reads rows that have no loss", graph->op[op].name);
		}
		FOR_ITEMS(write, &graph->writes, op)
			THEN(status, check_result(finding, op, write));
		FOR_SPAN(i, graph->inplace_start, op)
			if (status == OK && region->role[graph->inplace[i].in] != LOSS_INSIDE)
				status = loss_region_refuse(
					finding, "op %s writes into %s", graph->op[op].name, graph->tensor[graph->inplace[i].in].name);
	}
	return status;
}

/* Ops that wait for the region come behind all of its chunks; none of them may be waited for. */
static enum status loss_region_find_order(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	FOR_FROM(op, region->first, region->last + 1) {
		bool waits = false;
		FOR_ITEMS(before, &graph->pred, op)
			waits |= region->behind[before] || (region->inside[before] && !region->inside[op]);
		if (waits && region->inside[op])
			return loss_region_refuse(finding, "op %s waits for all of the loss", graph->op[op].name);
		region->seed[op] = region->seed[op] && waits;
		region->behind[op] = waits && !region->seed[op];
	}
	return OK;
}

/* The labels before the region's views of them. */
static enum status find_labels(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct loss_region *region = finding->region;
	uint32_t labels = graph_operand(graph, region->loss, 1);
	while (region->role[labels] == LOSS_INSIDE && graph_operands(graph, graph->tensor[labels].writer) == 1)
		labels = graph_operand(graph, graph->tensor[labels].writer, 0);
	region->labels = labels;
	return region->role[labels] == LOSS_CUT
		? OK
		: loss_region_refuse(finding, "the labels of op %s are not there before it", graph->op[region->loss].name);
}

static bool loss_region_allocate(const struct graph *graph, struct loss_region *region)
{
	struct arena *arena = &region->arena;
	return ROOMS(arena, graph->ops, region->inside, region->moved, region->seed, region->behind) &&
		ROOM(arena, region->role, graph->tensors);
}

enum status loss_region_find(
	const struct graph *graph, const struct rules *rules, const struct factors *factors, struct loss_region *region)
{
	struct finding finding = { .graph = graph, .rules = rules, .factors = factors, .region = region };
	*region = (struct loss_region) { .loss = NONE };
	NEED(loss_region_allocate(graph, region));
	TRY(find_loss(&finding));
	TRY(find_cut(&finding));
	find_longer(&finding);
	TRY(find_ops(&finding));
	loss_region_find_backward(&finding);
	FOR(op, graph->ops)
		region->seed[op] = !region->inside[op] && is_seed(&finding, op);
	TRY(find_roles(&finding));
	TRY(find_labels(&finding));
	return loss_region_find_order(&finding);
}

void loss_region_free(struct loss_region *region)
{
	arena_free(&region->arena);
}
