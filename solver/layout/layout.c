/* layout.c: from buffers to offsets.
 *
 * Buffers that live through everything are stacked at the bottom, the rest falls apart into components in time, and
 * each is solved by itself: a part's arena depends on nothing else, and equal parts are solved once. */
#include <inttypes.h>
#include <stdio.h>

#include "solver/base/sort.h"
#include "steps.h"

#define X(id, name, help) name,
const char *const layout_strategy_names[LAYOUT_STRATEGY_COUNT] = { LAYOUT_STRATEGIES(X) };
#undef X
#define X(id, name, help) help,
const char *const layout_strategy_help[LAYOUT_STRATEGY_COUNT] = { LAYOUT_STRATEGIES(X) };
#undef X
const char *const layout_proof_names[LAYOUT_PROOF_COUNT] = { "load", "buffer", "search", "moment", "contradicted" };

struct solve {
	const struct buffers *buffers;
	const struct layout_options *options;
	struct control *control;
	struct layout *layout;
	struct error *error;
	struct layout_model model;
	int64_t base;            /* units at the bottom that what lives through everything takes */
	uint32_t *rest;          /* the other buffers, by first section */
	uint32_t rest_count;
	int64_t height;          /* highest unit in use so far */
	int64_t enough;          /* units: an arena this high will do */
	int64_t bound;           /* units: no arena is lower */
	bool complete;           /* every part has a layout */
	bool late;               /* effort or time is up: what is left gets the first layout */
};

/* ---- what lives through everything ---- */

static bool resident(const struct layout_model *model, uint32_t b)
{
	const struct span *span = &model->span[model->span_start[b]];
	return model->span_start[b + 1] - model->span_start[b] == 1 && span->first == 0 && span->last == model->sections;
}

/* Whether the buffer is taken out and stacked. */
static bool lifted(const struct layout_model *model, uint32_t b)
{
	return !model->pins && !model->aligned && resident(model, b);
}

/* Stacks the residents and lists the rest. Exact where nothing is pinned or aligned: then any layout can be turned into
 * one with the residents at the bottom. */
static enum status lift_residents(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	HELD struct keyed *MAKE(started, model->n);
	MAKE(solve->rest, model->n);
	NEED(started && solve->rest);
	FOR(b, model->n) {
		if (lifted(model, b)) {
			solve->layout->offset[model->origin[b]] = solve->base * model->unit;
			solve->base += model->size[b];
		} else {
			started[solve->rest_count++] = (struct keyed){ model->first[b], b, 0 };
		}
	}
	bool fine = sort_keyed(started, solve->rest_count);
	FOR(i, solve->rest_count)
		solve->rest[i] = started[i].item;
	return fine ? OK : NO_MEMORY;
}

/* ---- one part ---- */

/* A search has shown that the part needs more than was thought. What lies below it belongs to the core, too. */
static enum status layout_raise_bound(
	struct solve *solve, const struct attempt *attempt, int64_t scale, enum status status)
{
	const struct layout_model *model = &solve->model;
	struct layout *layout = solve->layout;
	uint32_t count = attempt->core.count ? attempt->core.count : attempt->part.n;
	mem_free(layout->core);
	MAKE(layout->core, model->n);
	layout->core_count = 0;
	NEED(layout->core);
	FOR(i, count)
		layout->core[layout->core_count++] =
			model->origin[attempt->part.origin[attempt->core.count ? attempt->core.buffer[i] : i]];
	FOR(b, model->n)
		if (lifted(model, b))
			layout->core[layout->core_count++] = model->origin[b];
	SORT(layout->core, layout->core_count, compare_uint32);
	/* Without a resident the others need less if they fill what the bound says. */
	layout->irreducible = attempt->core.irreducible && (solve->base == 0 || attempt->height == attempt->bound);
	solve->bound = solve->base + attempt->bound * scale;
	layout->proof.bound = solve->bound * model->unit;
	layout->ground = LAYOUT_PROOF_SEARCH;
	return status;
}

