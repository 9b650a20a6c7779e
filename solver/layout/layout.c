/* layout.c: from buffers to offsets.
 *
 * Buffers that live through everything are stacked at the bottom, the rest falls apart into components in time, and each
 * is solved by itself: a part's arena depends on nothing else, and equal parts are solved once.
 */
#include "steps.h"

#define X(id, name, help) name,
const char *const layout_strategy_names[LAYOUT_STRATEGY_COUNT] = { LAYOUT_STRATEGIES(X) };
#undef X
#define X(id, name, help) help,
const char *const layout_strategy_help[LAYOUT_STRATEGY_COUNT] = { LAYOUT_STRATEGIES(X) };
#undef X
const char *const layout_proof_names[LAYOUT_PROOF_COUNT] = { "load", "buffer", "search", "moment" };

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

/* ---- what lives through everything --------------------------------------------------------------- */

struct started { uint32_t first, buffer; };

static int compare_started(const void *left, const void *right)
{
	const struct started *a = left, *b = right;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static bool resident(const struct layout_model *model, uint32_t b)
{
	const struct span *span = &model->span[model->span_start[b]];
	return model->span_start[b + 1] - model->span_start[b] == 1 && span->first == 0 && span->last == model->sections
		&& span->from == 0 && span->to == model->size[b];
}

/* Whether the buffer is taken out and stacked. */
static bool lifted(const struct layout_model *model, uint32_t b)
{
	return !model->pins && !model->aligned && !model->windowed && resident(model, b);
}

/* Stacks the residents and lists the rest. Exact where nothing is pinned, aligned or windowed: then any layout can be
 * turned into one with the residents at the bottom. */
static enum status lift_residents(struct solve *solve)
{
	const struct layout_model *model = &solve->model;
	struct started *started = mem_alloc(model->n, sizeof *started);
	solve->rest = mem_alloc(model->n, sizeof *solve->rest);
	if (!started || !solve->rest) {
		mem_free(started);
		return NO_MEMORY;
	}
	for (uint32_t b = 0; b < model->n; b++) {
		if (lifted(model, b)) {
			solve->layout->offset[model->origin[b]] = solve->base * model->unit;
			solve->base += model->size[b];
		} else {
			started[solve->rest_count++] = (struct started){ model->first[b], b };
		}
	}
	qsort(started, solve->rest_count, sizeof *started, compare_started);
	for (uint32_t i = 0; i < solve->rest_count; i++)
		solve->rest[i] = started[i].buffer;
	mem_free(started);
	return OK;
}

/* ---- one part ------------------------------------------------------------------------------------------ */

struct attempt {
	struct layout_model part;
	int64_t *offset, *trial;
	uint32_t *order;
	int64_t height;          /* of offset; INT64_MAX: none yet */
	int64_t enough;          /* a layout this high will do */
	int64_t bound;           /* none is lower */
	struct layout_core core; /* why it is above the load */
	const char *strategy;
	const struct layout_recipe *dive; /* the best dive so far, or NULL */
};

/* Keeps the trial if it is better. */
static void keep(struct attempt *attempt, int64_t height, const char *strategy)
{
	if (height >= attempt->height)
		return;
	int64_t *swap = attempt->offset;
	attempt->offset = attempt->trial;
	attempt->trial = swap;
	attempt->height = height;
	attempt->strategy = strategy;
}

static enum status try_dive(struct attempt *attempt, const struct layout_recipe *recipe, struct control *control)
{
	int64_t height;
	enum status status = layout_sort(&attempt->part, recipe->keys, attempt->order);
	if (status == OK)
		status = layout_dive(&attempt->part, attempt->order, recipe->critical, attempt->height, attempt->trial, &height, control);
	if (status == OK && height < attempt->height)
		attempt->dive = recipe;
	if (status == OK)
		keep(attempt, height, recipe->name);
	return status;
}

static enum status try_fit(struct attempt *attempt, const struct layout_recipe *recipe, bool tightest, struct control *control)
{
	int64_t height;
	enum status status = layout_sort(&attempt->part, recipe->keys, attempt->order);
	if (status == OK)
		status = layout_fit(&attempt->part, attempt->order, tightest, attempt->height, attempt->trial, &height, control);
	if (status == OK)
		keep(attempt, height, recipe->name);
	return status;
}

/* A dive where it can be done, else first fit in the same order. */
static enum status try_skyline(struct attempt *attempt, const struct layout_recipe *recipe, struct control *control)
{
	return layout_has_skyline(&attempt->part) ? try_dive(attempt, recipe, control) : try_fit(attempt, recipe, false, control);
}

struct hinted { int64_t offset; uint32_t buffer; };

static int compare_hinted(const void *left, const void *right)
{
	const struct hinted *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

#define HINTED_MOST 20000  /* buffers, for a quadratic fit */

/* A warm start: first fit in order of the hinted offsets. Hints that make up a layout give one that is no higher. */
static enum status try_hints(struct attempt *attempt, struct control *control)
{
	const struct layout_model *part = &attempt->part;
	struct hinted *hinted = mem_alloc(part->n, sizeof *hinted);
	bool any = false;
	int64_t height;
	if (!hinted)
		return NO_MEMORY;
	for (uint32_t b = 0; b < part->n; b++) {
		any |= part->hint[b] >= 0;
		hinted[b] = (struct hinted){ part->hint[b] >= 0 ? part->hint[b] : INT64_MAX, b };
	}
	qsort(hinted, part->n, sizeof *hinted, compare_hinted);
	for (uint32_t i = 0; i < part->n; i++)
		attempt->order[i] = hinted[i].buffer;
	mem_free(hinted);
	if (!any)
		return OK;
	enum status status = layout_fit(part, attempt->order, false, attempt->height, attempt->trial, &height, control);
	if (status == OK)
		keep(attempt, height, "hints");
	return status;
}

static enum status try_cheap(struct attempt *attempt, struct control *control)
{
	enum status status = attempt->part.n <= HINTED_MOST ? try_hints(attempt, control) : OK;
	if (status != OK || attempt->height <= attempt->enough)
		return status;
	return layout_cheap(&attempt->part, attempt->enough, attempt->offset, &attempt->height, &attempt->dive, &attempt->strategy, control);
}

/* One layout, whatever control says. */
static enum status try_first(struct attempt *attempt)
{
	struct control none = { 0 };
	return try_skyline(attempt, &layout_dives[0], &none);
}

/* The tree knows neither pins nor holes; models that have them are dived through, long-lived buffers first, too. */
static enum status try_tree(struct attempt *attempt, struct control *control)
{
	static const struct layout_recipe long_lived_first = { "WZ", "long-lived first", false };
	if (attempt->part.pins || attempt->part.gapped || attempt->part.windowed)
		return try_skyline(attempt, &long_lived_first, control);
	int64_t height;
	enum status status = layout_tree(&attempt->part, attempt->trial, &height, control);
	if (status == OK)
		keep(attempt, height, "roam tree");
	return status;
}

#define WHEEL_LEAST 100    /* buffers, for the squeaky wheel: fewer are a matter for the exact search */
#define WHEEL_GAP 20       /* and within 1/20 of what is wanted, */
#define WHEEL_GAP_ALIGNED 8 /* or 1/8 where alignment leaves waste in every layout and the bound knows little of it */

static bool wheel_helps(const struct attempt *attempt)
{
	return attempt->dive && attempt->part.n >= WHEEL_LEAST && attempt->height > attempt->enough
		&& attempt->height - attempt->enough <= attempt->enough / (attempt->part.aligned ? WHEEL_GAP_ALIGNED : WHEEL_GAP);
}

static enum status try_wheel(struct attempt *attempt, const struct layout_recipe *dive, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status = layout_sort(&attempt->part, dive->keys, attempt->order);
	if (status == OK)
		status = layout_wheel(&attempt->part, attempt->order, dive->critical, attempt->enough, effort, effort, attempt->offset,
				      &attempt->height, control);
	if (attempt->height < height)
		attempt->strategy = "repeated dives";
	return status;
}

#define SEARCH_MOST 4096   /* buffers, for the exact search */
#define WINDOWS_MOST 300   /* the same where they have windows */

static bool search_helps(const struct attempt *attempt)
{
	return attempt->height > attempt->enough && attempt->height > attempt->bound
		&& attempt->part.n <= (attempt->part.windowed ? WINDOWS_MOST : SEARCH_MOST);
}

static enum status try_search(struct attempt *attempt, const struct layout_options *options, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status;
	if (attempt->part.windowed)
		status = layout_windows(&attempt->part, attempt->enough, effort, attempt->offset, &attempt->height, &attempt->bound, control);
	else
		status = layout_exact(&attempt->part, attempt->enough, options->capacity > 0, effort, attempt->offset, &attempt->height,
				      &attempt->bound, &attempt->core, control);
	if (attempt->height < height)
		attempt->strategy = "exact search";
	return status;
}

/* Windows around the peak, or, `around`, what sticks out and what is around it. */
static enum status try_peak(struct attempt *attempt, bool around, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status = (around ? layout_region : layout_peak)(&attempt->part, attempt->enough, effort, attempt->offset, &attempt->height, control);
	if (attempt->height < height)
		attempt->strategy = around ? "windows anew" : "peak first";
	return status;
}

#define SLICE_EFFORT UINT64_C(6000000)
#define PEAK_EFFORT 1500   /* more for each buffer, */
#define PEAK_MOST UINT64_C(250000000) /* up to so much */

static uint64_t peak_effort(const struct attempt *attempt)
{
	uint64_t effort = (uint64_t)attempt->part.n * PEAK_EFFORT;
	return SLICE_EFFORT + (effort < PEAK_MOST ? effort : PEAK_MOST);
}

/* Of many buffers for the first time. */
static uint64_t first_peak_effort(const struct attempt *attempt, const struct layout_options *options)
{
	uint64_t least = peak_effort(attempt), effort = options->effort / 4;
	return effort < least ? least : effort < 16 * least ? effort : 16 * least;
}

static bool peak_helps(const struct attempt *attempt)
{
	const struct layout_model *part = &attempt->part;
	return !part->pins && !part->gapped && !part->windowed && part->n >= WHEEL_LEAST && attempt->height > attempt->enough;
}

#define TRIFLE 10000000   /* so small a part of the arena is worth little effort: some bytes of gigabytes, */
#define TRIFLE_SHARE 16   /* this share of it */

static bool is_trifle(const struct attempt *attempt)
{
	return attempt->height > attempt->enough && attempt->height - attempt->enough <= attempt->enough / TRIFLE;
}

/* Windows, wheel and search in turns, with twice the effort each time: which of them is quick differs from instance to
 * instance. So does the order from which the wheel gets there: every other time it is the best dive's, else one after another. */
static enum status take_turns(struct attempt *attempt, const struct layout_options *options, uint64_t end, struct control *control)
{
	enum status status = OK;
	uint64_t slice = SLICE_EFFORT, trifles = control->ticks + (end - control->ticks) / TRIFLE_SHARE;
	for (size_t turn = 0; status == OK && wheel_helps(attempt); turn++, slice += turn % 2 ? 0 : slice) {
		uint64_t last = is_trifle(attempt) ? trifles : end;
		if (control->ticks >= last)
			break;
		uint64_t share = (last - control->ticks) / 4 + 1, effort = slice < share ? slice : share, more = slice + peak_effort(attempt);
		more = turn == 0 && attempt->part.n > SEARCH_MOST ? first_peak_effort(attempt, options) : more < share ? more : share;
		status = try_wheel(attempt, turn % 2 ? attempt->dive : &layout_dives[(turn / 2 + 1) % LAYOUT_DIVES], effort, control);
		if (status == OK && search_helps(attempt))
			status = try_search(attempt, options, effort, control);
		if (status == OK && peak_helps(attempt) && !is_trifle(attempt))
			status = try_peak(attempt, turn % 2, more, control);
	}
	return status;
}

static enum status try_everything(struct attempt *attempt, const struct layout_options *options, struct control *control)
{
	enum status status = try_cheap(attempt, control);
	uint64_t left = UINT64_MAX - control->ticks;
	uint64_t end = control->ticks + (options->effort < left ? options->effort : left);
	/* Too far for the wheel, and too many for the exact search. */
	if (status == OK && options->effort > 0 && attempt->part.n > SEARCH_MOST && peak_helps(attempt) && !wheel_helps(attempt))
		status = try_peak(attempt, false, first_peak_effort(attempt, options), control);
	if (status == OK)
		status = take_turns(attempt, options, end, control);
	left = control->ticks < end ? end - control->ticks : 0;
	left = is_trifle(attempt) ? left / TRIFLE_SHARE : left;
	return status == OK && left > 0 && search_helps(attempt) ? try_search(attempt, options, left, control) : status;
}

static enum status try_strategy(struct attempt *attempt, const struct layout_options *options, struct control *control)
{
	static const struct layout_recipe best_fit = { "WZ", "best fit", false }, first_fit = { "EWZ", "first fit", false },
				   by_size = { "ZW", "greedy by size", false }, llfb = { "WZ", "llfb", false }, skyline = { "AZ", "skyline", false };
	enum status status;
	switch (options->strategy) {
	case LAYOUT_BEST_FIT:       return try_fit(attempt, &best_fit, true, control);
	case LAYOUT_FIRST_FIT:      return try_fit(attempt, &first_fit, false, control);
	case LAYOUT_GREEDY_BY_SIZE: return try_fit(attempt, &by_size, true, control);
	case LAYOUT_LLFB:           return try_skyline(attempt, &llfb, control);
	case LAYOUT_SKYLINE:        return try_skyline(attempt, &skyline, control);
	case LAYOUT_ROAM:           return try_tree(attempt, control);
	case LAYOUT_DIVE:           return try_cheap(attempt, control);
	case LAYOUT_WHEEL:
		status = try_cheap(attempt, control);
		return status == OK && attempt->dive && options->effort > 0 && attempt->height > attempt->enough
			? try_wheel(attempt, attempt->dive, options->effort, control) : status;
	default:                    return try_everything(attempt, options, control);
	}
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

/* A search has shown that the part needs more than was thought. What lies below it belongs to the core, too. */
static enum status raise_bound(struct solve *solve, const struct attempt *attempt, int64_t scale, enum status status)
{
	const struct layout_model *model = &solve->model;
	struct layout *layout = solve->layout;
	uint32_t count = attempt->core.count ? attempt->core.count : attempt->part.n;
	mem_free(layout->core);
	layout->core = mem_alloc(model->n, sizeof *layout->core);
	layout->core_count = 0;
	if (!layout->core)
		return NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		layout->core[layout->core_count++] = model->origin[attempt->part.origin[attempt->core.count ? attempt->core.buffer[i] : i]];
	for (uint32_t b = 0; b < model->n; b++)
		if (lifted(model, b))
			layout->core[layout->core_count++] = model->origin[b];
	qsort(layout->core, layout->core_count, sizeof *layout->core, compare_numbers);
	/* Without a resident the others need less if they fill what the bound says. */
	layout->irreducible = attempt->core.irreducible && (solve->base == 0 || attempt->height == attempt->bound);
	solve->bound = solve->base + attempt->bound * scale;
	layout->proof.bound = solve->bound * model->unit;
	layout->ground = LAYOUT_PROOF_SEARCH;
	return status;
}

/* Everything that a part's layout depends on. */
static void fingerprint(const struct attempt *attempt, const struct layout_options *options, uint64_t key[2])
{
	const struct layout_model *part = &attempt->part;
	uint64_t hash = hash_join((uint64_t)options->strategy, options->effort);
	hash = hash_join(hash, (uint64_t)attempt->enough);
	hash = hash_join(hash, hash_join(part->n, options->capacity > 0));
	for (uint32_t b = 0; b < part->n; b++) {
		hash = hash_join(hash, (uint64_t)part->size[b]);
		hash = hash_join(hash, (uint64_t)part->width[b]);
		hash = hash_join(hash, (uint64_t)part->alignment[b]);
		hash = hash_join(hash, (uint64_t)part->fixed[b]);
		hash = hash_join(hash, (uint64_t)part->hint[b]);
		for (uint32_t k = part->span_start[b]; k < part->span_start[b + 1]; k++) {
			hash = hash_join(hash, (uint64_t)part->span[k].first << 32 | part->span[k].last);
			hash = hash_join(hash, (uint64_t)part->span[k].from);
			hash = hash_join(hash, (uint64_t)part->span[k].to);
		}
		key[1] = hash_join(key[1] + b, hash ^ UINT64_C(0x5851f42d4c957f2d));
	}
	key[0] = hash;
}

/* What the cache keeps of a part: a header, the offsets, the core. */
struct kept { int64_t height, bound; const char *strategy; uint32_t core_count; bool irreducible; };

static void keep_result(const struct attempt *attempt, struct kept *kept)
{
	int64_t *offset = (int64_t *)(kept + 1);
	*kept = (struct kept){ attempt->height, attempt->bound, attempt->strategy, attempt->core.count, attempt->core.irreducible };
	memcpy(offset, attempt->offset, attempt->part.n * sizeof *offset);
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
	memcpy(attempt->offset, offset, attempt->part.n * sizeof *offset);
	memcpy(attempt->core.buffer, offset + attempt->part.n, attempt->part.n * sizeof *attempt->core.buffer);
}

/* Solves the part, or takes what an equal part came to before. */
static enum status solve_or_reuse(struct solve *solve, struct attempt *attempt)
{
	const struct layout_cache *cache = solve->options->cache;
	size_t bytes = sizeof(struct kept) + attempt->part.n * (sizeof *attempt->offset + sizeof *attempt->core.buffer);
	uint64_t key[2] = { 0, 0 };
	struct kept *kept = cache ? mem_alloc(1, bytes) : NULL;
	if (!kept)
		return cache ? NO_MEMORY : try_strategy(attempt, solve->options, solve->control);
	enum status status = OK;
	fingerprint(attempt, solve->options, key);
	if (cache->lookup(cache->context, key, kept, bytes)) {
		reuse_result(attempt, kept);
	} else {
		status = try_strategy(attempt, solve->options, solve->control);
		if (status == OK) {
			keep_result(attempt, kept);
			cache->store(cache->context, key, kept, bytes);
		}
	}
	mem_free(kept);
	return status;
}

static enum status solve_part(struct solve *solve, uint32_t from, uint32_t to, uint32_t first, uint32_t last)
{
	struct attempt attempt = { .height = INT64_MAX };
	enum status status = layout_model_part(&solve->model, solve->rest + from, to - from, first, last, &attempt.part);
	if (status != OK)
		return status;
	uint32_t n = attempt.part.n;
	attempt.offset = mem_alloc(n, sizeof *attempt.offset);
	attempt.trial = mem_alloc(n, sizeof *attempt.trial);
	attempt.order = mem_alloc(n, sizeof *attempt.order);
	attempt.core.buffer = mem_alloc(n, sizeof *attempt.core.buffer);
	status = attempt.offset && attempt.trial && attempt.order && attempt.core.buffer ? OK : NO_MEMORY;
	int64_t scale = attempt.part.unit / solve->model.unit;
	attempt.bound = attempt.part.max_load;
	attempt.enough = ((solve->enough > solve->bound ? solve->enough : solve->bound) - solve->base) / scale;
	if (status == OK)
		status = solve->late ? try_first(&attempt) : solve_or_reuse(solve, &attempt);
	if (solve->base + attempt.bound * scale > solve->bound)
		status = raise_bound(solve, &attempt, scale, status);
	solve->complete &= attempt.height < INT64_MAX;
	if (status != NO_MEMORY && attempt.height < INT64_MAX) {
		for (uint32_t b = 0; b < n; b++) {
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

/* ---- all parts -------------------------------------------------------------------------------------------- */

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
		status = solve_part(solve, from, to, model->first[solve->rest[from]], end);
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
	layout->core = mem_alloc(model->n, sizeof *layout->core);
	layout->core_count = 0;
	layout->irreducible = false;
	if (!layout->core)
		return NO_MEMORY;
	for (uint32_t b = 0; b < model->n; b++)
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++)
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
	for (uint32_t b = 0; b < model->n; b++) {
		int64_t top = ((model->fixed[b] > 0 ? model->fixed[b] : 0) + model->size[b]) * model->unit;
		if (top <= layout->proof.bound)
			continue;
		if (!layout->core && !(layout->core = mem_alloc(1, sizeof *layout->core)))
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
static enum status refuse(struct solve *solve)
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
		for (uint32_t i = 0; i < core.count; i++)
			core.buffer[i] = model->origin[core.buffer[i]];
		mem_free(layout->core);
		layout->core = core.buffer;
		layout->core_count = core.count;
		layout->irreducible = core.irreducible;
	}
	return fail(solve->error, INFEASIBLE, "no layout fits %lld bytes, %lld are needed", (long long)capacity, (long long)layout->proof.bound);
}

/* Says why two pinned buffers are in each other's way, if they are. */
static enum status check_pair(const struct layout_model *model, uint32_t a, uint32_t b, struct layout *layout, struct error *error)
{
	for (uint32_t j = model->span_start[a]; j < model->span_start[a + 1]; j++) {
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++) {
			const struct span *s = &model->span[j], *t = &model->span[k];
			long long from = model->fixed[a] + s->from, to = model->fixed[a] + s->to;
			long long other_from = model->fixed[b] + t->from, other_to = model->fixed[b] + t->to;
			if (s->first >= t->last || t->first >= s->last || from >= other_to || other_from >= to)
				continue;
			layout->clash = (struct layout_clash){ LAYOUT_CLASH_OVERLAP, { model->origin[a], model->origin[b] },
				{ from * model->unit, to * model->unit - 1, other_from * model->unit, other_to * model->unit - 1,
				  model->time[s->first > t->first ? s->first : t->first] } };
			return layout_clash_fail(&layout->clash, error);
		}
	}
	return OK;
}

static enum status check_pins(const struct layout_model *model, struct layout *layout, struct error *error)
{
	enum status status = OK;
	for (uint32_t a = 0; model->pins && a < model->n && status == OK; a++)
		for (uint32_t b = a + 1; model->fixed[a] >= 0 && b < model->n && status == OK; b++)
			if (model->fixed[b] >= 0)
				status = check_pair(model, a, b, layout, error);
	return status;
}

static enum status solve_caching(struct solve *solve)
{
	bool expandable = solve->options->strategy == LAYOUT_EXPANDABLE;
	int64_t reserved = layout_caching(solve->buffers, expandable, solve->layout->offset);
	if (reserved < 0)
		return NO_MEMORY;
	solve->layout->arena = reserved;
	solve->layout->strategy = layout_strategy_names[solve->options->strategy];
	return OK;
}

static enum status solve_given(struct solve *solve)
{
	struct layout *layout = solve->layout;
	enum status status = layout_given(solve->buffers, solve->options->alignment, solve->control, layout->offset, &layout->moved);
	if (status != OK) {
		mem_free(layout->offset);
		layout->offset = NULL;
		return status;
	}
	for (uint32_t i = 0; i < solve->buffers->n; i++) {
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
	if (status == OK)
		status = solve_parts(solve);
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
	struct solve solve = { .buffers = buffers, .options = &wanted, .control = control, .layout = layout, .error = error };
	*layout = (struct layout){ .strategy = "nothing to place", .clash = LAYOUT_NO_CLASH };
	bool caching = options->strategy == LAYOUT_CACHING || options->strategy == LAYOUT_EXPANDABLE, given = options->strategy == LAYOUT_FILE && !buffers->fixed && !buffers->piece_start;
	enum status status = layout_model_build(buffers, caching ? 1 : options->alignment, &solve.model, error);
	if (status != OK)
		return status;
	layout->offset = mem_alloc(buffers->n, sizeof *layout->offset);
	status = layout->offset ? simple_bound(&solve) : NO_MEMORY;
	/* What cannot fit is not worth a search. */
	if (wanted.capacity > 0 && layout->proof.bound > wanted.capacity)
		wanted.effort = 0;
	if (status == OK)
		status = check_pins(&solve.model, layout, error);
	if (status == INFEASIBLE) {
		mem_free(layout->offset);
		layout->offset = NULL;
	}
	if (status == OK)
		status = caching ? solve_caching(&solve) : given ? solve_given(&solve) : place_all(&solve);
	layout->proof = (struct proof){ QUANTITY_ARENA, layout->offset ? layout->arena : -1, layout->proof.bound, layout_proof_names[layout->ground] };
	if (status == OK && wanted.capacity > 0 && layout->proof.bound > wanted.capacity)
		status = refuse(&solve);
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
