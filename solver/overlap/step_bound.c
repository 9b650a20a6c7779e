/* step_bound.c: heads, tails, and Jackson's preemptive schedule of every stream. */

#include "solver/base/sort.h"
#include "step_bound.h"

struct bounding {
	const struct step_model *model;
	struct step_bound *bound;
	int64_t *head;             /* [ops] no op begins before it */
	int64_t *tail;             /* [ops] from an op's end to the begin of the station's op, or the end of the step */
	bool *before;              /* [ops] must be done before it */
	bool *stops;               /* [ops] a station */
	uint32_t *by_head;         /* [ops] scratch */
	int64_t *rest;             /* [ops] picoseconds left of an op */
	struct order_heap heap;
	struct arena arena;
};

/* ---- one stream ---- */

/* Heapsort by head: no allocation, no comparison with a context. */
static void sort_by_head(const int64_t *head, uint32_t *op, uint32_t count)
{
	for (uint32_t end = count, start = count / 2; end > 1;) {
		uint32_t moved, hole;
		if (start > 0) {
			moved = op[hole = --start];
		} else {
			moved = op[--end];
			op[end] = op[0];
			hole = 0;
		}
		for (uint32_t child; (child = 2 * hole + 1) < end; hole = child) {
			if (child + 1 < end && head[op[child]] < head[op[child + 1]])
				child++;
			if (head[moved] >= head[op[child]])
				break;
			op[hole] = op[child];
		}
		op[hole] = moved;
	}
}

/* The greatest min head + sum + min tail over sets of the ops listed; *station's head and tail. 0 where there are none.
 */
static int64_t jackson(struct bounding *bounding, uint32_t count, struct step_station *station)
{
	const int64_t *head = bounding->head, *tail = bounding->tail;
	uint32_t *op = bounding->by_head;
	int64_t now = 0, best = 0;
	uint32_t next = 0, worst = NONE;
	sort_by_head(head, op, count);
	FOR(i, count)
		bounding->rest[op[i]] = bounding->model->time[op[i]];
	while (next < count || bounding->heap.count > 0) {
		if (bounding->heap.count == 0 && head[op[next]] > now)
			now = head[op[next]];
		while (next < count && head[op[next]] <= now) {
			order_heap_put(&bounding->heap, op[next], -tail[op[next]], 0);
			next++;
		}
		uint32_t top = order_heap_top(&bounding->heap);
		int64_t until = next < count && head[op[next]] < now + bounding->rest[top] ? head[op[next]]
			: now + bounding->rest[top];
		bounding->rest[top] -= until - now;
		now = until;
		if (bounding->rest[top] > 0)
			continue;
		order_heap_remove(&bounding->heap, top);
		if (now + tail[top] > best) {
			best = now + tail[top];
			worst = top;
		}
	}
	if (worst == NONE)
		return 0;
	/* Of tails this long alone, the stream was busy without a break up to the worst op's end: since its beginning no
	 * such op was ready and undone. */
	int64_t least = tail[worst], sum = 0, first = INT64_MAX, value = 0;
	FOR_DOWN(i, count) {
		if (tail[op[i]] < least)
			continue;
		sum += bounding->model->time[op[i]];
		first = head[op[i]];
		if (first + sum + least > value) {
			value = first + sum + least;
			station->head = first;
			station->tail = least;
		}
	}
	return value;
}

/* ---- stations ---- */

/* What must be done before op (NONE: the end), and how long what follows each of them takes at least until then. */
static void look_back(struct bounding *bounding, uint32_t op)
{
	const struct step_model *model = bounding->model;
	FOR(v, model->ops) {
		bounding->before[v] = op == NONE;
		bounding->tail[v] = 0;
	}
	if (op != NONE)
		FOR_ITEMS(item, &model->pred, op)
			bounding->before[item] = true;
	FOR_DOWN(p, model->ops) {
		uint32_t v = model->sequence[p];
		int64_t way = bounding->tail[v] + model->time[v];
		if (!bounding->before[v])
			continue;
		FOR_ITEMS(u, &model->pred, v) {
			bounding->before[u] = true;
			bounding->tail[u] = LARGER(way, bounding->tail[u]);
		}
	}
}

