/* device_form.c: sums of products' gradients first, views of tied parameters in each pass, and releases of what was
 * read last. */
#include <stdio.h>

#include "train.h"

struct forming {
	const struct graph *graph;
	const struct rules *rules;
	/* Of an addition that changes: what it reads, where it goes, the next of its chain; of a place: the first addition
	 * that goes there. */
	struct sum { uint32_t read[2], place, next, first; bool moves; } *sum; /* [ops] */
	uint32_t *before;           /* [ops] the addition whose result this addition alone reads, or NONE */
	bool *added;                /* [ops] another addition alone reads this one's result */
	bool *held;                 /* [storages] a summand that waits longer: its release is left out */
	uint32_t *reads, *computes; /* [tensors], [storages] how many ops compute with it */
	uint32_t *last;             /* [storages] the tensor that is computed with last, or NONE */
	bool *again;                /* [tensors] views that the backward pass makes anew */
	uint32_t *tensor, *twin;    /* [tensors] the draft's tensor; that of the backward pass, or NONE */
	uint32_t *alias;            /* [tensors] what a tensor is a name of */
	bool changes;
	struct build build;
	struct arena *arena;
};

static const struct rule *rule_of(const struct forming *forming, uint32_t op)
{
	return op == NONE ? NULL : rules_find(forming->rules, forming->graph->op[op].type);
}

/* Views and releases compute nothing. */
static void count_uses(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	FOR(op, graph->ops) {
		const struct rule *rule = rule_of(forming, op);
		bool computes = !rule || rule->cost != COST_NONE;
		FOR_ITEMS(tensor, &graph->reads, op) {
			forming->reads[tensor] += !op_releases(&graph->op[op]);
			forming->computes[graph->tensor[tensor].storage] += computes;
			if (computes)
				forming->last[graph->tensor[tensor].storage] = tensor;
		}
	}
}

/* ---- sums ---- */

static bool device_form_same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->dtype == b->dtype && a->bytes == b->bytes && tensor_same_shape(a, b);
}

/* The operand that an addition adds to in place, or NONE. */
static uint32_t target_of(const struct graph *graph, uint32_t op)
{
	return graph_pairs(graph, op) > 0 ? graph->inplace[graph->inplace_start[op]].in : NONE;
}

/* The sum of two gradients of one shape. */
static bool adds_gradients(const struct forming *forming, uint32_t op)
{
	const struct graph *graph = forming->graph;
	const struct rule *rule = rule_of(forming, op);
	if (!rule || !(rule->traits & TRAIT_ADDITION) || graph->op[op].phase != PHASE_BACKWARD || graph->op[op].recomputed
		|| graph_operands(graph, op) != 2 || graph_results(graph, op) != 1 || csr_length(&graph->after, op) > 0
		|| graph_pairs(graph, op) > 1)
		return false;
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	uint32_t a = graph_operand(graph, op, 0), b = graph_operand(graph, op, 1);
	return a != b && (result->alias == NONE) == (target_of(graph, op) == NONE) && result->kind != KIND_OUTPUT
		&& device_form_same_shape(result, &graph->tensor[a]) && device_form_same_shape(result, &graph->tensor[b]);
}

/* A parameter, a view of one, or one in another format. */
static bool device_form_is_parameter(const struct forming *forming, uint32_t tensor)
{
	const struct graph *graph = forming->graph;
	const struct storage *storage = graph_home(graph, tensor);
	const struct rule *rule = rule_of(forming, storage->allocator);
	if (rule && (rule->traits & TRAIT_CAST) && graph_operands(graph, storage->allocator) == 1)
		storage = graph_home(graph, graph_operand(graph, storage->allocator, 0));
	return storage->kind == KIND_PARAMETER;
}

/* A gradient that a product with a parameter makes; views and other ops of one operand may come between. */
static bool of_product(const struct forming *forming, uint32_t tensor)
{
	const struct graph *graph = forming->graph;
	uint32_t op = graph->tensor[tensor].writer;
	const struct rule *rule = rule_of(forming, op);
	while (rule && graph_operands(graph, op) == 1 && (rule->cost == COST_NONE || (rule->traits & TRAIT_LINEAR))) {
		op = graph->tensor[graph_operand(graph, op, 0)].writer;
		rule = rule_of(forming, op);
	}
	bool product = false;
	for (uint32_t i = op == NONE ? 0 : graph->reads.start[op];
		rule && rule_contracts(rule) && i < graph->reads.start[op + 1]; i++)
		product |= device_form_is_parameter(forming, graph->reads.item[i]);
	return product;
}

