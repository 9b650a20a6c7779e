/* unit_max_flow.c: flows against augmenting paths on a dense matrix, cold and warm. */
#include "solver/base/max_flow.h"
#include "tests/common/support.h"

#define NODES 12

struct net {
	int64_t capacity[NODES][NODES];
};

/* One augmenting path by depth-first search; returns what it carried. */
static int64_t augment(struct net *net, int at, int sink, int64_t amount, bool *seen)
{
	if (at == sink)
		return amount;
	seen[at] = true;
	for (int to = 0; to < NODES; to++) {
		int64_t room = net->capacity[at][to];
		if (room == 0 || seen[to])
			continue;
		int64_t carried = augment(net, to, sink, room < amount ? room : amount, seen);
		if (carried > 0) {
			net->capacity[at][to] -= carried;
			net->capacity[to][at] += carried;
			return carried;
		}
	}
	return 0;
}

/* Node NODES - 2 is the source of all sources, NODES - 1 the sink of all sinks. */
static int64_t slow_flow(struct net net, const uint8_t *side)
{
	for (int node = 0; node < NODES - 2; node++) {
		if (side[node] == FLOW_SOURCE)
			net.capacity[NODES - 2][node] = INT64_C(1) << 40;
		if (side[node] == FLOW_SINK)
			net.capacity[node][NODES - 1] = INT64_C(1) << 40;
	}
	int64_t value = 0;
	for (;;) {
		bool seen[NODES] = { false };
		int64_t carried = augment(&net, NODES - 2, NODES - 1, INT64_C(1) << 40, seen);
		if (carried == 0)
			return value;
		value += carried;
	}
}

static int64_t cut_value(const struct net *net, const bool *reached)
{
	int64_t value = 0;
	for (int from = 0; from < NODES - 2; from++)
		for (int to = 0; to < NODES - 2; to++)
			if (reached[from] && !reached[to])
				value += net->capacity[from][to];
	return value;
}

static void check_conservation(const struct max_flow *flow, const uint8_t *side)
{
	int64_t balance[NODES] = { 0 };
	for (uint32_t arc = 0; arc < flow->arcs; arc += 2) {
		int64_t amount = flow_on(flow, arc);
		cr_assert(amount <= flow->capacity[arc] && -amount <= flow->capacity[arc + 1]);
		balance[flow_from(flow, arc)] -= amount;
		balance[flow->to[arc]] += amount;
	}
	for (int node = 0; node < NODES - 2; node++)
		cr_assert(side[node] != FLOW_FREE || balance[node] == 0, "flow is lost at a free node");
}

Test(max_flow, equals_the_slow_flow_with_any_terminals_one_after_the_other)
{
	for (uint64_t round = 0; round < 3000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		struct net net = { { { 0 } } };
		struct max_flow flow;
		uint32_t pairs = 5 + (uint32_t)(random_next(&state) % 40);
		cr_assert_eq(flow_init(&flow, NODES - 2, pairs), OK);
		for (uint32_t i = 0; i < pairs; i++) {
			uint32_t from = (uint32_t)(random_next(&state) % (NODES - 2)), to = (uint32_t)(random_next(&state) % (NODES - 2));
			int64_t capacity = (int64_t)(random_next(&state) % 30), reverse = (int64_t)(random_next(&state) % 3);
			if (from == to)
				to = (to + 1) % (NODES - 2);
			flow_add(&flow, from, to, capacity, reverse);
			net.capacity[from][to] += capacity;
			net.capacity[to][from] += reverse;
		}
		cr_assert_eq(flow_ready(&flow), OK);
		for (int call = 0; call < 6; call++) {
			uint8_t side[NODES] = { 0 };
			for (int node = 0; node < NODES - 2; node++)
				side[node] = (uint8_t)(random_next(&state) % 5 > 2 ? 0 : random_next(&state) % 3);
			struct control control = { 0 };
			int64_t value;
			cr_assert_eq(flow_maximise(&flow, side, &control, &value), OK);
			cr_assert_eq(value, slow_flow(net, side), "seed %lu, call %d", seed, call);
			cr_assert_eq(value, cut_value(&net, flow.reached), "seed %lu, call %d: not a minimum cut", seed, call);
			check_conservation(&flow, side);
		}
		flow_free(&flow);
	}
}

Test(max_flow, forgets_its_flow_when_it_is_stopped)
{
	struct max_flow flow;
	cr_assert_eq(flow_init(&flow, 3, 2), OK);
	uint32_t arc = flow_add(&flow, 0, 1, 5, 0);
	flow_add(&flow, 1, 2, 7, 0);
	cr_assert_eq(flow_ready(&flow), OK);
	const uint8_t side[] = { FLOW_SOURCE, FLOW_FREE, FLOW_SINK };
	atomic_bool cancel = true;
	struct control control = { .cancel = &cancel };
	int64_t value;
	cr_assert_eq(flow_maximise(&flow, side, &control, &value), CANCELLED);
	cr_assert_eq(flow_on(&flow, arc), 0);
	atomic_store(&cancel, false);
	cr_assert_eq(flow_maximise(&flow, side, &control, &value), OK);
	cr_assert_eq(value, 5);
	flow.capacity[arc] = 2;
	cr_assert_eq(flow_maximise(&flow, side, &control, &value), OK);
	cr_assert_eq(value, 2);
	flow_free(&flow);
}
