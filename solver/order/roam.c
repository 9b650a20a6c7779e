/* roam.c: ROAM's orderer (Shu et al., arXiv 2310.19295): segments, assignment of branches, and a tree of sub-problems
 * with exact leaves.
 *
 * The main path are the ancestors of the loss below the first op of the longest path to it and, of its descendants,
 * the ancestors of the deepest last op. An op of it that is comparable with all others of it is memory-insensitive
 * (nw = 0): a waist, where the problem falls apart. What lies between waists is a segment. Everything else are
 * branches, above all weight updates: each runs at the end of the first segment where that neither raises the peak nor
 * the live bytes, or later, at the latest before what needs it. A segment is halved at its lowest state until its parts
 * are within the node limit; these leaves are solved exactly, side by side.
 *
 * What the text leaves open, and we chose:
 * - what else begins a step, above all what is computed from weights alone, is a branch: it would make one segment of
 *   the whole forward part;
 * - a branch is what is connected and waits for the same op of the main path: what all updates share (a rate, the
 *   step's number) would make one branch of all;
 * - in a segment a branch also runs before an op that would raise the peak: segments may be as long as the step;
 * - the peak that a branch must not raise: the least, found by halving, at which the order keeps it, from what is
 *   certainly alive at some op upwards;
 * - the delay radius: to the end (a shorter one was never better on the captures that we have: order_bench roam);
 * - the node limit; leaves by an exact search for one peak below another, not by an integer program; leaves that lie
 *   below what is certainly alive elsewhere stay as they are;
 * - one stream: an op a time step (order_bench streams: several). */

#include "job.h"

#define NODE_LIMIT 100         /* ops in a leaf */
#define LEAF_STATES 2000       /* of a leaf's exact search */
#define TRIES 256              /* branches tried at one place */
#define ROUNDS 8               /* of assignment */

/* A branch that got nowhere: its ops, and those of others that it needed, came to so much above what was alive; with
 * less room, and these branches as they were, it fails again. */
struct roam_try { int64_t above; uint32_t kept, begin, end; };   /* of noted */
#define NOTED_MOST (1u << 22)

struct roam {
	struct order_job *job;
	const struct order_model *model;
	const uint32_t *sequence;      /* program order */
	uint32_t *place;               /* its inverse */
	bool *main;                    /* op -> on the main path */
	uint32_t loss;                 /* the last op of the forward part */
	uint32_t *segment_of;          /* main op -> segment */
	uint32_t *earliest;            /* op -> place of the last op of the main path that it needs, plus one; 0: none */
	uint32_t *latest;              /* op -> segment by whose end it must have run */
	uint32_t segments;
	struct order_segment *segment;
	/* branches */
	uint32_t *branch_of;           /* other op -> branch */
	struct csr members;            /* branch -> its ops, in program order */
	uint32_t branches;
	struct order_branch *branch;
	struct csr ready;              /* place of a main op -> branches that can run from then on */
	uint32_t *pending, pending_count;
	struct roam_try *last;         /* branch -> how it failed last */
	uint32_t *changed, kept;       /* branch -> of the ops kept so far the last one that its bytes depend on */
	uint32_t *noted, noteds, *noter, tries; /* branches of tries; branch -> the last try that it was noted in */
	size_t noted_room;
	/* the order */
	struct order_walk walk;
	bool *run;
	uint32_t *order, done;
	uint32_t *stack;
	int64_t peak;
	struct arena arena;
};

/* ---- the main path and its waists ---- */

static void roam_mark(const struct csr *arcs, uint32_t from, uint32_t *stack, bool *seen)
{
	uint32_t depth = 0;
	stack[depth++] = from;
	seen[from] = true;
	while (depth > 0) {
		uint32_t op = stack[--depth];
		FOR_ITEMS(arc, arcs, op)
			if (!seen[arc]) {
				seen[arc] = true;
				stack[depth++] = arc;
			}
	}
}