/* Chains of additions: each reads, or adds to, the one before. */
static void link_sums(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	FOR(op, graph->ops) {
		forming->before[op] = forming->sum[op].next = forming->sum[op].first = NONE;
		FOR_WHILE(k, 2, adds_gradients(forming, op) && forming->before[op] == NONE) {
			uint32_t tensor = graph_operand(graph, op, k), writer = graph->tensor[tensor].writer, target = target_of(graph, op);
			if (writer == NONE || forming->reads[tensor] != 1 || (target != NONE && target != tensor) ||
				!adds_gradients(forming, writer))
				continue;
			forming->before[op] = writer;
			forming->added[writer] = true;
		}
	}
}

/* A chain of additions: summands [additions + 1], each with the op that added it. */
struct chain { uint32_t first, last, additions, *summand, *adder; };

static void list_summands(struct forming *forming, struct chain *chain)
{
	const struct graph *graph = forming->graph;
	uint32_t op = chain->last;
	for (uint32_t at = chain->additions; forming->before[op] != NONE; op = forming->before[op], at--) {
		uint32_t before = graph_result(graph, forming->before[op], 0);
		chain->summand[at] = graph_operand(graph, op, graph_operand(graph, op, 0) == before);
		chain->adder[at] = op;
		forming->sum[forming->before[op]].next = op;
	}
	uint32_t target = target_of(graph, op), second = target == graph_operand(graph, op, 1);
	FOR(k, 2) { /* what is added to in place comes first */
		chain->summand[k] = graph_operand(graph, op, k ^ second);
		chain->adder[k] = op;
	}
	chain->first = op;
}

/* Moves products' gradients to the front, and a target that is none to the end; false where that changes nothing. */
static bool sort_summands(const struct forming *forming, struct chain *chain, bool target)
{
	uint32_t products = 0, out_of_turn = 0, count = chain->additions + 1;
	FOR(i, count) {
		uint32_t tensor = chain->summand[i], by = chain->adder[i];
		if (!of_product(forming, tensor))
			continue;
		out_of_turn += i > products;
		memmove(chain->summand + products + 1, chain->summand + products, (i - products) * sizeof tensor);
		memmove(chain->adder + products + 1, chain->adder + products, (i - products) * sizeof by);
		chain->summand[products] = tensor;
		chain->adder[products++] = by;
	}
	if (target && products < count) {
		uint32_t tensor = chain->summand[products], by = chain->adder[products];
		memmove(chain->summand + products, chain->summand + products + 1, (count - products - 1) * sizeof tensor);
		memmove(chain->adder + products, chain->adder + products + 1, (count - products - 1) * sizeof by);
		chain->summand[count - 1] = tensor;
		chain->adder[count - 1] = by;
	}
	return products > 1 && out_of_turn > 0;
}

/* The first product's gradient may be added to in place instead of another summand: nothing else computes with it. */
static bool may_hold(const struct forming *forming, const struct chain *chain)
{
	const struct graph *graph = forming->graph;
	const struct storage *storage = graph_home(graph, chain->summand[0]);
	bool all = forming->computes[storage - graph->storage] == 1 && !storage->live_out &&
		storage->bytes == graph->tensor[chain->summand[0]].bytes;
	for (uint32_t op = chain->last; op != NONE; op = forming->before[op])
		all &= target_of(graph, op) != NONE;
	return all;
}

