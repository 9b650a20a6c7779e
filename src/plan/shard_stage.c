/* shard_stage.c: the shard stage: scenario -> mesh -> sharding -> the graph of one device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"
#include "shard_stage.h"

#define CANDIDATES_MAX 200
#define HOPELESS_PERCENT 125    /* estimates are that near to simulated steps */
#define EXPERTS_PLANNED 3
#define MESHES_SEARCHED 3      /* beside the first */
#define COPIES_LEAST 3         /* two copies save no time, and their shared tensors are counted less exactly */

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

/* Says which extents an axis would like to cut but doesn't divide. */
static void note_roles(const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, char *notes)
{
	for (uint32_t a = 0; a < mesh->axes; a++) {
		bool any = false;
		for (uint32_t r = 0; r < roles[a].roles; r++) {
			int64_t size = least_extent(units, (enum factor_role)roles[a].role[r]);
			any |= size > 0;
			if (size > mesh->axis[a].size && size % mesh->axis[a].size != 0 && mesh->padding)
				note(notes, "%s %" PRId64 " is not divisible by %s %u: every device counts the largest piece, %" PRId64, factor_role_names[roles[a].role[r]],
					size, mesh->axis[a].name, mesh->axis[a].size, size / mesh->axis[a].size + 1);
			else if (size > 0 && size % mesh->axis[a].size != 0)
				note(notes, "%s %" PRId64 " is not divisible by %s %u: it stays whole on every device", factor_role_names[roles[a].role[r]], size,
					mesh->axis[a].name, mesh->axis[a].size);
		}
		if (!any && roles[a].role[0] == ROLE_BATCH)
			note(notes, "no op has a batch to split: the batch is 1, or shapes are not known; %s %u cuts only the states of parameters",
				mesh->axis[a].name, mesh->axis[a].size);
		else if (!any)
			note(notes, "nothing in the graph is for %s to split", mesh->axis[a].name);
	}
}

/* Says which axes a search left without work. */
static void note_unsplit(const struct units *units, const struct sharding *sharding, char *notes)
{
	const struct mesh *mesh = &sharding->mesh;
	for (uint32_t a = 0; a < mesh->axes; a++) {
		bool any = false;
		for (uint32_t op = 0; op < units->graph->ops && !any; op++)
			any = sharding->split[op].on[a] != UNIT_NONE;
		if (!any)
			note(notes, "no op is split over %s %u: every device along it runs the same%s", mesh->axis[a].name, mesh->axis[a].size,
				units->unit_start[units->graph->ops] == 0 ? ", as shapes are not known" : "");
	}
}

/* ---- deciding ------------------------------------------------------------------------------------------------------------ */

void shard_key_add(struct key *key, const struct scenario *scenario, const struct plan_wish *wish, bool quick)
{
	static const enum knob_id read[] = { K_devices, K_devices_per_node, K_device, K_intra_bandwidth, K_inter_bandwidth, K_intra_latency,
		K_inter_latency, K_host_bandwidth, K_matrix_efficiency, K_attention_efficiency, K_other_traffic, K_strategy, K_dp, K_tp, K_pp, K_cp, K_ep, K_sp, K_padding, K_zero, K_microbatches };
	static const enum knob_id searched[] = { K_slack, K_curve, K_memory, K_reserve };
	size_t capped = wish->margin == MARGIN_NO_CAP ? 2 : 0;
	key_add(key, quick && scenario_searches(scenario));
	for (size_t i = 0; scenario_searches(scenario) && i + capped < sizeof searched / sizeof *searched; i++)
		key_add(key, (uint64_t)scenario->value[searched[i]]);
	if (scenario_searches(scenario) && !scenario_cuts(scenario))
		key_add(key, (uint64_t)wish->margin);
	if (scenario_searches(scenario))
		key_add(key, 2 * wish->rival + wish->least);
	if (wish->rival > 0)
		key_add_key(key, &wish->first->key);
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		key_add(key, (uint64_t)scenario->value[read[i]]);
	for (uint32_t i = 0; i < scenario->pins; i++) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_PLACEMENT)
			continue;
		key_add_bytes(key, pin->a, strlen(pin->a));
		key_add_bytes(key, pin->b, strlen(pin->b));
		key_add(key, (uint64_t)pin->number);
	}
}

struct choice { struct degrees degrees; int zero; struct sharding_cost cost; uint32_t candidate; bool any; };

