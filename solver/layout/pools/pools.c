/* pools.c: pools, their assignment and their layouts in turns.
 *
 * Loads that fit need not have a layout that fits. The integer program is told which units have none together, until what it
 * proposes has one. Where it cannot be solved, or takes too many turns, local ratio proposes, and what sticks out of a
 * layout moves on; then what costs most comes back as long as it fits.
 */
#include "solver/layout/model.h"
#include "pools.h"
#include "spill.h"
#include "solver/layout/steps.h"

#define TURNS_MOST 60      /* of the integer program */
#define PROGRAM_EFFORT LAYOUT_EFFORT(1) /* at most, of all of its turns */
#define TRIAL_EFFORT LAYOUT_EFFORT(1) /* at most, of a layout that decides about an assignment */
#define LOWER_MOST 4       /* times that a pool's limit is lowered */
#define RETURNS_MOST 16    /* units that are tried to come back */

struct solve {
	const struct buffers *buffers;
	const struct layout_links *links;
	const struct layout_pools *pools;
	const struct layout_options *options;
	struct control *control;
	struct spill spill;
	uint32_t *unit;            /* [n] buffer -> unit */
	int64_t bytes;             /* per byte of the spill problem */
	int64_t *time;             /* [sections] of it */
	uint32_t *pick, *best;     /* [units]; best: layouts fit */
	bool found;
	struct pool_layout *part, *best_part; /* [pools] of the picks in hand, and of the best */
	struct pooled_layout *result;
	struct arena arena;
};

/* ---- units -------------------------------------------------------------------------------------------- */

/* Buffers of a group have the unit of its first one. next: [n] scratch. */
static uint32_t number_units(struct solve *solve, uint32_t *next)
{
	const uint32_t *behind = solve->links->behind;
	uint32_t units = 0, n = solve->buffers->n;
	for (uint32_t i = 0; i < n; i++)
		next[i] = NONE;
	for (uint32_t i = 0; i < n; i++)
		if (behind && behind[i] != NONE && behind[i] != i)
			next[behind[i]] = i;
	for (uint32_t i = 0; i < n; i++) {
		if (behind && behind[i] != NONE && behind[i] != i)
			continue;
		for (uint32_t k = i; k != NONE; k = next[k])
			solve->unit[k] = units;
		units++;
	}
	return units;
}

static uint32_t list_length(const struct layout_pools *pools, uint32_t buffer)
{
	return pools->candidates.start ? csr_length(&pools->candidates, buffer) : 0;
}

static bool same_list(const struct layout_pools *pools, uint32_t a, uint32_t b)
{
	const struct csr *lists = &pools->candidates;
	uint32_t length = list_length(pools, a);
	return length == list_length(pools, b)
		&& (length == 0 || memcmp(lists->item + lists->start[a], lists->item + lists->start[b], length * sizeof *lists->item) == 0);
}

/* The lists of the units: of their first buffers. */
static enum status list_candidates(struct solve *solve, struct error *error)
{
	const struct layout_pools *pools = solve->pools;
	struct spill *spill = &solve->spill;
	uint32_t *first = mem_alloc(spill->units, sizeof *first), count = 0;
	enum status status = first ? OK : NO_MEMORY;
	for (uint32_t u = 0; status == OK && u < spill->units; u++)
		first[u] = NONE;
	for (uint32_t i = 0; i < solve->buffers->n && status == OK; i++) {
		uint32_t *known = &first[solve->unit[i]];
		*known = *known == NONE ? i : *known;
		if (!same_list(pools, *known, i))
			status = fail(error, BAD_INPUT, "buffers %u and %u are of one group, but have different lists of pools", *known, i);
	}
	for (uint32_t u = 0; u < spill->units && status == OK; u++) {
		uint32_t length = list_length(pools, first[u]);
		for (uint32_t k = 0; k < (length ? length : pools->count); k++)
			spill->candidates.item[count++] = length ? pools->candidates.item[pools->candidates.start[first[u]] + k] : k;
		spill->candidates.start[u + 1] = count;
	}
	mem_free(first);
	return status;
}