/* Writes down a chain in its new order: every addition where its last summand was added. */
static void place_sums(struct forming *forming, const struct chain *chain, bool target)
{
	const struct graph *graph = forming->graph;
	uint32_t op = chain->first, place = chain->adder[0], so_far = chain->summand[0];
	for (uint32_t i = 1; i <= chain->additions; i++) {
		struct sum *sum = &forming->sum[op];
		uint32_t former = place, onto = target_of(graph, op), kept = graph_operand(graph, op, 0);
		bool second = i > 1 ? kept != graph_result(graph, forming->before[op], 0) : onto != NONE && kept != onto;
		bool last = target && i == chain->additions;
		place = LARGER(chain->adder[i], place);
		sum->read[second] = last ? chain->summand[i] : so_far;
		sum->read[!second] = last ? so_far : chain->summand[i];
		sum->place = place;
		sum->moves = true;
		if (i == 1 || place != former)
			forming->sum[place].first = op;
		so_far = graph_result(graph, op, 0);
		if (target && !last)
			forming->alias[so_far] = chain->summand[0];
		op = sum->next;
	}
	for (uint32_t i = 0; i <= chain->additions; i++)
		forming->held[graph->tensor[chain->summand[i]].storage] = true;
	forming->changes = true;
}

static enum status group_sums(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	struct chain chain;
	NEED(ROOMS(forming->arena, graph->ops + 1, chain.summand, chain.adder));
	link_sums(forming);
	FOR(op, graph->ops) {
		if (forming->before[op] == NONE || forming->added[op])
			continue;
		chain.last = op;
		chain.additions = 1;
		for (uint32_t at = op; forming->before[at] != NONE; at = forming->before[at])
			chain.additions++;
		list_summands(forming, &chain);
		bool target = target_of(graph, chain.first) != NONE && !of_product(forming, chain.summand[0]);
		if (sort_summands(forming, &chain, target) && (!target || may_hold(forming, &chain)))
			place_sums(forming, &chain, target);
	}
	return OK;
}

/* ---- tied parameters ---- */

/* Whether a backward op reads a view of a tied parameter that shapes tell all of. */
static bool device_form_makes_again(const struct forming *forming, const bool *tied, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = forming->graph;
	uint32_t view = graph->tensor[tensor].writer;
	bool later = graph->op[op].phase == PHASE_BACKWARD && tied[graph->tensor[tensor].storage] && view != NONE;
	const struct rule *rule = later && graph->op[view].phase == PHASE_FORWARD ? rule_of(forming, view) : NULL;
	bool certain = rule && (!strchr(rule->factors, '@') || strcmp(rule->factors, "@reshape") == 0);
	return certain && rule->cost == COST_NONE && (rule->traits & TRAIT_SHAPED) && graph_operands(graph, view) == 1 &&
		graph->tensor[graph_operand(graph, view, 0)].writer == NONE;
}

/* Marks views of parameters that the forward pass computes with under several names, where the backward pass reads
 * them. */
static enum status device_form_find_tied(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	uint32_t *name;
	bool *tied;
	NEED(ROOMS(forming->arena, graph->storages, name, tied));
	FILL_NONE(name, graph->storages);
	FOR(op, graph->ops) {
		const struct rule *rule = graph->op[op].phase == PHASE_FORWARD ? rule_of(forming, op) : NULL;
		FOR_ITEMS(tensor, &graph->reads, op) {
			uint32_t storage = graph->tensor[tensor].storage;
			if (!rule || rule->cost == COST_NONE || graph->storage[storage].kind != KIND_PARAMETER ||
				graph->tensor[tensor].bytes != graph->storage[storage].bytes)
				continue;
			tied[storage] |= name[storage] != NONE && name[storage] != tensor;
			name[storage] = tensor;
		}
	}
	FOR(op, graph->ops)
		FOR_ITEMS(tensor, &graph->reads, op)
			if (device_form_makes_again(forming, tied, op, tensor))
				forming->again[tensor] = forming->changes = true;
	return OK;
}

/* ---- writing ---- */

static void make_again(struct forming *forming, uint32_t tensor)
{
	const struct graph *graph = forming->graph;
	struct draft *draft = forming->build.draft;
	char name[320];
	const char *text;
	struct tensor view = graph->tensor[tensor];
	struct op op = graph->op[view.writer];
	int used = PRINT_TO(name, "%.250s.backward", view.name);
	for (uint32_t n = 2; graph_find_tensor(graph, name) != NONE || graph_find_op(graph, name) != NONE; n++)
		snprintf(name + used, sizeof name - (size_t)used, ".%u", n);
	op.name = view.name = text = draft_text(draft, name);
	op.phase = PHASE_BACKWARD;
	op.has_phase = true;
	forming->build.status = text ? OK : NO_MEMORY;
	if (!text)
		return;
	uint32_t id = build_add_op(&forming->build, &op), made = build_add_tensor(&forming->build, &view);
	forming->twin[tensor] = made;
	THEN(forming->build.status, draft_read(draft, id, graph_operand(graph, view.writer, 0)));
	THEN(forming->build.status, draft_write(draft, id, made));
}

