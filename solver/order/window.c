/* window.c: large neighbourhood search: stretches of the best order around its peak, solved exactly.
 *
 * A window keeps the states before its first and behind its last op, so any order of its ops can replace the one it
 * has. Whether one stays below the peak is a decision for the exact search. Answers are kept by a fingerprint of the
 * window's structure, sizes and threshold: equal layers ask once. */

#include "job.h"

/* ---- cutting out ---- */

struct cutting {
	const struct order_model *model;
	const uint32_t *order, *position;
	uint32_t first, ops;
	uint32_t *items, count;        /* the items that the window touches, in the order of their first touch */
	uint32_t *local;               /* item -> index in items + 1; 0: the window does not touch it */
};

static bool window_inside(const struct cutting *cutting, uint32_t op)
{
	return cutting->position[op] - cutting->first < cutting->ops;
}

/* The dependencies between the window's ops, along one direction. */
static enum status cut_dependencies(
	const struct cutting *cutting, const struct csr *arcs, struct arena *arena, struct csr *result)
{
	uint32_t count = 0;
	FOR(i, cutting->ops)
		count += csr_length(arcs, cutting->order[cutting->first + i]);
	NEED(ROOM(arena, result->start, (size_t)cutting->ops + 1) && ROOM(arena, result->item, count));
	count = 0;
	FOR(i, cutting->ops) {
		FOR_ITEMS(arc, arcs, cutting->order[cutting->first + i])
			if (window_inside(cutting, arc))
				result->item[count++] = cutting->position[arc] - cutting->first;
		result->start[i + 1] = count;
	}
	return OK;
}

/* touch, with items numbered by their first user's place within the window. */
static enum status cut_touches(struct cutting *cutting, struct arena *arena, struct csr *touch)
{
	const struct order_model *model = cutting->model;
	uint32_t count = 0;
	FOR(i, cutting->ops)
		count += csr_length(&model->touch, cutting->order[cutting->first + i]);
	NEED(ROOM(arena, touch->start, (size_t)cutting->ops + 1) && ROOMS(arena, count, touch->item, cutting->items));
	count = 0;
	FOR(i, cutting->ops) {
		FOR_ITEMS(item, &model->touch, cutting->order[cutting->first + i]) {
			if (cutting->local[item] == 0) {
				cutting->items[cutting->count++] = item;
				cutting->local[item] = cutting->count;
			}
			touch->item[count++] = cutting->local[item] - 1;
		}
		touch->start[i + 1] = count;
	}
	return OK;
}

/* Sizes and flags of the window's items. Returns the bytes of those that are alive before it, or -1. */
static int64_t cut_items(const struct cutting *cutting, struct order_window *window)
{
	const struct order_model *model = cutting->model;
	int64_t *size, alive = 0;
	bool *from_start, *to_end;
	if (!ROOMS(&window->arena, cutting->count, size, from_start, to_end))
		return -1;
	FOR(i, cutting->count) {
		uint32_t item = cutting->items[i];
		size[i] = model->size[item];
		from_start[i] = model->from_start[item];
		to_end[i] = model->to_end[item];
		FOR_ITEMS(user, &model->users, item) {
			uint32_t at = cutting->position[user];
			from_start[i] |= at < cutting->first;
			to_end[i] |= at >= cutting->first + cutting->ops;
		}
		alive += from_start[i] ? size[i] : 0;
	}
	window->model.size = size;
	window->model.from_start = from_start;
	window->model.to_end = to_end;
	return alive;
}

static void window_add_to_key(uint64_t key[2], uint64_t value)
{
	key[0] = hash_join(key[0], value);
	key[1] = hash_join(key[1], value ^ UINT64_C(0x5851f42d4c957f2d));
}

