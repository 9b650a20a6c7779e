/* tap.c: tensor parallel plans by patterns of weights, as TAP derives them (Shi et al., arXiv 2302.00247).
 *
 * Equal subgraphs are folded; for each unique one every pattern of its weights is tried: rows, columns or replicated,
 * 3^V of them. A pattern is routed through the graph in topological order: each op takes a split that accepts what its
 * operands' producers give; a pattern fails where there is none. Cost is communication alone, forward and backward. The
 * best patterns of the subgraphs together are the plan.
 *
 * The mesh is dp x tp: dp splits the batch, patterns are over tp; on a mesh without tp every weight is replicated.
 * Over several meshes the least communication of whole plans decides (src/stages/shard/published.c).
 *
 * No code was published. What the text leaves open, and we chose:
 * - subgraphs are folded by structure, not by name scopes, forward and backward parts of a layer together;
 * - of subgraphs with many weights a few at a time are tried, the largest first;
 * - ops follow what they are given: whole tensors may be cut, sums reduced, a split batch gathered; where no pattern
 *   can be routed so, any result may be gathered;
 * - large products share their work over all devices, or plans couldn't be compared by communication alone;
 * - states lie as their weights do; what no pattern decides (gradients, vectors) is placed for the least time;
 * - communication is counted as for every strategy: reductions that the backward pass can hide count in part. */
#include <stdio.h>

#include "job.h"

#define WEIGHTS_MAX 7            /* of a subgraph, all of whose patterns are tried: 3^7 */
#define WEIGHTS_AT_ONCE 4        /* of more weights than that */
#define UNSET UINT32_MAX
enum { REPLICATED, ROWS, COLUMNS, PATTERNS };
static const char *const pattern_names[PATTERNS] = { "replicated", "rows", "columns" };

struct tap {
	struct sharding_job *job;
	struct network network;
	const struct graph *graph;
	uint32_t axis;
	bool only_data;              /* the mesh splits the batch alone: all weights are replicated */
	struct csr near;             /* node -> edges */
	uint32_t *chosen;            /* [nodes] the choice of a node, UNSET: none yet */
	uint32_t *pattern;           /* [nodes] the choice that a weight's pattern asks for, UNSET: no weight */
	int64_t most_flops;          /* of an op */
	bool *trying;                /* [nodes] weights whose patterns are tried */
	bool gathers;                /* results may be gathered where an op needs them whole */
	uint32_t failed;             /* the op where routing ended */
	uint32_t room;               /* of candidates */
	struct arena arena;
};

static uint32_t tap_choices_of(const struct tap *tap, uint32_t node)
{
	return tap->network.chain.first[node + 1] - tap->network.chain.first[node];
}

static const struct network_choice *tap_choice_of(const struct tap *tap, uint32_t node, uint32_t choice)
{
	return &tap->network.choice[tap->network.chain.first[node] + choice];
}

/* ---- weights ---- */

static bool is_weight(const struct tap *tap, uint32_t node)
{
	const struct network_node *of = &tap->network.node[node];
	return of->kind == NETWORK_KEPT && tap->graph->tensor[of->id].kind == KIND_PARAMETER &&
		tap->graph->tensor[of->id].dims >= 2;
}

static int wanted_role(uint8_t role)
{
	return role == ROLE_HEADS || role == ROLE_FFN || role == ROLE_VOCABULARY || role == ROLE_EXPERTS
		? 2
		: role == ROLE_HIDDEN;
}

/* The choice of a kept weight that cuts a dim (rows 0, columns 1), by the part that carries most; UNSET where none
 * divides. */
static uint32_t choice_of_pattern(const struct tap *tap, uint32_t node, int pattern)
{
	const struct units *units = tap->job->units;
	uint32_t tensor = tap->network.node[node].id, best = UNSET;
	int most = -1;
	FOR(c, tap_choices_of(tap, node)) {
		int8_t on = tap_choice_of(tap, node, c)->placement.on[tap->axis];
		if (pattern == REPLICATED && on == PLACE_WHOLE)
			return c;
		if (pattern == REPLICATED || on < 0)
			continue;
		const struct part *part = &units->part[units->part_start[tensor] + (uint32_t)on];
		if (part->dim == (pattern == ROWS ? 0 : 1) && wanted_role(part->role) > most) {
			best = c;
			most = wanted_role(part->role);
		}
	}
	return best;
}

