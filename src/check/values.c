/* values.c: graphs run on symbols of 64 bits. */

#include "solver/recompute/apply.h"
#include "state.h"
#include "src/base/words.h"

struct run {
	const struct graph *graph, *other; /* other: an op whose name is there isn't new */
	const struct rules *rules;
	unsigned allowed;
	bool separate;     /* every name counts as memory of its own: its symbol is in its path */
	uint64_t *content; /* [storages] what it holds at the moment */
	uint64_t *path;    /* [tensors] which part of it a tensor is: the views on the way to it */
	uint64_t *read;    /* [ops] what it read */
};

/* The op that a copy repeats, by name; else the op itself. */
static const char *op_repeated(const struct graph *graph, uint32_t op)
{
	return graph->op[op].recomputed && graph->op[op].of ? graph->op[op].of : graph->op[op].name;
}

/* ---- views ---- */

static bool extents_differ(const struct tensor *tensor)
{
	FOR(a, tensor->dims)
		FOR(b, a)
			if (tensor->shape[a] == tensor->shape[b])
				return false;
	return true;
}

/* A view of which operator, operand and shape say all: any other one of these is the same. */
static bool check_values_is_plain_view(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	const struct rule *rule = csr_length(&graph->reads, op) == 1 && csr_length(&graph->writes, op) == 1
		? rules_find(run->rules, graph->op[op].type)
		: NULL;
	const struct tensor *result = rule ? &graph->tensor[graph_result(graph, op, 0)] : NULL;
	if (!rule || rule->cost != COST_NONE || result->alias == NONE || !result->shape)
		return false;
	/* A rule that names its factors is one permutation, whatever the extents. */
	bool certain = extents_differ(result) || !strchr(rule->factors, '@');
	return text_is(rule->factors, "@reshape") || ((rule->traits & TRAIT_SHAPED) && certain);
}

static uint64_t view_symbol(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	if (!(run->allowed & VALUES_TWINS) || !check_values_is_plain_view(run, op))
		return text_hash(op_repeated(graph, op));
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	bool narrowed = (run->allowed & VALUES_FORMATS) && result->dtype == DTYPE_BF16;
	uint64_t symbol = hash_join(text_hash(graph->op[op].type), narrowed ? DTYPE_F32 : result->dtype);
	FOR(d, result->dims)
		symbol = hash_join(symbol, (uint64_t)result->shape[d]);
	return symbol;
}

/* Where a view begins: the operand of its storage. */
static uint32_t viewed(const struct graph *graph, uint32_t op, uint32_t tensor)
{
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].storage == graph->tensor[tensor].storage)
			return read;
	return graph->tensor[tensor].alias;
}

/* A view that shows its operand as it is. */
static bool is_same_view(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	const struct rule *rule = run->allowed & VALUES_FORMATS ? rules_find(run->rules, graph->op[op].type) : NULL;
	if (csr_length(&graph->reads, op) != 1 || !rule ||
		(!text_is(rule->factors, "@expand") && !text_is(rule->factors, "@reshape")))
		return false;
	const struct tensor *of = &graph->tensor[graph_argument(graph, op, 0)],
						*result = &graph->tensor[graph_argument(graph, op, 1)];
	return of->shape && result->shape && of->dims == result->dims &&
		memcmp(of->shape, result->shape, of->dims * sizeof *of->shape) == 0;
}

/* ---- ops ---- */

static bool check_values_is_alias(const struct run *run, const struct graph *graph, uint32_t op)
{
	const struct rule *rule = rules_find(run->rules, graph->op[op].type);
	return rule && rule->cost == COST_NONE && text_is(rule->factors, "... -> ...") &&
		csr_length(&graph->writes, op) == 1 && graph->tensor[graph_result(graph, op, 0)].alias != NONE;
}

/* A copy for a reshape, of which the other batch needs none: there an alias has its name; or that alias. */
static bool check_values_is_needless(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph, *other = run->other;
	uint32_t one = (run->allowed & VALUES_NEEDLESS) ? graph_find_op(other, graph->op[op].name) : NONE;
	if (one == NONE || csr_length(&graph->reads, op) != 1 || csr_length(&other->reads, one) != 1)
		return false;
	return (check_values_is_alias(run, graph, op) && (rules_traits(run->rules, other->op[one].type) & TRAIT_COPY)) ||
		(check_values_is_alias(run, other, one) && (rules_traits(run->rules, graph->op[op].type) & TRAIT_COPY));
}