static enum status add_costs(struct solve *solve, struct error *error)
{
	const struct layout_pools *pools = solve->pools;
	double sum = 0;
	for (uint32_t i = 0; i < solve->buffers->n; i++) {
		int64_t cost = pools->spill_cost ? pools->spill_cost[i] : solve->buffers->size[i];
		if (cost < 0)
			return fail(error, BAD_INPUT, "buffer %u: its spill cost is negative", i);
		sum += (double)cost * pools->count;
		if (sum > (double)(BYTES_MAX / 256))
			return fail(error, BAD_INPUT, "the spill costs add up to too much");
		solve->spill.cost[solve->unit[i]] += cost;
	}
	return OK;
}

/* Spans of the units in the sections of the relaxed buffers. */
static enum status add_spans(struct solve *solve, const struct layout_model *model)
{
	struct spill *spill = &solve->spill;
	uint32_t spans = model->span_start[model->n];
	spill->span = arena_alloc(&solve->arena, spans, sizeof *spill->span);
	spill->span_start = arena_alloc(&solve->arena, (size_t)spill->units + 2, sizeof *spill->span_start);
	solve->time = arena_alloc(&solve->arena, model->sections, sizeof *solve->time);
	NEED(spill->span && spill->span_start && solve->time);
	if (model->sections)
		memcpy(solve->time, model->time, model->sections * sizeof *solve->time);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < model->n; b++) {
			uint32_t *end = &spill->span_start[solve->unit[model->origin[b]] + 1 + (pass == 0)];
			for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++, (*end)++) {
				const struct span *span = &model->span[k];
				if (pass == 1)
					spill->span[*end] = (struct spill_span){ span->first, span->last, span->to - span->from };
			}
		}
		for (uint32_t u = 1; pass == 0 && u <= spill->units + 1; u++)
			spill->span_start[u] += spill->span_start[u - 1];
	}
	return OK;
}

static enum status set_up(struct solve *solve, struct error *error)
{
	const struct buffers *buffers = solve->buffers;
	const struct layout_pools *pools = solve->pools;
	struct spill *spill = &solve->spill;
	struct arena *arena = &solve->arena;
	struct buffers relaxed;
	struct layout_model model = { 0 };
	uint32_t *next = mem_alloc(buffers->n, sizeof *next);
	solve->unit = arena_alloc(arena, buffers->n, sizeof *solve->unit);
	if (!next || !solve->unit) {
		mem_free(next);
		return NO_MEMORY;
	}
	spill->units = number_units(solve, next);
	mem_free(next);
	spill->pools = pools->count;
	spill->cost = arena_alloc(arena, spill->units, sizeof *spill->cost);
	spill->capacity = arena_alloc(arena, pools->count, sizeof *spill->capacity);
	spill->candidates.start = arena_alloc(arena, (size_t)spill->units + 1, sizeof *spill->candidates.start);
	spill->candidates.item = arena_alloc(arena, (size_t)spill->units * pools->count, sizeof *spill->candidates.item);
	solve->pick = arena_alloc(arena, spill->units, sizeof *solve->pick);
	solve->best = arena_alloc(arena, spill->units, sizeof *solve->best);
	solve->part = arena_alloc(arena, pools->count, sizeof *solve->part);
	solve->best_part = arena_alloc(arena, pools->count, sizeof *solve->best_part);
	if (!spill->cost || !spill->capacity || !spill->candidates.start || !spill->candidates.item || !solve->pick || !solve->best
	    || !solve->part || !solve->best_part)
		return NO_MEMORY;
	enum status status = layout_links_relax(buffers, solve->links, solve->options->alignment, arena, &relaxed);
	THEN(status, layout_model_build(&relaxed, solve->options->alignment, &model, error));
	if (status == OK) {
		spill->sections = model.sections;
		for (uint32_t p = 0; p < pools->count; p++)
			spill->capacity[p] = pools->capacity[p] > 0 ? pools->capacity[p] / model.unit : INT64_MAX;
		solve->bytes = model.unit;
		status = add_spans(solve, &model);
	}
	layout_model_free(&model);
	THEN(status, add_costs(solve, error));
	return status == OK ? list_candidates(solve, error) : status;
}

/* ---- one pool's layout -------------------------------------------------------------------------------- */

static void free_part(struct pool_layout *part)
{
	mem_free(part->buffer);
	linked_layout_free(&part->linked);
	*part = (struct pool_layout){ 0 };
}