/* Weights of a subgraph, the largest first; count of them. */
static uint32_t tap_find_weights(const struct tap *tap, uint32_t segment, uint32_t *weight)
{
	const struct graph *graph = tap->graph;
	uint32_t count = 0;
	FOR(node, tap->network.chain.nodes) {
		if (tap->network.chain.segment[node] != segment || !is_weight(tap, node))
			continue;
		uint32_t at = count++;
		for (; at > 0 &&
			graph->tensor[tap->network.node[weight[at - 1]].id].bytes < graph->tensor[tap->network.node[node].id].bytes;
			at--)
			weight[at] = weight[at - 1];
		weight[at] = node;
	}
	return count;
}

/* ---- routing ---- */

/* Where a tensor is by the choices so far; false: not decided. */
static bool given(const struct tap *tap, uint32_t tensor, int8_t *on)
{
	const struct network *network = &tap->network;
	uint32_t op = tap->graph->tensor[tensor].writer, node = op == NONE ? network->kept_node[tensor] : network->op_node[op];
	if (node == NONE || tap->chosen[node] == UNSET)
		return false;
	const struct network_choice *choice = tap_choice_of(tap, node, tap->chosen[node]);
	uint32_t k = op == NONE ? 0 : graph_operands(tap->graph, op);
	for (uint32_t i = op == NONE ? 0 : tap->graph->writes.start[op]; op != NONE && tap->graph->writes.item[i] != tensor;
		i++)
		k++;
	*on = op == NONE ? choice->placement.on[tap->axis] : units_place(tap->job->units, op, choice->split.on[tap->axis], k);
	return true;
}

static const struct storage *tap_storage_of(const struct tap *tap, uint32_t tensor)
{
	return &tap->graph->storage[tap->graph->tensor[tensor].storage];
}

/* How much an operand that is there so must be changed: 0, 1, or -1: no pattern does that. Weights stay as they are,
 * whole tensors may be cut, sums be reduced, a split batch be gathered; all else, where nothing else can be routed. */
static int tap_misfit(const struct tap *tap, uint32_t tensor, int8_t is, int8_t needs)
{
	const struct units *units = tap->job->units;
	if (is == needs)
		return 0;
	if (tap_storage_of(tap, tensor)->kind == KIND_PARAMETER)
		return needs == PLACE_PARTIAL ? 1 : -1;
	return is < 0 || tap->gathers ||
			(needs == PLACE_WHOLE && units->part[units->part_start[tensor] + (uint32_t)is].role == ROLE_BATCH)
		? 1
		: -1;
}

/* Operands that a split takes otherwise than they are given; -1: one of them can't be. */
static int misfits(const struct tap *tap, uint32_t op, int8_t unit)
{
	int count = 0;
	uint32_t k = 0;
	FOR_ITEMS(read, &tap->graph->reads, op) {
		int8_t is, needs = units_place(tap->job->units, op, unit, k++);
		int more = given(tap, read, &is) ? tap_misfit(tap, read, is, needs) : 0;
		if (more < 0)
			return -1;
		count += more;
	}
	return count;
}

/* An op that computes with a weight: not a view of it. */
static bool uses_weight(const struct tap *tap, uint32_t op)
{
	bool uses = false;
	FOR_ITEMS(read, &tap->graph->reads, op)
		uses |= tap_storage_of(tap, read)->kind == KIND_PARAMETER &&
			tap->graph->tensor[read].dims >= 2;
	FOR_ITEMS(written, &tap->graph->writes, op)
		uses = uses && tap_storage_of(tap, written)->kind != KIND_PARAMETER;
	return uses;
}

/* Tokens are not TAP's to split. */
static bool splits_tokens(const struct tap *tap, uint32_t op, int8_t unit)
{
	const struct units *units = tap->job->units;
	uint8_t role = unit < 0 ? ROLE_NONE : units->unit[units->unit_start[op] + (uint32_t)unit].role;
	return role == ROLE_SEQUENCE || role == ROLE_POSITIONS;
}

/* What a choice pays on edges to nodes that are decided. */
static int64_t pays(const struct tap *tap, uint32_t node, uint32_t choice)
{
	const struct shard_chain *chain = &tap->network.chain;
	int64_t sum = 0;
	FOR_ITEMS(item, &tap->near, node) {
		const struct chain_edge *edge = &chain->edge[item];
		uint32_t other = edge->from == node ? edge->to : edge->from, columns = tap_choices_of(tap, edge->to);
		if (tap->chosen[other] == UNSET)
			continue;
		int64_t pair = chain->pair[edge->table + (edge->from == node ? (size_t)choice * columns + tap->chosen[other]
			: (size_t)tap->chosen[other] * columns + choice)];
		sum = pair >= SHARD_FORBIDDEN || sum >= SHARD_FORBIDDEN ? SHARD_FORBIDDEN : sum + pair;
	}
	return sum;
}