/* A new op whose result counts as its operand; and copies to the host and back. */
static bool is_transparent(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	if (check_values_is_needless(run, op))
		return true;
	if (graph->op[op].added == ADDED_OFFLOAD || graph->op[op].added == ADDED_FETCH)
		return csr_length(&graph->reads, op) > 0;
	if (csr_length(&graph->reads, op) != 1 || csr_length(&graph->writes, op) != 1 ||
		graph_find_op(run->other, graph->op[op].name) != NONE || graph->op[op].recomputed)
		return false;
	const struct rule *rule = rules_find(run->rules, graph->op[op].type);
	uint32_t traits = rule ? rule->traits : 0;
	return ((run->allowed & VALUES_CASTS) && (traits & TRAIT_CAST)) ||
		((run->allowed & VALUES_COPIES) && ((traits & TRAIT_COPY) || (rule && text_is(rule->factors, "@reduce+"))));
}

/* A copy of an op with a mask that reads, behind what the op read, that mask: it computes the op's first result. */
static bool is_from_mask(const struct run *run, uint32_t op, uint32_t position)
{
	const struct graph *graph = run->graph;
	const struct op *record = &graph->op[op];
	uint32_t of = record->recomputed && record->of ? graph_find_op(graph, record->of) : NONE;
	if (of == NONE || !text_is(record->type, RECOMPUTE_MASKED_TYPE) || position != 1 ||
		csr_length(&graph->reads, op) != 2 || csr_length(&graph->writes, op) != 1 ||
		!(rules_traits(run->rules, graph->op[of].type) & TRAIT_MASKED) || csr_length(&graph->writes, of) != 2)
		return false;
	uint32_t mask = graph_operand(graph, op, 1);
	uint64_t made = hash_join(hash_join(run->read[of], text_hash(record->of)), 1);
	return run->separate ? run->path[mask] == made
		: run->content[graph->tensor[mask].storage] == made && run->path[mask] == 0;
}

/* At another batch a product with a bias may run as a product, which is new, and the addition of the bias, which has
 * its name: that product, else NONE. */
static uint32_t product_of(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	uint32_t one = (run->allowed & VALUES_COPIES) && op > 0 && op < graph->ops
		? graph_find_op(run->other, graph->op[op].name)
		: NONE;
	if (one == NONE || !(rules_traits(run->rules, graph->op[op].type) & TRAIT_ADDITION) ||
		csr_length(&graph->reads, op) != 2 || !(rules_traits(run->rules, run->other->op[one].type) & TRAIT_BIASED) ||
		csr_length(&run->other->reads, one) != 3)
		return NONE;
	uint32_t product = op - 1, sum = graph_operand(graph, op, 0);
	uint32_t traits = rules_traits(run->rules, graph->op[product].type);
	bool is_new = graph_find_op(run->other, graph->op[product].name) == NONE && (traits & TRAIT_PRODUCT) &&
		!(traits & TRAIT_BIASED);
	return is_new && graph->tensor[sum].writer == product && graph->tensor[sum].alias == NONE &&
			csr_length(&graph->reads, product) == 2
		? product
		: NONE;
}

static uint64_t operand_symbol(const struct run *run, uint32_t tensor)
{
	return hash_join(run->separate ? 0 : run->content[run->graph->tensor[tensor].storage], run->path[tensor]);
}

/* What the one op would read: the bias, and what is multiplied. */
static uint64_t biased_symbols(const struct run *run, uint32_t op, uint32_t product)
{
	const struct csr *reads = &run->graph->reads;
	uint64_t read = hash_join(1, operand_symbol(run, reads->item[reads->start[op] + 1]));
	FOR_ITEMS(item, reads, product)
		read = hash_join(read, operand_symbol(run, item));
	return read;
}

/* What an op reads. Running statistics don't change what a norm computes, nor does a saved state what a random op draws
 * from it. */
static uint64_t read_symbols(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	uint64_t read = 1;
	bool whole = op_releases(&graph->op[op]) && !run->separate; /* lets go of a storage, whichever view of it is named */
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i], writer = graph->tensor[tensor].writer,
				 storage = graph->tensor[tensor].storage;
		bool state = writer != NONE && graph->op[writer].added == ADDED_RANDOM_STATE;
		if (graph->storage[storage].kind != KIND_BUFFER && !state && !is_from_mask(run, op, i - graph->reads.start[op]))
			read = hash_join(read, hash_join(run->separate ? 0 : run->content[storage], whole ? 0 : run->path[tensor]));
	}
	return read;
}