/* The end of the longest path among the ops allowed, the first in program order if there are several. */
static uint32_t deepest(const struct roam *roam, const bool *allowed, const uint8_t *phase, uint32_t *level)
{
	uint32_t best = NONE;
	FOR(i, roam->model->ops) {
		uint32_t op = roam->sequence[i];
		level[op] = 0;
		FOR_ITEMS(before, &roam->model->pred, op)
			if (level[before] >= level[op])
				level[op] = level[before] + 1;
		bool candidate = (!allowed || allowed[op]) && (!phase || phase[op] == PHASE_FORWARD);
		if (candidate && (best == NONE || level[op] > level[best]))
			best = op;
	}
	return best;
}

/* Where the longest path to the loss begins. */
static uint32_t roam_first_of(const struct roam *roam, const uint32_t *level)
{
	const struct csr *pred = &roam->model->pred;
	uint32_t op = roam->loss;
	while (csr_length(pred, op) > 0) {
		uint32_t above = pred->item[pred->start[op]];
		FOR_ITEMS(before, pred, op)
			above = level[before] > level[above] ? before : above;
		op = above;
	}
	return op;
}

static enum status find_main(struct roam *roam)
{
	uint32_t ops = roam->model->ops;
	uint32_t *level;
	bool *above_end, *above_loss, *below_first, *below_loss;
	NEED(ROOMS(&roam->arena, ops, level, above_end, above_loss, below_first, below_loss));
	uint32_t end = deepest(roam, NULL, NULL, level);
	roam_mark(&roam->model->pred, end, roam->stack, above_end);
	roam->loss = deepest(roam, above_end, roam->job->problem->phase, level);
	if (roam->loss == NONE)
		roam->loss = end;
	roam_mark(&roam->model->pred, roam->loss, roam->stack, above_loss);
	roam_mark(&roam->model->succ, roam_first_of(roam, level), roam->stack, below_first);
	roam_mark(&roam->model->succ, roam->loss, roam->stack, below_loss);
	FOR(op, ops)
		roam->main[op] = (above_loss[op] && below_first[op]) || (above_end[op] && below_loss[op]);
	return OK;
}

/* Numbers the segments along the main path. */
static enum status find_segments(struct roam *roam)
{
	uint32_t ops = roam->model->ops, count = 0;
	uint32_t *path, *place, *lowest;
	bool *waist;
	NEED(ROOMS(&roam->arena, ops, path, place, waist) && ROOM(&roam->arena, lowest, (size_t)ops + 1));
	FOR(i, ops)
		if (roam->main[roam->sequence[i]]) {
			place[roam->sequence[i]] = count;
			path[count++] = roam->sequence[i];
		}
	order_find_waists(roam->model, path, count, place, lowest, waist);
	FOR(i, count) {
		roam->segment_of[path[i]] = roam->segments;
		if (waist[i] || i + 1 == count) {
			roam->segment[roam->segments++] = (struct order_segment) {
				.waist = waist[i] ? path[i] : NONE,
				.phase = i <= place[roam->loss] ? PHASE_FORWARD : PHASE_BACKWARD,
			};
		}
	}
	return OK;
}

/* ---- branches ---- */

/* Between which ops of the main path the others must run. */
static enum status roam_find_spans(struct roam *roam)
{
	const struct order_model *model = roam->model;
	uint32_t *earliest, *latest;
	NEED(ROOMS(&roam->arena, model->ops, earliest, latest));
	FOR(i, model->ops) {
		uint32_t op = roam->sequence[i];
		earliest[op] = roam->main[op] ? i + 1 : 0;
		FOR_ITEMS(before, &model->pred, op)
			if (!roam->main[op] && earliest[before] > earliest[op])
				earliest[op] = earliest[before];
	}
	FOR_DOWN(i, model->ops) {
		uint32_t op = roam->sequence[i];
		latest[op] = roam->main[op] ? roam->segment_of[op] : roam->segments - 1;
		FOR_ITEMS(after, &model->succ, op)
			if (!roam->main[op] && latest[after] < latest[op])
				latest[op] = latest[after];
	}
	roam->earliest = earliest;
	roam->latest = latest;
	return OK;
}