/* An op that computes with a weight whose patterns are tried. */
static bool uses_tried(const struct tap *tap, uint32_t op)
{
	bool tried = false;
	FOR_ITEMS(read, &tap->graph->reads, op) {
		const struct storage *storage = tap_storage_of(tap, read);
		uint32_t node = storage->kind == KIND_PARAMETER ? tap->network.kept_node[storage->root] : NONE;
		tried |= node != NONE && tap->trying[node];
	}
	return tried && uses_weight(tap, op);
}

/* The op's best choice. Forward: ops with weights share their work, the others follow what they are given; backward:
 * least communication. */
static uint32_t route_op(const struct tap *tap, uint32_t node)
{
	uint32_t op = tap->network.node[node].id, best = UNSET;
	bool forward = tap->graph->op[op].phase == PHASE_FORWARD;
	int64_t least[3] = { 0 };
	FOR(c, tap_choices_of(tap, node)) {
		int8_t unit = tap_choice_of(tap, node, c)->split.on[tap->axis];
		int unfit = misfits(tap, op, unit);
		int64_t paid = pays(tap, node, c), own = tap->network.chain.cost[tap->network.chain.first[node] + c];
		/* All devices share the work of large products, or plans couldn't be compared by communication alone. */
		if (unit == UNIT_NONE && forward && tap->graph->op[op].flops > tap->most_flops / 100 && uses_tried(tap, op))
			continue;
		if (splits_tokens(tap, op, unit) || (forward && unfit < 0) || paid >= SHARD_FORBIDDEN)
			continue;
		int64_t key[3] = { forward ? unfit : paid, forward ? paid : own, forward ? own : unfit };
		if (forward && uses_weight(tap, op)) {
			key[0] = own;
			key[1] = unfit;
			key[2] = paid;
		}
		int order = 0;
		for (int i = 0; i < 3 && order == 0; i++)
			order = key[i] < least[i] ? -1 : key[i] > least[i];
		if (best == UNSET || order < 0) {
			best = c;
			memcpy(least, key, sizeof key);
		}
	}
	return best;
}

/* True where an op is the first of the update to read something that the backward pass wrote. */
static bool first_reader(const struct tap *tap, uint32_t op)
{
	const struct graph *graph = tap->graph;
	FOR_ITEMS(item, &graph->reads, op) {
		uint32_t storage = graph->tensor[item].storage, u = graph->users.start[storage];
		if (graph->storage[storage].phase != PHASE_BACKWARD || graph->storage[storage].allocator == NONE)
			continue;
		while (graph->op[graph->users.item[u]].phase != PHASE_UPDATE)
			u++;
		if (graph->users.item[u] == op)
			return true;
	}
	return false;
}

/* Gradients on their way to the update: each to the first op that reads it. */
static int64_t gradients(struct tap *tap)
{
	const struct shard_chain *chain = &tap->network.chain;
	int64_t sum = 0;
	FOR(node, chain->nodes) {
		const struct network_node *of = &tap->network.node[node];
		if (of->kind != NETWORK_OP || tap->graph->op[of->id].phase != PHASE_UPDATE || !first_reader(tap, of->id))
			continue;
		int64_t least = SHARD_FORBIDDEN;
		FOR(c, tap_choices_of(tap, node)) {
			int64_t paid = pays(tap, node, c);
			least = SMALLER(paid, least);
		}
		sum += least < SHARD_FORBIDDEN
			? least * (chain->segment[node] == NONE ? 1 : (int64_t)chain->copies[chain->segment[node]])
			: 0;
	}
	return sum;
}

