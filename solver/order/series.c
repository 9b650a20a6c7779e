/* series.c: the least peak of a series-parallel step.
 *
 * Ops are reduced as resistors are: an op with one way in and one way out joins the parts on both sides, and parts
 * between the same two ops are merged. Of an order of a part only matters what is live along it: valleys between ops
 * and hills while they run, but for those that lie between their neighbours (typical sequences: Bodlaender, Jaffke,
 * Telle, "Typical sequences revisited", 2020; Kayaaslan, Lambert, Marchal, Ucar, "Scheduling series-parallel task
 * graphs to minimize peak memory", TCS 707, 2018). An order that is never above another one, however both are
 * stretched, replaces it in any surroundings.
 *
 * Unlike there, parts side by side may read one item of the op before them, which is freed when the last of them has:
 * a part holds it or not, those that hold it longer may be lower, and so several orders are kept. They are merged over
 * the grid of both parts' valleys. What exceeds the best peak known is dropped: nothing left is a proof. */
#include "job.h"

#define MOST_OPS 10000             /* above it, reducing takes longer than it is worth */
#define MOST_WAYS 400              /* of one part; more take too long */

/* A valley, and the hill on the way to it from the one before. */
struct stop {
	int64_t hill, valley;
	uint32_t ran;                  /* ops of the part that have run */
	bool held;                     /* the part still reads the shared item of the op before it */
};

/* An order of a part. */
struct way {
	struct stop *stop;
	uint32_t *order;
	uint32_t stops, ran;
	struct way *next;
};

/* A part between two ops. */
struct edge {
	uint32_t from, to, next;       /* next: of those from the same op */
	bool gone;
	struct way *ways;
};

struct series {
	struct order_job *job;
	int64_t ceiling;               /* the most that may be live, without base */
	bool dry;                      /* only whether it can be reduced */
	uint32_t start, end;           /* nodes before and behind all ops */
	int64_t *shared;               /* node -> bytes of what several ops read */
	struct edge *edge;
	uint32_t edges;
	uint32_t *head;                /* node -> its first edge */
	uint32_t *ins, *outs;          /* node -> how many edges */
	uint32_t *in_rest, *out_rest;  /* node -> their numbers, exclusive-ored */
	uint8_t *row;                  /* scratch of series_dominates() */
	size_t row_room;
	struct arena arena;
};

/* ---- what is live along a way ---- */

/* A copy of a way, with room for more. NULL: of none; also when out of memory. */
static struct way *series_extend(struct arena *arena, const struct way *from, uint32_t stops, uint32_t ops)
{
	struct way *MAKE_IN(arena, way, 1);
	if (!way || !ROOM(arena, way->stop, stops + (from ? from->stops : 0)) ||
		!ROOM(arena, way->order, ops + (from ? from->ran : 0)))
		return NULL;
	if (from) {
		COPY(way->stop, from->stop, from->stops);
		COPY(way->order, from->order, from->ran);
		way->stops = from->stops;
		way->ran = from->ran;
	}
	return way;
}

/* Appends a stop and the ops up to it. A stop between its neighbours, in height and in what it holds, is left out. */
static void series_append(struct way *way, struct stop stop, const uint32_t *op, uint32_t ops)
{
	uint32_t count = way->stops;
	if (ops)
		COPY(way->order + way->ran, op, ops);
	stop.ran = way->ran += ops;
	way->stop[count++] = stop;
	while (count >= 3) {
		struct stop *a = &way->stop[count - 3], *b = a + 1, *c = a + 2;
		bool rises = b->valley >= a->valley && b->held == a->held && b->hill <= c->hill;
		bool falls = b->valley >= c->valley && b->hill >= c->hill;
		if (!rises && !falls)
			break;
		c->hill = larger_of(b->hill, c->hill);
		*b = *c;
		count--;
	}
	way->stops = count;
}

/* Whether valley or hill i of one way, hills being odd, is as low as j of another one, and holds no more. */
static bool series_below(const struct way *low, uint32_t i, const struct way *high, uint32_t j)
{
	int64_t a = i % 2 ? low->stop[i / 2 + 1].hill : low->stop[i / 2].valley;
	int64_t b = j % 2 ? high->stop[j / 2 + 1].hill : high->stop[j / 2].valley;
	return a <= b && low->stop[i / 2].held <= high->stop[j / 2].held;
}

