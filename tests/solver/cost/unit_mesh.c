/* unit_mesh.c: costs of collectives against their formulas in floating point. */
#include <criterion/criterion.h>
#include <math.h>

#include "solver/cost/mesh.h"

static struct mesh_axis axis_of(uint32_t size, uint32_t near_size)
{
	return (struct mesh_axis){ .name = "tp",
		.size = size,
		.near_size = near_size,
		.near = { .latency = 3000000, .rate = INT64_C(300000000000) },
		.far = { .latency = 10000000, .rate = INT64_C(25000000000) } };
}

static void expect_close(int64_t actual, double expected, const char *what)
{
	cr_expect(fabs((double)actual - expected) <= 3 + 1e-9 * expected, "%s: %lld instead of %.0f", what,
		(long long)actual, expected);
}

/* Seconds that bytes take over a link, in picoseconds. */
static double wire(struct link link, double bytes)
{
	return bytes / (double)link.rate * 1e12;
}

Test(mesh, coordinates_are_row_major)
{
	struct mesh mesh = { .axes = 3, .axis = { { .size = 2 }, { .size = 3 }, { .size = 4 } } };
	cr_assert_eq(mesh_devices(&mesh), 24);
	uint32_t device = 0;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 3; j++)
			for (uint32_t k = 0; k < 4; k++, device++) {
				cr_expect_eq(mesh_coordinate(&mesh, device, 0), i);
				cr_expect_eq(mesh_coordinate(&mesh, device, 1), j);
				cr_expect_eq(mesh_coordinate(&mesh, device, 2), k);
			}
	cr_expect_eq(mesh_devices(&(struct mesh) { 0 }), 1);
}

Test(mesh, rings_where_the_number_of_devices_is_no_power_of_two)
{
	struct mesh_axis axis = axis_of(6, 6);
	double bytes = 12e9, latency = (double)axis.near.latency;
	expect_close(collective_time(&axis, COLLECTIVE_ALL_GATHER, (int64_t)bytes),
		5 * latency + wire(axis.near, bytes * 5 / 6), "gather");
	expect_close(collective_time(&axis, COLLECTIVE_REDUCE_SCATTER, (int64_t)bytes),
		5 * latency + wire(axis.near, bytes * 5 / 6), "scatter");
	expect_close(collective_time(&axis, COLLECTIVE_ALL_REDUCE, (int64_t)bytes),
		10 * latency + wire(axis.near, bytes * 10 / 6), "reduce");
	expect_close(collective_time(&axis, COLLECTIVE_ALL_TO_ALL, (int64_t)bytes),
		5 * latency + wire(axis.near, bytes * 5 / 36), "all to all");
	expect_close(collective_time(&axis, COLLECTIVE_SEND, (int64_t)bytes), latency + wire(axis.near, bytes), "send");
	cr_expect_eq(collective_time(&axis, COLLECTIVE_SLICE, (int64_t)bytes), 0);
	/* little data: trees */
	expect_close(collective_time(&axis, COLLECTIVE_ALL_REDUCE, 6), 6 * latency + wire(axis.near, 12), "small reduce");
	expect_close(collective_time(&axis, COLLECTIVE_ALL_TO_ALL, 36), 3 * latency + wire(axis.near, 9), "small all to all");
}

Test(mesh, halving_where_it_is)
{
	struct mesh_axis axis = axis_of(8, 8);
	double bytes = 8e9, latency = (double)axis.near.latency;
	expect_close(collective_time(&axis, COLLECTIVE_ALL_GATHER, (int64_t)bytes),
		3 * latency + wire(axis.near, bytes * 7 / 8), "gather");
	expect_close(collective_time(&axis, COLLECTIVE_ALL_REDUCE, (int64_t)bytes),
		6 * latency + wire(axis.near, bytes * 14 / 8), "reduce");
	expect_close(collective_time(&axis, COLLECTIVE_ALL_TO_ALL, (int64_t)bytes),
		7 * latency + wire(axis.near, bytes * 7 / 64), "all to all");
}

