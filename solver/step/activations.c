/* activations.c: what a step's activations are to the backward pass: saved, crossing layers, scores of an attention. */
#include <ctype.h>

#include "replay.h"

#define X(id, name, help) name,
const char *const recompute_names[RECOMPUTE_COUNT] = { RECOMPUTES(X) };
#undef X

/* ---- layers ---- */

size_t module_layer_length(const char *module)
{
	size_t numbered = 0;
	for (const char *part = module; *part;) {
		size_t length = strcspn(part, "."), digits = 0;
		while (digits < length && isdigit((unsigned char)part[length - 1 - digits]))
			digits++;
		if (numbered && (digits == 0 || digits < length))
			break;
		if (digits > 0)
			numbered = (size_t)(part - module) + length;
		part += length + (part[length] == '.');
	}
	return numbered;
}

bool module_in_layer(const char *module)
{
	return module_layer_length(module) > 0;
}

static enum status find_layers(const struct graph *graph, struct activations *activations)
{
	struct names index = { 0 };
	enum status status = OK;
	FOR_WHILE(op, graph->ops, status == OK) {
		const char *module = graph->op[op].module;
		size_t length = is_forward(graph, op) ? module_layer_length(module) : 0;
		activations->layer[op] = NONE;
		if (length == 0)
			continue;
		const char *name = arena_text(&activations->arena, module, length);
		uint32_t layer = name ? names_add(&index, name, activations->layers) : NONE;
		if (layer == NONE)
			status = NO_MEMORY;
		else if (layer == activations->layers)
			activations->layer_name[activations->layers++] = name;
		activations->layer[op] = layer;
	}
	names_free(&index);
	return status;
}

/* ---- storages ---- */

static void find_saved(const struct graph *graph, struct activations *activations)
{
	FOR(s, graph->storages) {
		uint32_t allocator = allocator_of(graph, s);
		if (!is_forward(graph, allocator) || graph->storage[s].live_out)
			continue;
		FOR_ITEMS(user, &graph->users, s) {
			if (op_releases(&graph->op[user]))
				continue;
			if (!is_forward(graph, user))
				activations->saved[s] = true;
			else
				activations->anchor[s] |= activations->layer[user] != activations->layer[allocator];
		}
		activations->anchor[s] |= activations->layer[allocator] == NONE;
	}
}

/* ---- attention ---- */

static int64_t elements_written(const struct graph *graph, uint32_t op)
{
	int64_t most = -1;
	FOR_ITEMS(written, &graph->writes, op) {
		int64_t elements = tensor_elements(&graph->tensor[written]);
		most = LARGER(elements, most);
	}
	return most;
}

/* What an op writes may still be the softmax's shares: cast, dropped out, without the column of a sink. A router's
 * softmax over experts goes into what chooses some of them and what is as large as tokens: that is no attention, and
 * what lies behind it are the experts themselves. */
static bool may_be_shares(const struct graph *graph, uint32_t op, uint32_t softmax)
{
	int64_t elements = elements_written(graph, op), shares = elements_written(graph, softmax);
	return elements < 0 || shares < 0 || (elements <= shares && elements >= shares / 2);
}

/* Marks what the op writes, and goes on to the ops around it, until products stop it on both sides. */
static void mark_scores(const struct graph *graph, struct activations *activations, const uint32_t *traits,
	uint32_t softmax, uint32_t *stack, bool *seen)
{
	uint32_t depth = 0;
	stack[depth++] = softmax;
	seen[softmax] = true;
	while (depth > 0) {
		uint32_t op = stack[--depth];
		FOR_ITEMS(written, &graph->writes, op) {
			uint32_t storage = graph->tensor[written].storage;
			if (is_forward(graph, allocator_of(graph, storage)))
				activations->attention[storage] = true;
			FOR_ITEMS(user, &graph->users, storage) {
				if (user > op && is_forward(graph, user) && !seen[user] && !(traits[user] & TRAIT_PRODUCT) &&
					op >= softmax && may_be_shares(graph, user, softmax)) {
					seen[user] = true;
					stack[depth++] = user;
				}
			}
		}
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t writer = graph->tensor[read].writer;
			if (is_forward(graph, writer) && !seen[writer] && op <= softmax && !(traits[op] & TRAIT_PRODUCT) &&
			    activations->layer[writer] == activations->layer[softmax]) {
				seen[writer] = true;
				stack[depth++] = writer;
			}
		}
	}
}