/* Connected parts of what is not on the main path and waits for the same op of it: what all updates share, the step's
 * number or a rate, joins none. */
static enum status roam_find_branches(struct roam *roam)
{
	const struct order_model *model = roam->model;
	uint32_t *row;
	uint32_t *op_of, count = 0;
	NEED(ROOMS(&roam->arena, model->ops, row, op_of));
	FOR(op, model->ops)
		roam->branch_of[op] = NONE;
	FOR(i, model->ops) {
		uint32_t start = roam->sequence[i], depth = 0;
		if (roam->main[start] || roam->branch_of[start] != NONE)
			continue;
		roam->branch_of[start] = roam->branches;
		roam->stack[depth++] = start;
		while (depth > 0) {
			uint32_t op = roam->stack[--depth];
			const struct csr *arcs[] = { &model->pred, &model->succ };
			FOR_INT(side, 2)
				FOR_ITEMS(other, arcs[side], op) {
					if (roam->main[other] || roam->branch_of[other] != NONE || roam->earliest[other] != roam->earliest[op])
						continue;
					roam->branch_of[other] = roam->branches;
					roam->stack[depth++] = other;
				}
		}
		roam->branches++;
	}
	FOR(i, model->ops)
		if (!roam->main[roam->sequence[i]]) {
			row[count] = roam->branch_of[roam->sequence[i]];
			op_of[count++] = roam->sequence[i];
		}
	return csr_of_pairs(&roam->arena, roam->branches, count, row, op_of, &roam->members);
}

/* The segments between which each branch must run. */
static enum status roam_measure_branches(struct roam *roam)
{
	uint32_t *row, *id_of;
	NEED(ROOMS(&roam->arena, roam->branches, row, id_of));
	FOR(id, roam->branches) {
		struct order_branch *branch = &roam->branch[id];
		branch->op = csr_at(&roam->members, id, 0);
		branch->ops = csr_length(&roam->members, id);
		uint32_t above = roam->earliest[branch->op];
		row[id] = above ? above - 1 : 0;
		branch->earliest = roam->segment_of[roam->sequence[row[id]]];
		branch->latest = roam->latest[branch->op];
		FOR_ITEMS(member, &roam->members, id)
			if (roam->latest[member] < branch->latest)
				branch->latest = roam->latest[member];
		id_of[id] = id;
	}
	return csr_of_pairs(&roam->arena, roam->model->ops, roam->branches, row, id_of, &roam->ready);
}

/* ---- the order ---- */

static void roam_run_op(struct roam *roam, uint32_t op)
{
	int64_t live = roam->walk.live + order_walk_need(&roam->walk, op);
	roam->peak = LARGER(live, roam->peak);
	order_walk_run(&roam->walk, op);
	roam->run[op] = true;
	roam->order[roam->done++] = op;
}

/* Runs an op, and before it, in program order, what it needs and has not run. */
static void roam_run_with_needed(struct roam *roam, uint32_t op)
{
	const struct csr *pred = &roam->model->pred;
	uint32_t depth = 0;
	roam->stack[depth++] = op;
	while (depth > 0) {
		uint32_t at = roam->stack[depth - 1], next = NONE;
		FOR_ITEMS(item, pred, at)
			if (!roam->run[item] && (next == NONE || roam->place[item] < roam->place[next]))
				next = item;
		if (next != NONE)
			roam->stack[depth++] = next;
		else
			roam_run_op(roam, roam->stack[--depth]);
	}
}

/* Branches that share an item with an op, or have it, come to something else once it has run. */
static void roam_change(struct roam *roam, uint32_t op)
{
	roam->kept++;
	if (roam->branch_of[op] != NONE)
		roam->changed[roam->branch_of[op]] = roam->kept;
	FOR_ITEMS(item, &roam->model->touch, op)
		FOR_ITEMS(user, &roam->model->users, item)
			if (roam->branch_of[user] != NONE)
				roam->changed[roam->branch_of[user]] = roam->kept;
}