/* Whether low, with pauses, is never above high, with pauses. */
static enum status series_dominates(struct series *series, const struct way *low, const struct way *high, bool *does)
{
	uint32_t rows = 2 * low->stops - 1, columns = 2 * high->stops - 1;
	*does = false;
	if (!series_below(low, 0, high, 0) || !series_below(low, rows - 1, high, columns - 1))
		return OK;
	NEED(mem_reserve(&series->row, &series->row_room, columns, 1));
	uint8_t *row = series->row;
	bool any = true;
	FOR_WHILE(i, rows, any) {
		bool corner = i == 0;
		any = false;
		FOR(j, columns) {
			bool here = (corner || (i > 0 && row[j]) || (j > 0 && row[j - 1])) && series_below(low, i, high, j);
			corner = i > 0 && row[j];
			row[j] = here;
			any |= here;
		}
	}
	*does = any && row[columns - 1];
	struct control *control = &series->job->control;
	return control_spend(control, (uint64_t)rows * columns / 8) ? control_status(control) : OK;
}

/* Adds a way unless another one is as good, and drops those that aren't any more. */
static enum status series_keep(struct series *series, struct way **ways, struct way *way)
{
	uint32_t kept = 1;
	bool does = false;
	NEED(way);
	for (struct way *other = *ways; other; other = other->next) {
		TRY(series_dominates(series, other, way, &does));
		if (does)
			return OK;
	}
	for (struct way **at = ways; *at;) {
		TRY(series_dominates(series, way, *at, &does));
		if (does) {
			*at = (*at)->next;
		} else {
			at = &(*at)->next;
			kept++;
		}
	}
	way->next = *ways;
	*ways = way;
	return kept > MOST_WAYS ? LIMIT : OK;
}

/* ---- parts side by side ---- */

struct grid {
	struct series *series;
	const struct way *x, *y;
	int64_t shared;                /* bytes that either holds */
	struct way **cell;             /* ways to each pair of their valleys */
	struct arena arena;
};

/* From a way to valleys i and j on to the next one of x or y. */
static enum status grid_step(struct grid *grid, const struct way *from, uint32_t i, uint32_t j, bool first)
{
	const struct stop *x = &grid->x->stop[i], *y = &grid->y->stop[j], *at = first ? x : y, *rest = first ? y : x;
	int64_t hill = at[1].hill + rest->valley;
	uint32_t ops = at[1].ran - at->ran, to = (i + first) * grid->y->stops + j + !first;
	if (hill + (x->held || y->held ? grid->shared : 0) > grid->series->ceiling)
		return OK;
	struct way *way = series_extend(&grid->arena, from, 1, ops);
	NEED(way);
	series_append(way, (struct stop){ hill, at[1].valley + rest->valley, 0, at[1].held || rest->held },
		(first ? grid->x : grid->y)->order + at->ran, ops);
	return series_keep(grid->series, &grid->cell[to], way);
}

static enum status grid_run(struct grid *grid, struct way **merged)
{
	uint32_t rows = grid->x->stops, columns = grid->y->stops;
	const struct stop *x = grid->x->stop, *y = grid->y->stop;
	NEED(ROOM(&grid->arena, grid->cell, (size_t)rows * columns) &&
		(grid->cell[0] = series_extend(&grid->arena, NULL, 1, 0)));
	series_append(grid->cell[0], (struct stop){ 0, x->valley + y->valley, 0, x->held || y->held }, NULL, 0);
	FOR(i, rows)
		FOR(j, columns)
			for (const struct way *way = grid->cell[i * columns + j]; way; way = way->next) {
				if (i + 1 < rows)
					TRY(grid_step(grid, way, i, j, true));
				if (j + 1 < columns)
					TRY(grid_step(grid, way, i, j, false));
			}
	for (const struct way *way = grid->cell[rows * columns - 1]; way; way = way->next)
		TRY(series_keep(grid->series, merged, series_extend(&grid->series->arena, way, 0, 0)));
	return OK;
}

