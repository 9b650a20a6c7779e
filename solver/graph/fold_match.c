/* fold_match.c: maps every op to the equal one in the next copy, starting from a pair and going along arguments.
 *
 * An op's arguments are ordered, so equal ops have equal arguments; readers of a tensor are not, and are told apart by
 * label and place, then by the colours of their surroundings, then by program order. What only order tells apart waits
 * until nothing else is left. */
#include <stdlib.h>

#include "fold_steps.h"

#define ROUNDS 3     /* of refinement */
#define SEEDS 4      /* classes that are tried */
#define STRIDE_MAX 3 /* members of a class from one copy to the next: patterns of up to so many layers */
#define FAN_MAX 64   /* readers of a tensor that are told apart */

static const uint32_t *fold_match_reads_of(const struct graph *graph, uint32_t op)
{
	return graph->reads.item + graph->reads.start[op];
}

/* ---- labels, colours, levels ---- */

static enum status find_readers(struct fold_run *run)
{
	const struct graph *graph = run->graph;
	uint32_t *fill;
	NEED(ROOMS(&run->arena, (size_t)graph->tensors + 1, fill, run->reader_start) &&
		ROOM(&run->arena, run->reader, graph->reads.start[graph->ops]) &&
		ROOM(&run->arena, run->place, graph->tensors));
	FOR(i, graph->reads.start[graph->ops])
		run->reader_start[graph->reads.item[i] + 1]++;
	FOR(t, graph->tensors)
		fill[t + 1] = run->reader_start[t + 1] += run->reader_start[t];
	FOR(op, graph->ops) {
		FOR(i, graph_operands(graph, op))
			run->reader[fill[fold_match_reads_of(graph, op)[i]]++] = (struct fold_reader) { op, i };
		FOR(i, graph_results(graph, op))
			run->place[graph_result(graph, op, i)] = i;
	}
	return OK;
}

static uint64_t fold_match_refine(const struct fold_run *run, const uint64_t *colour, uint32_t op)
{
	const struct graph *graph = run->graph;
	uint64_t hash = colour[op], readers = 0;
	FOR_ITEMS(tensor, &graph->reads, op) {
		uint32_t writer = graph->tensor[tensor].writer;
		hash = hash_join(hash, writer == NONE ? 0 : hash_join(colour[writer], run->place[tensor]));
	}
	FOR_ITEMS(tensor, &graph->writes, op)
		FOR_SPAN(j, run->reader_start, tensor)
			readers += hash_join(hash_join(colour[run->reader[j].op], run->reader[j].place), run->place[tensor]);
	return hash_join(hash, readers);
}

enum status fold_run_begin(struct fold_run *run, fold_label *label, void *context)
{
	const struct graph *graph = run->graph;
	enum status status = find_readers(run);
	uint64_t *other;
	if (!ROOMS(&run->arena, graph->ops, other, run->label, run->colour, run->level, run->used) ||
		status != OK)
		return NO_MEMORY;
	FOR(op, graph->ops) {
		run->colour[op] = run->label[op] = hash_join(label(graph, op, context),
			(uint64_t)graph_operands(graph, op) << 32 | graph_results(graph, op));
		FOR_ITEMS(before, &graph->pred, op)
			if (run->level[before] >= run->level[op])
				run->level[op] = run->level[before] + 1;
	}
	FOR_INT(round, ROUNDS) {
		FOR(op, graph->ops)
			other[op] = fold_match_refine(run, run->colour, op);
		uint64_t *swap = run->colour;
		run->colour = other;
		other = swap;
	}
	return OK;
}

/* ---- the map ---- */

struct matcher {
	const struct fold_run *run;
	struct fold_shift *shift;
	uint32_t *queue, from, to; /* ops whose arguments are still to be looked at */
	struct tie { uint32_t tensor, image; } *tie;
	uint32_t ties, looked;
	size_t tie_room;
	bool failed;
};

static void pair(struct matcher *matcher, uint32_t op, uint32_t image)
{
	const struct fold_run *run = matcher->run;
	struct fold_shift *shift = matcher->shift;
	if (op == image || shift->image[op] != NONE || shift->origin[image] != NONE ||
		run->label[op] != run->label[image] || run->used[op] || run->used[image])
		return;
	shift->image[op] = image;
	shift->origin[image] = op;
	shift->mapped++;
	matcher->queue[matcher->to++] = op;
}