static bool fails_again(const struct roam *roam, const struct roam_try *last)
{
	bool same = last->end > last->begin && roam->peak - roam->walk.live < last->above;
	for (uint32_t i = last->begin; i < last->end && same; i++)
		same = roam->changed[roam->noted[i]] <= last->kept;
	return same;
}

/* A branch has run in a try. */
static void note_try(struct roam *roam, uint32_t id, struct roam_try *last)
{
	if (id != NONE && roam->noter[id] == roam->tries)
		return;
	if (id == NONE || roam->noteds == NOTED_MOST ||
		!GROWN(roam->noted, roam->noted_room, roam->noteds + (size_t)1)) {
		last->above = INT64_MIN;
		return;
	}
	roam->noter[id] = roam->tries;
	roam->noted[roam->noteds++] = id;
	last->end = roam->noteds;
}

/* Branches that have begun since the order had `first` ops have their segment. */
static void roam_settle(struct roam *roam, uint32_t first, uint32_t segment, uint32_t except)
{
	for (; first < roam->done; first++) {
		uint32_t id = roam->branch_of[roam->order[first]];
		roam_change(roam, roam->order[first]);
		if (id != NONE && id != except && roam->branch[id].segment == NONE) {
			roam->branch[id].segment = segment;
			roam->branch[id].why = ORDER_BRANCH_NEEDED;
		}
	}
}

/* Runs what is left of a branch, as far as it stays within the peak so far and ends no higher than it was, or all of it
 * if forced: what an update computes once it has read the gradient holds nothing and can wait by itself. */
static bool run_branch(struct roam *roam, uint32_t id, uint32_t segment, bool forced)
{
	uint32_t first = roam->done, kept = first;
	int64_t lowest = roam->walk.live, peak = roam->peak, begin = lowest;
	bool whole = true;
	if (!forced && fails_again(roam, &roam->last[id]))
		return false;
	FOR_ITEMS(member, &roam->members, id) {
		if (roam->run[member])
			continue;
		roam_run_with_needed(roam, member);
		whole = forced || (roam->peak == peak && roam->walk.live <= lowest);
		if (roam->peak > peak && !forced)
			break;
		if (whole) {
			kept = roam->done;
			lowest = roam->walk.live;
		}
	}
	struct roam_try last = { whole || kept > first ? INT64_MIN : roam->peak > peak ? roam->peak - begin : INT64_MAX,
		roam->kept, roam->noteds, roam->noteds };
	roam->tries++;
	note_try(roam, id, &last);
	while (roam->done > kept) {
		uint32_t op = roam->order[--roam->done];
		note_try(roam, roam->branch_of[op], &last);
		order_walk_undo(&roam->walk, op);
		roam->run[op] = false;
	}
	roam->peak = forced ? roam->peak : peak;
	roam_settle(roam, first, segment, id);
	if (last.above == INT64_MIN)
		roam->noteds = last.end = last.begin;
	roam->last[id] = last;
	return whole;
}

/* Branches that are ready, oldest first, at the end of a segment, or before what would raise the peak. Those that wait
 * for nothing of the main path have one chance: they hold what only others free. */
static void run_pending(struct roam *roam, uint32_t segment, bool forced)
{
	uint32_t kept = 0, radius = roam->job->options->delay_radius,
			 tries = control_status(&roam->job->control) == CANCELLED ? 0 : TRIES;
	FOR(i, roam->pending_count) {
		uint32_t id = roam->pending[i];
		struct order_branch *branch = &roam->branch[id];
		bool must = forced || (radius && segment + 1 >= branch->earliest + radius);
		if ((i < tries || must) && run_branch(roam, id, segment, must)) {
			if (branch->segment == NONE) {
				branch->segment = segment;
				branch->why = forced ? ORDER_BRANCH_LAST : branch->delayed ? ORDER_BRANCH_DELAYED : ORDER_BRANCH_AT_ONCE;
			}
			continue;
		}
		branch->delayed = true;
		if (roam->earliest[branch->op])
			roam->pending[kept++] = id;
	}
	roam->pending_count = kept;
}