static enum status series_merge(struct series *series, struct edge *edge, const struct way *ways)
{
	struct way *merged = NULL;
	enum status status = OK;
	for (const struct way *x = edge->ways; x && status == OK; x = x->next)
		for (const struct way *y = ways; y && status == OK; y = y->next) {
			struct grid grid = { .series = series, .x = x, .y = y, .shared = series->shared[edge->from] };
			status = grid_run(&grid, &merged);
			arena_free(&grid.arena);
		}
	edge->ways = merged;
	return status;
}

/* ---- parts in a row ---- */

/* A way, then an op, then what reads its products. */
static enum status series_join(struct series *series, const struct edge *edge, const struct way *before,
	const struct way *behind, struct way **joined)
{
	const struct problem *problem = series->job->problem;
	const struct stop *last = &before->stop[before->stops - 1];
	int64_t hill = last->valley + problem->workspace[edge->to], shared = series->shared[edge->to];
	FOR_ITEMS(product, &problem->products, edge->to)
		hill += problem->size[product];
	bool fits = hill + (last->held ? series->shared[edge->from] : 0) <= series->ceiling;
	struct way *way = series_extend(&series->arena, before, behind->stops, 1 + behind->ran);
	NEED(way);
	FOR(i, behind->stops) {
		const struct stop *stop = &behind->stop[i];
		uint32_t from = i ? stop[-1].ran : 0;
		if (i)
			hill = stop->hill + (stop[-1].held ? shared : 0);
		fits = fits && hill <= series->ceiling;
		series_append(way, (struct stop){ hill, stop->valley + (stop->held ? shared : 0), 0, false },
			i ? behind->order + from : &edge->to, i ? stop->ran - from : 1);
	}
	return fits ? series_keep(series, joined, way) : OK;
}

/* ---- reduction ---- */

static void series_link(struct series *series, uint32_t edge)
{
	const struct edge *at = &series->edge[edge];
	series->outs[at->from] += at->gone ? UINT32_MAX : 1;
	series->ins[at->to] += at->gone ? UINT32_MAX : 1;
	series->out_rest[at->from] ^= edge;
	series->in_rest[at->to] ^= edge;
}

/* A part between two ops, merged with another one between the same. */
static enum status series_add(struct series *series, uint32_t from, uint32_t to, struct way *ways)
{
	for (uint32_t i = series->head[from]; i != NONE; i = series->edge[i].next)
		if (!series->edge[i].gone && series->edge[i].to == to)
			return series->dry ? OK : series_merge(series, &series->edge[i], ways);
	uint32_t edge = series->edges++;
	series->edge[edge] = (struct edge){ from, to, series->head[from], false, ways };
	series->head[from] = edge;
	series_link(series, edge);
	return OK;
}

static enum status series_reduce(struct series *series)
{
	bool changed = true;
	while (changed) {
		changed = false;
		FOR(op, series->start) {
			if (series->ins[op] != 1 || series->outs[op] != 1)
				continue;
			uint32_t in = series->in_rest[op], out = series->out_rest[op];
			struct edge *x = &series->edge[in], *y = &series->edge[out];
			struct way *joined = NULL;
			for (const struct way *before = x->ways; before; before = before->next)
				for (const struct way *behind = y->ways; behind; behind = behind->next)
					TRY(series_join(series, x, before, behind, &joined));
			x->gone = y->gone = changed = true;
			series_link(series, in);
			series_link(series, out);
			TRY(series_add(series, x->from, y->to, joined));
		}
	}
	return OK;
}

/* ---- the step ---- */

static bool series_reads(const struct series *series, uint32_t item, uint32_t reader)
{
	const struct problem *problem = series->job->problem;
	if (reader == series->end)
		return problem->live_out[item];
	FOR_ITEMS(user, &problem->users, item)
		if (user == reader)
			return true;
	return false;
}

/* The part without ops between two that depend on each other: the items of one that only the other reads. */
static enum status series_between(struct series *series, uint32_t from, uint32_t to)
{
	const struct problem *problem = series->job->problem;
	struct way *way = series->dry ? NULL : series_extend(&series->arena, NULL, 1, 0);
	NEED(way || series->dry);
	struct stop stop = { 0 };
	FOR(i, from != series->start ? csr_length(&problem->products, from) : 0) {
		uint32_t item = csr_at(&problem->products, from, i);
		if (!series_reads(series, item, to))
			continue;
		bool shared = csr_length(&problem->users, item) + problem->live_out[item] > 1;
		stop.held |= shared;
		stop.valley += shared ? 0 : problem->size[item];
	}
	if (way)
		series_append(way, stop, NULL, 0);
	return series_add(series, from, to, way);
}