/* Everything that a part's layout depends on. */
static void layout_fingerprint(const struct attempt *attempt, const struct layout_options *options, uint64_t key[2])
{
	const struct layout_model *part = &attempt->part;
	uint64_t hash = hash_join((uint64_t)options->strategy, options->effort);
	hash = hash_join(hash, (uint64_t)attempt->enough);
	hash = hash_join(hash, hash_join(part->n, options->capacity > 0));
	FOR(b, part->n) {
		hash = hash_join(hash, (uint64_t)part->size[b]);
		hash = hash_join(hash, (uint64_t)part->width[b]);
		hash = hash_join(hash, (uint64_t)part->alignment[b]);
		hash = hash_join(hash, (uint64_t)part->fixed[b]);
		FOR_SPAN(k, part->span_start, b)
			hash = hash_join(hash, (uint64_t)part->span[k].first << 32 | part->span[k].last);
		key[1] = hash_join(key[1] + b, hash ^ UINT64_C(0x5851f42d4c957f2d));
	}
	key[0] = hash;
}

/* What the cache keeps of a part: a header, the offsets, the core. */
struct kept { int64_t height, bound; const char *strategy; uint32_t core_count; bool irreducible; };

static void keep_result(const struct attempt *attempt, struct kept *kept)
{
	int64_t *offset = (int64_t *)(kept + 1);
	*kept = (struct kept){ attempt->height, attempt->bound, attempt->strategy, attempt->core.count,
		attempt->core.irreducible };
	COPY(offset, attempt->offset, attempt->part.n);
	memcpy(offset + attempt->part.n, attempt->core.buffer, attempt->part.n * sizeof *attempt->core.buffer);
}

static void reuse_result(struct attempt *attempt, const struct kept *kept)
{
	const int64_t *offset = (const int64_t *)(kept + 1);
	attempt->height = kept->height;
	attempt->bound = kept->bound;
	attempt->strategy = kept->strategy;
	attempt->core.count = kept->core_count;
	attempt->core.irreducible = kept->irreducible;
	COPY(attempt->offset, offset, attempt->part.n);
	COPY(attempt->core.buffer, offset + attempt->part.n, attempt->part.n);
}

/* Solves the part, or takes what an equal part came to before. */
static enum status solve_or_reuse(struct solve *solve, struct attempt *attempt)
{
	const struct layout_cache *cache = solve->options->cache;
	size_t bytes = sizeof(struct kept) + attempt->part.n * (sizeof *attempt->offset + sizeof *attempt->core.buffer);
	uint64_t key[2] = { 0, 0 };
	HELD struct kept *kept = cache ? mem_alloc(1, bytes) : NULL;
	if (!kept)
		return cache ? NO_MEMORY : layout_attempt(attempt, solve->options, solve->control);
	layout_fingerprint(attempt, solve->options, key);
	if (cache->lookup(cache->context, key, kept, bytes)) {
		reuse_result(attempt, kept);
	} else {
		TRY(layout_attempt(attempt, solve->options, solve->control));
		keep_result(attempt, kept);
		cache->store(cache->context, key, kept, bytes);
	}
	return OK;
}

static enum status layout_solve_part(struct solve *solve, uint32_t from, uint32_t to, uint32_t first, uint32_t last)
{
	struct attempt attempt = { .height = INT64_MAX };
	TRY(layout_model_part(&solve->model, solve->rest + from, to - from, first, last, &attempt.part));
	uint32_t n = attempt.part.n;
	MAKE(attempt.offset, n);
	MAKE(attempt.trial, n);
	MAKE(attempt.order, n);
	MAKE(attempt.core.buffer, n);
	enum status status = attempt.offset && attempt.trial && attempt.order && attempt.core.buffer ? OK : NO_MEMORY;
	int64_t scale = attempt.part.unit / solve->model.unit;
	attempt.bound = attempt.part.max_load;
	attempt.enough = (LARGER(solve->enough, solve->bound) - solve->base) / scale;
	THEN(status, solve->late ? layout_attempt_first(&attempt) : solve_or_reuse(solve, &attempt));
	if (solve->base + attempt.bound * scale > solve->bound)
		status = layout_raise_bound(solve, &attempt, scale, status);
	solve->complete &= attempt.height < INT64_MAX;
	if (status != NO_MEMORY && attempt.height < INT64_MAX) {
		FOR(b, n) {
			uint32_t origin = solve->model.origin[attempt.part.origin[b]];
			solve->layout->offset[origin] = (solve->base + attempt.offset[b] * scale) * solve->model.unit;
		}
		if (solve->base + attempt.height * scale > solve->height) {
			solve->height = solve->base + attempt.height * scale;
			solve->layout->strategy = attempt.strategy;
		}
	}
	mem_free(attempt.offset);
	mem_free(attempt.trial);
	mem_free(attempt.order);
	mem_free(attempt.core.buffer);
	layout_model_free(&attempt.part);
	return status;
}

