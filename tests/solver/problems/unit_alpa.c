/* unit_alpa.c: the strategies that Alpa gives its solver, as sharding problems: its published objectives, and what a
 * wider choice saves.
 *
 * Strategies and costs as in alpa-projects/alpa, playground/auto_sharding_solver (hlo.py, cluster_env.py; Zheng et al.,
 * OSDI 2022): leaves are cut along one dim by one axis or whole; elementwise ops, broadcasts and sums follow an
 * operand, so a sum over the batch is all-reduced as its operand lies; a product splits two of its three extents over
 * the two axes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "solver/problems/problems.h"

enum { NODES = 120, STRATEGIES = 6, EDGES = 240, PAIRS = EDGES * STRATEGIES * STRATEGIES };

/* The mesh axis that cuts each dim, or WHOLE. */
enum { WHOLE = -1 };
struct spec { int8_t on[2]; };

struct node {
	int rank, strategies, depth;
	double extent[2];
	struct spec spec[STRATEGIES];
};

struct space {
	double size[2], beta[2];
	int nodes, edges;
	struct node node[NODES];
	struct shard_problem problem;
	uint32_t first[NODES + 1], from[EDGES], to[EDGES];
	int64_t cost[NODES * STRATEGIES], usage[NODES * STRATEGIES], begin[NODES], end[NODES], pair[PAIRS];
	size_t table[EDGES + 1];
};

/* In thousandths, to be whole. */
static int64_t thousandths(double cost)
{
	return (int64_t)llround(cost * 1000);
}

static double collective(const struct space *space, double passes, double bytes, int axis, double tie)
{
	return floor(1 + space->beta[axis] * passes * (space->size[axis] - 1) / space->size[axis] * bytes) + tie;
}

static double reduce(const struct space *space, double bytes, int axis)
{
	return collective(space, 2, bytes, axis, 0.01);
}

static double bytes_of(const struct node *node)
{
	return 4 * node->extent[0] * (node->rank > 1 ? node->extent[1] : 1);
}

/* An axis of one device cuts nothing. */
static struct spec spec_of(const struct space *space, int first, int second)
{
	struct spec spec = { { (int8_t)first, (int8_t)second } };
	for (int d = 0; d < 2; d++)
		spec.on[d] = spec.on[d] != WHOLE && space->size[spec.on[d]] < 2 ? WHOLE : spec.on[d];
	return spec;
}

static double gather(const struct space *space, const struct node *node, struct spec is, struct spec wanted)
{
	double cost = 0;
	for (int d = 0; d < node->rank; d++)
		if (is.on[d] != WHOLE && is.on[d] != wanted.on[d])
			cost += collective(space, 1, bytes_of(node), is.on[d], 0.1);
	return cost;
}

static int add_node(struct space *space, int rank, double rows, double columns)
{
	cr_assert_lt(space->nodes, NODES);
	space->node[space->nodes] = (struct node) { .rank = rank, .extent = { rows, columns } };
	return space->nodes++;
}

static void add_strategy(struct space *space, int id, struct spec spec, double cost)
{
	struct node *node = &space->node[id];
	space->cost[id * STRATEGIES + node->strategies] = thousandths(cost);
	node->spec[node->strategies++] = spec;
}

/* The table of an edge, to be filled by rows of the operand's strategies. */
static int64_t *add_edge(struct space *space, int from, int to)
{
	cr_assert_lt(space->edges, EDGES);
	space->from[space->edges] = (uint32_t)from;
	space->to[space->edges] = (uint32_t)to;
	space->table[space->edges + 1] = space->table[space->edges] +
		(size_t)(space->node[from].strategies * space->node[to].strategies);
	if (space->node[to].depth <= space->node[from].depth)
		space->node[to].depth = space->node[from].depth + 1;
	return space->pair + space->table[space->edges++];
}

static int leaf(struct space *space, int rank, double rows, double columns)
{
	int id = add_node(space, rank, rows, columns);
	for (int d = 0; d < rank; d++)
		for (int a = 0; a < 2; a++)
			if (space->size[a] > 1)
				add_strategy(space, id, spec_of(space, d == 0 ? a : WHOLE, d == 1 ? a : WHOLE), 0);
	add_strategy(space, id, spec_of(space, WHOLE, WHOLE), 2);
	return id;
}