/* What a strategy decides with. */
struct job {
	struct stage_context *stage;
	const struct plan_wish *wish;
	struct shared_units *shared;
	const struct scenario *scenario;
	struct shard_clock clock;
	int64_t cap;                 /* bytes that may stay on a device; < 0: any */
	bool as_tap;                 /* auto: what tap finds is sought */
	struct choice expert[SHARD_EXPERTS]; /* minred: what experts write that takes least, the least first */
	uint32_t experts;
	bool by_axes;                /* see struct sharding_options */
	uint8_t over[HIDINGS];
	bool others;                 /* what minred passes by is wanted */
	struct shard_candidate candidate[CANDIDATES_MAX];
	uint32_t candidates, patterns;
	char notes[NOTES_BYTES];
	struct arena arena;
	struct error *error;
};

/* What the memory cap leaves to what stays: earlier rounds have shown what comes and goes beside it. */
static int64_t cap_of(const struct plan_wish *wish, const struct scenario *scenario)
{
	int64_t cap = scenario_budget(scenario);
	int64_t ranks = scenario->value[K_pp];
	if (scenario_cuts(scenario))    /* the ranks share what stays; their cuts see to the rest */
		return cap < 0 || cap > BYTES_MAX / ranks ? -1 : cap * ranks;
	if (cap < 0 || wish->margin == MARGIN_NO_CAP)
		return -1;
	return cap > wish->margin ? cap - wish->margin : 0;
}

static enum shard_strategy strategy_of(const struct job *job)
{
	return job->as_tap ? STRATEGY_TAP : job->wish->least ? STRATEGY_MINRED : scenario_strategy(job->scenario);
}

static bool better(const struct job *job, const struct sharding_cost *a, const struct sharding_cost *b)
{
	enum shard_strategy strategy = strategy_of(job);
	bool fits_a = job->cap < 0 || a->usage <= job->cap, fits_b = job->cap < 0 || b->usage <= job->cap;
	if (fits_a != fits_b)
		return fits_a;
	/* Where nothing fits, a little less that stays is not worth much time, nor the buffers of many collectives. */
	bool alike = (a->usage > b->usage ? a->usage - b->usage : b->usage - a->usage) < a->usage / 50;
	if (strategy == STRATEGY_MINRED || (!fits_a && !alike))
		return a->usage != b->usage ? a->usage < b->usage : a->total < b->total;
	return a->total != b->total ? a->total < b->total : a->usage < b->usage;
}

/* An expert's sharding over degrees. Free it in any case but a failure. */
static enum status split(struct job *job, const struct degrees *degrees, int zero, struct sharding *sharding, struct axis_roles roles[MESH_AXES])
{
	struct mesh mesh;
	mesh_of_degrees(job->scenario, degrees, &mesh, roles);
	for (uint32_t a = 0; a < mesh.axes && zero >= 0; a++)
		if (strcmp(mesh.axis[a].name, "dp") == 0)
			roles[a].zero = (uint8_t)zero;
	enum status status = split_by_roles(&job->shared->units, &mesh, roles, sharding);
	if (status != OK)
		return fail(job->error, status, "out of memory");
	status = shard_pins_apply(job->scenario, &job->shared->units, sharding, job->error);
	if (status != OK)
		sharding_free(sharding);
	return status;
}

static void add_candidate(struct job *job, const char *text, const struct sharding_cost *cost)
{
	if (job->candidates == CANDIDATES_MAX)
		return;
	char *copy = arena_text(&job->arena, text, strlen(text));
	job->candidate[job->candidates++] = (struct shard_candidate){ copy ? copy : "", cost->total, cost->usage, cost->redundant, true, false };
}

static int by_cost(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return left < right ? -1 : left > right;
}

/* What a strategy itself looked at: of more than there is room for, what it chose and the cheapest. taken: the plan is made of what it chose. */
static enum status add_found(struct job *job, const struct sharding_report *report, bool taken)
{
	uint32_t room = CANDIDATES_MAX - job->candidates, chosen = 0, others = 0;
	int64_t *cost = arena_alloc(&job->arena, report->candidates, sizeof *cost), most = INT64_MAX;
	if (!cost)
		return NO_MEMORY;
	for (uint32_t i = 0; i < report->candidates; i++)
		if (report->candidate[i].chosen)
			chosen++;
		else
			cost[others++] = report->candidate[i].cost;
	qsort(cost, others, sizeof *cost, by_cost);
	if (chosen + others > room)
		most = room > chosen ? cost[room - chosen - 1] : -1;
	for (uint32_t i = 0; i < report->candidates && room > 0; i++) {
		const struct sharding_candidate *found = &report->candidate[i];
		if (!found->chosen && (found->cost > most || room <= chosen))
			continue;
		char *copy = arena_text(&job->arena, found->text, strlen(found->text));
		job->candidate[job->candidates++] = (struct shard_candidate){ copy ? copy : "", found->cost, found->usage, found->usage,
			found->cost < SHARD_FORBIDDEN, found->chosen && taken };
		chosen -= found->chosen;
		room--;
	}
	job->patterns += report->candidates;
	return OK;
}