/* Routes the patterns at hand; the communication of the whole step, or SHARD_FORBIDDEN. */
static int64_t route(struct tap *tap)
{
	const struct shard_chain *chain = &tap->network.chain;
	COPY(tap->chosen, tap->pattern, chain->nodes);
	FOR(node, chain->nodes) {
		const struct network_node *of = &tap->network.node[node];
		if (of->kind == NETWORK_KEPT && tap->chosen[node] == UNSET && tap->graph->tensor[of->id].kind != KIND_OPTIMIZER
			&& tap->graph->tensor[of->id].kind != KIND_PARAMETER)
			tap->chosen[node] = choice_of_pattern(tap, node, REPLICATED);
	}
	FOR(node, chain->nodes) {
		const struct network_node *of = &tap->network.node[node];
		if (of->kind != NETWORK_OP || tap->graph->op[of->id].phase == PHASE_UPDATE)
			continue;
		tap->chosen[node] = route_op(tap, node);
		if (tap->chosen[node] == UNSET) {
			tap->failed = of->id;
			return SHARD_FORBIDDEN;
		}
	}
	int64_t sum = gradients(tap);
	FOR(e, chain->edges) {
		const struct chain_edge *edge = &chain->edge[e];
		if (tap->chosen[edge->from] == UNSET || tap->chosen[edge->to] == UNSET)
			continue;
		int64_t pair = chain->pair[edge->table + (size_t)tap->chosen[edge->from] * tap_choices_of(tap, edge->to) +
			tap->chosen[edge->to]];
		sum = pair >= SHARD_FORBIDDEN || sum >= SHARD_FORBIDDEN ? SHARD_FORBIDDEN : sum + pair * chain_times(chain, edge);
	}
	return sum;
}

/* ---- patterns of a subgraph ---- */

static const char *last_words(const char *name)
{
	const char *at = name + strlen(name);
	for (int dots = 0; at > name && dots < 2; at--)
		dots += at[-1] == '.' && dots < 1 ? 1 : at[-1] == '.' ? 2 : 0;
	return *at == '.' ? at + 1 : at;
}

static enum status note_candidate(
	struct tap *tap, const uint32_t *weight, uint32_t weights, uint32_t code, uint32_t copies, int64_t cost)
{
	struct sharding_report *report = tap->job->report;
	char text[400];
	int used = copies > 1 ? PRINT_TO(text, "%u x ", copies) : 0;
	if (report->candidates == tap->room) {
		uint32_t room = tap->room ? 2 * tap->room : 128;
		struct sharding_candidate *grown;
		NEED(ROOM(&report->arena, grown, room));
		if (report->candidates > 0)
			COPY(grown, report->candidate, report->candidates);
		report->candidate = grown;
		tap->room = room;
	}
	for (uint32_t i = 0; i < weights && used < (int)sizeof text - 60; i++, code /= PATTERNS)
		used += snprintf(text + used, sizeof text - (size_t)used, "%s%.40s %s", i > 0 ? ", " : "",
			last_words(tap->graph->tensor[tap->network.node[weight[i]].id].name), pattern_names[code % PATTERNS]);
	char *copy = arena_text(&report->arena, text, strlen(text));
	NEED(copy);
	report->candidate[report->candidates++] = (struct sharding_candidate) { copy, cost, -1, false };
	return OK;
}

static bool set_patterns(struct tap *tap, const uint32_t *weight, uint32_t weights, uint32_t code)
{
	for (uint32_t i = 0; i < weights; i++, code /= PATTERNS) {
		tap->pattern[weight[i]] = choice_of_pattern(tap, weight[i], (int)(code % PATTERNS));
		if (tap->pattern[weight[i]] == UNSET)
			return false;
	}
	return true;
}

/* Tries every pattern of some weights, all others as they are; leaves the best. *routed: there is one. */
static enum status try_patterns(
	struct tap *tap, const uint32_t *weight, uint32_t weights, uint32_t copies, bool *routed)
{
	uint32_t codes = 1, best = 0, chosen = UNSET;
	int64_t least = SHARD_FORBIDDEN;
	enum status status = OK;
	FOR(i, weights) {
		tap->trying[weight[i]] = true;
		codes *= tap->only_data ? 1 : PATTERNS;
	}
	FOR_WHILE(code, codes, status == OK) {
		if (!set_patterns(tap, weight, weights, code))
			continue;
		if (control_spend(tap->job->control, tap->network.chain.edges * 20))
			status = control_status(tap->job->control);
		int64_t cost = route(tap);
		THEN(status, note_candidate(tap, weight, weights, code, copies, cost));
		if (status == OK && cost < least) {
			least = cost;
			best = code;
			chosen = tap->job->report->candidates - 1;
		}
	}
	set_patterns(tap, weight, weights, best);
	FOR(i, weights)
		tap->trying[weight[i]] = false;
	*routed = chosen != UNSET;
	if (*routed)
		tap->job->report->candidate[chosen].chosen = true;
	return status;
}