/* As an operand is, strategy for strategy. */
static void follow(struct space *space, int id, int operand)
{
	int64_t *pair = add_edge(space, operand, id);
	int n = space->node[id].strategies;
	for (int i = 0; i < n * n; i++)
		pair[i] = i / n == i % n ? 0 : SHARD_FORBIDDEN;
}

static int elementwise(struct space *space, int a, int b)
{
	int leader = space->node[b].depth > space->node[a].depth ? b : a, other = a + b - leader;
	struct node *of = &space->node[leader];
	int id = add_node(space, of->rank, of->extent[0], of->extent[1]);
	for (int p = 0; p < of->strategies; p++)
		add_strategy(space, id, of->spec[p], 0);
	follow(space, id, leader);
	int64_t *pair = add_edge(space, other, id);
	for (int p = 0; p < space->node[other].strategies; p++)
		for (int q = 0; q < of->strategies; q++)
			*pair++ = thousandths(gather(space, &space->node[other], space->node[other].spec[p], of->spec[q]));
	return id;
}

/* A row, repeated. */
static int broadcast(struct space *space, int row, double rows)
{
	int id = add_node(space, 2, rows, space->node[row].extent[0]);
	for (int p = 0; p < space->node[row].strategies; p++)
		add_strategy(space, id, spec_of(space, WHOLE, space->node[row].spec[p].on[0]), 0);
	follow(space, id, row);
	return id;
}

/* The sum of rows. */
static int sum(struct space *space, int matrix)
{
	const struct node *of = &space->node[matrix];
	int id = add_node(space, 1, of->extent[1], 1);
	for (int p = 0; p < of->strategies; p++) {
		struct spec spec = of->spec[p];
		double bytes = 4 * of->extent[1] / (spec.on[1] == WHOLE ? 1 : space->size[spec.on[1]]);
		add_strategy(
			space, id, spec_of(space, spec.on[1], WHOLE), spec.on[0] == WHOLE ? 0 : reduce(space, bytes, spec.on[0]));
	}
	follow(space, id, matrix);
	return id;
}

/* A product that sums over dim `left` of a and dim `right` of b. */
static int product(struct space *space, int a, int b, int left, int right)
{
	static const int cut[6][3] = { { 0, 1, WHOLE }, { 1, 0, WHOLE }, { 0, WHOLE, 1 }, { 1, WHOLE, 0 }, { WHOLE, 1, 0 },
		{ WHOLE, 0, 1 } };
	struct node *x = &space->node[a], *w = &space->node[b];
	struct spec wanted[2][STRATEGIES];
	int id = add_node(space, 2, x->extent[!left], w->extent[!right]), count = 0;
	for (int i = 0; i < 6; i++) {  /* rows, columns, summed */
		const int *on = cut[i];
		bool there = i < 2 || (i < 4 ? space->size[on[2]] > 1 : space->size[0] > 1 && space->size[1] > 1);
		if (!there)
			continue;
		struct spec spec = spec_of(space, on[0], on[1]);
		double bytes = bytes_of(&space->node[id]);
		for (int d = 0; d < 2; d++)
			bytes /= spec.on[d] == WHOLE ? 1 : space->size[spec.on[d]];
		wanted[0][count] = left ? spec_of(space, on[0], on[2]) : spec_of(space, on[2], on[0]);
		wanted[1][count++] = right ? spec_of(space, on[1], on[2]) : spec_of(space, on[2], on[1]);
		add_strategy(space, id, spec, on[2] == WHOLE ? 0 : reduce(space, bytes, on[2]));
	}
	for (int k = 0; k < 2; k++) {
		const struct node *of = k ? w : x;
		int64_t *pair = add_edge(space, k ? b : a, id);
		for (int p = 0; p < of->strategies; p++)
			for (int q = 0; q < count; q++)
				*pair++ = thousandths(gather(space, of, of->spec[p], wanted[k][q]));
	}
	return id;
}

/* A new value lies where the old one does. */
static void alias(struct space *space, int old, int new)
{
	const struct node *a = &space->node[old], *b = &space->node[new];
	int64_t *pair = add_edge(space, old, new);
	for (int p = 0; p < a->strategies; p++)
		for (int q = 0; q < b->strategies; q++)
			*pair++ = memcmp(&a->spec[p], &b->spec[q], sizeof a->spec[p]) == 0 ? 0 : SHARD_FORBIDDEN;
}