static uint64_t fold_match_key_of(const struct matcher *matcher, const struct fold_reader *reader, bool surroundings)
{
	uint64_t key = hash_join(matcher->run->label[reader->op], reader->place);
	return surroundings ? hash_join(key, matcher->run->colour[reader->op]) : key;
}

struct candidate { uint64_t key; uint32_t op; };

/* Readers of the tensor that have no partner yet. */
static uint32_t fold_match_list_readers(
	const struct matcher *matcher, uint32_t tensor, const uint32_t *partner, bool surroundings, struct candidate *list)
{
	const struct fold_run *run = matcher->run;
	uint32_t count = 0;
	for (uint32_t i = run->reader_start[tensor]; i < run->reader_start[tensor + 1] && count < FAN_MAX; i++)
		if (partner[run->reader[i].op] == NONE && !run->used[run->reader[i].op])
			list[count++] = (struct candidate) { fold_match_key_of(matcher, &run->reader[i], surroundings), run->reader[i].op };
	/* Few: a sort that keeps program order among equals. */
	FOR_FROM(i, 1, count)
		for (uint32_t j = i; j > 0 && list[j - 1].key > list[j].key; j--) {
			struct candidate swap = list[j];
			list[j] = list[j - 1];
			list[j - 1] = swap;
		}
	return count;
}

static uint32_t fold_match_run_of(const struct candidate *list, uint32_t count, uint32_t from)
{
	uint32_t to = from;
	while (to < count && list[to].key == list[from].key)
		to++;
	return to - from;
}

/* Pairs readers with the same key: single ones, or, where all else is equal, as many as there are on both sides in
 * their order. True when some were left. */
static bool pair_readers(struct matcher *matcher, uint32_t tensor, uint32_t image, bool surroundings)
{
	struct candidate one[FAN_MAX], two[FAN_MAX];
	uint32_t ones = fold_match_list_readers(matcher, tensor, matcher->shift->image, surroundings, one);
	uint32_t twos = fold_match_list_readers(matcher, image, matcher->shift->origin, surroundings, two);
	bool left = false;
	for (uint32_t i = 0, j = 0; i < ones && j < twos;) {
		if (one[i].key != two[j].key) {
			*(one[i].key < two[j].key ? &i : &j) += 1;
			continue;
		}
		uint32_t first = fold_match_run_of(one, ones, i), second = fold_match_run_of(two, twos, j);
		if (first == second && (first == 1 || surroundings))
			FOR(k, first)
				pair(matcher, one[i + k].op, two[j + k].op);
		else
			left = true;
		i += first;
		j += second;
	}
	return left;
}

static void tie_tensors(struct matcher *matcher, uint32_t tensor, uint32_t image)
{
	if (tensor == image || !pair_readers(matcher, tensor, image, false))
		return;
	if (!GROWN(matcher->tie, matcher->tie_room, matcher->ties + 1)) {
		matcher->failed = true;
		return;
	}
	matcher->tie[matcher->ties++] = (struct tie) { tensor, image };
}

static void look_around(struct matcher *matcher, uint32_t op)
{
	const struct graph *graph = matcher->run->graph;
	uint32_t image = matcher->shift->image[op];
	const uint32_t *results = graph->writes.item + graph->writes.start[op],
				   *others = graph->writes.item + graph->writes.start[image];
	FOR(i, graph_operands(graph, op)) {
		uint32_t tensor = fold_match_reads_of(graph, op)[i], other = fold_match_reads_of(graph, image)[i];
		uint32_t writer = graph->tensor[tensor].writer, equal = graph->tensor[other].writer;
		if (tensor == other || (writer == NONE) != (equal == NONE))
			continue;
		if (writer == NONE)
			tie_tensors(matcher, tensor, other);
		else if (matcher->run->place[tensor] == matcher->run->place[other])
			pair(matcher, writer, equal);
	}
	FOR(i, graph_results(graph, op))
		tie_tensors(matcher, results[i], others[i]);
}