/* The buffers of a part, lent or in the arena. */
struct chosen { struct buffers buffers; struct layout_links links; struct arena arena; };

static int64_t *pick(struct arena *arena, const int64_t *values, const struct pool_layout *part, bool *failed)
{
	int64_t *picked = values ? arena_alloc(arena, part->n, sizeof *picked) : NULL;
	*failed |= values && !picked;
	for (uint32_t i = 0; picked && i < part->n; i++)
		picked[i] = values[part->buffer[i]];
	return picked;
}

static bool pick_pieces(const struct buffers *buffers, const struct pool_layout *part, struct chosen *chosen)
{
	struct buffers *picked = &chosen->buffers;
	uint32_t count = 0;
	if (!buffers->piece_start)
		return true;
	picked->piece_start = arena_alloc(&chosen->arena, (size_t)part->n + 1, sizeof *picked->piece_start);
	picked->piece = arena_alloc(&chosen->arena, buffers->piece_start[buffers->n], sizeof *picked->piece);
	if (!picked->piece_start || !picked->piece)
		return false;
	for (uint32_t i = 0; i < part->n; i++) {
		for (uint32_t k = buffers->piece_start[part->buffer[i]]; k < buffers->piece_start[part->buffer[i] + 1]; k++)
			picked->piece[count++] = buffers->piece[k];
		picked->piece_start[i + 1] = count;
	}
	return true;
}

/* Groups and donors by their numbers within the part. */
static bool pick_links(const struct solve *solve, const struct pool_layout *part, struct chosen *chosen)
{
	const struct csr *donors = &solve->links->donors;
	uint32_t n = solve->buffers->n, *number = arena_alloc(&chosen->arena, n, sizeof *number), count = 0;
	struct layout_links *links = &chosen->links;
	if (!number)
		return false;
	for (uint32_t i = 0; i < n; i++)
		number[i] = NONE;
	for (uint32_t i = 0; i < part->n; i++)
		number[part->buffer[i]] = i;
	if (solve->links->behind && !(links->behind = arena_alloc(&chosen->arena, part->n, sizeof *links->behind)))
		return false;
	for (uint32_t i = 0; links->behind && i < part->n; i++) {
		uint32_t before = solve->links->behind[part->buffer[i]];
		links->behind[i] = before == NONE ? NONE : number[before];
	}
	if (!donors->start)
		return true;
	links->donors.start = arena_alloc(&chosen->arena, (size_t)part->n + 1, sizeof *links->donors.start);
	links->donors.item = arena_alloc(&chosen->arena, donors->start[n], sizeof *links->donors.item);
	if (!links->donors.start || !links->donors.item)
		return false;
	for (uint32_t i = 0; i < part->n; i++) {
		FOR_ROW(k, donors, part->buffer[i])
			if (number[donors->item[k]] != NONE)
				links->donors.item[count++] = number[donors->item[k]];
		links->donors.start[i + 1] = count;
	}
	return true;
}

static enum status choose(const struct solve *solve, const struct pool_layout *part, struct chosen *chosen)
{
	const struct buffers *buffers = solve->buffers;
	bool failed = false;
	*chosen = (struct chosen){ 0 };
	chosen->buffers = (struct buffers){
		.n = part->n, .lower = pick(&chosen->arena, buffers->lower, part, &failed), .upper = pick(&chosen->arena, buffers->upper, part, &failed),
		.size = pick(&chosen->arena, buffers->size, part, &failed), .alignment = pick(&chosen->arena, buffers->alignment, part, &failed),
		.fixed = pick(&chosen->arena, buffers->fixed, part, &failed), .hint = pick(&chosen->arena, buffers->hint, part, &failed),
	};
	return !failed && pick_pieces(buffers, part, chosen) && pick_links(solve, part, chosen) ? OK : NO_MEMORY;
}