/* Keeps the best: planned, one of them may be better than what is searched. minred: those that take least. */
static void keep_expert(struct job *job, const struct choice *next)
{
	uint32_t i = job->experts;
	bool least = strategy_of(job) == STRATEGY_MINRED;
	uint32_t most = least ? EXPERTS_PLANNED : SHARD_EXPERTS;
	for (; i > 0 && (least ? next->cost.usage < job->expert[i - 1].cost.usage : better(job, &next->cost, &job->expert[i - 1].cost)); i--)
		if (i < most)
			job->expert[i] = job->expert[i - 1];
	if (i < most)
		job->expert[i] = *next;
	job->experts += job->experts < most;
}

/* The best of what experts write by hand over all meshes that the knobs leave open: what searches start from, and a first plan. */
static enum status best_expert(struct job *job, uint32_t most, struct choice *best)
{
	struct degrees degrees[DEGREES_MAX];
	uint32_t count = degrees_of_search(job->scenario, degrees, most);
	struct sharding_sum *sum = sharding_sum_new(&job->shared->units, job->clock.clock, SHARD_EXPOSED, job->clock.microbatches);
	enum status status = sum ? OK : fail_memory(job->error);
	bool refused = false;
	*best = (struct choice){ .any = false };
	for (uint32_t i = 0; i < count; i++)
		for (int zero = 0; zero <= 3 && status == OK; zero += 3) {
			struct choice next = { degrees[i], job->scenario->value[K_zero] ? (int)job->scenario->value[K_zero] : zero, .any = true };
			struct axis_roles roles[MESH_AXES];
			struct sharding sharding;
			char text[120], mesh[96];
			int used;
			if (zero && degrees[i].dp == 1)
				continue;
			status = split(job, &degrees[i], next.zero, &sharding, roles);
			if (status == BAD_INPUT) {   /* this mesh can't keep a pin, another may; else the error stays */
				refused = true;
				status = OK;
				continue;
			}
			if (status != OK)
				continue;
			status = sharding_sum_cost(sum, &sharding, &next.cost);
			used = snprintf(text, sizeof text, "%s", mesh_text(&sharding.mesh, mesh, sizeof mesh));
			if (next.zero > 0 && used < (int)sizeof text)
				snprintf(text + used, sizeof text - (size_t)used, ", ZeRO %d", next.zero);
			next.candidate = job->candidates;
			add_candidate(job, text, &next.cost);
			sharding_free(&sharding);
			if (status == OK && strategy_of(job) != STRATEGY_TAP)
				keep_expert(job, &next);
			if (status == OK && (!best->any || better(job, &next.cost, &best->cost)))
				*best = next;
		}
	sharding_sum_free(sum);
	if (best->any && best->candidate < job->candidates)
		job->candidate[best->candidate].chosen = true;
	if (status == OK && !best->any)
		return refused ? BAD_INPUT : fail(job->error, BAD_INPUT, "there is no mesh of %" PRId64 " devices", job->scenario->value[K_devices]);
	return status;
}

/* Meshes that a first plan looks at, and a complete one: few on large graphs, so that it stands at once. */
enum { QUICK_WORK = 15000, FULL_WORK = 400000 };

/* What a result says of how it came about. */
static bool describe(struct job *job, struct sharded *sharded)
{
	struct arena *arena = &sharded->arena;
	sharded->notes = arena_text(arena, job->notes, strlen(job->notes));
	sharded->candidate = arena_alloc(arena, job->candidates, sizeof *sharded->candidate);
	if (!sharded->notes || !sharded->candidate)
		return false;
	for (uint32_t i = 0; i < job->candidates; i++) {
		sharded->candidate[i] = job->candidate[i];
		sharded->candidate[i].text = arena_text(arena, job->candidate[i].text, strlen(job->candidate[i].text));
		if (!sharded->candidate[i].text)
			return false;
	}
	sharded->candidates = job->candidates;
	sharded->patterns = job->patterns;
	return true;
}

