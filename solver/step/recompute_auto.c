/* recompute_auto.c: what to compute again so that a step fits, at the fewest extra FLOPs.
 *
 * Layers don't influence each other: what crosses between them is kept. So every level is tried on all layers at once,
 * equal layers are folded, and how many layers of a class take which level is an integer program of a few columns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/base/milp.h"
#include "solver/graph/problem.h"
#include "recompute_auto.h"

enum { THRESHOLDS = 12, ROUNDS = 8 };

/* ---- the menu ------------------------------------------------------------------------------------------ */

/* FLOPs of writing a storage, for each of its bytes. */
static double flops_per_byte(const struct graph *step, const struct activations *activations, uint32_t storage)
{
	double flops = 0;
	FOR_ROW(i, &step->members, storage) {
		uint32_t writer = step->tensor[step->members.item[i]].writer;
		if (writer != NONE && step->op[writer].phase == PHASE_FORWARD)
			flops += (double)activations->flops[writer];
	}
	return flops / (double)(step->storage[storage].bytes > 0 ? step->storage[storage].bytes : 1);
}

static bool droppable(const struct graph *step, const struct activations *activations, uint32_t storage)
{
	uint32_t writer = step->tensor[step->storage[storage].root].writer;
	return activations->saved[storage] && !activations->anchor[storage] && writer != NONE &&
		activations->layer[writer] != NONE;
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* At most THRESHOLDS of the ratios that occur, evenly by rank, the largest among them. Returns how many. */
static uint32_t pick_thresholds(double *ratio, uint32_t count, double *threshold)
{
	uint32_t distinct = 0, picked = 0;
	qsort(ratio, count, sizeof *ratio, compare_doubles);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || ratio[i] > ratio[distinct - 1])
			ratio[distinct++] = ratio[i];
	uint32_t wanted = distinct < THRESHOLDS ? distinct : THRESHOLDS;
	for (uint32_t i = 1; i <= wanted; i++)
		threshold[picked++] = ratio[(uint64_t)distinct * i / wanted - 1];
	return picked;
}

static enum status find_levels(const struct graph *step, const struct activations *activations, struct recompute_menu *menu)
{
	double threshold[THRESHOLDS];
	double *ratio = mem_alloc(step->storages, sizeof *ratio);
	uint32_t count = 0;
	menu->threshold = arena_alloc(&menu->arena, 2 * (THRESHOLDS + 1), sizeof *menu->threshold);
	menu->attention = arena_alloc(&menu->arena, 2 * (THRESHOLDS + 1), sizeof *menu->attention);
	if (!ratio || !menu->threshold || !menu->attention) {
		mem_free(ratio);
		return NO_MEMORY;
	}
	bool any = false;
	for (uint32_t s = 0; s < step->storages; s++)
		if (droppable(step, activations, s)) {
			ratio[count++] = flops_per_byte(step, activations, s);
			any |= activations->attention[s];
		}
	count = pick_thresholds(ratio, count, threshold);
	mem_free(ratio);
	for (int attention = 0; attention < (any ? 2 : 1); attention++)
		for (uint32_t i = 0; i <= count; i++) {
			menu->threshold[menu->levels] = i == 0 ? -1 : threshold[i - 1];
			menu->attention[menu->levels++] = attention;
		}
	return OK;
}

static void drop_at(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	const struct recompute_menu *menu, const uint32_t *level, uint32_t same, bool *drop)
{
	for (uint32_t s = 0; s < step->storages; s++) {
		drop[s] = droppable(step, activations, s);
		if (!drop[s])
			continue;
		uint32_t layer = activations->layer[step->tensor[step->storage[s].root].writer], at = level ? level[layer] : same;
		drop[s] = flops_per_byte(step, activations, s) <= menu->threshold[at] || (menu->attention[at] &&
			activations->attention[s]);
		for (uint32_t i = 0; i < options->layers; i++)
			drop[s] |= layer == options->layer[i];
	}
	for (uint32_t i = 0; i < options->residents; i++)
		drop[step->tensor[options->resident[i]].storage] = false;
	for (uint32_t i = 0; i < options->offloads; i++)
		drop[step->tensor[options->offload[i]].storage] = false;
}

