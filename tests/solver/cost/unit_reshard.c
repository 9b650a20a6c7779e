/* unit_reshard.c: resharding against all sequences of moves, and every move against the pieces that devices hold. */

#include "solver/cost/reshard.h"
#include "tests/common/support.h"

#define PARTS 3

/* A tensor of three parts, alone in its graph. */
struct fixture {
	struct graph graph;
	struct tensor tensor;
	int64_t shape[PARTS];
	uint32_t part_start[2];
	struct part part[PARTS];
	struct units units;
	struct mesh mesh;
};

static void fixture_make(struct fixture *fixture, const int64_t *size, uint32_t axes, const uint32_t *axis)
{
	*fixture = (struct fixture){
		.tensor = { .dims = PARTS, .bytes = 4 }, .part_start = { 0, PARTS }, .mesh = { .axes = axes }
	};
	for (int i = 0; i < PARTS; i++) {
		fixture->shape[i] = size[i];
		fixture->tensor.bytes *= size[i];
		fixture->part[i] = (struct part) { .size = size[i], .dim = (uint8_t)i };
	}
	fixture->tensor.shape = fixture->shape;
	fixture->graph = (struct graph) { .tensor = &fixture->tensor, .tensors = 1 };
	fixture->units = (struct units) { .graph = &fixture->graph, .part_start = fixture->part_start, .part = fixture->part };
	for (uint32_t a = 0; a < axes; a++)
		fixture->mesh.axis[a] = (struct mesh_axis) { .size = axis[a], .near_size = a == 0 ? 1 : axis[a],
			.near = { 3000000, INT64_C(300000000000) }, .far = { 10000000, INT64_C(25000000000) } };
}

static struct placement placed(const struct fixture *fixture, int code)
{
	struct placement placement = { { PLACE_WHOLE, PLACE_WHOLE, PLACE_WHOLE, PLACE_WHOLE } };
	for (uint32_t a = 0; a < fixture->mesh.axes; a++, code /= PARTS + 2)
		placement.on[a] = (int8_t)(code % (PARTS + 2) - 2);
	return placement;
}

static int codes(const struct fixture *fixture)
{
	int count = 1;
	for (uint32_t a = 0; a < fixture->mesh.axes; a++)
		count *= PARTS + 2;
	return count;
}

/* ---- what devices hold, from first principles ------------------------------------------------ */

struct range { int64_t low, high; };

/* What a device holds of a part: axes cut one after the other. False where that isn't even. */
static bool held(
	const struct fixture *fixture, struct placement placement, uint32_t device, int part, struct range *range)
{
	*range = (struct range) { 0, fixture->part[part].size };
	for (uint32_t a = 0; a < fixture->mesh.axes; a++) {
		int64_t n = fixture->mesh.axis[a].size, length = (range->high - range->low) / n;
		if (placement.on[a] != part)
			continue;
		if (length * n != range->high - range->low || n < 2)
			return false;
		range->low += length * mesh_coordinate(&fixture->mesh, device, a);
		range->high = range->low + length;
	}
	return true;
}

static uint32_t neighbour(const struct mesh *mesh, uint32_t device, uint32_t axis, uint32_t coordinate)
{
	uint32_t inner = 1;
	for (uint32_t a = axis + 1; a < mesh->axes; a++)
		inner *= mesh->axis[a].size;
	return device + (coordinate - mesh_coordinate(mesh, device, axis)) * inner;
}

/* Time of a change on one axis if every device can do it with its group there, else -1. */
static int64_t change(
	const struct fixture *fixture, struct placement from, uint32_t axis, int8_t to, bool wants_partial)
{
	const struct mesh_axis *on = &fixture->mesh.axis[axis];
	struct placement after = from;
	int8_t old = from.on[axis];
	int64_t before_bytes = 4, after_bytes = 4;
	struct range a, b;
	after.on[axis] = to;
	if (old == to || (to == PLACE_PARTIAL && (old != PLACE_WHOLE || !wants_partial)))
		return -1;
	for (uint32_t device = 0; device < mesh_devices(&fixture->mesh); device++)
		for (int part = 0; part < PARTS; part++) {
			if (!held(fixture, from, device, part, &a) || !held(fixture, after, device, part, &b))
				return -1;
			before_bytes *= device == 0 ? a.high - a.low : 1;
			after_bytes *= device == 0 ? b.high - b.low : 1;
			if (part == old && old >= 0) {   /* the group's pieces in turn are the new piece */
				int64_t at = b.low;
				for (uint32_t c = 0; c < on->size; c++) {
					held(fixture, from, neighbour(&fixture->mesh, device, axis, c), part, &a);
					if (a.low != at)
						return -1;
					at = a.high;
				}
				if (at != b.high)
					return -1;
			} else if (part == to) {         /* the new piece is the one that is this device's turn */
				int64_t length = (a.high - a.low) / on->size;
				if (b.low != a.low + length * mesh_coordinate(&fixture->mesh, device, axis) || b.high != b.low + length)
					return -1;
			}
		}
	if (old == PLACE_PARTIAL)
		return collective_time(on, to >= 0 ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE, before_bytes);
	if (old == PLACE_WHOLE)
		return 0;
	return to >= 0 ? collective_time(on, COLLECTIVE_ALL_TO_ALL, before_bytes * on->size)
		: collective_time(on, COLLECTIVE_ALL_GATHER, after_bytes);
}