/* ---- searching ------------------------------------------------------------------------------------------------------------- */

static enum status find_fold(struct shared_units *shared)
{
	enum status status = OK;
	if (!shared->folded)
		status = fold_find(shared->graph, units_label, &shared->units, COPIES_LEAST, &shared->fold);
	shared->folded = status == OK;
	return status;
}

/* Keeps what a search of auto has shown of its mesh. */
static void add_bound(const struct job *job, const struct mesh *mesh, const struct sharding_report *report, struct sharded *sharded)
{
	if (report->proof.bound < 0 || job->wish->least || sharded->bounds == MESH_BOUNDS)
		return;
	struct mesh_bound *bound = &sharded->bound[sharded->bounds++];
	*bound = (struct mesh_bound){ *mesh, job->cap, report->proof.bound, report->proof.by, report->space, report->price, .folded = report->folded };
	memcpy(bound->over, report->over, sizeof bound->over);
}

/* What is proved of the sharding's mesh is a bound of its estimate, too, whoever found it. Where it costs less, it lies outside of what was searched. */
static void take_bound(const struct job *job, struct sharded *sharded)
{
	int64_t cost = sharded->cost.total + sharded->cost.ties;   /* what searches minimise */
	for (uint32_t i = 0; i < sharded->bounds; i++) {
		const struct mesh_bound *bound = &sharded->bound[i];
		if (!mesh_equal(&bound->mesh, &sharded->sharding.mesh) || cost < bound->bound || (bound->cap >= 0 && bound->cap != job->cap))
			continue;
		sharded->proof = (struct proof){ job->clock.microbatches > 1 ? QUANTITY_MICROBATCH : QUANTITY_ESTIMATE, cost, bound->bound, bound->by };
		sharded->price = bound->price;
		memcpy(sharded->over, bound->over, sizeof sharded->over);
		if (!sharded->space) {
			sharded->space = bound->space;
			sharded->folded = bound->folded;
		}
		return;
	}
}

/* Takes over what an earlier search has shown. */
static void inherit_bounds(const struct job *job, const struct sharded *first, struct sharded *sharded)
{
	memcpy(sharded->bound, first->bound, sizeof sharded->bound);
	sharded->bounds = first->bounds;
	take_bound(job, sharded);
}

static void note_report(struct job *job, const struct sharding_report *report, struct sharded *sharded)
{
	if (report->proof.value >= 0) {
		sharded->space = report->space;
		sharded->folded = report->folded;
		add_bound(job, &sharded->sharding.mesh, report, sharded);
	}
	if (job->wish->first)
		inherit_bounds(job, job->wish->first, sharded);
	else
		take_bound(job, sharded);
}

/* The curve over all that was looked at: an expert's sharding, perhaps over another mesh, may be below what the search counts. */
static void add_experts(const struct job *job, struct sharding_point *curve)
{
	int64_t least = curve[0].usage;
	for (uint32_t i = 0; i < job->candidates; i++)
		least = job->candidate[i].usage >= 0 && job->candidate[i].usage < least ? job->candidate[i].usage : least;
	struct sharding_point found[SHARDING_CURVE_POINTS];
	memcpy(found, curve, sizeof found);
	for (int k = 0; k < SHARDING_CURVE_POINTS; k++) {
		int64_t limit = least + least / 100 * curve[k].eps + least % 100 * curve[k].eps / 100;
		struct sharding_point best = { .time = INT64_MAX };
		for (int i = 0; i < SHARDING_CURVE_POINTS; i++)
			if (found[i].usage <= limit && found[i].time < best.time)
				best = found[i];
		for (uint32_t i = 0; i < job->candidates; i++) {
			const struct shard_candidate *expert = &job->candidate[i];
			if (expert->usage >= 0 && expert->usage <= limit && expert->time < best.time)
				best = (struct sharding_point){ .status = OK, .usage = expert->usage, .redundant = expert->redundant, .time = expert->time };
		}
		best.eps = curve[k].eps;
		curve[k] = best;
	}
}