/* ---- all parts ---- */

/* A part ends where nothing goes on. */
static enum status solve_parts(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	enum status status = OK, stopped = OK;
	uint32_t from = 0;
	solve->complete = true;
	while (from < solve->rest_count && status == OK) {
		uint32_t to = from, end = 0;
		for (; to < solve->rest_count && (to == from || model->first[solve->rest[to]] < end); to++)
			if (model->last[solve->rest[to]] > end)
				end = model->last[solve->rest[to]];
		status = layout_solve_part(solve, from, to, model->first[solve->rest[from]], end);
		from = to;
		/* Stopped while a layout was improved: it counts, and so shall the rest. */
		if ((status == LIMIT || status == CANCELLED) && solve->complete) {
			stopped = status;
			solve->late = true;
			status = OK;
		}
	}
	solve->complete &= from == solve->rest_count;
	return status == OK ? stopped : status;
}

/* What is alive at one moment, pins and alignments taken into account. */
static enum status moment_bound(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	struct layout *layout = solve->layout;
	int64_t bound;
	uint32_t section;
	enum status status = layout_moment_bound(model, &bound, &section);
	if (status != OK || bound * model->unit <= layout->proof.bound)
		return status;
	mem_free(layout->core);
	MAKE(layout->core, model->n);
	layout->core_count = 0;
	layout->irreducible = false;
	NEED(layout->core);
	FOR(b, model->n)
		FOR_SPAN(k, model->span_start, b)
			if (model->span[k].first <= section && section < model->span[k].last)
				layout->core[layout->core_count++] = model->origin[b];
	layout->proof.bound = bound * model->unit;
	layout->witness = model->time[section];
	layout->ground = LAYOUT_PROOF_MOMENT;
	return OK;
}

/* The load, or a single buffer that reaches higher. */
static enum status simple_bound(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	struct layout *layout = solve->layout;
	layout->load = model->max_load * model->unit;
	layout->moment = model->sections ? model->time[model->max_section] : 0;
	layout->proof.bound = layout->load;
	layout->ground = LAYOUT_PROOF_LOAD;
	FOR(b, model->n) {
		int64_t top = (LARGER(model->fixed[b], 0) + model->size[b]) * model->unit;
		if (top <= layout->proof.bound)
			continue;
		if (!layout->core && !(MAKE(layout->core, 1)))
			return NO_MEMORY;
		layout->core[0] = model->origin[b];
		layout->core_count = 1;
		layout->irreducible = true;
		layout->proof.bound = top;
		layout->ground = LAYOUT_PROOF_BUFFER;
	}
	return moment_bound(solve);
}

/* No layout fits the capacity: says so, and which buffers are alive together where the load does not. */
static enum status layout_refuse(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	struct layout *layout = solve->layout;
	int64_t capacity = solve->options->capacity;
	if (layout->ground == LAYOUT_PROOF_LOAD) {
		struct layout_core core = { .buffer = mem_alloc(model->n, sizeof *core.buffer) };
		if (!core.buffer || layout_core_of_load(model, capacity / model->unit, &core) != OK) {
			mem_free(core.buffer);
			return NO_MEMORY;
		}
		FOR(i, core.count)
			core.buffer[i] = model->origin[core.buffer[i]];
		mem_free(layout->core);
		layout->core = core.buffer;
		layout->core_count = core.count;
		layout->irreducible = core.irreducible;
	}
	return fail(solve->error, INFEASIBLE, "no layout fits %lld bytes, %lld are needed", (long long)capacity,
		(long long)layout->proof.bound);
}

char *layout_clash_text(const struct layout_clash *clash, char *text, size_t size)
{
	snprintf(text, size,
		"are pinned to overlapping places: to bytes %" PRId64 " to %" PRId64 " and %" PRId64 " to %" PRId64
		", and both are alive at step %" PRId64, clash->first[0], clash->last[0], clash->first[1], clash->last[1],
			clash->step);
	return text;
}