/* The least time over all sequences of at most depth changes. */
static int64_t brute(const struct fixture *fixture, struct placement from, struct placement to, int depth, int64_t best)
{
	if (placement_equal(from, to))
		return 0;
	for (uint32_t a = 0; depth > 0 && a < fixture->mesh.axes; a++)
		for (int8_t value = -2; value < PARTS; value++) {
			int64_t time = change(fixture, from, a, value, to.on[a] == PLACE_PARTIAL);
			if (time < 0 || (best >= 0 && time > best))
				continue;
			struct placement next = from;
			next.on[a] = value;
			int64_t rest = brute(fixture, next, to, depth - 1, best < 0 ? best : best - time);
			if (rest >= 0 && (best < 0 || rest + time < best))
				best = rest + time;
		}
	return best;
}

static void check_moves(
	const struct fixture *fixture, struct placement from, struct placement to, const struct reshard *reshard)
{
	int64_t time = 0, sent = 0;
	for (uint32_t i = 0; i < reshard->moves; i++) {
		const struct reshard_move *move = &reshard->move[i];
		int64_t expected = change(fixture, from, move->axis, move->to.on[move->axis], to.on[move->axis] == PLACE_PARTIAL);
		from.on[move->axis] = move->to.on[move->axis];
		cr_assert(placement_equal(from, move->to));
		cr_assert_geq(expected, 0, "a move that devices can't do");
		cr_assert_eq(move->time, expected);
		time += expected;
		sent += collective_bytes(&fixture->mesh.axis[move->axis], move->collective, move->bytes);
	}
	cr_assert(placement_equal(from, to));
	cr_assert_eq(reshard->time, time);
	cr_assert_eq(reshard->sent, sent);
}

static void check_all(const int64_t *size, uint32_t axes, const uint32_t *axis, int depth, int stride)
{
	struct fixture fixture;
	struct range range;
	fixture_make(&fixture, size, axes, axis);
	for (int i = 0; i < codes(&fixture); i += stride)
		for (int j = i * 7 % stride; j < codes(&fixture); j += stride) {
			struct placement from = placed(&fixture, i), to = placed(&fixture, j);
			struct reshard reshard;
			bool divides = true, possible = true;
			for (int part = 0; part < PARTS; part++)
				divides = divides && held(&fixture, from, 0, part, &range) && held(&fixture, to, 0, part, &range);
			for (uint32_t a = 0; a < axes; a++)
				possible = possible && !(from.on[a] >= 0 && to.on[a] == PLACE_PARTIAL);
			enum status status = reshard_find(&fixture.units, &fixture.mesh, 0, from, to, &reshard);
			if (!divides || !possible) {
				cr_assert(status == INFEASIBLE || i == j);
				continue;
			}
			cr_assert_eq(status, OK);
			check_moves(&fixture, from, to, &reshard);
			int64_t best = brute(&fixture, from, to, depth, -1);
			if (reshard.moves <= (uint32_t)depth)
				cr_assert_eq(reshard.time, best, "%d to %d: %lld, but %lld is possible", i, j, (long long)reshard.time,
					(long long)best);
			else
				cr_assert(best < 0 || reshard.time < best);
		}
}

/* A memo, asked again and again, says the same as single searches. */
static void check_memo(const int64_t *size, uint32_t axes, const uint32_t *axis, int stride)
{
	struct fixture fixture;
	struct reshard_memo memo;
	uint32_t class = 0;
	fixture_make(&fixture, size, axes, axis);
	fixture.units.tensor_class = &class;
	fixture.units.tensor_classes = 1;
	cr_assert_eq(reshard_memo_begin(&memo, &fixture.units, &fixture.mesh), OK);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < codes(&fixture); i++)
			for (int j = i * 7 % stride; j < codes(&fixture); j += stride) {
				struct placement from = placed(&fixture, i), to = placed(&fixture, j);
				struct reshard single;
				const struct reshard *known;
				enum status status = reshard_any(&fixture.units, &fixture.mesh, 0, from, to, &single);
				cr_assert_eq(reshard_memo_find(&memo, 0, from, to, &known), status);
				if (status != OK)
					continue;
				cr_assert(known->time == single.time && known->sent == single.sent && known->moves == single.moves);
				for (uint32_t k = 0; k < single.moves; k++)
					cr_assert(known->move[k].collective == single.move[k].collective && known->move[k].axis == single.move[k].axis
						&& known->move[k].bytes == single.move[k].bytes && known->move[k].time == single.move[k].time
						&& placement_equal(known->move[k].to, single.move[k].to));
			}
	reshard_memo_end(&memo);
}