static void window_fingerprint(struct order_window *window)
{
	const struct order_model *model = &window->model;
	uint64_t *key = window->key;
	key[0] = UINT64_C(0x6f72646572);
	key[1] = UINT64_C(0x77696e646f77);
	window_add_to_key(key, model->ops);
	window_add_to_key(key, model->items);
	FOR(op, model->ops) {
		window_add_to_key(key, (uint64_t)model->workspace[op]);
		window_add_to_key(key, csr_length(&model->pred, op));
		FOR_ITEMS(before, &model->pred, op)
			window_add_to_key(key, op - before);
		window_add_to_key(key, csr_length(&model->touch, op));
		FOR_ITEMS(each, &model->touch, op)
			window_add_to_key(key, each);
	}
	FOR(item, model->items) {
		window_add_to_key(key, (uint64_t)model->size[item]);
		window_add_to_key(key, (uint64_t)model->from_start[item] | (uint64_t)model->to_end[item] << 1);
	}
}

/* Bytes alive before the window's first op: while it runs, less what it opens and its workspace. */
static int64_t bytes_before(const struct cutting *cutting, const struct order_window *window, const int64_t *live)
{
	int64_t bytes = live[cutting->first] - window->model.workspace[0];
	FOR_ITEMS(item, &window->model.touch, 0)
		if (!window->model.from_start[item])
			bytes -= window->model.size[item];
	return bytes;
}

static enum status window_cut_all(struct cutting *cutting, struct order_window *window, const int64_t *live)
{
	struct arena *arena = &window->arena;
	struct order_model *model = &window->model;
	int64_t *workspace;
	if (!ROOM(arena, workspace, cutting->ops) ||
		cut_dependencies(cutting, &cutting->model->pred, arena, &model->pred) != OK ||
		cut_dependencies(cutting, &cutting->model->succ, arena, &model->succ) != OK ||
		cut_touches(cutting, arena, &model->touch) != OK)
		return NO_MEMORY;
	model->ops = cutting->ops;
	model->items = cutting->count;
	model->workspace = workspace;
	FOR(i, cutting->ops)
		workspace[i] = cutting->model->workspace[cutting->order[cutting->first + i]];
	int64_t alive = cut_items(cutting, window);
	if (alive < 0 || csr_transpose(arena, &model->touch, model->ops, model->items, &model->users) != OK)
		return NO_MEMORY;
	model->base = bytes_before(cutting, window, live) - alive;
	window_fingerprint(window);
	return OK;
}

enum status order_window_cut(struct order_window *window, const struct order_model *model, const uint32_t *order,
	const uint32_t *position, const int64_t *live, uint32_t first, uint32_t ops)
{
	struct cutting cutting = { .model = model, .order = order, .position = position, .first = first, .ops = ops };
	*window = (struct order_window) { .first = first };
	MAKE(cutting.local, model->items);
	enum status status = cutting.local ? window_cut_all(&cutting, window, live) : NO_MEMORY;
	mem_free(cutting.local);
	return status;
}

void order_window_free(struct order_window *window)
{
	arena_free(&window->arena);
}

void order_window_apply(const struct order_window *window, uint32_t *order, uint32_t *local)
{
	uint32_t ops = window->model.ops;
	FOR(i, ops)
		local[i] = order[window->first + local[i]];
	COPY(order + window->first, local, ops);
}

/* ---- solving ---- */

/* What is kept of a decision: the order follows if there is one. */
struct answer {
	uint64_t ticks;
	enum status status;
};

static enum status search_both_ways(
	struct order_job *job, const struct order_window *window, int64_t threshold, uint32_t states, uint32_t *order)
{
	struct order_search_limits limits = { .states = states, .moves = (uint64_t)states * 64 };
	struct order_model reversed = order_model_reversed(&window->model);
	uint32_t visited;
	int64_t bound;
	enum status status = order_search_within(&window->model, threshold, &limits, &job->control, order, &bound, &visited);
	if (status != LIMIT || control_status(&job->control) != OK)
		return status;
	status = order_search_within(&reversed, threshold, &limits, &job->control, order, &bound, &visited);
	if (status == OK)
		order_turn(order, window->model.ops);
	return status;
}