/* Segments in program order, with the branches at their ends. The peak that branches must not raise is first `peak`;
 * roam->peak is what the order comes to, or that where it is lower. */
static void assign_branches(struct roam *roam, int64_t peak)
{
	uint32_t segment = 0;
	while (roam->done > 0) {
		order_walk_undo(&roam->walk, roam->order[--roam->done]);
		roam->run[roam->order[roam->done]] = false;
	}
	roam->pending_count = roam->noteds = 0;
	FOR(id, roam->branches) {
		roam->branch[id].segment = NONE;
		roam->branch[id].delayed = false;
		roam->last[id] = (struct roam_try) { 0 };
	}
	roam->segment[0].first = 0;
	roam->peak = peak;
	FOR(i, roam->model->ops) {
		uint32_t op = roam->sequence[i];
		bool next = roam->main[op] && roam->segment_of[op] != segment;
		if (next || (roam->main[op] && roam->walk.live + order_walk_need(&roam->walk, op) > roam->peak))
			run_pending(roam, segment, false);
		if (next) {
			roam->segment[segment].last = roam->done - 1;
			segment = roam->segment_of[op];
			roam->segment[segment].first = roam->done;
		}
		uint32_t first = roam->done;
		if (roam->main[op])
			roam_run_with_needed(roam, op);
		roam_settle(roam, first, segment, NONE);
		FOR_ITEMS(item, &roam->ready, i)
			roam->pending[roam->pending_count++] = item;
	}
	run_pending(roam, segment, false);
	roam->pending_count = 0;
	FOR(id, roam->branches)
		roam->pending[roam->pending_count++] = id;
	run_pending(roam, segment, true);
	roam->segment[segment].last = roam->done - 1;
}

/* The least peak that branches may reach at which the order keeps it: delayed ones keep gradients, so too low a peak
 * leads to a higher one. */
static void find_assignment(struct roam *roam)
{
	int64_t low = roam->job->bound, high = low;
	FOR_INT(round, ROUNDS) {
		if (round > 0 && control_status(&roam->job->control) == CANCELLED)
			return;
		int64_t peak = round == 0 ? low : round == 1 ? high : low + (high - low) / 2;
		assign_branches(roam, peak);
		if (roam->peak > peak) {
			low = peak;
			high = round == 0 ? roam->peak : high;
		} else {
			high = peak;
		}
		if (low == high || (round == 0 && roam->peak <= peak))
			return;
	}
	assign_branches(roam, high);
}

/* ---- leaves ---- */

/* A leaf is a problem of its own, which no other changes. */
struct roam_leaf {
	struct order_window window;
	struct order_segment *segment;
	struct order_job job;
	uint32_t like;                 /* the first leaf of the same window */
	bool known;
	struct roam_answer *answer;    /* of the first one */
	size_t bytes;
};

/* What is kept of a leaf. */
struct roam_answer {
	uint64_t ticks;
	enum status status;            /* INFEASIBLE: nothing is better */
	uint32_t order[];              /* of the window */
};

struct leaves {
	struct roam *roam;
	uint32_t *position, *count;
	int64_t *live;
	struct roam_leaf *leaf;
	size_t leaves, room;
};

static int64_t roam_highest(const struct leaves *leaves, uint32_t first, uint32_t ops)
{
	int64_t peak = INT64_MIN;
	FOR_FROM(i, first, first + ops)
		peak = LARGER(leaves->live[i], peak);
	return peak;
}