/* Softmaxes that lie between two products. The class probabilities of a loss have no product behind them. */
static bool feeds_product(const struct graph *graph, const uint32_t *traits, uint32_t softmax)
{
	uint32_t at = softmax;
	FOR_INT(hops, 16) {
		uint32_t storage = graph->tensor[graph_result(graph, at, 0)].storage, next = NONE;
		FOR_ITEMS(user, &graph->users, storage) {
			if (user > at && is_forward(graph, user) && (traits[user] & TRAIT_PRODUCT))
				return true;
			if (user > at && is_forward(graph, user) && next == NONE && may_be_shares(graph, user, softmax) &&
				graph->writes.start[user] < graph->writes.start[user + 1] &&
				graph->tensor[graph_result(graph, user, 0)].storage != storage)
				next = user;
		}
		if (next == NONE)
			return false;
		at = next;
	}
	return false;
}

static enum status find_attention(const struct graph *graph, const struct rules *rules, struct activations *activations)
{
	HELD uint32_t *MAKE(stack, graph->ops);
	HELD bool *MAKE(seen, graph->ops);
	HELD uint32_t *MAKE(traits, graph->ops);
	FOR_WHILE(op, graph->ops, traits)
		traits[op] = rules_traits(rules, graph->op[op].type);
	FOR_WHILE(op, graph->ops, stack && seen && traits)
		if (is_forward(graph, op) && graph_results(graph, op) > 0 && (traits[op] & TRAIT_SOFTMAX) &&
			feeds_product(graph, traits, op))
			mark_scores(graph, activations, traits, op, stack, seen);
	return stack && seen && traits ? OK : NO_MEMORY;
}

/* ---- products ---- */

static bool reads_weight(const struct graph *graph, uint32_t op)
{
	bool weight = false;
	FOR_ITEMS(read, &graph->reads, op)
		weight |= graph_home(graph, read)->kind == KIND_PARAMETER;
	return weight;
}

/* As torchtitan counts them: one count for each layer, in the order of the forward pass. */
static enum status find_kept_products(
	const struct graph *graph, const struct rules *rules, struct activations *activations)
{
	HELD uint32_t *MAKE(count, activations->layers);
	FOR_WHILE(op, graph->ops, count) {
		const struct rule *rule = rules && activations->layer[op] != NONE ? rules_find(rules, graph->op[op].type) : NULL;
		if (rule && (rule_contracts(rule) || rule->cost == COST_RECURRENCE) && reads_weight(graph, op))
			activations->kept_product[op] = count[activations->layer[op]]++ % 2 == 0;
		else
			activations->kept_product[op] = rule && rule->cost == COST_ATTENTION;
	}
	return count ? OK : NO_MEMORY;
}

/* ---- cost ---- */

static void activations_find_flops(
	const struct graph *graph, const struct rules *rules, struct activations *activations)
{
	OWN(binding) binding = { 0 };
	FOR(op, graph->ops) {
		struct error error;
		const struct rule *rule = rules && graph->op[op].flops < 0 && is_forward(graph, op) ? rules_find(rules,
			graph->op[op].type) : NULL;
		activations->flops[op] = LARGER(graph->op[op].flops, 0);
		if (rule && rule_bind_op(rule, graph, op, &binding, &error) == OK)
			activations->flops[op] = rule_flops(rule, &binding);
	}
}

enum status activations_find(const struct graph *step, const struct rules *rules, struct activations *activations,
	struct error *error)
{
	struct arena *arena = &activations->arena;
	*activations = (struct activations){ 0 };
	bool fine = ROOMS(arena, step->ops, activations->layer_name, activations->layer, activations->flops,
		activations->kept_product) && ROOMS(arena, step->storages, activations->saved, activations->anchor,
		activations->attention, activations->held);
	if (fine && find_layers(step, activations) == OK && find_attention(step, rules, activations) == OK
		&& find_kept_products(step, rules, activations) == OK) {
		find_saved(step, activations);
		activations_find_flops(step, rules, activations);
		return OK;
	}
	activations_free(activations);
	return fail_memory(error);
}

void activations_free(struct activations *activations)
{
	arena_free(&activations->arena);
}