/* Lays out the buffers whose picks send them to the pool. Status as of layout_solve_linked(). */
static enum status lay_out(struct solve *solve, uint32_t pool, const uint32_t *pick, uint64_t effort, struct pool_layout *part)
{
	struct layout_options options = *solve->options;
	struct chosen chosen;
	struct error error;
	free_part(part);
	part->buffer = mem_alloc(solve->buffers->n, sizeof *part->buffer);
	NEED(part->buffer);
	for (uint32_t i = 0; i < solve->buffers->n; i++)
		if (spill_pool(&solve->spill, pick, solve->unit[i]) == pool)
			part->buffer[part->n++] = i;
	options.capacity = solve->pools->capacity[pool];
	options.effort = effort;
	enum status status = choose(solve, part, &chosen);
	if (status == OK && control_status(solve->control) == OK)
		status = layout_solve_linked(&chosen.buffers, &chosen.links, &options, solve->control, &part->linked, &error);
	/* Stopped: the first layout there is, so that there is something to show. */
	if (!part->linked.layout.offset && (status == OK || status == CANCELLED || status == LIMIT)) {
		struct control none = { 0 };
		linked_layout_free(&part->linked);
		options.effort = 0;
		status = layout_solve_linked(&chosen.buffers, &chosen.links, &options, &none, &part->linked, &error);
	}
	arena_free(&chosen.arena);
	return status;
}

static bool fits(const struct solve *solve, uint32_t pool, const struct pool_layout *part)
{
	return part->linked.offset && (solve->pools->capacity[pool] == 0 || part->linked.layout.arena <= solve->pools->capacity[pool]);
}

static uint64_t trial_effort(const struct solve *solve)
{
	return solve->options->effort < TRIAL_EFFORT ? solve->options->effort : TRIAL_EFFORT;
}

/* The picks in hand have layouts: they are the best if nothing cheaper was known. */
static void keep(struct solve *solve)
{
	int64_t cost = spill_cost(&solve->spill, solve->pick);
	if (solve->found && cost >= solve->result->cost)
		return;
	memcpy(solve->best, solve->pick, solve->spill.units * sizeof *solve->best);
	solve->result->cost = cost;
	solve->found = true;
	for (uint32_t p = 0; p < solve->pools->count; p++) {
		free_part(&solve->best_part[p]);
		solve->best_part[p] = solve->part[p];
		solve->part[p] = (struct pool_layout){ 0 };
	}
}

/* ---- the integer program --------------------------------------------------------------------------------- */

/* What is in the pool doesn't fit: the core if one is known, else all of it. */
static enum status add_cut(struct solve *solve, uint32_t pool, const struct pool_layout *part)
{
	const struct linked_layout *linked = &part->linked;
	uint32_t *unit = mem_alloc(part->n, sizeof *unit), count = 0, kept = 0;
	NEED(unit);
	bool core = linked->layout.core_count > 0 && linked->layout.proof.bound > solve->pools->capacity[pool] && !linked->donor;
	bool clash = linked->layout.clash.kind != LAYOUT_CLASH_NONE && !linked->donor;
	for (uint32_t i = 0; i < part->n; i++) {
		bool in = !core && !clash;
		for (uint32_t k = 0; core && k < linked->layout.core_count; k++)
			in |= linked->compounds.whole[i] == linked->layout.core[k];
		if (clash && !core)
			in = i == linked->layout.clash.buffer[0] || i == linked->layout.clash.buffer[1];
		if (in)
			unit[count++] = solve->unit[part->buffer[i]];
	}
	qsort(unit, count, sizeof *unit, compare_uint32);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || unit[kept - 1] != unit[i])
			unit[kept++] = unit[i];
	enum status status = spill_add_cut(&solve->spill, pool, unit, kept);
	mem_free(unit);
	return status;
}

/* Layouts of the picks in hand; where one doesn't fit a cut says so. *fit: all do. *proved: those that don't cannot. */
static enum status try_picks(struct solve *solve, bool *fit, bool *proved)
{
	*fit = true;
	for (uint32_t p = 0; p < solve->pools->count; p++) {
		enum status status = lay_out(solve, p, solve->pick, trial_effort(solve), &solve->part[p]);
		if (status == NO_MEMORY || status == BAD_INPUT || status == CANCELLED)
			return status;
		if (fits(solve, p, &solve->part[p]))
			continue;
		*fit = false;
		*proved &= status == INFEASIBLE;
		TRY(add_cut(solve, p, &solve->part[p]));
	}
	return OK;
}