/* The best patterns of one unique subgraph. */
static enum status try_subgraph(struct tap *tap, uint32_t segment, uint32_t *weight)
{
	uint32_t weights = tap_find_weights(tap, segment, weight),
			 copies = segment == NONE ? 1 : tap->network.chain.copies[segment];
	uint32_t step = weights > WEIGHTS_MAX ? WEIGHTS_AT_ONCE : WEIGHTS_MAX;
	for (uint32_t first = 0; first < weights; first += step) {
		uint32_t count = SMALLER(weights - first, step), before = tap->job->report->candidates;
		bool routed;
		tap->gathers = false;
		TRY(try_patterns(tap, weight + first, count, copies, &routed));
		if (!routed) {
			tap->job->report->candidates = before;
			tap->gathers = true;
			TRY(try_patterns(tap, weight + first, count, copies, &routed));
		}
	}
	tap->gathers = false;
	return OK;
}

/* ---- the plan ---- */

/* Whose state each tensor of the update is: owner [tensors]; from parameters back to what their new values are made
 * of. */
static void tap_find_owners(const struct tap *tap, uint32_t *owner)
{
	const struct graph *graph = tap->graph;
	FILL_NONE(owner, graph->tensors);
	FOR_DOWN(op, graph->ops) {
		uint32_t of = NONE;
		FOR_ITEMS(written, &graph->writes, op) {
			const struct storage *storage = tap_storage_of(tap, written);
			of = storage->kind == KIND_PARAMETER ? storage->root : owner[written];
		}
		FOR_ITEMS(read, &graph->reads, op)
			if (of != NONE && graph->op[op].phase == PHASE_UPDATE)
				owner[read] = owner[tap_storage_of(tap, read)->root] = of;
	}
}

/* Whether a kept tensor, a weight or its state, can lie as the weight's pattern says, and where. */
static bool tap_place(const struct tap *tap, uint32_t node, uint32_t weight, int8_t *on)
{
	const struct units *units = tap->job->units;
	const struct part *part = &units->part[units->part_start[tap->network.node[node].id]],
					  *of = &units->part[units->part_start[tap->network.node[weight].id]];
	int8_t wanted = tap_choice_of(tap, weight, tap->pattern[weight])->placement.on[tap->axis];
	FOR(c, tap_choices_of(tap, node)) {
		*on = tap_choice_of(tap, node, c)->placement.on[tap->axis];
		if (node == weight || wanted < 0 || *on < 0 ? *on == wanted : part[*on].dim == of[wanted].dim)
			return true;
	}
	return false;
}

/* Fixes what was routed: weights with their states, and the results of the forward pass. */
static enum status tap_finish(
	struct tap *tap, const struct sharding *base, struct sharding *sharding, struct sharding_cost *cost)
{
	const struct graph *graph = tap->graph;
	const struct network *network = &tap->network;
	uint32_t pins = 0, *owner;
	struct placement_pin *pin;
	NEED(ROOMS(&tap->arena, graph->tensors, owner, pin));
	tap_find_owners(tap, owner);
	FOR(node, network->chain.nodes) {
		const struct network_node *of = &network->node[node];
		uint32_t weight = of->kind != NETWORK_KEPT ? NONE
			: tap->pattern[node] != UNSET ? node
			: owner[of->id] != NONE ? network->kept_node[owner[of->id]] : NONE;
		int8_t on;
		if (weight != NONE && tap->pattern[weight] != UNSET && tap_place(tap, node, weight, &on))
			pin[pins++] = (struct placement_pin){ of->id, (uint8_t)tap->axis, on };
		if (of->kind != NETWORK_OP || graph->op[of->id].phase != PHASE_FORWARD)
			continue;
		FOR_ITEMS(written, &graph->writes, of->id)
			if (given(tap, written, &on))
				pin[pins++] = (struct placement_pin) { written, (uint8_t)tap->axis, on };
	}
	struct sharding_aim aim = { (uint8_t)(1 << tap->axis), base, -1, false, pin, pins };
	return sharding_solve(tap->job, &aim, sharding, cost);
}

