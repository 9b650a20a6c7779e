/* joint.c: a step's passes as PyTorch's partitioner sees them, and its minimum cut. */
#include <math.h>

#include "strategies.h"

/* ---- nodes ---- */

static int64_t joint_bytes_of(const struct graph *graph, uint32_t tensor)
{
	const struct tensor *record = &graph->tensor[tensor];
	int64_t count = 1;
	if (!record->shape)
		return record->bytes;
	FOR(i, record->dims)
		count *= record->shape[i];
	return (count * dtype_bits[record->dtype] + 7) / 8;
}

/* The partitioner's lists of operators, as our rules tell them. */
static void joint_classify(const struct rules *rules, const char *type, struct joint_node *node)
{
	const struct rule *rule = rules_find(rules, type);
	uint32_t traits = rules_traits(rules, type);
	if (!rule)
		return;
	node->view = rule->cost == COST_NONE;
	node->random = traits & TRAIT_RANDOM;
	node->expensive = rule_contracts(rule) || rule->cost == COST_RECURRENCE || rule->cost == COST_ATTENTION;
	node->concatenates = text_begins(rule->factors, "@cat");
	node->generated = !node->expensive && !node->random &&
		(node->view || strcmp(rule->factors, "...* -> ...*") == 0 || text_begins(rule->factors, "@source") ||
			text_begins(rule->factors, "@reduce") || text_begins(rule->factors, "@gather") || (traits & TRAIT_COPY));
}

static void add_inputs(const struct graph *graph, const bool *forward, struct joint *joint, uint32_t *of_tensor)
{
	FOR(op, graph->ops)
		FOR_ITEMS(tensor, &graph->reads, op) {
			if (!forward[op] || graph->tensor[tensor].writer != NONE || of_tensor[tensor] != NONE)
				continue;
			of_tensor[tensor] = joint->nodes;
			joint->node[joint->nodes++] = (struct joint_node){ .op = NONE,
				.tensor = tensor,
				.bytes = joint_bytes_of(graph, tensor),
				.forward = true,
				.input = true,
				.steady = graph->tensor[tensor].kind != KIND_INPUT };
		}
	joint->inputs = joint->nodes;
}

static void joint_add_op(const struct graph *graph, const bool *forward, const struct rules *rules, uint32_t op,
	struct joint *joint, uint32_t *of_op, uint32_t *of_tensor)
{
	uint32_t results = graph_results(graph, op);
	struct joint_node node = { .op = op, .tensor = NONE, .forward = forward[op] };
	joint_classify(rules, graph->op[op].type, &node);
	FOR_ITEMS(written, &graph->writes, op) {
		node.bytes += joint_bytes_of(graph, written);
		of_tensor[written] = joint->nodes;
		node.tensor = results == 1 ? written : NONE;
		node.leaves |= graph_home(graph, written)->live_out;
	}
	of_op[op] = joint->nodes;
	joint->node[joint->nodes++] = node;
	for (uint32_t i = graph->writes.start[op]; results > 1 && i < graph->writes.start[op + 1]; i++) {
		uint32_t tensor = graph->writes.item[i];
		of_tensor[tensor] = joint->nodes;
		joint->node[joint->nodes++] = (struct joint_node){ .op = op,
			.tensor = tensor,
			.bytes = joint_bytes_of(graph, tensor),
			.forward = forward[op],
			.item = true,
			.generated = true,
			.leaves = graph_home(graph, tensor)->live_out };
	}
}

static enum status joint_add_edges(
	const struct graph *graph, const uint32_t *of_op, const uint32_t *of_tensor, struct joint *joint)
{
	uint32_t pairs = 0, most = graph->reads.start[graph->ops] + joint->nodes;
	HELD uint32_t *MAKE(from, most), *MAKE(to, most);
	FOR_WHILE(op, graph->ops, from && to)
		FOR_ITEMS(read, &graph->reads, op)
			if (of_tensor[read] != NONE) {
				from[pairs] = of_tensor[read];
				to[pairs++] = of_op[op];
			}
	FOR_WHILE(n, joint->nodes, from && to)
		if (joint->node[n].item) {
			from[pairs] = of_op[joint->node[n].op];
			to[pairs++] = n;
		}
	NEED(from && to);
	TRY(csr_of_pairs(&joint->arena, joint->nodes, pairs, from, to, &joint->users));
	return csr_of_pairs(&joint->arena, joint->nodes, pairs, to, from, &joint->operands);
}

static void joint_measure(struct joint *joint)
{
	FOR_DOWN(n, joint->nodes) {
		struct joint_node *node = &joint->node[n];
		node->distance = node->forward ? JOINT_FAR : 0;
		FOR_ITEMS(user, &joint->users, n) {
			uint32_t next = joint->node[user].distance + 1;
			node->distance = node->forward && next < node->distance ? next : node->distance;
		}
	}
}