/* The options of a search over a mesh; they are the job's. */
static enum status search_options(struct job *job, const struct mesh *mesh, const struct axis_roles *roles, struct sharding_options *options)
{
	struct placement_pin *pin = arena_alloc(&job->arena, job->scenario->pins, sizeof *pin);
	struct axis_roles *usual = arena_alloc(&job->arena, MESH_AXES, sizeof *usual);
	enum status status = pin && usual ? find_fold(job->shared) : NO_MEMORY;
	if (status != OK)
		return status == NO_MEMORY ? fail_memory(job->error) : status;
	roles_of_mesh(job->scenario, mesh, usual);
	*options = (struct sharding_options){ .strategy = strategy_of(job), .roles = roles, .usual = usual, .memory = job->cap,
		.slack = (uint32_t)job->scenario->value[K_slack], .exposed = SHARD_EXPOSED,
		.microbatches = job->clock.microbatches, .clock = job->clock.clock, .fold = &job->shared->fold, .pin = pin,
		.by_axes = job->by_axes, .others = job->others };
	memcpy(options->over, job->over, sizeof job->over);
	return shard_pins_find(job->scenario, &job->shared->units, mesh, pin, &options->pins, job->error);
}

static enum status search(struct job *job, const struct mesh *mesh, const struct axis_roles *roles, struct sharding_options *options,
	struct sharding *found, struct sharding_report *report)
{
	enum status status = search_options(job, mesh, roles, options);
	if (status == OK)
		status = sharding_find(&job->shared->units, mesh, options, job->stage->control, found, report, job->error);
	return status == LIMIT ? OK : status;
}

/* What the search found is the chosen one of the candidates. */
static void list_found(struct job *job, const struct sharding *sharding, const struct sharding_cost *cost)
{
	char mesh[96], text[120];
	for (uint32_t i = 0; i < job->candidates; i++)
		job->candidate[i].chosen = false;
	job->candidates -= job->candidates == CANDIDATES_MAX;
	snprintf(text, sizeof text, "%s, searched", mesh_text(&sharding->mesh, mesh, sizeof mesh));
	add_candidate(job, text, cost);
	job->candidate[job->candidates - 1].chosen = true;
}

/* The candidates of an earlier result, with another one chosen. */
static void list_again(struct job *job, const struct sharded *first, const struct sharded *chosen)
{
	bool there = false;
	for (uint32_t i = 0; i < first->candidates; i++) {
		struct shard_candidate *candidate = &job->candidate[job->candidates++];
		*candidate = first->candidate[i];
		candidate->chosen = !there && candidate->time == chosen->cost.total && candidate->usage == chosen->cost.usage;
		there |= candidate->chosen;
	}
	if (!there)
		list_found(job, &chosen->sharding, &chosen->cost);
}

/* minred: within the slack above the least memory the faster one is better. */
static bool improves(const struct job *job, const struct sharding_report *report, const struct sharding_cost *expert)
{
	const struct sharding_cost *found = &report->cost;
	int64_t least = report->least_usage < expert->usage ? report->least_usage : expert->usage;
	int64_t limit = sharding_slack(least, (uint32_t)job->scenario->value[K_slack]);
	if (strategy_of(job) != STRATEGY_MINRED || report->least_usage < 0 || found->usage > limit || expert->usage > limit)
		return better(job, found, expert);
	return found->total < expert->total;
}

/* Searches begin with what is the larger sum for an expert's sharding. */
static void begin_over(struct job *job, const struct sharding_cost *expert)
{
	for (int k = 0; k < HIDINGS; k++)
		job->over[k] = sharding_is_over(expert, k) ? 100 : 0;
}

/* Searches over the mesh of a sharding; what is found takes its place where it is better. */
static enum status improve(struct job *job, const struct axis_roles *roles, struct sharding *sharding, const struct sharding_cost *cost,
	struct sharding_report *report, struct sharding_point *curve, uint32_t *points)
{
	struct sharding_options options = { .pins = 0 };
	struct sharding found = { 0 };
	struct mesh mesh = sharding->mesh;
	job->others = true;
	begin_over(job, cost);
	enum status status = search(job, &mesh, roles, &options, &found, report);
	bool nearest = status == INFEASIBLE && options.pins == 0;   /* pins that can't be kept are the user's to take back */
	if (nearest && job->cap >= 0 && report->cost.usage > job->cap && cost->usage > job->cap)
		note(job->notes, "the search estimates that no sharding over this mesh fits the cap, short-lived tensors included: this one comes nearest");
	else if (nearest && !found.split && options.strategy == STRATEGY_TAP)
		note(job->notes, "an expert's sharding, as the search found none: %s", job->error->text);
	status = nearest || (status == CANCELLED && found.split) ? OK : status;
	bool taken = status == OK && found.split && improves(job, report, cost);
	if (taken) {
		sharding_free(sharding);
		*sharding = found;
		found = (struct sharding){ 0 };
		list_found(job, sharding, &report->cost);
	} else if (status == OK && found.split && options.strategy == STRATEGY_TAP) {
		note(job->notes, "an expert's sharding, which is better than the best patterns of weights");
	}
	sharding_free(&found);
	if (add_found(job, report, taken) != OK)
		return NO_MEMORY;
	if (status == OK && options.strategy == STRATEGY_MINRED && job->scenario->value[K_curve]
		&& sharding_curve(&job->shared->units, &mesh, &options, job->stage->control, curve, job->error) == OK) {
		*points = SHARDING_CURVE_POINTS;
		add_experts(job, curve);
	}
	return status;
}