/* What a choice drops, into drop [storages]. */
static void recompute_menu_drop(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	const struct recompute_menu *menu, const uint32_t *level, bool *drop)
{
	drop_at(step, activations, options, menu, level, 0, drop);
}

/* Layers with the same costs at every level are one class; of[layers * levels] becomes the classes' table. */
static void fold(struct recompute_menu *menu, struct recompute_cost *of)
{
	size_t row = menu->levels * sizeof *of;
	for (uint32_t layer = 0; layer < menu->layers; layer++) {
		uint32_t same = 0;
		while (same < menu->classes && memcmp(of + (size_t)same * menu->levels, of + (size_t)layer * menu->levels, row) != 0)
			same++;
		if (same == menu->classes)
			memmove(of + (size_t)menu->classes++ * menu->levels, of + (size_t)layer * menu->levels, row);
		menu->class_of[layer] = same;
		menu->class_size[same]++;
	}
	menu->cost = of;
}

static void recompute_menu_free(struct recompute_menu *menu)
{
	arena_free(&menu->arena);
}

/* O(levels * graph). Of the options, residents and offloads are never dropped, layers always; the mode is ignored.
 * Free with recompute_menu_free(). */
static enum status recompute_menu_find(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options, struct recompute_menu *menu, struct error *error)
{
	*menu = (struct recompute_menu){ .layers = activations->layers };
	enum status status = find_levels(step, activations, menu);
	uint32_t layers = menu->layers;
	struct recompute_cost *of = arena_alloc(&menu->arena, (size_t)layers * menu->levels, sizeof *of), whole;
	struct recompute_cost *by_layer = mem_alloc(layers, sizeof *by_layer);
	bool *drop = mem_alloc(step->storages, sizeof *drop);
	menu->class_of = arena_alloc(&menu->arena, layers, sizeof *menu->class_of);
	menu->class_size = arena_alloc(&menu->arena, layers, sizeof *menu->class_size);
	if (status != OK || !of || !by_layer || !drop || !menu->class_of || !menu->class_size)
		status = fail_memory(error);
	for (uint32_t level = 0; level < menu->levels && status == OK; level++) {
		drop_at(step, activations, options, menu, NULL, level, drop);
		status = recompute_cost(step, activations, drop, &whole, by_layer, error);
		for (uint32_t layer = 0; layer < layers && status == OK; layer++)
			of[(size_t)layer * menu->levels + level] = by_layer[layer];
	}
	if (status == OK)
		fold(menu, of);
	mem_free(by_layer);
	mem_free(drop);
	if (status != OK)
		recompute_menu_free(menu);
	return status;
}

/* ---- choosing --------------------------------------------------------------------------------------------- */

static const struct recompute_cost *cost_of(const struct recompute_menu *menu, uint32_t class, uint32_t level)
{
	return &menu->cost[(size_t)class * menu->levels + level];
}

/* The level of a class that saves most, at the fewest FLOPs. */
static uint32_t deepest(const struct recompute_menu *menu, uint32_t class)
{
	uint32_t best = 0;
	for (uint32_t level = 1; level < menu->levels; level++) {
		const struct recompute_cost *cost = cost_of(menu, class, level), *old = cost_of(menu, class, best);
		if (cost->bytes > old->bytes || (cost->bytes == old->bytes && cost->flops < old->flops))
			best = level;
	}
	return best;
}

static int64_t most_bytes(const struct recompute_menu *menu)
{
	int64_t bytes = 0;
	for (uint32_t class = 0; class < menu->classes; class++)
		bytes += cost_of(menu, class, deepest(menu, class))->bytes * menu->class_size[class];
	return bytes;
}

/* Columns: how many layers of a class take a level. Rows: each layer takes one; enough is saved. Bytes and FLOPs are scaled
 * to about one. */