static enum status roam_add_leaf(struct leaves *leaves, struct order_segment *segment, uint32_t first, uint32_t ops)
{
	static const struct order_options alone = { 0 };
	struct order_job *job = leaves->roam->job;
	NEED(GROWN(leaves->leaf, leaves->room, leaves->leaves + 1));
	struct roam_leaf *leaf = &leaves->leaf[leaves->leaves];
	*leaf = (struct roam_leaf) { .segment = segment, .like = (uint32_t)leaves->leaves++, .job.options = &alone };
	leaf->job.control = (struct control) { .cancel = job->control.cancel, .limit = job->control.limit };
	TRY(order_window_cut(&leaf->window, &job->model, leaves->roam->order, leaves->position, leaves->live, first, ops));
	uint64_t *key = leaf->window.key;
	if (job->own.find(job->own.context, key, &leaf->like, sizeof leaf->like) > 0) {
		job->reused++;
		return OK;
	}
	job->own.keep(job->own.context, key, &leaf->like, sizeof leaf->like);
	key[0] = hash_join(key[0], LEAF_STATES);
	leaf->bytes = sizeof *leaf->answer + ops * sizeof *leaf->answer->order;
	NEED(leaf->answer = arena_alloc(&leaf->window.arena, 1, leaf->bytes));
	leaf->known = order_job_find(job, key, leaf->answer, leaf->bytes);
	return OK;
}

/* Exact searches below one peak after another, until none is found. */
static enum status roam_search_leaf(struct roam_leaf *leaf)
{
	struct arena *arena = &leaf->window.arena;
	struct order_window at = { .model = leaf->window.model }, next;
	uint32_t ops = at.model.ops, *local, *position, *count;
	int64_t *live;
	FOR(i, ops)
		leaf->answer->order[i] = i;
	NEED(ROOMS(arena, ops, local, position, live) && ROOM(arena, count, at.model.items));
	COPY(local, leaf->answer->order, ops);
	enum status status = OK;
	while (status == OK) {
		int64_t peak = order_profile(&at.model, local, count, live);
		FOR(i, ops)
			position[local[i]] = i;
		status = order_window_cut(&next, &at.model, local, position, live, 0, ops);
		order_window_apply(&at, leaf->answer->order, local);
		order_window_free(&at);
		at = next;
		THEN(status, order_window_solve(&leaf->job, &at, peak - 1, LEAF_STATES, local));
	}
	order_window_free(&at);
	return status;
}

static void roam_solve_leaf(void *context, uint32_t i)
{
	struct roam_leaf *leaf = &((struct leaves *)context)->leaf[i];
	if (leaf->like != i || leaf->known)
		return;
	leaf->job.own = order_memory_store(&leaf->job.memory);
	leaf->answer->status = roam_search_leaf(leaf);
	leaf->answer->ticks = leaf->job.control.ticks;
	order_memory_free(&leaf->job.memory);
}

/* Where to halve: the lowest state in the middle half. */
static uint32_t roam_halve(const struct leaves *leaves, uint32_t first, uint32_t ops)
{
	uint32_t best = first + ops / 4 + 1;
	for (uint32_t i = best; i <= first + ops - ops / 4 - 1; i++)
		if (leaves->live[i] < leaves->live[best])
			best = i;
	return best;
}

/* A segment as a tree: halves above the node limit, leaves below. Parts that stay below the bound are left alone. */
static enum status roam_divide(struct leaves *leaves, struct order_segment *segment, uint32_t first, uint32_t ops)
{
	struct order_job *job = leaves->roam->job;
	if (roam_highest(leaves, first, ops) <= job->bound)
		return OK;
	if (ops <= (job->options->node_limit ? job->options->node_limit : NODE_LIMIT))
		return roam_add_leaf(leaves, segment, first, ops);
	uint32_t middle = roam_halve(leaves, first, ops);
	segment->exact = false;
	TRY(roam_divide(leaves, segment, first, middle - first));
	return roam_divide(leaves, segment, middle, first + ops - middle);
}

/* Puts a solved leaf's order in its place. */
static enum status roam_take_leaf(struct leaves *leaves, uint32_t i)
{
	struct roam_leaf *leaf = &leaves->leaf[i];
	const struct roam_answer *answer = leaves->leaf[leaf->like].answer;
	struct order_job *job = leaves->roam->job;
	if (leaf->like == i && !leaf->known) {
		control_spend(&job->control, answer->ticks);
		order_job_keep(job, leaf->window.key, answer, leaf->bytes, answer->status);
	}
	COPY(leaves->position, answer->order, leaf->window.model.ops);
	order_window_apply(&leaf->window, leaves->roam->order, leaves->position);
	leaf->segment->exact &= answer->status == INFEASIBLE;
	bool fine = answer->status == INFEASIBLE || (answer->status == LIMIT && control_status(&job->control) == OK);
	return fine ? OK : answer->status;
}