/* The sum of two gradients, of which order and grouping don't matter. */
static bool is_grouped_sum(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	return (run->allowed & VALUES_REGROUPED) && op != NONE && graph->op[op].phase == PHASE_BACKWARD &&
		csr_length(&graph->reads, op) == 2 && csr_length(&graph->writes, op) == 1 &&
		(rules_traits(run->rules, graph->op[op].type) & TRAIT_ADDITION);
}

static uint64_t sum_symbol(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	uint64_t sum = 0;
	FOR_ITEMS(tensor, &graph->reads, op)
		sum += is_grouped_sum(run, graph->tensor[tensor].writer) ? run->content[graph->tensor[tensor].storage]
			: operand_symbol(run, tensor);
	return sum;
}

/* What an op writes over a storage: where updates may be others, a parameter is updated by whichever. */
static uint64_t content_over(const struct run *run, uint32_t op, uint32_t storage, uint64_t written)
{
	const struct graph *graph = run->graph;
	bool updates = (run->allowed & VALUES_UPDATES) && graph->op[op].phase == PHASE_UPDATE &&
		graph->storage[storage].kind == KIND_PARAMETER;
	return updates ? hash_join(text_hash("updated"), text_hash(graph->tensor[graph->storage[storage].root].name))
		: written;
}

static void check_values_run_op(struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	bool same = is_transparent(run, op);
	uint32_t from = same ? graph_operand(graph, op, 0) : NONE;
	uint32_t product = product_of(run, op);
	uint64_t read = run->read[op] = product == NONE ? read_symbols(run, op) : biased_symbols(run, op, product);
	uint64_t result = hash_join(read, text_hash(op_repeated(graph, op))), position = 0;
	bool sum = is_grouped_sum(run, op);
	uint64_t summed = sum ? sum_symbol(run, op) : 0;
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t storage = graph->tensor[tensor].storage,
				 over = graph_written_over(graph, op, tensor);
		bool view = over == NONE && graph->tensor[tensor].alias != NONE;
		if (same) {
			run->content[storage] = run->content[graph->tensor[from].storage];
			run->path[tensor] = run->path[from];
		} else if (view && is_same_view(run, op)) {
			run->path[tensor] = run->path[viewed(graph, op, tensor)];
		} else if (view) {
			run->path[tensor] = hash_join(run->path[viewed(graph, op, tensor)], hash_join(view_symbol(run, op), position));
		} else {
			run->content[storage] = content_over(run, op, storage, sum ? summed : hash_join(result, position));
			run->path[tensor] = run->separate ? run->content[storage] : over == NONE ? 0 : run->path[over];
		}
		position++;
	}
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == NONE) {
			uint32_t storage = graph->tensor[graph->inplace[i].in].storage;
			run->content[storage] = content_over(run, op, storage, result);
			run->path[graph->inplace[i].in] = run->separate ? result : run->path[graph->inplace[i].in];
		}
}

/* Every op in program order. */
static bool run_graph(struct run *run)
{
	const struct graph *graph = run->graph;
	MAKE(run->content, graph->storages);
	MAKE(run->path, graph->tensors);
	MAKE(run->read, graph->ops);
	if (!run->content || !run->path || !run->read)
		return false;
	FOR(s, graph->storages)
		run->content[s] = text_hash(graph->tensor[graph->storage[s].root].name);
	FOR(t, graph->tensors)
		run->path[t] = graph->tensor[t].alias == NONE && !run->separate ? 0 : text_hash(graph->tensor[t].name);
	FOR(op, graph->ops)
		check_values_run_op(run, op);
	return true;
}

static void run_drop(struct run *run)
{
	mem_free(run->content);
	mem_free(run->path);
	mem_free(run->read);
}

/* ---- comparing ---- */

/* Whether ops of this phase may be others. */
static bool is_replaced(const struct op *op, unsigned allowed)
{
	bool gradient = op->phase == PHASE_BACKWARD || (op->phase == PHASE_COMMUNICATION && (allowed & VALUES_GRADIENTS));
	return (op->phase == PHASE_UPDATE && (allowed & VALUES_UPDATES)) || (gradient && (allowed & VALUES_GRADIENTS));
}