enum status shard_price_again(struct stage_context *stage, const struct sharded *sharded, const struct scenario *scenario, const struct plan_wish *wish,
	const struct price *price, const uint8_t over[HIDINGS], int64_t *bound, bool *whole, struct error *error)
{
	struct job job = { .stage = stage, .wish = wish, .shared = sharded->shared, .scenario = scenario, .error = error };
	struct sharding_options options;
	const struct mesh *mesh = &sharded->sharding.mesh;
	job.cap = cap_of(wish, scenario);
	memcpy(job.over, over, sizeof job.over);
	*whole = scenario_strategy(scenario) == STRATEGY_AUTO && (price->limit < 0 || price->limit == job.cap);
	enum status status = shard_clock_open(stage, &sharded->shared->units, scenario, &job.clock);
	if (status == OK)
		status = search_options(&job, mesh, NULL, &options);
	if (status == OK)
		status = sharding_priced(&sharded->shared->units, mesh, &options, price->limit, price->alpha, price->beta, bound, error);
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status;
}

enum status shard_bound_again(struct stage_context *stage, const struct sharded *sharded, const struct scenario *scenario, const struct plan_wish *wish,
	const uint8_t over[HIDINGS], int64_t *bound, struct error *error)
{
	struct job job = { .stage = stage, .wish = wish, .shared = sharded->shared, .scenario = scenario, .error = error };
	struct axis_roles roles[MESH_AXES] = { roles_data, roles_data, roles_data, roles_data };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	struct sharding found = { 0 };
	job.cap = cap_of(wish, scenario);
	memcpy(job.over, over, sizeof job.over);
	enum status status = shard_clock_open(stage, &sharded->shared->units, scenario, &job.clock);
	if (status == OK)
		status = search(&job, &sharded->sharding.mesh, roles, &options, &found, &report);
	*bound = report.proof.value >= 0 ? report.proof.bound : -1;
	sharding_free(&found);
	sharding_report_free(&report);
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status == INFEASIBLE ? OK : status;
}

/* The result of a decision, which it takes over. */
static struct sharded *build(struct job *job, struct sharding *sharding)
{
	sharding->late_sums = job->scenario->value[K_microbatches] > 1;
	return sharded_of(job->shared, sharding, &job->clock, job->error);
}

/* Takes a rival over. auto doesn't plan one twice; minred's limit needs the experts' arenas, whatever else is like them. */
static void add_rival(const struct job *job, struct sharding *rival, struct sharded *sharded)
{
	const struct units *units = &job->shared->units;
	bool automatic = scenario_strategy(job->scenario) == STRATEGY_AUTO, known = automatic && sharding_equal(units, rival, &sharded->sharding);
	for (uint32_t i = 0; i < sharded->rivals && !known && automatic; i++)
		known = sharding_equal(units, rival, &sharded->rival[i]);
	if (known)
		sharding_free(rival);
	else
		sharded->rival[sharded->rivals++] = *rival;
}

/* Whether a mesh was searched already: the first choice's, or that of an expert before. */
static bool is_searched(const struct job *job, const struct choice *choice, uint32_t expert)
{
	const struct degrees *next = &job->expert[expert].degrees;
	bool known = false;
	for (uint32_t i = 0; i <= expert; i++) {
		const struct degrees *other = i == expert ? &choice->degrees : &job->expert[i].degrees;
		known |= other->dp == next->dp && other->tp == next->tp && other->cp == next->cp && other->ep == next->ep;
	}
	return known;
}