enum status order_window_solve(
	struct order_job *job, const struct order_window *window, int64_t threshold, uint32_t states, uint32_t *order)
{
	uint32_t ops = window->model.ops;
	size_t bytes = sizeof(struct answer) + ops * sizeof *order;
	struct answer *answer = mem_alloc(1, bytes);
	NEED(answer);
	/* The answer depends on threshold and effort as well: a hit is exactly what solving again would give. */
	uint64_t key[2] = { window->key[0], window->key[1] }, ticks = job->control.ticks;
	window_add_to_key(key, (uint64_t)(threshold - window->model.base));
	window_add_to_key(key, states);
	if (!order_job_find(job, key, answer, bytes)) {
		answer->status = search_both_ways(job, window, threshold, states, order);
		answer->ticks = job->control.ticks - ticks;
		memcpy(answer + 1, order, ops * sizeof *order);
		order_job_keep(job, key, answer, bytes, answer->status);
	}
	enum status status = answer->status;
	COPY(order, answer + 1, ops);
	mem_free(answer);
	return status;
}

/* ---- around the peak ---- */

struct improvement {
	struct order_job *job;
	uint32_t *order, *position, *local;
	uint32_t *count;
	int64_t *live, peak;
	uint32_t states;
};

static void window_refresh(struct improvement *improvement)
{
	const struct order_model *model = &improvement->job->model;
	improvement->peak = order_profile(model, improvement->order, improvement->count, improvement->live);
	FOR(i, model->ops)
		improvement->position[improvement->order[i]] = i;
	control_spend(&improvement->job->control, model->touch.start[model->ops]);
}

/* Solves the window of so many ops around a position below the peak. OK: the order has changed. */
static enum status improve_at(struct improvement *improvement, uint32_t at, uint32_t ops)
{
	const struct order_model *model = &improvement->job->model;
	struct order_window window;
	uint32_t first = at > ops / 2 ? at - ops / 2 : 0;
	ops = SMALLER(ops, model->ops - first);
	enum status status = order_window_cut(
		&window, model, improvement->order, improvement->position, improvement->live, first, ops);
	THEN(status, order_window_solve( improvement->job, &window, improvement->peak - 1, improvement->states,
		improvement->local));
	if (status == OK) {
		order_window_apply(&window, improvement->order, improvement->local);
		window_refresh(improvement);
	}
	order_window_free(&window);
	return status;
}

/* Lowers every position at the peak with windows of so many ops. LIMIT or INFEASIBLE: one of them stays. */
static enum status lower_peak(struct improvement *improvement, uint32_t ops)
{
	int64_t peak = improvement->peak;
	FOR(at, improvement->job->model.ops) {
		if (improvement->live[at] != peak)
			continue;
		TRY(improve_at(improvement, at, ops));
	}
	return OK;
}

static enum status window_improve(struct improvement *improvement)
{
	static const uint32_t widths[] = { 40, 100, 200, 500 };
	struct order_job *job = improvement->job;
	for (uint32_t i = 0; i < COUNT_OF(widths) && !order_job_done(job);) {
		int64_t before = improvement->peak;
		enum status status = lower_peak(improvement, widths[i]);
		control_report(&job->control, "order: windows", -1, job->peak, job->bound);
		if (status == OK)
			order_job_offer(job, improvement->order, "exact windows");
		else if (status == INFEASIBLE || (status == LIMIT && control_status(&job->control) == OK))
			i++;
		else
			return status;
		if (status == OK && improvement->peak >= before)   /* windows that don't add up to it would never end */
			return OK;
	}
	return OK;
}

enum status order_improve_windows(struct order_job *job, uint32_t *order, uint32_t states)
{
	OWN(arena) arena = { 0 };
	uint32_t ops = job->model.ops;
	struct improvement improvement = {
		.job = job, .states = states, .order = order,
		.position = arena_alloc(&arena, ops, sizeof *improvement.position),
		.local = arena_alloc(&arena, ops, sizeof *improvement.local),
		.count = arena_alloc(&arena, job->model.items, sizeof *improvement.count),
		.live = arena_alloc(&arena, ops, sizeof *improvement.live),
	};
	enum status status = NO_MEMORY;
	if (improvement.position && improvement.local && improvement.count && improvement.live) {
		window_refresh(&improvement);
		status = window_improve(&improvement);
	}
	return status;
}