static bool is_reshape(const struct run *run, const struct op *op)
{
	const struct rule *rule = rules_find(run->rules, op->type);
	return rule && text_is(rule->factors, "@reshape");
}

/* A release of what waits in the host now: the device lets go of it when it is out. */
static bool is_released_away(const struct run *before, const struct run *after, uint32_t op)
{
	const struct graph *graph = after->graph;
	bool away = op_releases(&before->graph->op[op]) && csr_length(&before->graph->reads, op) > 0;
	FOR_ITEMS(read, &before->graph->reads, op) {
		uint32_t tensor = graph_find_tensor(graph, before->graph->tensor[read].name);
		bool leaves = false;
		for (uint32_t k = tensor == NONE ? 0 : graph->users.start[graph->tensor[tensor].storage];
			tensor != NONE && k < graph->users.start[graph->tensor[tensor].storage + 1]; k++)
			leaves |= graph->op[graph->users.item[k]].added == ADDED_OFFLOAD;
		away &= leaves;
	}
	return away;
}

/* A release of what runs again: first results go with the forward pass. */
static bool is_released_rerun(const struct run *before, const struct run *after, uint32_t op)
{
	const struct graph *graph = before->graph, *made = after->graph;
	uint32_t tensor = csr_length(&graph->reads, op) == 1 ? graph_argument(graph, op, 0) : NONE,
			 left = tensor == NONE ? NONE : graph_find_tensor(made, graph->tensor[tensor].name),
			 writer = left == NONE ? NONE : graph_home(graph, tensor)->allocator;
	bool again = false;
	if (!op_releases(&graph->op[op]) || writer == NONE)
		return false;
	FOR(i, made->ops)
		again |= made->op[i].recomputed && text_is(made->op[i].of, graph->op[writer].name);
	FOR_ITEMS(user, &made->users, made->tensor[left].storage)
		again &= made->op[user].phase == PHASE_FORWARD;
	return again;
}

static enum status check_values_compare_op(
	struct check *check, const struct run *before, const struct run *after, uint32_t op)
{
	const struct op *from = &before->graph->op[op];
	uint32_t other = graph_find_op(after->graph, from->name);
	bool twin = (after->allowed & VALUES_TWINS) && check_values_is_plain_view(before, op);
	bool saved = (after->allowed & VALUES_GRADIENTS) && (rules_traits(after->rules, from->type) & TRAIT_COPY);
	if ((after->allowed & VALUES_REGROUPED) && other == NONE && op_releases(from))
		return OK;
	if (is_replaced(from, after->allowed) ||
		(other == NONE &&
			(twin || saved || is_released_away(before, after, op) ||
				is_released_rerun(before, after, op)))) /* whoever read it would read something else now */
		return OK;
	if (other == NONE)
		return check_wrong(check, "op \"%.100s\" is gone", from->name);
	const struct op *made = &after->graph->op[other];
	if (!text_is(from->type, made->type) && !(is_reshape(after, from) && is_reshape(after, made)) &&
		product_of(after, other) == NONE && !check_values_is_needless(after, other))
		return check_wrong(check, "op \"%.100s\" has become %.100s", from->name, made->type);
	if (before->read[op] != after->read[other] && !is_grouped_sum(before, op))
		return check_wrong(check, "op \"%.100s\" reads other values", from->name);
	return OK;
}

/* An addition to what is there. */
static bool check_values_is_sum(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	return csr_length(&graph->reads, op) == 2 && (rules_traits(run->rules, graph->op[op].type) & TRAIT_ADDITION) &&
		graph->inplace_start[op] < graph->inplace_start[op + 1];
}

/* A release of a new cast, or of what is copied now: memory stays longer than it has to, and nothing else changes. */
static bool is_late_release(const struct run *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	if (!(run->allowed & (VALUES_COPIES | VALUES_FORMATS)) || !op_releases(&graph->op[op]) ||
		csr_length(&graph->reads, op) != 1)
		return false;
	uint32_t tensor = graph_operand(graph, op, 0), writer = graph->tensor[tensor].writer;
	if (run->allowed & VALUES_FORMATS)
		return writer != NONE && is_transparent(run, writer);
	FOR_ITEMS(user, &graph->users, graph->tensor[tensor].storage)
		if (user < op && is_transparent(run, user) && graph_operand(graph, user, 0) == tensor)
			return true;
	return false;
}