enum status joint_find(const struct graph *graph, const bool *forward, const struct rules *rules, struct joint *joint)
{
	*joint = (struct joint){ 0 };
	ROOM(&joint->arena, joint->node, (size_t)graph->tensors + graph->ops);
	HELD uint32_t *MAKE(of_op, graph->ops), *MAKE(of_tensor, graph->tensors);
	NEED(joint->node && of_op && of_tensor);
	FILL_NONE(of_tensor, graph->tensors);
	add_inputs(graph, forward, joint, of_tensor);
	FOR(op, graph->ops)
		joint_add_op(graph, forward, rules, op, joint, of_op, of_tensor);
	TRY(joint_add_edges(graph, of_op, of_tensor, joint));
	joint_measure(joint);
	return OK;
}

void joint_free(struct joint *joint)
{
	arena_free(&joint->arena);
}

/* ---- bans ---- */

static bool fusible(const struct joint_node *a, const struct joint_node *b)
{
	return b->concatenates || ((a->generated || a->random) && (b->generated || b->random));
}

/* Through views, an op after the pass reads it that Inductor can't fuse with what makes it. */
static bool materialized_backward(const struct joint *joint, uint32_t node, uint32_t *stack)
{
	uint32_t depth = 0;
	if (joint->node[node].view)
		return false;
	stack[depth++] = node;
	while (depth > 0) {
		uint32_t at = stack[--depth];
		FOR_ITEMS(item, &joint->users, at) {
			const struct joint_node *user = &joint->node[item];
			if (!user->forward && !fusible(&joint->node[at], user))
				return true;
			if (user->view && depth < joint->nodes)
				stack[depth++] = item;
		}
	}
	return false;
}

static bool banned_alone(const struct joint *joint, const struct joint_bans *bans, uint32_t n, uint32_t *stack)
{
	const struct joint_node *node = &joint->node[n];
	int64_t operands = 0;
	if (node->input)
		return true;
	if (node->item)
		return false;
	if (bans->not_generated ? !node->generated : node->random || node->expensive)
		return true;
	if (bans->materialized && materialized_backward(joint, n, stack))
		return true;
	FOR_ITEMS(operand, &joint->operands, n)
		operands += joint->node[operand].bytes;
	return bans->reductions && node->bytes < operands / 4;
}

struct banning {
	const struct joint *joint;
	const bool *allowed;
	uint32_t *banned, count;
	uint32_t *scratch; /* [nodes] */
	uint8_t *mark;     /* [nodes] */
};

static void ban(struct banning *banning, uint32_t n)
{
	if (!banning->joint->node[n].view && !(banning->allowed && banning->allowed[n]) && !banning->banned[n])
		banning->banned[n] = ++banning->count;
}

/* The first node up to `last` on the ways from a node that can't be fused with the one before. */
static uint32_t first_unfusible(const struct banning *banning, uint32_t from, uint32_t last)
{
	const struct joint *joint = banning->joint;
	enum { OFF, FUSIBLE, UNFUSIBLE };
	uint32_t end = last;
	FOR_ITEMS(item, &joint->users, from)
		if (joint->node[item].forward)
			banning->mark[item] = FUSIBLE;
	for (uint32_t n = from + 1; n <= last && end == last; n++) {
		if (banning->mark[n] == UNFUSIBLE)
			end = n;
		for (uint32_t i = joint->users.start[n]; banning->mark[n] == FUSIBLE && i < joint->users.start[n + 1]; i++) {
			uint32_t user = joint->users.item[i];
			if (joint->node[user].forward && user <= last && banning->mark[user] != UNFUSIBLE)
				banning->mark[user] = fusible(&joint->node[n], &joint->node[user]) ? FUSIBLE : UNFUSIBLE;
		}
	}
	memset(banning->mark + from, OFF, (last + 1 - from) * sizeof *banning->mark);
	return end;
}

/* What uses the same node beyond something that can't be fused. */
static void ban_far_apart(struct banning *banning)
{
	const struct joint *joint = banning->joint;
	FOR(n, joint->nodes) {
		uint32_t last = 0;
		FOR_ITEMS(item, &joint->users, n)
			if (joint->node[item].forward && item > last)
				last = item;
		if (!joint->node[n].forward || last == 0)
			continue;
		uint32_t first = first_unfusible(banning, n, last);
		FOR_ITEMS(user, &joint->users, n)
			if (joint->node[user].forward && user > first && fusible(&joint->node[n], &joint->node[user]))
				ban(banning, user);
	}
}

/* Of long chains of fusible ops one in a hundred. */
static void ban_long_chains(struct banning *banning)
{
	const struct joint *joint = banning->joint;
	enum { VISITED = 1, QUEUED = 2 };
	CLEAR(banning->mark, joint->nodes);
	FOR(start, joint->nodes) {
		if (!joint->node[start].forward || (banning->mark[start] & VISITED))
			continue;
		uint32_t queued = 1;
		banning->mark[start] |= QUEUED;
		for (uint32_t n = start; n < joint->nodes && queued > 0; n++) {
			if (!(banning->mark[n] & QUEUED))
				continue;
			banning->mark[n] &= (uint8_t)~QUEUED;
			queued--;
			if (banning->mark[n] & VISITED)
				continue;
			banning->mark[n] |= VISITED;
			if (n > start + 100 && queued == 0) {
				ban(banning, n);
				break;
			}
			FOR_ITEMS(user, &joint->users, n) {
				bool goes = joint->node[user].forward && fusible(&joint->node[n], &joint->node[user]) && !banning->banned[user];
				queued += goes && !(banning->mark[user] & QUEUED);
				banning->mark[user] |= goes ? QUEUED : 0;
			}
		}
	}
}