/* Raises the op's head by the bound of what must be done before it; returns the head. */
static int64_t step_bound_visit(struct bounding *bounding, uint32_t op, int64_t head)
{
	const struct step_model *model = bounding->model;
	struct step_station best = { .op = op };
	bool raised = false;
	look_back(bounding, op);
	FOR(s, model->streams) {
		struct step_station station = { .op = op, .stream = s };
		uint32_t count = 0;
		FOR(v, model->ops)
			if (bounding->before[v] && model->stream[v] == s && model->time[v] > 0)
				bounding->by_head[count++] = v;
		int64_t value = jackson(bounding, count, &station);
		if (value > head) {
			head = value;
			best = station;
			raised = true;
		}
	}
	if (raised)
		bounding->bound->station[bounding->bound->stations++] = best;
	return head;
}

/* Heads along dependencies, in the model's sequence; at stations the bound of all that is before. */
static int64_t find_heads(struct bounding *bounding)
{
	const struct step_model *model = bounding->model;
	int64_t last = 0;
	FOR(p, model->ops) {
		uint32_t v = model->sequence[p];
		int64_t head = 0;
		FOR_ITEMS(u, &model->pred, v)
			head = LARGER(bounding->head[u] + model->time[u], head);
		bounding->head[v] = head;
		if (bounding->stops[v])
			bounding->head[v] = step_bound_visit(bounding, v, head);
		last = LARGER(bounding->head[v] + model->time[v], last);
	}
	return last;
}

#define STATION_EFFORT (1u << 22)   /* ops looked at from all stations, but from a few at least */
#define STATIONS_LEAST 8u

static uint32_t stations_of(uint32_t ops)
{
	uint32_t stations = STATION_EFFORT / (ops + 1);
	return stations > STATIONS_MOST ? STATIONS_MOST : stations < STATIONS_LEAST ? STATIONS_LEAST : stations;
}

/* Ops along the longest way, evenly by time. */
static void choose_stations(struct bounding *bounding)
{
	const struct step_model *model = bounding->model;
	uint32_t at = NONE, stations = stations_of(model->ops);
	int64_t total = find_heads(bounding), last = INT64_MAX;
	FOR(v, model->ops)
		at = at == NONE && bounding->head[v] + model->time[v] == total ? v : at;
	while (at != NONE) {
		if (last - bounding->head[at] >= total / (stations - 2) && model->time[at] > 0) {
			bounding->stops[at] = true;
			last = bounding->head[at];
		}
		uint32_t next = NONE;
		FOR_ITEMS(u, &model->pred, at)
			next = bounding->head[u] + model->time[u] == bounding->head[at] ? u : next;
		at = next;
	}
}

enum status step_bound_find(const struct step_model *model, struct step_bound *bound)
{
	struct bounding bounding = { .model = model, .bound = bound };
	struct arena *arena = &bounding.arena;
	*bound = (struct step_bound) { .station = mem_alloc(STATIONS_MOST + 1, sizeof *bound->station) };
	enum status status = ROOMS(arena, model->ops, bounding.head, bounding.tail, bounding.rest, bounding.before,
		bounding.stops, bounding.by_head) &&
		bound->station ? order_heap_init(&bounding.heap, model->ops, arena) : NO_MEMORY;
	if (status == OK) {
		choose_stations(&bounding);
		bound->bound = find_heads(&bounding);
		bound->bound = step_bound_visit(&bounding, NONE, bound->bound);
	}
	arena_free(arena);
	if (status != OK)
		step_bound_free(bound);
	return status;
}

void step_bound_free(struct step_bound *bound)
{
	mem_free(bound->station);
	*bound = (struct step_bound) { 0 };
}