/* What a search finds on an expert's mesh, as a rival where it may still be better than the first; and what it shows of that mesh. */
static enum status search_mesh_of(struct job *job, const struct choice *expert, struct sharded *sharded)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding start, found = { 0 };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	enum status status = split(job, &expert->degrees, expert->zero, &start, roles);
	if (status != OK)
		return status;
	job->by_axes = true;
	begin_over(job, &expert->cost);
	status = search(job, &start.mesh, roles, &options, &found, &report);
	job->by_axes = false;
	if (status == OK)
		add_bound(job, &start.mesh, &report, sharded);
	if (status == OK && found.split && report.cost.total < sharded->cost.total / 100 * HOPELESS_PERCENT) {
		add_rival(job, &found, sharded);
		found = (struct sharding){ 0 };
	}
	sharding_free(&found);
	sharding_report_free(&report);
	sharding_free(&start);
	return status == INFEASIBLE || status == BAD_INPUT ? OK : status;
}

/* auto: planning decides between meshes, as estimates of different meshes are not exact enough: what a search finds on those of the best experts. One axis
 * after the other: a rival needs no bound. Nothing on graphs where searches are long. */
static enum status search_elsewhere(struct job *job, const struct choice *choice, struct sharded *sharded)
{
	enum status status = OK;
	uint32_t searched = 0;
	for (uint32_t i = 0; i < job->experts && status == OK && sharded->rivals < SHARD_RIVALS && searched < MESHES_SEARCHED; i++)
		if (!is_searched(job, choice, i)) {
			status = search_mesh_of(job, &job->expert[i], sharded);
			searched++;
		}
	return status;
}

static enum status add_expert(struct job *job, const struct degrees *degrees, int zero, struct sharded *sharded)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding rival;
	enum status status = split(job, degrees, zero, &rival, roles);
	if (status == OK)
		add_rival(job, &rival, sharded);
	return status;
}

/* auto: what the strategies that experts write by hand come to, on meshes of their own. Degrees or pins that one can't keep leave it out. */
static enum status add_strategies(struct job *job, struct sharded *sharded)
{
	static const enum shard_strategy by_hand[] = { STRATEGY_DATA, STRATEGY_MEGATRON, STRATEGY_ZERO };
	enum status status = OK;
	for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand && status == OK; i++) {
		struct scenario scenario = *job->scenario;   /* only read */
		struct degrees degrees;
		int zero = (int)scenario.value[K_zero];
		scenario.value[K_strategy] = by_hand[i] + 1;
		status = degrees_of_scenario(&scenario, &job->shared->units, &degrees, job->error);
		if (status == OK)
			status = add_expert(job, &degrees, zero == 0 && by_hand[i] == STRATEGY_ZERO ? 3 : zero, sharded);
		status = status == BAD_INPUT ? error_set(job->error, OK) : status;
	}
	return status;
}

/* auto: what tap finds on the mesh of the best expert, where tap itself would take it. Without, the expert's sharding is tap's, and a rival already. */
static enum status add_tap(struct job *job, const struct choice *choice, struct sharded *sharded)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding start, found = { 0 };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	enum status status = split(job, &choice->degrees, choice->zero, &start, roles);
	if (status != OK)
		return status;
	job->as_tap = true;
	begin_over(job, &choice->cost);
	status = search(job, &start.mesh, roles, &options, &found, &report);
	if (status == OK && found.split && better(job, &report.cost, &choice->cost)) {
		add_rival(job, &found, sharded);
		found = (struct sharding){ 0 };
	}
	job->as_tap = false;
	sharding_free(&found);
	sharding_report_free(&report);
	sharding_free(&start);
	return status == INFEASIBLE || status == BAD_INPUT ? error_set(job->error, OK) : status;
}

/* What experts write and what the search passed by, for the planner to compare with. */
static enum status add_rivals(struct job *job, const struct choice *choice, struct sharding_report *report, struct sharded *sharded)
{
	bool automatic = strategy_of(job) == STRATEGY_AUTO;
	enum status status = OK;
	if (automatic && job->shared->graph->ops > RIVAL_OPS)
		return OK;
	for (uint32_t i = 0; i < job->experts && i < EXPERTS_PLANNED && status == OK; i++) {
		const struct sharding_cost *cost = &job->expert[i].cost;
		if (!automatic || cost->total != sharded->cost.total || cost->usage != sharded->cost.usage)   /* else the first itself */
			status = add_expert(job, &job->expert[i].degrees, job->expert[i].zero, sharded);
	}
	if (status == OK && automatic)
		status = add_strategies(job, sharded);
	if (status == OK && automatic)
		status = add_tap(job, choice, sharded);
	sharded->experts = sharded->rivals;
	for (; report->others > 0; report->others--)
		sharded->rival[sharded->rivals++] = report->other[report->others - 1];
	return status == OK && automatic ? search_elsewhere(job, choice, sharded) : status;
}