static void write_program(const struct recompute_menu *menu, int64_t bytes, double scale, struct milp *program)
{
	for (uint32_t class = 0; class < menu->classes; class++)
		for (uint32_t level = 0; level < menu->levels; level++)
			milp_add_column(program, 0, menu->class_size[class], (double)cost_of(menu, class, level)->flops / scale, true);
	for (uint32_t class = 0; class < menu->classes; class++) {
		milp_add_row(program, menu->class_size[class], menu->class_size[class]);
		for (uint32_t level = 0; level < menu->levels; level++)
			milp_add_entry(program, class * menu->levels + level, 1);
	}
	milp_add_row(program, 1, INFINITY);
	for (uint32_t class = 0; class < menu->classes; class++)
		for (uint32_t level = 0; level < menu->levels; level++)
			milp_add_entry(program, class * menu->levels + level, (double)cost_of(menu, class, level)->bytes / (double)bytes);
}

/* Hands out levels: count [classes * levels] of them, those that save most to the first layers of a class. */
static void hand_out(const struct recompute_menu *menu, int64_t *count, struct recompute_choice *choice)
{
	choice->bytes = choice->flops = 0;
	for (uint32_t layer = 0; layer < menu->layers; layer++) {
		uint32_t class = menu->class_of[layer], best = NONE;
		for (uint32_t level = 0; level < menu->levels; level++)
			if (count[(size_t)class * menu->levels + level] > 0 &&
			    (best == NONE || cost_of(menu, class, level)->bytes > cost_of(menu, class, best)->bytes))
				best = level;
		best = best == NONE ? 0 : best;
		count[(size_t)class * menu->levels + best]--;
		choice->level[layer] = best;
		choice->bytes += cost_of(menu, class, best)->bytes;
		choice->flops += cost_of(menu, class, best)->flops;
	}
}

/* Rounding may leave a choice short by a hair: layers are deepened until it isn't. */
static void deepen(const struct recompute_menu *menu, int64_t bytes, struct recompute_choice *choice)
{
	for (uint32_t layer = 0; layer < menu->layers && choice->bytes < bytes; layer++) {
		uint32_t class = menu->class_of[layer], level = deepest(menu, class);
		choice->bytes += cost_of(menu, class, level)->bytes - cost_of(menu, class, choice->level[layer])->bytes;
		choice->flops += cost_of(menu, class, level)->flops - cost_of(menu, class, choice->level[layer])->flops;
		choice->level[layer] = level;
	}
}

static double largest_flops(const struct recompute_menu *menu)
{
	double largest = 1;
	for (size_t i = 0; i < (size_t)menu->classes * menu->levels; i++)
		largest = (double)menu->cost[i].flops > largest ? (double)menu->cost[i].flops : largest;
	return largest;
}

enum status recompute_menu_choose(const struct recompute_menu *menu, int64_t bytes, struct control *control,
	struct recompute_choice *choice)
{
	size_t columns = (size_t)menu->classes * menu->levels;
	int64_t *count = mem_alloc(columns, sizeof *count);
	struct milp program = { 0 };
	struct milp_solution solution = { 0 };
	enum status status = count ? OK : NO_MEMORY;
	bool all = bytes > most_bytes(menu);
	*choice = (struct recompute_choice){ .level = choice->level };
	if (status == OK && !all && bytes > 0) {
		double scale = largest_flops(menu);
		struct milp_limits limits = { .nodes = 20000 };
		write_program(menu, bytes, scale, &program);
		status = milp_solve(&program, &limits, control, &solution);
		if (solution.value) {
			choice->bound = solution.bound > 0 ? (int64_t)floor(solution.bound * scale * (1 - 1e-9)) : 0;
			for (size_t i = 0; i < columns; i++)
				count[i] = llround(solution.value[i]);
			status = status == LIMIT ? OK : status;
		} else if (status == LIMIT || status == INFEASIBLE) {
			all = true;   /* found nothing within the limits: everything is a choice that saves enough */
			status = OK;
		}
	}
	if (status == OK) {
		for (uint32_t class = 0; class < menu->classes && (all || bytes <= 0); class++)
			count[(size_t)class * menu->levels + (all ? deepest(menu, class) : 0)] = menu->class_size[class];
		hand_out(menu, count, choice);
		deepen(menu, bytes, choice);
		choice->proved = (double)choice->flops <= (double)choice->bound * (1 + 1e-6);
		status = choice->bytes < bytes ? INFEASIBLE : OK;
	}
	milp_solution_free(&solution);
	milp_free(&program);
	mem_free(count);
	return status;
}