/* INFEASIBLE: there are no picks with layouts that fit. OK otherwise, found or not. */
static enum status solve_program(struct solve *solve)
{
	bool proved = true, fit = false;
	uint64_t effort = solve->options->effort < PROGRAM_EFFORT ? solve->options->effort : PROGRAM_EFFORT;
	struct control own = control_part(solve->control, effort);
	for (int turn = 0; turn < TURNS_MOST && effort > 0 && !fit; turn++) {
		int64_t bound = solve->result->bound;
		enum status status = spill_program(&solve->spill, solve->pick, &bound, &own);
		if (status == INFEASIBLE)
			return proved ? INFEASIBLE : OK;
		if (status != OK)
			return status == LIMIT ? OK : status;
		if (proved && bound > solve->result->bound)
			solve->result->bound = bound;
		TRY(try_picks(solve, &fit, &proved));
	}
	control_spend(solve->control, own.ticks);
	if (fit)
		keep(solve);
	return OK;
}

/* ---- local ratio -------------------------------------------------------------------------------------------- */

/* Moves all that sticks out of the pool's layout; without a layout, one of two pins in each other's way. False: it can't. */
static bool push_out(struct solve *solve, uint32_t pool, const struct pool_layout *part, uint32_t *pick)
{
	const struct spill *spill = &solve->spill;
	const struct linked_layout *linked = &part->linked;
	uint32_t cheapest = NONE;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t unit = solve->unit[part->buffer[i]], b = part->buffer[i];
		bool out = linked->offset && linked->offset[i] + align_up(solve->buffers->size[b], solve->options->alignment) > solve->pools->capacity[pool];
		bool clash = !linked->offset && (i == linked->layout.clash.buffer[0] || i == linked->layout.clash.buffer[1]);
		if (out && spill_pool(spill, pick, unit) == pool) {
			if (spill_last(spill, pick, unit))
				return false;
			pick[unit]++;
			cheapest = unit;
		} else if (clash && !spill_last(spill, pick, unit) && (cheapest == NONE || spill->cost[unit] < spill->cost[cheapest])) {
			cheapest = unit;
		}
	}
	if (!linked->offset && cheapest != NONE)
		pick[cheapest]++;
	return cheapest != NONE;
}

/* Ranks with which the pool's load stays below lower and lower limits, until there is a layout. */
static enum status lower_limit(struct solve *solve, uint32_t pool, const uint32_t *from, uint32_t *pick, bool *fit)
{
	const struct spill *spill = &solve->spill;
	int64_t limit = spill->capacity[pool], bytes;
	struct pool_layout *part = &solve->part[pool];
	uint32_t section;
	enum status status = OK;
	*fit = false;
	for (int i = 0; i < LOWER_MOST && status == OK && !*fit && part->linked.offset; i++) {
		limit -= (part->linked.layout.arena - solve->pools->capacity[pool] + solve->bytes - 1) / solve->bytes;
		memcpy(pick, from, spill->units * sizeof *pick);
		if (limit <= 0)
			break;
		status = spill_relieve(spill, pool, limit, pick, &section, &bytes);
		THEN(status, lay_out(solve, pool, pick, trial_effort(solve), part));
		*fit = status != NO_MEMORY && fits(solve, pool, part);
	}
	return status == NO_MEMORY || status == CANCELLED ? status : OK;
}

/* Moves units out of the pool until the others have a layout. *stuck: that cannot be. */
static enum status settle(struct solve *solve, uint32_t pool, bool *stuck)
{
	struct spill *spill = &solve->spill;
	struct pooled_layout *result = solve->result;
	struct pool_layout *part = &solve->part[pool];
	uint32_t section;
	if (spill->capacity[pool] < INT64_MAX) {
		enum status status = spill_relieve(spill, pool, spill->capacity[pool], solve->pick, &section, &result->overflow_bytes);
		if (status == INFEASIBLE) {
			result->overflow = pool;
			result->overflow_step = solve->time[section];
			result->overflow_bytes *= solve->bytes;
			*stuck = true;
		}
		if (status != OK)
			return status == INFEASIBLE ? OK : status;
	}
	enum status status = lay_out(solve, pool, solve->pick, trial_effort(solve), part);
	if (status == NO_MEMORY || status == BAD_INPUT || fits(solve, pool, part))
		return status == NO_MEMORY || status == BAD_INPUT ? status : OK;
	HELD uint32_t *pushed = mem_alloc(spill->units, sizeof *pushed), *lowered = mem_alloc(spill->units, sizeof *lowered);
	bool fit = false, out = false;
	status = pushed && lowered ? OK : NO_MEMORY;
	if (status == OK) {
		memcpy(pushed, solve->pick, spill->units * sizeof *pushed);
		out = push_out(solve, pool, part, pushed);
		status = lower_limit(solve, pool, solve->pick, lowered, &fit);
	}
	if (status == OK || status == CANCELLED) {
		bool cheaper = fit && (!out || spill_cost(spill, lowered) < spill_cost(spill, pushed));
		*stuck = !fit && !out;
		status = OK;
		if (!*stuck)
			memcpy(solve->pick, cheaper ? lowered : pushed, spill->units * sizeof *pushed);
		if (!cheaper && out)
			status = lay_out(solve, pool, solve->pick, trial_effort(solve), part);
		/* What is left may be laid out worse than before; then it goes on moving. */
		if (status != NO_MEMORY && !*stuck && !fits(solve, pool, part))
			status = settle(solve, pool, stuck);
	}
	return status == NO_MEMORY ? status : OK;
}