static void fold_match_spread(struct matcher *matcher, uint32_t op, uint32_t image)
{
	matcher->from = matcher->to = matcher->ties = matcher->looked = 0;
	pair(matcher, op, image);
	while (!matcher->failed) {
		if (matcher->from < matcher->to) {
			look_around(matcher, matcher->queue[matcher->from++]);
		} else if (matcher->looked < matcher->ties) {
			struct tie tie = matcher->tie[matcher->looked++];
			pair_readers(matcher, tie.tensor, tie.image, true);
		} else {
			return;
		}
	}
}

/* ---- where to begin ---- */

struct member { uint64_t colour; uint32_t op; };
struct seed {
	uint32_t members, first;
	size_t ops;
}; /* classes of so many members: one of them, and how many ops all have */

COMPARATOR(fold_match_by_colour, struct member, COMPARE(a->colour, b->colour, COMPARE(a->op, b->op, 0)))

COMPARATOR(by_ops, struct seed, COMPARE(b->ops, a->ops, COMPARE(a->members, b->members, 0)))

COMPARATOR(by_members, struct seed, COMPARE(a->members, b->members, COMPARE(a->first, b->first, 0)))

/* Classes of equal surroundings, those of the same number of members counted together: the most common number is the
 * number of copies. */
static uint32_t find_seeds(const struct fold_run *run, bool forward, struct member *member, struct seed *seed)
{
	const struct graph *graph = run->graph;
	uint32_t count = 0, seeds = 0, merged = 0;
	FOR(op, graph->ops)
		if (!run->used[op] && (!forward || graph->op[op].phase == PHASE_FORWARD))
			member[count++] = (struct member) { run->colour[op], op };
	SORT(member, count, fold_match_by_colour);
	for (uint32_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && member[next].colour == member[i].colour;)
			next++;
		if (next - i >= 2)
			seed[seeds++] = (struct seed) { next - i, i, next - i };
	}
	SORT(seed, seeds, by_members);
	FOR(i, seeds) {
		if (merged && seed[merged - 1].members == seed[i].members)
			seed[merged - 1].ops += seed[i].ops;
		else
			seed[merged++] = seed[i];
	}
	SORT(seed, merged, by_ops);
	return merged;
}

struct trial { struct fold_shift best, now; struct matcher matcher; uint32_t left; };

static void clear(struct fold_shift *shift, uint32_t ops)
{
	FILL_NONE(shift->image, ops);
	FILL_NONE(shift->origin, ops);
	shift->mapped = 0;
}

/* From two members in the middle of a class; true when there is no need to try more. */
static bool try_seed(struct trial *trial, const struct member *member, uint32_t members, uint32_t stride)
{
	uint32_t first = (members - 1 - stride) / 2;
	clear(&trial->now, trial->matcher.run->graph->ops);
	fold_match_spread(&trial->matcher, member[first].op, member[first + stride].op);
	if (trial->now.mapped <= trial->best.mapped)
		return false;
	struct fold_shift swap = trial->best;
	trial->best = trial->now;
	trial->now = swap;
	/* A shift of n copies leaves one of them and what is outside. */
	size_t copy = trial->best.mapped / members;
	return trial->best.mapped + 2 * copy >= trial->left - trial->left / 8;
}

enum status fold_shift_find(const struct fold_run *run, struct fold_shift *shift, struct arena *arena)
{
	uint32_t ops = run->graph->ops, seeds = 0;
	struct trial trial = { .matcher = { .run = run } };
	struct member *member;
	struct seed *seed;
	NEED(ROOMS(arena, ops, member, seed, trial.matcher.queue, trial.now.image, trial.now.origin, trial.best.image,
		trial.best.origin));
	trial.matcher.shift = &trial.now;
	FOR(op, ops)
		trial.left += !run->used[op];
	seeds = find_seeds(run, true, member, seed);
	if (!seeds)
		seeds = find_seeds(run, false, member, seed);
	bool enough = false;
	FOR_WHILE(i, seeds, i < SEEDS && !enough)
		for (uint32_t stride = 1; stride <= STRIDE_MAX && stride < seed[i].members && !enough; stride++)
			enough = try_seed(&trial, member + seed[i].first, seed[i].members, stride);
	mem_free(trial.matcher.tie);
	*shift = trial.best;
	return trial.matcher.failed ? NO_MEMORY : OK;
}