/* What an op reads for the k-th of its operands. */
static uint32_t reads_instead(struct forming *forming, uint32_t op, uint32_t k)
{
	const struct graph *graph = forming->graph;
	uint32_t tensor = graph_operand(graph, op, k);
	if (forming->sum[op].moves)
		return forming->sum[op].read[k];
	if (op_releases(&graph->op[op]) && forming->last[graph->tensor[tensor].storage] != NONE)
		return forming->last[graph->tensor[tensor].storage];
	if (!forming->again[tensor] || graph->op[op].phase != PHASE_BACKWARD || forming->build.status != OK)
		return tensor;
	if (forming->twin[tensor] == NONE)
		make_again(forming, tensor);
	return forming->twin[tensor];
}

/* The draft's tensors are numbered as the graph's: what an op reads instead is put in their place while it is copied.
 */
static uint32_t device_form_write_op(struct forming *forming, uint32_t op)
{
	const struct graph *graph = forming->graph;
	if (op_releases(&graph->op[op]) && forming->held[graph->tensor[graph_operand(graph, op, 0)].storage])
		return NONE;
	FOR(k, graph_operands(graph, op))
		forming->tensor[graph_operand(graph, op, k)] = reads_instead(forming, op, k);
	uint32_t made = build_copy_op(&forming->build, graph, op, forming->tensor);
	FOR_ITEMS(read, &graph->reads, op)
		forming->tensor[read] = read;
	return made;
}

static void device_form_write_tensors(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	FOR_WHILE(t, graph->tensors, forming->build.status == OK) {
		struct tensor tensor = graph->tensor[t];
		tensor.alias = forming->alias[t];
		forming->tensor[t] = t;
		if (draft_tensor(forming->build.draft, &tensor) != t)
			forming->build.status = NO_MEMORY;
	}
}

static struct graph *write_form(struct forming *forming, struct error *error)
{
	const struct graph *graph = forming->graph;
	struct build *build = &forming->build;
	uint32_t *MAKE_IN(forming->arena, made, graph->ops);
	*build = (struct build){ .draft = draft_new(), .op = NONE };
	build->status = build->draft && made ? OK : NO_MEMORY;
	if (build->status == OK) {
		draft_lend(build->draft, graph);
		device_form_write_tensors(forming);
	}
	FOR_WHILE(op, graph->ops, build->status == OK) {
		if (!forming->sum[op].moves)
			made[op] = device_form_write_op(forming, op);
		for (uint32_t adds = forming->sum[op].first; adds != NONE && forming->sum[adds].place == op;
			adds = forming->sum[adds].next)
			made[adds] = device_form_write_op(forming, adds);
	}
	build_copy_control(build, graph, made);
	return build_like(build, graph, error);
}

static enum status device_form_begin(struct forming *forming)
{
	const struct graph *graph = forming->graph;
	struct arena *arena = forming->arena;
	NEED(ROOMS(arena, graph->ops, forming->sum, forming->before, forming->added) &&
		ROOMS(arena, graph->storages, forming->held, forming->computes, forming->last) &&
		ROOMS(arena, graph->tensors, forming->reads, forming->again, forming->tensor, forming->twin, forming->alias));
	FILL_NONE(forming->last, graph->storages);
	FILL_NONE(forming->twin, graph->tensors);
	FOR(t, graph->tensors)
		forming->alias[t] = graph->tensor[t].alias;
	FOR(op, graph->ops)
		forming->changes |= op_releases(&graph->op[op]);
	count_uses(forming);
	return OK;
}

struct graph *graph_device_form(struct graph *graph, const struct rules *rules, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct forming forming = { .graph = graph, .rules = rules, .arena = &arena };
	enum status status = device_form_begin(&forming);
	THEN(status, group_sums(&forming));
	THEN(status, device_form_find_tied(&forming));
	if (status == OK)
		return forming.changes ? write_form(&forming, error) : graph_retain(graph);
	fail_memory(error);
	return NULL;
}