/* Pools one after another, again where later ones have sent something to earlier ones. */
static enum status solve_greedily(struct solve *solve)
{
	const struct spill *spill = &solve->spill;
	bool stuck = false, moved = true;
	memset(solve->pick, 0, spill->units * sizeof *solve->pick);
	while (moved && !stuck) {
		moved = false;
		for (uint32_t p = 0; p < spill->pools && !stuck; p++) {
			int64_t before = 0, after = 0;
			for (uint32_t u = 0; u < spill->units; u++)
				before += solve->pick[u];
			TRY(settle(solve, p, &stuck));
			for (uint32_t u = 0; u < spill->units; u++)
				after += solve->pick[u];
			moved |= after != before;
		}
	}
	if (!stuck)
		keep(solve);
	return OK;
}

struct costly { int64_t cost; uint32_t unit; };

static int compare_costly(const void *left, const void *right)
{
	const struct costly *a = left, *b = right;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

/* Brings units back, the costliest first, where the pool they left has a layout with them after all. */
static enum status bring_back(struct solve *solve)
{
	const struct spill *spill = &solve->spill;
	HELD struct costly *costly = mem_alloc(spill->units, sizeof *costly);
	uint32_t count = 0;
	enum status status = costly ? OK : NO_MEMORY;
	for (uint32_t u = 0; status == OK && u < spill->units; u++)
		if (solve->best[u] > 0)
			costly[count++] = (struct costly){ spill->cost[u], u };
	if (status == OK)
		qsort(costly, count, sizeof *costly, compare_costly);
	for (uint32_t i = 0; i < count && i < RETURNS_MOST && status == OK && control_status(solve->control) == OK; i++) {
		uint32_t unit = costly[i].unit;
		if (costly[i].cost == 0 || solve->result->cost <= solve->result->bound)
			break;
		uint32_t from = spill_pool(spill, solve->best, unit);
		memcpy(solve->pick, solve->best, spill->units * sizeof *solve->pick);
		solve->pick[unit]--;
		uint32_t to = spill_pool(spill, solve->pick, unit);
		status = lay_out(solve, to, solve->pick, trial_effort(solve), &solve->part[to]);
		if (status == NO_MEMORY || !fits(solve, to, &solve->part[to])) {
			status = status == NO_MEMORY ? status : OK;
			continue;
		}
		/* The one that it leaves is still within its capacity; its layout is made anew. */
		status = lay_out(solve, from, solve->pick, trial_effort(solve), &solve->part[from]);
		if (status == NO_MEMORY || !fits(solve, from, &solve->part[from])) {
			status = status == NO_MEMORY ? status : OK;
			continue;
		}
		for (uint32_t p = 0; p < spill->pools; p++) {
			if (p == to || p == from)
				continue;
			free_part(&solve->part[p]);
			solve->part[p] = solve->best_part[p];
			solve->best_part[p] = (struct pool_layout){ 0 };
		}
		keep(solve);
		status = OK;
	}
	return status;
}

/* ---- the result --------------------------------------------------------------------------------------------- */

/* Pools without a capacity get the smallest arena that the effort allows. */
static enum status finish(struct solve *solve)
{
	struct pooled_layout *result = solve->result;
	uint32_t n = solve->buffers->n;
	enum status status = OK, stopped = OK;
	result->pool = mem_alloc(n, sizeof *result->pool);
	result->offset = mem_alloc(n, sizeof *result->offset);
	result->donor = solve->links->donors.start ? mem_alloc(n, sizeof *result->donor) : NULL;
	if (!result->pool || !result->offset || (solve->links->donors.start && !result->donor))
		return NO_MEMORY;
	for (uint32_t p = 0; p < solve->pools->count; p++) {
		struct pool_layout *part = &solve->best_part[p];
		if (solve->pools->capacity[p] == 0 && solve->options->effort > TRIAL_EFFORT && !part->linked.proved && part->n) {
			struct pool_layout better = { 0 };
			status = lay_out(solve, p, solve->best, solve->options->effort, &better);
			stopped = status == CANCELLED ? status : stopped;
			if (status != NO_MEMORY && fits(solve, p, &better) && better.linked.layout.arena <= part->linked.layout.arena) {
				struct pool_layout swap = *part;
				*part = better;
				better = swap;
			}
			free_part(&better);
			if (status == NO_MEMORY)
				return status;
		}
		for (uint32_t i = 0; i < part->n; i++) {
			uint32_t b = part->buffer[i], donor = part->linked.donor ? part->linked.donor[i] : NONE;
			result->pool[b] = p;
			result->offset[b] = part->linked.offset[i];
			if (result->donor)
				result->donor[b] = donor == NONE ? NONE : part->buffer[donor];
		}
	}
	result->proved = result->cost <= result->bound;
	result->part = mem_alloc(solve->pools->count, sizeof *result->part);
	NEED(result->part);
	memcpy(result->part, solve->best_part, solve->pools->count * sizeof *result->part);
	memset(solve->best_part, 0, solve->pools->count * sizeof *solve->best_part);
	result->parts = solve->pools->count;
	return stopped;
}

static enum status assign(struct solve *solve)
{
	enum status status = spill_bound(&solve->spill, &solve->result->bound);
	THEN(status, solve_program(solve));
	bool refuted = status == INFEASIBLE;
	if ((status == OK || status == INFEASIBLE || status == CANCELLED) && !solve->found) {
		enum status greedy = solve_greedily(solve);
		status = greedy != OK ? greedy : status == CANCELLED ? status : OK;
		refuted &= !solve->found;
		if (solve->found && status == OK)
			status = bring_back(solve);
	}
	return refuted && status == OK ? INFEASIBLE : status;
}

enum status layout_solve_pools(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools,
			       const struct layout_options *options, struct control *control, struct pooled_layout *result, struct error *error)
{
	*result = (struct pooled_layout){ .overflow = NONE };
	if (error)
		*error = (struct error){ 0 };
	struct solve solve = { .buffers = buffers, .links = links, .pools = pools, .options = options, .control = control, .result = result };
	enum status status = set_up(&solve, error);
	THEN(status, assign(&solve));
	if (solve.found && (status == OK || status == CANCELLED)) {
		enum status finished = finish(&solve);
		status = finished != OK ? finished : status;
		if (status == OK && !result->proved)
			status = control_status(control) == CANCELLED ? CANCELLED : OK;
	} else if (status == OK) {
		status = fail(error, LIMIT, "no assignment to the pools was found");
	} else if (status == INFEASIBLE && error && !error->text[0]) {
		fail(error, INFEASIBLE, "no assignment to the pools fits their capacities");
	}
	for (uint32_t p = 0; p < pools->count; p++) {
		if (solve.part)
			free_part(&solve.part[p]);
		if (solve.best_part)
			free_part(&solve.best_part[p]);
	}
	mem_free(solve.spill.cut);
	mem_free(solve.spill.cut_unit);
	arena_free(&solve.arena);
	if (status == NO_MEMORY)
		pooled_layout_free(result);
	return status;
}

void pooled_layout_free(struct pooled_layout *result)
{
	for (uint32_t p = 0; p < result->parts; p++)
		free_part(&result->part[p]);
	mem_free(result->part);
	mem_free(result->pool);
	mem_free(result->offset);
	mem_free(result->donor);
	*result = (struct pooled_layout){ 0 };
}
