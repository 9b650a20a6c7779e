/* check_moment.c: what is alive at one moment, worked out again from the buffers. Independent of the solvers. */
#include "layout.h"

/* What is alive, pinned ones apart. */
struct alive {
	int64_t *size, *bottom, *top;  /* of the free ones; of the pinned ones */
	uint32_t free, pinned;
	int64_t grain;                 /* offsets of the free ones are multiples of it */
};

static int64_t joint_divisor(int64_t a, int64_t b)
{
	return b ? joint_divisor(b, a % b) : a;
}

#define GRAIN_MOST (INT64_C(1) << 31)

/* A number that all multiples of both are multiples of: the least common one unless it is huge. */
static int64_t joint_multiple(int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a / joint_divisor(a, b), b, &product) ? a : product;
}

/* Its bytes at the step, or 0: not there. */
static int64_t check_moment_bytes_at(const struct buffers *buffers, uint32_t i, int64_t step, int64_t alignment)
{
	uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0,
			 last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
	bool there = first == last && buffers->lower[i] <= step && step < buffers->upper[i];
	FOR_FROM(k, first, last)
		there |= buffers->piece[k].lower <= step && step < buffers->piece[k].upper;
	return there ? align_up(buffers->size[i], alignment) : 0;
}

#define ROOM_MOST (INT64_C(1) << 22)

/* The largest sum of sizes within the room, all in units; -1 when out of memory. */
static int64_t check_moment_fullest(const struct alive *alive, int64_t room)
{
	int64_t sum = 0, unit = 0;
	FOR(i, alive->free) {
		int64_t size = (alive->size[i] + alive->grain - 1) / alive->grain;
		sum += size <= room ? size : 0;
		unit = size <= room ? joint_divisor(size, unit) : unit;
	}
	if (sum <= room || unit == 0)
		return sum;
	room = room / unit;
	if (room > ROOM_MOST)
		return room * unit;
	HELD bool *MAKE(reached, (size_t)room + 1);
	if (!reached)
		return -1;
	reached[0] = true;
	FOR(i, alive->free) {
		int64_t size = (alive->size[i] + alive->grain - 1) / alive->grain / unit;
		for (int64_t s = room; s >= size; s--)
			reached[s] |= reached[s - size];
	}
	while (!reached[room])
		room--;
	return room * unit;
}

/* Free ones into the gaps below and between the pinned ones, the rest on top. */
static int64_t check_moment_stack_up(const struct alive *alive)
{
	int64_t grain = alive->grain, rest = 0, spare = 0, top = 0;
	FOR(i, alive->free) {
		int64_t units = (alive->size[i] + grain - 1) / grain;
		rest += units;
		spare = LARGER(units * grain - alive->size[i], spare);
	}
	/* The pinned ones by ascending bottoms. */
	FOR(done, alive->pinned) {
		int64_t bottom = INT64_MAX, end = 0;
		FOR(i, alive->pinned)
			if (alive->bottom[i] >= top && alive->bottom[i] < bottom) {
				bottom = alive->bottom[i];
				end = alive->top[i];
			}
		if (bottom == INT64_MAX)
			break;
		int64_t start = align_up(top, grain),
				fill = bottom > start ? check_moment_fullest(alive, (bottom - start + grain - 1) / grain) : 0;
		if (fill < 0)
			return -1;
		rest -= fill;
		top = end;
	}
	return rest > 0 ? align_up(top, grain) + rest * grain - spare : top;
}

int64_t layout_check_moment(const struct buffers *buffers, int64_t alignment, int64_t step)
{
	OWN(arena) arena = { 0 };
	struct alive alive = { 0 };
	int64_t sum = 0;
	if (!ROOM(&arena, alive.size, buffers->n) || !ROOM(&arena, alive.bottom, buffers->n) ||
	    !ROOM(&arena, alive.top, buffers->n))
		return -1;
	FOR(i, buffers->n) {
		int64_t bytes = check_moment_bytes_at(buffers, i, step, alignment),
				own = buffers->alignment ? buffers->alignment[i] : 1;
		sum += bytes;
		if (bytes > 0 && buffers->fixed && buffers->fixed[i] >= 0) {
			alive.bottom[alive.pinned] = buffers->fixed[i];
			alive.top[alive.pinned++] = buffers->fixed[i] + bytes;
		} else if (bytes > 0) {
			alive.size[alive.free++] = bytes;
			alive.grain = joint_divisor(joint_multiple(own, alignment), alive.grain);
		}
	}
	return alive.free == 0 || alive.grain > GRAIN_MOST ? sum : check_moment_stack_up(&alive);
}