static enum status roam_solve_leaves(struct leaves *leaves)
{
	struct roam *roam = leaves->roam;
	uint32_t ops = roam->model->ops, count;
	NEED(ROOMS(&roam->arena, ops, leaves->position, leaves->live) && ROOM(&roam->arena, leaves->count,
		roam->model->items));
	order_profile(roam->model, roam->order, leaves->count, leaves->live);
	FOR(i, ops)
		leaves->position[roam->order[i]] = i;
	FOR(i, roam->segments) {
		struct order_segment *segment = &roam->segment[i];
		segment->exact = true;
		TRY(roam_divide(leaves, segment, segment->first, segment->last - segment->first + 1));
	}
	count = (uint32_t)leaves->leaves;
	if (roam->job->options->side_by_side)
		roam->job->options->side_by_side(count, roam_solve_leaf, leaves);
	else
		FOR(i, count)
			roam_solve_leaf(leaves, i);
	enum status status = OK;
	FOR(i, count) {
		enum status taken = roam_take_leaf(leaves, i);
		status = status == OK ? taken : status;
	}
	order_profile(roam->model, roam->order, leaves->count, leaves->live);
	FOR(i, roam->segments) {
		struct order_segment *segment = &roam->segment[i];
		segment->peak = roam_highest(leaves, segment->first, segment->last - segment->first + 1);
	}
	return status;
}

static enum status solve_segments(struct roam *roam)
{
	struct leaves leaves = { .roam = roam };
	enum status status = roam_solve_leaves(&leaves);
	FOR_SIZE(i, leaves.leaves)
		order_window_free(&leaves.leaf[i].window);
	mem_free(leaves.leaf);
	return status;
}

/* ---- all of it ---- */

static enum status roam_prepare(struct roam *roam)
{
	struct arena *arena = &roam->arena;
	uint32_t ops = roam->model->ops;
	MAKE(roam->branch_of, ops);
	MAKE(roam->segment, ops);
	NEED(ROOMS(arena, ops, roam->place, roam->main, roam->segment_of, roam->run, roam->order, roam->stack) &&
		roam->branch_of && roam->segment);
	FOR(i, ops)
		roam->place[roam->sequence[i]] = i;
	return order_walk_start(&roam->walk, roam->model, arena);
}

/* Without leaves it is a seed for others. */
static enum status roam_solve(struct roam *roam, uint32_t *order, bool leaves)
{
	TRY(roam_prepare(roam));
	if (roam->model->ops == 0)
		return OK;
	TRY(find_main(roam));
	TRY(find_segments(roam));
	TRY(roam_find_spans(roam));
	TRY(roam_find_branches(roam));
	MAKE(roam->branch, roam->branches);
	NEED(ROOMS(&roam->arena, roam->branches, roam->pending, roam->last, roam->changed, roam->noter) &&
		roam->branch);
	TRY(roam_measure_branches(roam));
	find_assignment(roam);
	enum status status = leaves ? solve_segments(roam) : OK;
	if (status != NO_MEMORY)
		order_job_offer(roam->job, roam->order, "roam");
	if (order)
		COPY(order, roam->order, roam->model->ops);
	return status;
}

enum status order_run_roam(struct order_job *job, uint32_t *order, struct order_roam *result)
{
	struct roam roam = { .job = job, .model = &job->model, .sequence = job->problem->program };
	enum status status = roam_solve(&roam, order, result != NULL);
	if (result) {
		*result = (struct order_roam) { roam.segments, roam.branches, roam.segment, roam.branch, roam.branch_of };
	} else {
		mem_free(roam.segment);
		mem_free(roam.branch);
		mem_free(roam.branch_of);
	}
	mem_free(roam.noted);
	arena_free(&roam.arena);
	return status;
}