/* ---- fitting ------------------------------------------------------------------------------------------------- */

static enum status program_peak(const struct graph *graph, int64_t *peak, struct error *error)
{
	struct memory_rules rules = { .alignment = 1, .workspace = true };
	struct problem problem;
	enum status status = problem_of_graph(graph, &rules, &problem, error);
	if (status != OK)
		return status;
	uint32_t position;
	*peak = problem_peak(&problem, problem.program, NULL, &position);
	problem_free(&problem);
	return *peak >= 0 ? OK : fail_memory(error);
}

/* One choice, applied and measured. */
static struct graph *try_choice(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	const struct recompute_menu *menu, int64_t bytes, struct control *control, struct recompute_point *point,
		struct error *error)
{
	struct recompute_choice choice = { .level = mem_alloc(menu->layers, sizeof *choice.level) };
	bool *drop = mem_alloc(step->storages, sizeof *drop);
	struct graph *result = NULL;
	enum status status = choice.level && drop ? recompute_menu_choose(menu, bytes, control, &choice) : NO_MEMORY;
	if (status == OK || status == INFEASIBLE) {
		recompute_menu_drop(step, activations, options, menu, choice.level, drop);
		result = recompute_apply(step, activations, drop, options->offload, options->offloads, error);
		*point = (struct recompute_point){ .bytes = choice.bytes, .flops = choice.flops, .bound = choice.bound, .proved = choice.proved };
		if (result && error_set(error, program_peak(result, &point->peak, error)) != OK) {
			graph_release(result);
			result = NULL;
		}
	} else {
		fail(error, status, status == NO_MEMORY ? "out of memory" : "stopped");
	}
	mem_free(choice.level);
	mem_free(drop);
	return result;
}

struct graph *recompute_to_fit(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	int64_t cap, struct control *control, struct recompute_point *point, struct error *error)
{
	struct recompute_menu menu;
	struct graph *best = NULL;
	if (error_set(error, recompute_menu_find(step, activations, options, &menu, error)) != OK)
		return NULL;
	int64_t most = most_bytes(&menu), bytes = 0;
	enum status status = OK;
	for (int round = 0; round <= ROUNDS && (!best || (point->peak > cap && bytes < most)); round++) {
		struct recompute_point tried;
		if (best)
			bytes += point->peak - cap < most - bytes && round < ROUNDS ? point->peak - cap : most - bytes;
		struct graph *graph = try_choice(step, activations, options, &menu, bytes, control, &tried, error);
		status = graph ? OK : error->status;
		if (!graph)
			break;
		graph_release(best);
		best = graph;
		*point = tried;
	}
	recompute_menu_free(&menu);
	if (status == OK && point->peak > cap)
		status = fail(error, INFEASIBLE, "no recomputation brings the program-order peak below %lld bytes: it is %lld", (long long)cap,
			(long long)point->peak);
	if (error_set(error, status) != OK && status != INFEASIBLE) {
		graph_release(best);
		best = NULL;
	}
	return best;
}

enum status recompute_curve(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	uint32_t count, struct control *control, struct recompute_point *points, struct error *error)
{
	struct recompute_menu menu;
	enum status status = recompute_menu_find(step, activations, options, &menu, error);
	if (status != OK)
		return status;
	int64_t most = most_bytes(&menu);
	for (uint32_t i = 0; i < count && status == OK; i++) {
		int64_t bytes = count > 1 ? (int64_t)((double)most * i / (count - 1)) : 0;
		if (i + 1 == count)
			bytes = most;
		struct graph *graph = try_choice(step, activations, options, &menu, bytes, control, &points[i], error);
		status = graph ? OK : error->status;
		graph_release(graph);
	}
	recompute_menu_free(&menu);
	return status;
}