/* What several ops read is freed when all have: what others read as well must have the same readers. */
static bool series_shares(struct series *series, uint32_t op)
{
	const struct problem *problem = series->job->problem;
	const struct csr *users = &problem->users;
	uint32_t other = NONE;
	FOR_ITEMS(item, &problem->products, op) {
		uint32_t count = csr_length(users, item);
		if (count + problem->live_out[item] < 2)
			continue;
		other = other == NONE ? item : other;
		const uint32_t *user = users->item + users->start[item], *same = users->item + users->start[other];
		if (count != csr_length(users, other) || problem->live_out[item] != problem->live_out[other] ||
			memcmp(user, same, count * sizeof *user) != 0)
			return false;
		series->shared[op] += problem->size[item];
	}
	return true;
}

/* All parts as they are before the first reduction, then reduced. INFEASIBLE: they can't be. */
static enum status series_run(struct series *series)
{
	const struct problem *problem = series->job->problem;
	uint32_t nodes = series->end + 1;
	series->edges = 0;
	CLEAR(series->ins, nodes);
	CLEAR(series->outs, nodes);
	CLEAR(series->in_rest, nodes);
	CLEAR(series->out_rest, nodes);
	FILL_NONE(series->head, nodes);
	FOR(op, problem->ops) {
		bool ends = csr_length(&problem->succ, op) == 0;
		series->shared[op] = 0;
		if (!series_shares(series, op))
			return INFEASIBLE;
		FOR_ITEMS(product, &problem->products, op)
			ends |= problem->live_out[product];
		FOR_ITEMS(after, &problem->succ, op)
			TRY(series_between(series, op, after));
		if (ends)
			TRY(series_between(series, op, series->end));
		if (csr_length(&problem->pred, op) == 0)
			TRY(series_between(series, series->start, op));
	}
	TRY(series_reduce(series));
	bool whole = series->ins[series->end] == 1 && series->outs[series->start] == 1;
	return whole && series->in_rest[series->end] == series->out_rest[series->start] ? OK : INFEASIBLE;
}

/* Offers the last part's ways; none: the ceiling is a bound. */
static void series_finish(struct series *series)
{
	struct order_job *job = series->job;
	const struct way *ways = series->edge[series->in_rest[series->end]].ways;
	for (const struct way *way = ways; way; way = way->next)
		order_job_offer(job, way->order, "series-parallel parts");
	int64_t above = series->ceiling + job->problem->base + 1;
	order_job_raise(job, ways ? job->peak : above, ORDER_PROOF_SERIES, NONE);
}

enum status order_run_series(struct order_job *job)
{
	const struct problem *problem = job->problem;
	uint32_t ops = problem->ops, nodes = ops + 2;
	struct series series = { .job = job, .dry = true, .start = ops };
	series.end = ops + 1;
	FOR(item, problem->items)
		if (problem->producer[item] == NONE || ops > MOST_OPS)
			return OK;
	struct arena *arena = &series.arena;
	enum status status = ROOMS(arena, nodes, series.shared, series.ins, series.outs, series.in_rest, series.out_rest,
		series.head) && ROOM(arena, series.edge, (size_t)problem->succ.start[ops] + 3 * (size_t)ops)
		? series_run(&series) : NO_MEMORY;
	series.dry = false;
	/* The lower the ceiling, the fewer ways there are. */
	for (int shift = 6; shift >= 0 && status == OK && !order_job_done(job); shift -= 2) {
		int64_t least = larger_of(job->bound, problem->base);
		series.ceiling = least + ((job->peak - 1 - least) >> shift) - problem->base;
		status = series_run(&series);
		if (status == OK)
			series_finish(&series);
	}
	arena_free(arena);
	mem_free(series.row);
	return status == INFEASIBLE || status == LIMIT ? OK : status;
}