/* The plan of a rival: what was looked at is as with the first one. */
static struct sharded *rival_of(struct job *job, const struct sharded *first, uint32_t rival)
{
	struct sharding sharding;
	struct sharded *sharded = NULL;
	if (sharding_copy(&job->shared->units, &first->rival[rival], &sharding) != OK)
		fail_memory(job->error);
	else
		sharded = build(job, &sharding);
	if (!sharded)
		return NULL;
	list_again(job, first, sharded);
	snprintf(job->notes, sizeof job->notes, "%s", first->notes);
	note(job->notes, rival < first->experts ? "planned, this expert's sharding is better than what the search found"
		: scenario_strategy(job->scenario) == STRATEGY_AUTO ? "planned, this sharding is better than the one of the least estimate"
		: "planned, this sharding is better than the one of the least time within the slack");
	memcpy(sharded->curve, first->curve, sizeof sharded->curve);
	sharded->points = first->points;
	sharded->space = first->space;
	sharded->folded = first->folded;
	if (strategy_of(job) == STRATEGY_AUTO)
		inherit_bounds(job, first, sharded);
	if (describe(job, sharded))
		return sharded;
	fail_memory(job->error);
	sharded_release(sharded);
	return NULL;
}

static struct sharded *decide(struct job *job, bool quick)
{
	const struct units *units = &job->shared->units;
	struct choice choice = { .zero = -1 };
	struct axis_roles roles[MESH_AXES];
	struct sharding sharding;
	struct sharding_report report = { .proof.value = -1 };
	struct sharding_point curve[SHARDING_CURVE_POINTS];
	uint32_t points = 0;
	bool search = scenario_searches(job->scenario);
	enum status status = degrees_of_scenario(job->scenario, units, &choice.degrees, job->error);
	if (status == OK && search)
		status = best_expert(job, 1 + (quick ? QUICK_WORK : FULL_WORK) / (units->graph->ops + 1), &choice);
	if (status == OK)
		status = split(job, &choice.degrees, choice.zero, &sharding, roles);
	if (error_set(job->error, status) != OK)
		return NULL;
	if (search && !quick)
		status = improve(job, roles, &sharding, &choice.cost, &report, curve, &points);
	else if (!search)
		note_roles(units, &sharding.mesh, roles, job->notes);
	if (search && status == OK)
		note_unsplit(units, &sharding, job->notes);
	if (job->wish->least)
		note(job->notes, "planned, a sharding of little memory is better here than the one of the least estimate");
	struct sharded *sharded = NULL;
	if (error_set(job->error, status) == OK)
		sharded = build(job, &sharding);
	else
		sharding_free(&sharding);
	if (search && !quick && job->error->status == BAD_INPUT && job->scenario->pins == 0 && split(job, &choice.degrees, choice.zero, &sharding, roles) == OK) {
		note(job->notes, "the search's sharding has no graph of a device, an expert's takes its place: %s", job->error->text);
		report.proof.value = -1;
		sharded = build(job, &sharding);
	}
	if (sharded)
		note_report(job, &report, sharded);
	if (sharded && (!describe(job, sharded) || (!quick && add_rivals(job, &choice, &report, sharded) == NO_MEMORY))) {
		fail_memory(job->error);
		sharded_release(sharded);
		sharded = NULL;
	}
	if (sharded) {
		memcpy(sharded->curve, curve, points * sizeof *curve);
		sharded->points = points;
	}
	sharding_report_free(&report);
	return sharded;
}

struct sharded *stage_shard(struct stage_context *stage, struct graph *graph, const struct scenario *scenario, const struct plan_wish *wish, bool quick,
	struct error *error)
{
	struct job job = { .stage = stage, .wish = wish, .shared = shared_units_find(stage, graph), .scenario = scenario, .cap = cap_of(wish, scenario), .error = error };
	struct sharded *sharded = NULL;
	struct sharding sharding;
	enum status status = job.shared ? shard_clock_open(stage, &job.shared->units, scenario, &job.clock) : NO_MEMORY;
	if (status != OK) {
		fail_memory(error);
	} else if (stage->shard_decider) {
		status = stage->shard_decider(stage->shard_context, &job.shared->units, &sharding, error);
		if (error_set(error, status) == OK)
			sharded = build(&job, &sharding);
	} else if (wish->rival > 0) {
		sharded = rival_of(&job, wish->first, wish->rival - 1);
	} else {
		sharded = decide(&job, quick);
	}
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	shared_units_release(job.shared);
	return sharded;
}