Test(reshard, a_memo_says_the_same)
{
	check_memo((const int64_t[]) { 8, 2, 6 }, 1, (const uint32_t[]) { 3 }, 1);
	check_memo((const int64_t[]) { 4, 2, 2 }, 2, (const uint32_t[]) { 2, 2 }, 1);
	check_memo((const int64_t[]) { 1 << 12, 1 << 9, 64 }, 3, (const uint32_t[]) { 2, 4, 2 }, 7);
}

Test(reshard, one_axis_is_as_fast_as_any_sequence)
{
	check_all((const int64_t[]) { 1 << 12, 1 << 9, 6 }, 1, (const uint32_t[]) { 4 }, 4, 1);
	check_all((const int64_t[]) { 8, 2, 6 }, 1, (const uint32_t[]) { 3 }, 4, 1);
}

Test(reshard, two_axes_are_as_fast_as_any_sequence)
{
	check_all((const int64_t[]) { 1 << 12, 1 << 9, 6 }, 2, (const uint32_t[]) { 2, 4 }, 4, 1);
	check_all((const int64_t[]) { 4, 2, 2 }, 2, (const uint32_t[]) { 2, 2 }, 4, 1);
}

Test(reshard, three_axes_are_as_fast_as_any_sequence)
{
	check_all((const int64_t[]) { 1 << 12, 1 << 9, 64 }, 3, (const uint32_t[]) { 2, 4, 2 }, 3, 11);
}

Test(reshard, a_slow_axis_reduces_pieces_of_idle_replicas)
{
	struct fixture fixture;
	struct reshard reshard;
	fixture_make(&fixture, (const int64_t[]) { 1 << 12, 1 << 12, 4 }, 2, (const uint32_t[]) { 4, 8 });
	struct placement from = placed(&fixture, 0 + 5 * 1), to = placed(&fixture, 1 + 5 * 1);
	cr_assert_eq(from.on[0], PLACE_PARTIAL);
	cr_assert_eq(from.on[1], PLACE_WHOLE);
	cr_assert_eq(reshard_find(&fixture.units, &fixture.mesh, 0, from, to, &reshard), OK);
	cr_assert_eq(reshard.moves, 3);
	cr_expect_eq(reshard.move[0].collective, COLLECTIVE_SLICE);
	cr_expect_eq(reshard.move[1].collective, COLLECTIVE_ALL_REDUCE);
	cr_expect_eq(reshard.move[2].collective, COLLECTIVE_ALL_GATHER);
	cr_expect_lt(reshard.time, collective_time(&fixture.mesh.axis[0], COLLECTIVE_ALL_REDUCE, fixture.tensor.bytes));
}

Test(reshard, many_parts_and_axes_are_bounded)
{
	struct part part[20];
	int64_t shape[20];
	struct tensor tensor = { .dims = 20, .bytes = 1, .shape = shape };
	for (int i = 0; i < 20; i++) {
		part[i] = (struct part) { .size = 6, .dim = (uint8_t)i };
		shape[i] = 6;
		tensor.bytes *= 6;
	}
	struct graph graph = { .tensor = &tensor, .tensors = 1 };
	uint32_t part_start[2] = { 0, 20 };
	struct units units = { .graph = &graph, .part_start = part_start, .part = part };
	struct mesh mesh = { .axes = 4 };
	for (int a = 0; a < 4; a++)
		mesh.axis[a] = (struct mesh_axis) { .size = 2, .near_size = 2, .near = { 1000000, INT64_C(100000000000) } };
	struct placement from = { { 0, 1, 2, 3 } }, to = { { 16, 17, 18, PLACE_WHOLE } };
	struct reshard reshard;
	cr_assert_eq(reshard_find(&units, &mesh, 0, from, to, &reshard), OK);
	cr_assert_eq(reshard.moves, 4);
	cr_assert_eq(reshard.time, 3 * collective_time(&mesh.axis[0], COLLECTIVE_ALL_TO_ALL, tensor.bytes / 8)
		+ collective_time(&mesh.axis[0], COLLECTIVE_ALL_GATHER, tensor.bytes / 8));
}

Test(reshard, failing_allocations_leave_nothing)
{
	struct fixture fixture;
	struct reshard reshard;
	fixture_make(&fixture, (const int64_t[]) { 64, 64, 4 }, 2, (const uint32_t[]) { 4, 8 });
	EACH_REFUSAL(refused)
		refused.status = reshard_find(&fixture.units, &fixture.mesh, 0, placed(&fixture, 2), placed(&fixture, 8), &reshard);
}