/* Whether an op that is new in a step at another batch stands for a part of one of the step before. */
static bool is_part(const struct run *run, uint32_t op)
{
	return is_late_release(run, op) || product_of(run, op + 1) == op;
}

/* An op of the step that was made: a copy, or a new one. */
static enum status compare_made(struct check *check, const struct run *before, const struct run *after, uint32_t op)
{
	const struct op *made = &after->graph->op[op];
	uint32_t of = made->recomputed && made->of ? graph_find_op(before->graph, made->of) : NONE;
	if (graph_find_op(before->graph, made->name) != NONE ||
		((after->allowed & VALUES_REGROUPED) && check_values_is_plain_view(after, op)))
		return OK;
	if (of != NONE && after->read[op] != before->read[of])
		return check_wrong(check, "op \"%.100s\" reads other values than \"%.100s\", which it repeats", made->name, made->of);
	if (of != NONE && !text_is(made->type, before->graph->op[of].type) && !is_from_mask(after, op, 1))
		return check_wrong(check, "op \"%.100s\" is not of the type of \"%.100s\", which it repeats", made->name, made->of);
	if (of == NONE && made->added == ADDED_NOTHING && !is_transparent(after, op) && !is_part(after, op) &&
		!is_replaced(made, after->allowed) && !((after->allowed & VALUES_SUMS) && check_values_is_sum(after, op)))
		return check_wrong(check, "op \"%.100s\" is new, and nothing asks for it", made->name);
	return OK;
}

/* State of no bytes is in the host: whole copies come from there, and what the step leaves in the last goes back. */
static enum status check_values_state(
	struct check *check, const struct run *before, const struct run *after, uint32_t s)
{
	const struct graph *graph = after->graph;
	const struct storage *state = &before->graph->storage[s];
	const char *name = before->graph->tensor[state->root].name;
	uint32_t host = graph_find_tensor(graph, name), here = NONE, backs = 0;
	if (host == NONE || graph_home(graph, host)->bytes == state->bytes)
		return host == NONE ? check_wrong(check, "\"%.100s\" is gone", name) : OK;
	FOR_ITEMS(op, &graph->users, graph->tensor[host].storage) {
		uint32_t to = csr_length(&graph->writes, op) == 1 ? graph_result(graph, op, 0) : NONE;
		here = to == NONE ? NONE : graph->tensor[to].storage;
		if (graph->op[op].added != ADDED_FETCH || here == NONE || graph->storage[here].bytes != state->bytes)
			return check_wrong(
				check, "\"%.100s\" is in the host, and op \"%.100s\" doesn't copy it", name, graph->op[op].name);
	}
	if (here == NONE)
		return check_wrong(check, "\"%.100s\" is in the host, and nothing copies it", name);
	FOR_ITEMS(user, &graph->users, here)
		backs += offload_stays(graph, user);
	if (graph->tensor[host].bytes != 0 || backs != 1 || after->content[here] != before->content[s])
		return check_wrong(check, "\"%.100s\" is in the host, and what the update leaves doesn't go back there", name);
	FOR_ITEMS(out, &graph->users, here)
		if (offload_stays(graph, out) &&
			after->content[graph->tensor[graph_result(graph, out, 0)].storage] != before->content[s])
			return check_wrong(check, "\"%.100s\" goes back to the host before its update is done", name);
	return OK;
}

enum status values_check(
	struct check *check, const struct graph *before, const struct graph *after, unsigned allowed)
{
	const struct rules *rules = check->rules;
	bool separate = allowed & VALUES_SEPARATE;
	OWN(run)
	first = { .graph = before,
		.other = after,
		.rules = rules,
		.allowed = allowed & (VALUES_TWINS | VALUES_FORMATS | VALUES_REGROUPED | VALUES_UPDATES | VALUES_NEEDLESS),
		.separate = separate };
	OWN(run) second = { .graph = after, .other = before, .rules = rules, .allowed = allowed, .separate = separate };
	TRY(run_graph(&first) && run_graph(&second) ? OK : fail_memory(check->error));
	FOR(op, before->ops)
		TRY(check_values_compare_op(check, &first, &second, op));
	FOR(op, after->ops)
		TRY(compare_made(check, &first, &second, op));
	FOR_WHILE(s, before->storages, (allowed & VALUES_STATES))
		if (before->storage[s].kind == KIND_OPTIMIZER && before->storage[s].persistent)
			TRY(check_values_state(check, &first, &second, s));
	return OK;
}