Test(mesh, across_nodes_only_shares_travel)
{
	struct mesh_axis axis = axis_of(32, 8), near = axis_of(8, 8), far = axis_of(4, 1);
	int64_t bytes = INT64_C(32000000000);
	expect_close(collective_time(&axis, COLLECTIVE_ALL_REDUCE, bytes),
		2 * (3 * 3e6 + wire(axis.near, 32e9 * 7 / 8)) + 4 * 10e6 + wire(axis.far, 2 * 0.75 * 4e9), "reduce");
	cr_expect_eq(collective_time(&axis, COLLECTIVE_ALL_GATHER, bytes),
		collective_time(&near, COLLECTIVE_ALL_GATHER, bytes) + collective_time(&far, COLLECTIVE_ALL_GATHER, bytes / 8));
	cr_expect_eq(collective_time(&axis, COLLECTIVE_ALL_TO_ALL, bytes),
		collective_time(&near, COLLECTIVE_ALL_TO_ALL, bytes / 4) + collective_time(&far, COLLECTIVE_ALL_TO_ALL, bytes / 8));
	expect_close(collective_time(&axis, COLLECTIVE_SEND, bytes), 10e6 + wire(axis.far, 32e9), "send");
	/* what goes to a node once goes on while the rest comes: the longer of both ways, and never longer than the plain
	 * one */
	int64_t plain = collective_time(&axis, COLLECTIVE_ALL_TO_ALL, bytes),
			inner = collective_time(&near, COLLECTIVE_ALL_TO_ALL, bytes / 4);
	for (uint16_t share = 1000; share > 0; share = (uint16_t)(share - 50)) {
		axis.dispatch = share;
		int64_t time = collective_time(&axis, COLLECTIVE_ALL_TO_ALL, bytes),
				outer = collective_time(&far, COLLECTIVE_ALL_TO_ALL, bytes / 8 * share / 1000);
		cr_expect_eq(time, inner > outer ? inner : outer, "%u", share);
		cr_expect_leq(time, plain);
		cr_expect_eq(collective_time(&axis, COLLECTIVE_ALL_GATHER, bytes),
			collective_time(&near, COLLECTIVE_ALL_GATHER, bytes) +
				collective_time(&far, COLLECTIVE_ALL_GATHER, bytes / 8));
	}
}

Test(mesh, bytes_are_those_of_rings)
{
	for (uint32_t n = 1; n <= 40; n++) {
		struct mesh_axis axis = axis_of(n, n);
		int64_t bytes = INT64_C(1000003) * n * n;
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_ALL_GATHER, bytes), bytes / n * (n - 1));
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_REDUCE_SCATTER, bytes), bytes / n * (n - 1));
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_ALL_REDUCE, bytes), bytes / n * (n - 1) * 2);
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_ALL_TO_ALL, bytes), bytes / n / n * (n - 1));
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_SEND, bytes), n > 1 ? bytes : 0);
		cr_expect_eq(collective_bytes(&axis, COLLECTIVE_SLICE, bytes), 0);
	}
}

Test(mesh, extremes_stay_in_range)
{
	struct mesh_axis axis = axis_of(1 << 20, 8);
	for (int c = 0; c < COLLECTIVE_COUNT; c++) {
		axis.near.rate = axis.far.rate = 1;
		cr_expect_leq(collective_time(&axis, (enum collective_kind)c, BYTES_MAX), COLLECTIVE_TIME_MAX);
		cr_expect_geq(collective_time(&axis, (enum collective_kind)c, BYTES_MAX), 0);
		axis.near.rate = axis.far.rate = 0;
		cr_expect_eq(collective_time(&axis, (enum collective_kind)c, BYTES_MAX), 0);
		cr_expect_eq(collective_time(&axis, (enum collective_kind)c, 0), 0);
	}
	struct mesh_axis one = axis_of(1, 1);
	for (int c = 0; c < COLLECTIVE_COUNT; c++)
		cr_expect_eq(collective_time(&one, (enum collective_kind)c, 1000), 0);
	/* more data never takes less time */
	axis = axis_of(24, 4);
	for (int c = 0; c < COLLECTIVE_COUNT; c++)
		for (int64_t bytes = 1, last = 0; bytes < INT64_C(1) << 40; bytes *= 3) {
			int64_t time = collective_time(&axis, (enum collective_kind)c, bytes);
			cr_expect_geq(time, last);
			last = time;
		}
}

/* n'(1 - (1 - 1/n')^k) / k of the copies go to other nodes where a node is sent a token once (DeepEP), n' being the
 * nodes that an axis spans or that a router chooses at most (DeepSeek-V3, arXiv 2412.19437, section 3.2.2: 0.45). */
Test(mesh, a_token_goes_to_a_node_once)
{
	static const struct {
		uint32_t size, near, copies, most;
		double share;
	} row[] = { { 64, 8, 8, 4, 0.4499 }, { 64, 8, 8, 0, 0.6564 }, { 16, 8, 8, 4, 0.2490 }, { 64, 8, 1, 0, 1 } };
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct mesh mesh = { .axes = 1, .axis = { axis_of(row[i].size, row[i].near) } };
		mesh.axis[0].held = 152;
		mesh_dispatch(&mesh, row[i].copies, row[i].most);
		cr_expect(fabs(mesh.axis[0].dispatch - 1000 * row[i].share) <= 1, "%zu: %u", i, mesh.axis[0].dispatch);
		double nodes = row[i].most ? row[i].most : row[i].size / row[i].near, copies = row[i].copies;
		nodes = fmin(nodes, row[i].size / row[i].near);
		cr_expect(fabs(row[i].share - nodes * (1 - pow(1 - 1 / nodes, copies)) / copies) < 1e-4, "%zu", i);
		mesh.axis[0] = axis_of(row[i].size, row[i].near);   /* each copy by itself */
		mesh_dispatch(&mesh, row[i].copies, row[i].most);
		cr_expect_eq(mesh.axis[0].dispatch, 0);
	}
}