static enum status tap_begin(struct tap *tap, const struct sharding *base)
{
	const struct sharding_job *job = tap->job;
	struct network_options options = { .free = (uint8_t)(1 << tap->axis),
		.base = base,
		.fold = job->options->fold,
		.clock = job->options->clock,
		.exposed = job->options->exposed,
		.microbatches = job->options->microbatches,
		.narrow = true,
		.plain = true,
		.control = job->control };
	enum status status = network_build(job->units, job->mesh, &options, &tap->network, job->error);
	if (status == LIMIT && options.fold) {
		options.fold = NULL;
		status = network_build(job->units, job->mesh, &options, &tap->network, job->error);
	}
	TRY(status);
	const struct shard_chain *chain = &tap->network.chain;
	uint32_t *row, *item;
	NEED(ROOMS(&tap->arena, 2 * (size_t)chain->edges, row, item) && ROOMS(&tap->arena, chain->nodes, tap->chosen,
		tap->pattern, tap->trying));
	FOR(e, chain->edges) {
		row[2 * e] = chain->edge[e].from;
		row[2 * e + 1] = chain->edge[e].to;
		item[2 * e] = item[2 * e + 1] = e;
	}
	FOR(op, tap->graph->ops)
		if (tap->graph->op[op].flops > tap->most_flops)
			tap->most_flops = tap->graph->op[op].flops;
	FILL_NONE(tap->pattern, chain->nodes);
	FOR(node, chain->nodes)
		if (is_weight(tap, node))
			tap->pattern[node] = choice_of_pattern(tap, node, REPLICATED);
	return csr_of_pairs(&tap->arena, chain->nodes, 2 * chain->edges, row, item, &tap->near);
}

/* Which axes split the batch, and the one of the patterns: the last of the others, or the last of all. */
static enum status tap_axes(struct tap *tap, const struct sharding *base)
{
	const struct sharding_job *job = tap->job;
	uint32_t op = 0;
	tap->only_data = true;
	FOR(a, job->mesh->axes) {
		bool data = job->options->roles[a].role[0] == ROLE_BATCH;
		if (job->mesh->axis[a].size > 1 && (tap->only_data || !data)) {
			tap->axis = a;
			tap->only_data &= data;
		}
	}
	FOR(i, tap->graph->ops)
		op = tap->graph->op[i].phase == PHASE_FORWARD && tap->graph->op[i].flops > tap->graph->op[op].flops ? i : op;
	FOR(a, job->mesh->axes)
		if ((a != tap->axis || tap->only_data) && job->mesh->axis[a].size > 1 && base->split[op].on[a] == UNIT_NONE)
			return fail(job->error, INFEASIBLE, "%s %u doesn't split %s", job->mesh->axis[a].name, job->mesh->axis[a].size,
				tap->graph->op[op].name);
	return OK;
}

/* The best patterns of every unique subgraph, and of what is in none. */
static enum status tap_subgraphs(struct tap *tap)
{
	uint32_t *weight;
	NEED(ROOM(&tap->arena, weight, tap->network.chain.nodes));
	for (uint32_t i = 0; i <= tap->network.chain.segments; i++)
		TRY(try_subgraph(tap, i < tap->network.chain.segments ? i : NONE, weight));
	return OK;
}

enum status sharding_tap(struct sharding_job *job, struct sharding *sharding)
{
	struct tap tap = { .job = job, .graph = job->units->graph };
	struct sharding data = { 0 }, *base = has_several_axes(job->mesh) ? &data : NULL;
	struct sharding_cost cost = { 0 };
	*sharding = (struct sharding) { 0 };
	job->report->space = "patterns of the weights of each unique subgraph";
	enum status status = split_by_roles(job->units, job->mesh, job->options->roles, &data);
	status = status == OK ? tap_axes(&tap, &data) : status;
	status = status == OK ? tap_begin(&tap, base) : status;
	status = status == OK ? tap_subgraphs(&tap) : status;
	if (status == OK) {
		tap.gathers = route(&tap) >= SHARD_FORBIDDEN;
		if (tap.gathers && route(&tap) >= SHARD_FORBIDDEN)
			status = fail(job->error, INFEASIBLE, "no pattern can be routed through %s", tap.graph->op[tap.failed].name);
	}
	if (status == OK && tap.only_data) {
		*sharding = data;
		data = (struct sharding) { 0 };
		status = sharding_sum_cost(job->sum, sharding, &cost);
	} else if (status == OK) {
		status = tap_finish(&tap, base, sharding, &cost);
	}
	job->report->proof = (struct proof){ QUANTITY_TRAFFIC, sharding_estimate(&cost) - cost.compute, -1, "" };
	network_free(&tap.network);
	sharding_free(&data);
	arena_free(&tap.arena);
	return status;
}