/* The training step of a perceptron of h x h layers over b x h inputs. */
static void perceptron(struct space *space, double batch, double hidden, int layers, bool bias)
{
	int weight[12], row[12], input[12], x = leaf(space, 2, batch, hidden), y = leaf(space, 2, batch, hidden);
	for (int i = 0; i < layers; i++) {
		weight[i] = leaf(space, 2, hidden, hidden);
		row[i] = bias ? leaf(space, 1, hidden, 1) : -1;
	}
	for (int i = 0; i < layers; i++) {
		input[i] = x;
		x = product(space, x, weight[i], 1, 0);
		if (bias)
			x = elementwise(space, x, broadcast(space, row[i], batch));
	}
	x = elementwise(space, x, y);
	for (int i = layers; i-- > 0;) {
		int gradient = product(space, input[i], x, 0, 0);
		if (bias)
			elementwise(space, row[i], sum(space, x));
		if (i > 0)
			x = product(space, x, weight[i], 1, 1);
		alias(space, weight[i], elementwise(space, weight[i], gradient));
	}
}

/* The least cost of a step in Alpa's space. */
static double objective(double first, double second, double beta, double batch, double hidden, int layers, bool bias)
{
	struct space *space = calloc(1, sizeof *space);
	struct shard_options options = { .effort = SHARD_EFFORT_DEFAULT };
	OWN(shard_plan) plan;
	struct control control = { 0 };
	struct error error = { 0 };
	*space = (struct space) { .size = { first, second }, .beta = { 1, beta } };
	perceptron(space, batch, hidden, layers, bias);
	uint32_t at = 0;
	for (int n = 0; n < space->nodes; n++) {
		for (int p = 0; p < space->node[n].strategies; p++)
			space->cost[at++] = space->cost[n * STRATEGIES + p];
		space->first[n + 1] = at;
	}
	space->problem = (struct shard_problem){ .nodes = (uint32_t)space->nodes,
		.edges = (uint32_t)space->edges,
		.first = space->first,
		.cost = space->cost,
		.usage = space->usage,
		.begin = space->begin,
		.end = space->end,
		.from = space->from,
		.to = space->to,
		.table = space->table,
		.pair = space->pair,
		.limit = -1 };
	cr_assert_eq(shard_solve(&space->problem, &options, &control, &plan, &error), OK, "%s", error.text);
	cr_assert(plan.proved);
	double found = (double)plan.cost / 1000;
	free(space);
	return found;
}

static double published_reduce(double bytes, double members, double beta)
{
	return floor(1 + beta * 2 * (members - 1) / members * bytes) + 0.01;
}

static void near(double found, double published)
{
	cr_assert(fabs(found / published - 1) < 0.001, "found %.1f, published %.1f", found, published);
}

Test(alpa, objectives_on_one_axis_are_the_published_ones)
{
	for (int turned = 0; turned < 2; turned++) {
		double first = turned ? 1 : 4, second = turned ? 4 : 1, square = 128 * 128 * 4, wide = 128 * 1024 * 4;
		near(objective(first, second, 1, 1024, 128, 2, false), 2 * published_reduce(square, 4, 1));
		near(objective(first, second, 1, 128, 1024, 2, false), published_reduce(wide, 4, 1));
		near(objective(first, second, 1, 1024, 128, 12, false), 12 * published_reduce(square, 4, 1));
		near(objective(first, second, 1, 128, 1024, 12, false), 11 * published_reduce(wide, 4, 1));
		near(objective(first, second, 1, 1024, 128, 2, true),
			2 * published_reduce(square, 4, 1) + 2 * published_reduce(128 * 4, 4, 1));
		near(objective(first, second, 1, 128, 1024, 2, true), published_reduce(wide, 4, 1));
	}
}

Test(alpa, objectives_on_two_axes_are_the_published_ones)
{
	static const double shapes[][2] = { { 4, 8 }, { 8, 4 }, { 3, 4 } };
	for (int i = 0; i < 3; i++) {
		double m0 = shapes[i][0], m1 = shapes[i][1];
		double weights = published_reduce(128 * 128 * 4 / m1, m0, 1),
			   tokens = published_reduce(1024 * 128 * 4 / m0, m1, 0.01);
		near(objective(m0, m1, 0.01, 1024, 128, 2, false), 2 * weights + tokens);
		near(objective(m0, m1, 0.01, 1024, 128, 12, false), 12 * weights + 11 * tokens);
		near(objective(m0, m1, 0.01, 1024, 128, 2, true), tokens + 2 * weights + published_reduce(128 * 4, m0, 1)
			+ published_reduce(128 * 4 / m1, m0, 1));
	}
}
