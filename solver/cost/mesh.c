/* mesh.c: costs of collectives. */
#include "mesh.h"

uint32_t mesh_devices(const struct mesh *mesh)
{
	uint32_t devices = 1;
	FOR(a, mesh->axes)
		devices *= mesh->axis[a].size;
	return devices;
}

void mesh_dispatch(struct mesh *mesh, uint32_t copies, uint32_t most_nodes)
{
	FOR(a, mesh->axes) {
		struct mesh_axis *axis = &mesh->axis[a];
		int64_t nodes = axis->size / axis->near_size, missed = 1000000;
		nodes = most_nodes > 0 && most_nodes < nodes ? most_nodes : nodes;
		FOR(k, copies)
			missed = missed * (nodes - 1) / nodes;
		if (axis->held > 0 && copies > 0 && axis->size > axis->near_size)
			axis->dispatch = (uint16_t)(nodes * (1000000 - missed) / (1000 * (int64_t)copies));
	}
}

static bool links_equal(const struct link *a, const struct link *b)
{
	return a->latency == b->latency && a->rate == b->rate;
}

bool mesh_equal(const struct mesh *a, const struct mesh *b)
{
	FOR_WHILE(i, a->axes, i < b->axes) {
		const struct mesh_axis *of_a = &a->axis[i], *of_b = &b->axis[i];
		if (of_a->size != of_b->size || of_a->dispatch != of_b->dispatch ||
			of_a->held != of_b->held || of_a->near_size != of_b->near_size ||
			!links_equal(&of_a->near, &of_b->near) || !links_equal(&of_a->far, &of_b->far))
			return false;
	}
	return a->axes == b->axes && a->padding == b->padding && a->copies == b->copies;
}

uint32_t mesh_coordinate(const struct mesh *mesh, uint32_t device, uint32_t axis)
{
	uint32_t inner = 1;
	FOR_FROM(a, axis + 1, mesh->axes)
		inner *= mesh->axis[a].size;
	return device / inner % mesh->axis[axis].size;
}

__extension__ typedef __int128 wide;

static int64_t divide_up(wide dividend, wide divisor)
{
	wide quotient = (dividend + divisor - 1) / divisor;
	return quotient > COLLECTIVE_TIME_MAX ? COLLECTIVE_TIME_MAX : (int64_t)quotient;
}

/* Hops of latency, then bytes * up / down over the link. */
static int64_t transfer(struct link link, uint32_t hops, int64_t bytes, int64_t up, int64_t down)
{
	if (link.rate == 0)
		return 0;
	int64_t wire = divide_up((wide)bytes * up * PICOSECONDS, (wide)down * link.rate);
	return divide_up((wide)hops * link.latency + wire, 1);
}

static uint32_t log2_up(uint32_t n)
{
	uint32_t log = 0;
	while ((UINT64_C(1) << log) < n)
		log++;
	return log;
}

/* Over n devices that share one kind of link. */
static int64_t flat_time(struct link link, uint32_t n, enum collective_kind collective, int64_t bytes)
{
	uint32_t log = log2_up(n);
	bool halving = (n & (n - 1)) == 0;
	if (n < 2)
		return 0;
	switch (collective) {
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		return transfer(link, halving ? log : n - 1, bytes, n - 1, n);
	case COLLECTIVE_ALL_REDUCE:
		if (halving)
			return transfer(link, 2 * log, bytes, 2 * (n - 1), n);
		/* a tree sends everything up and down */
		return smaller_of(transfer(link, 2 * (n - 1), bytes, 2 * (n - 1), n), transfer(link, 2 * log, bytes, 2, 1));
	case COLLECTIVE_ALL_TO_ALL:
		/* Bruck's algorithm moves half of the local piece each time */
		return smaller_of(
			transfer(link, n - 1, bytes, n - 1, (int64_t)n * n), transfer(link, log, bytes, log, 2 * (int64_t)n));
	case COLLECTIVE_SEND:
		return transfer(link, 1, bytes, 1, 1);
	default:
		return 0;
	}
}

int64_t collective_bytes(const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes)
{
	int64_t n = axis->size;
	if (n < 2)
		return 0;
	switch (collective) {
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		return (int64_t)(((wide)bytes * (n - 1) + n - 1) / n);
	case COLLECTIVE_ALL_REDUCE:
		return (int64_t)(((wide)bytes * 2 * (n - 1) + n - 1) / n);
	case COLLECTIVE_ALL_TO_ALL:
		return (int64_t)(((wide)bytes * (n - 1) + n * n - 1) / (n * n));
	case COLLECTIVE_SEND:
		return bytes;
	default:
		return 0;
	}
}

int64_t collective_time(const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes)
{
	uint32_t near = axis->near_size, nodes = axis->size / (near > 0 ? near : 1);
	if (nodes < 2 || near < 2 || collective == COLLECTIVE_SEND)
		return flat_time(nodes < 2 ? axis->near : axis->far, axis->size, collective, bytes);
	int64_t piece = divide_up(bytes, near), time;
	switch (collective) {
	case COLLECTIVE_ALL_REDUCE:
		time = flat_time(axis->near, near, COLLECTIVE_REDUCE_SCATTER, bytes) + flat_time(axis->far, nodes, collective, piece)
			+ flat_time(axis->near, near, COLLECTIVE_ALL_GATHER, bytes);
		break;
	case COLLECTIVE_ALL_TO_ALL: /* within nodes to the device that sends to its likes, then across */
		time = flat_time(axis->near, near, collective, divide_up(bytes, nodes));
		if (axis->dispatch > 0)
			time = larger_of(time, flat_time(axis->far, nodes, collective, divide_up((wide)piece * axis->dispatch, 1000)));
		else
			time += flat_time(axis->far, nodes, collective, piece);
		break;
	default:
		time = flat_time(axis->near, near, collective, bytes) + flat_time(axis->far, nodes, collective, piece);
		break;
	}
	return smaller_of(time, COLLECTIVE_TIME_MAX);
}

int64_t collective_of(const struct mesh_axis *axis, enum collective_kind collective, int64_t from, int64_t to)
{
	int64_t size = axis->size;
	if (collective == COLLECTIVE_ALL_GATHER)
		return LARGER(from * size, to);
	if (collective == COLLECTIVE_REDUCE_SCATTER)
		return LARGER(to * size, from);
	if (collective == COLLECTIVE_ALL_TO_ALL)
		return LARGER(from, to) * size;
	return collective == COLLECTIVE_SLICE ? 0 : from;
}