/* Says why two pinned buffers are in each other's way, if they are. */
static enum status check_pair(
	const struct layout_model *model, uint32_t a, uint32_t b, struct layout *layout, struct error *error)
{
	int64_t unit = model->unit, first = model->fixed[a], last = first + model->size[a], other = model->fixed[b],
		other_last = other + model->size[b];
	char text[300];
	for (uint32_t j = model->span_start[a]; j < model->span_start[a + 1] && first < other_last && other < last; j++) {
		FOR_SPAN(k, model->span_start, b) {
			const struct span *s = &model->span[j], *t = &model->span[k];
			if (s->first >= t->last || t->first >= s->last)
				continue;
			layout->clash = (struct layout_clash){ { model->origin[a], model->origin[b] },
				{ first * unit, other * unit },
				{ last * unit - 1, other_last * unit - 1 }, model->time[LARGER(s->first, t->first)] };
			return fail(error, INFEASIBLE, "buffers %u and %u %s", model->origin[a], model->origin[b],
				layout_clash_text(&layout->clash, text, sizeof text));
		}
	}
	return OK;
}

static enum status layout_check_pins(const struct layout_model *model, struct layout *layout, struct error *error)
{
	FOR_WHILE(a, model->n, model->pins)
		for (uint32_t b = a + 1; model->fixed[a] >= 0 && b < model->n; b++)
			if (model->fixed[b] >= 0)
				TRY(check_pair(model, a, b, layout, error));
	return OK;
}

static enum status solve_given(struct solve *solve)
{
	struct layout *layout = solve->layout;
	enum status status = layout_given(
		solve->buffers, solve->options->alignment, solve->control, layout->offset, &layout->moved);
	if (status != OK) {
		mem_free(layout->offset);
		layout->offset = NULL;
		return status;
	}
	FOR(i, solve->buffers->n) {
		int64_t end = layout->offset[i] + align_up(solve->buffers->size[i], solve->options->alignment);
		layout->arena = end > layout->arena && solve->buffers->size[i] > 0 ? end : layout->arena;
	}
	layout->strategy = layout->moved ? "the file's addresses, some moved" : "the file's addresses";
	return OK;
}

/* Residents, then the parts. */
static enum status place_all(struct solve *solve)
{
	struct layout *layout = solve->layout;
	const struct layout_options *options = solve->options;
	enum status status = lift_residents(solve);
	solve->height = solve->base;
	solve->bound = layout->proof.bound / solve->model.unit;
	solve->enough = options->capacity > layout->proof.bound ? options->capacity / solve->model.unit : solve->bound;
	THEN(status, solve_parts(solve));
	if (!solve->complete) {
		mem_free(layout->offset);
		layout->offset = NULL;
	}
	layout->arena = solve->height * solve->model.unit;
	return status;
}

enum status layout_solve(const struct buffers *buffers, const struct layout_options *options, struct control *control,
			 struct layout *layout, struct error *error)
{
	struct layout_options wanted = *options;
	struct solve solve = { .buffers = buffers,
		.options = &wanted,
		.control = control,
		.layout = layout,
		.error = error,
		.late = options->first };
	*layout = (struct layout){ .strategy = "nothing to place", .clash = LAYOUT_NO_CLASH };
	bool given = options->strategy == LAYOUT_FILE && !buffers->fixed && !buffers->piece_start;
	TRY(layout_model_build(buffers, options->alignment, &solve.model, error));
	MAKE(layout->offset, buffers->n);
	enum status status = layout->offset ? simple_bound(&solve) : NO_MEMORY;
	/* What cannot fit is not worth a search. */
	if (wanted.capacity > 0 && layout->proof.bound > wanted.capacity)
		wanted.effort = 0;
	THEN(status, layout_check_pins(&solve.model, layout, error));
	if (status == INFEASIBLE) {
		mem_free(layout->offset);
		layout->offset = NULL;
	}
	THEN(status, given ? solve_given(&solve) : place_all(&solve));
	layout->proof = (struct proof){ QUANTITY_ARENA, layout->offset ? layout->arena : -1, layout->proof.bound,
		layout_proof_names[layout->ground] };
	if (status == OK && wanted.capacity > 0 && layout->proof.bound > wanted.capacity)
		status = layout_refuse(&solve);
	if (status == NO_MEMORY)
		layout_free(layout);
	mem_free(solve.rest);
	layout_model_free(&solve.model);
	return status;
}

void layout_free(struct layout *layout)
{
	mem_free(layout->offset);
	mem_free(layout->core);
	*layout = (struct layout){ 0 };
}

int64_t layout_load(const struct buffers *buffers, int64_t alignment, int64_t *moment)
{
	struct layout_model model;
	if (layout_model_build(buffers, alignment, &model, NULL) != OK)
		return -1;
	int64_t load = model.max_load * model.unit;
	if (moment)
		*moment = model.sections ? model.time[model.max_section] : 0;
	layout_model_free(&model);
	return load;
}