/* ---- the cut ---- */

static bool materialized(const struct joint *joint, uint32_t n)
{
	bool all = !joint->node[n].leaves;
	FOR_ITEMS(user, &joint->users, n)
		all &= fusible(&joint->node[n], &joint->node[user]);
	return !all;
}

/* What saving a node costs; an op with several results can't be saved itself. */
static int64_t joint_weight(const struct joint *joint, uint32_t n)
{
	const struct joint_node *node = &joint->node[n];
	int64_t most = FLOW_UNLIMITED / (2 * (int64_t)joint->nodes + 2);
	if (node->steady)
		return 0;
	if (node->tensor == NONE)
		return FLOW_UNLIMITED;
	uint32_t distance = node->distance < 1 ? 1 : node->distance > 100 ? 100 : node->distance;
	double bytes = floor((double)node->bytes * pow(1.1, distance)) * (node->input || materialized(joint, n) ? 1 : 2);
	return bytes < (double)most ? (int64_t)bytes : most;
}

/* Nodes 2 n and 2 n + 1: before and after the arc that is cut where node n is saved. */
static enum status joint_build(const struct joint *joint, struct max_flow *flow, uint8_t *side, const uint32_t *banned)
{
	uint32_t sink = 2 * joint->nodes;
	TRY(flow_init(flow, sink + 1, joint->nodes + joint->users.start[joint->nodes]));
	side[sink] = FLOW_SINK;
	FOR(n, joint->nodes) {
		bool read = false;
		side[2 * n] = banned[n] ? FLOW_SOURCE : FLOW_FREE;
		side[2 * n + 1] = FLOW_FREE;
		if (!joint->node[n].forward)
			continue;
		flow_add(flow, 2 * n, 2 * n + 1, joint_weight(joint, n), 0);
		FOR_ITEMS(user, &joint->users, n) {
			if (joint->node[user].forward)
				flow_add(flow, 2 * n + 1, 2 * user, FLOW_UNLIMITED, 0);
			read |= !joint->node[user].forward;
		}
		if (read)
			flow_add(flow, 2 * n + 1, sink, FLOW_UNLIMITED, 0);
	}
	return flow_ready(flow);
}

/* Nodes from which the sink can still be reached: the cut nearest the sink is the one that networkx takes. */
static void reach_sink(struct max_flow *flow, uint32_t sink, bool *reaches)
{
	uint32_t head = 0, tail = 0;
	CLEAR(reaches, flow->nodes);
	reaches[sink] = true;
	flow->queue[tail++] = sink;
	while (head < tail) {
		uint32_t node = flow->queue[head++];
		FOR_ITEMS(arc, &flow->leaving, node) {
			uint32_t before = flow->to[arc];
			if (flow->residual[arc ^ 1] > 0 && !reaches[before]) {
				reaches[before] = true;
				flow->queue[tail++] = before;
			}
		}
	}
}

static enum status recompute_joint_cut(
	const struct joint *joint, struct control *control, const uint32_t *banned, bool *saved)
{
	struct max_flow flow = { 0 };
	HELD uint8_t *MAKE(side, 2 * (size_t)joint->nodes + 1);
	HELD bool *MAKE(reaches, 2 * (size_t)joint->nodes + 1);
	int64_t value;
	enum status status = side && reaches ? joint_build(joint, &flow, side, banned) : NO_MEMORY;
	status = status == OK ? flow_maximise(&flow, side, control, &value) : status;
	if (status == OK)
		reach_sink(&flow, 2 * joint->nodes, reaches);
	FOR_WHILE(n, joint->nodes, status == OK)
		saved[n] = joint->node[n].forward && !reaches[2 * n] && reaches[2 * n + 1];
	flow_free(&flow);
	return status;
}

enum status joint_cut(const struct joint *joint, const struct joint_bans *bans, const bool *allowed,
	struct control *control, bool *saved, uint32_t *banned)
{
	struct banning banning = { .joint = joint,
		.allowed = allowed,
		.banned = banned,
		.scratch = mem_alloc(joint->nodes + 1, sizeof *banning.scratch),
		.mark = mem_alloc(joint->nodes + 1, sizeof *banning.mark) };
	enum status status = banning.scratch && banning.mark ? OK : NO_MEMORY;
	CLEAR(banned, joint->nodes);
	FOR_WHILE(n, joint->nodes, status == OK)
		if (joint->node[n].forward && banned_alone(joint, bans, n, banning.scratch))
			ban(&banning, n);
	if (status == OK && bans->far_apart)
		ban_far_apart(&banning);
	if (status == OK && bans->long_chains)
		ban_long_chains(&banning);
	status = status == OK ? recompute_joint_cut(joint, control, banned, saved) : status;
	mem_free(banning.scratch);
	mem_free(banning.mark);
	return status;
}
