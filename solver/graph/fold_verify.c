/* fold_verify.c: compares every copy with the one in the middle, argument by argument.
 *
 * What differs near the ends shortens the chain; an op that differs elsewhere is no part of the segment, nor is what
 * reads it. */

#include "fold_steps.h"

#define ROUNDS 40
#define ENDS 2 /* copies at each end that may be left out for a difference */

enum { INSIDE, OWN, OUTSIDE };

/* Where an argument comes from. */
struct source {
	uint8_t kind;
	uint32_t orbit, place; /* INSIDE: writer and result; OWN: where the tensor was first read */
	int32_t step;          /* copies back */
	uint32_t tensor;       /* OUTSIDE */
};

struct verifying {
	const struct fold_run *run;
	const struct graph *graph;
	struct fold_orbits *orbits;
	struct { int32_t copy; uint32_t orbit, place; } *tag; /* [tensors] first read there; orbit NONE: not yet */
	struct source *model; /* arguments of the copy in the middle: those of an orbit from first on */
	uint32_t *first;      /* [orbits] */
	int32_t middle, low, high; /* the range as it will be */
	bool changed;
};

static int32_t fold_verify_copy_of(const struct fold_orbits *orbits, uint32_t op)
{
	return orbits->offset[orbits->orbit[op]] + (int32_t)orbits->index[op];
}

static uint32_t fold_verify_op_of(const struct fold_orbits *orbits, uint32_t orbit, int32_t copy)
{
	return orbits->item[orbits->start[orbit] + (uint32_t)(copy - orbits->offset[orbit])];
}

static bool is_inside(const struct fold_orbits *orbits, uint32_t op)
{
	return op != NONE && orbits->orbit[op] != NONE && !orbits->out[orbits->orbit[op]] &&
		fold_verify_copy_of(orbits, op) >= orbits->low && fold_verify_copy_of(orbits, op) <= orbits->high;
}

static uint32_t fold_verify_argument(const struct graph *graph, uint32_t op, uint32_t place)
{
	return graph_operand(graph, op, place);
}

/* Do the neighbours of this copy read the same tensor there? */
static bool is_shared(const struct verifying *verifying, uint32_t orbit, int32_t copy, uint32_t place, uint32_t tensor)
{
	const struct fold_orbits *orbits = verifying->orbits;
	return (copy < orbits->high &&
			   fold_verify_argument(verifying->graph, fold_verify_op_of(orbits, orbit, copy + 1), place) == tensor) ||
		(copy > orbits->low &&
			fold_verify_argument(verifying->graph, fold_verify_op_of(orbits, orbit, copy - 1), place) == tensor);
}

static struct source fold_verify_source_of(
	const struct verifying *verifying, uint32_t orbit, int32_t copy, uint32_t place)
{
	const struct fold_orbits *orbits = verifying->orbits;
	uint32_t tensor = fold_verify_argument(verifying->graph, fold_verify_op_of(orbits, orbit, copy), place),
			 writer = verifying->graph->tensor[tensor].writer;
	if (is_inside(orbits, writer))
		return (struct source){ INSIDE, orbits->orbit[writer], verifying->run->place[tensor],
			copy - fold_verify_copy_of(orbits, writer), 0 };
	if (writer != NONE || is_shared(verifying, orbit, copy, place, tensor))
		return (struct source) { .kind = OUTSIDE, .tensor = tensor };
	return (struct source){ OWN, verifying->tag[tensor].orbit, verifying->tag[tensor].place,
		copy - verifying->tag[tensor].copy, 0 };
}

/* Is the argument of a copy what the one in the middle says? */
static bool agree(
	const struct verifying *verifying, const struct source *model, const struct source *source, int32_t copy)
{
	int32_t low = verifying->orbits->low, high = verifying->orbits->high;
	bool end = copy == low || copy == high;
	if (model->kind == OUTSIDE)
		return (source->kind == OUTSIDE && source->tensor == model->tensor) || (end && source->kind != INSIDE) ||
			/* With two copies the model itself is an end. */
			(high - low == 1 && source->kind == INSIDE && source->step == 1);
	if (copy - model->step < low || copy - model->step > high)
		return source->kind != INSIDE;
	return source->kind == model->kind && source->orbit == model->orbit && source->place == model->place &&
		source->step == model->step;
}

/* ---- changes ---- */

static void fold_verify_drop(struct verifying *verifying, uint32_t orbit)
{
	verifying->orbits->out[orbit] = true;
	verifying->changed = true;
}

/* A copy of the orbit differs. */
static void differ(struct verifying *verifying, uint32_t orbit, int32_t copy)
{
	const struct fold_orbits *orbits = verifying->orbits;
	if (copy < orbits->low + ENDS && copy < verifying->middle) {
		verifying->low = LARGER(copy + 1, verifying->low);
		verifying->changed = true;
	} else if (copy > orbits->high - ENDS && copy > verifying->middle) {
		verifying->high = SMALLER(copy - 1, verifying->high);
		verifying->changed = true;
	} else {
		fold_verify_drop(verifying, orbit);
	}
}

/* ---- the rounds ---- */

/* First reads of tensors that nothing writes, copy after copy. */
static void set_tags(struct verifying *verifying)
{
	const struct fold_orbits *orbits = verifying->orbits;
	const struct graph *graph = verifying->graph;
	FOR(tensor, graph->tensors)
		verifying->tag[tensor].orbit = NONE;
	for (int32_t copy = orbits->low; copy <= orbits->high; copy++)
		FOR(orbit, orbits->orbits) {
			if (orbits->out[orbit])
				continue;
			uint32_t op = fold_verify_op_of(orbits, orbit, copy);
			FOR(i, graph_operands(graph, op)) {
				uint32_t tensor = fold_verify_argument(graph, op, i);
				if (graph->tensor[tensor].writer != NONE || verifying->tag[tensor].orbit != NONE)
					continue;
				verifying->tag[tensor].copy = copy;
				verifying->tag[tensor].orbit = orbit;
				verifying->tag[tensor].place = i;
			}
		}
}

/* Orbits whose arguments in the middle come from different ops outside, or from too far: they and their readers are
 * out. */
static void drop_strays(struct verifying *verifying)
{
	const struct fold_orbits *orbits = verifying->orbits;
	for (bool again = true; again;) {
		again = false;
		FOR(orbit, orbits->orbits) {
			if (orbits->out[orbit])
				continue;
			uint32_t op = fold_verify_op_of(orbits, orbit, verifying->middle);
			FOR_WHILE(i, graph_operands(verifying->graph, op), !orbits->out[orbit]) {
				struct source source = fold_verify_source_of(verifying, orbit, verifying->middle, i);
				bool stray = source.kind == OUTSIDE ? orbits->high - orbits->low > 1 &&
					!is_shared(verifying, orbit, verifying->middle, i, source.tensor) : source.step < -1 || source.step > 1;
				if (stray) {
					fold_verify_drop(verifying, orbit);
					again = true;
				}
			}
		}
	}
}

static bool same_rest(const struct graph *graph, uint32_t model, uint32_t op)
{
	uint32_t first = graph->inplace_start[model], other = graph->inplace_start[op],
			 pairs = graph->inplace_start[model + 1] - first;
	if (graph->inplace_start[op + 1] - other != pairs ||
		graph_operands(graph, model) != graph_operands(graph, op) ||
		graph_results(graph, model) != graph_results(graph, op))
		return false;
	FOR(i, pairs) {
		const struct inplace *a = &graph->inplace[first + i], *b = &graph->inplace[other + i];
		if ((a->out == NONE) != (b->out == NONE))
			return false;
		FOR(j, graph_operands(graph, model))
			if ((fold_verify_argument(graph, model, j) == a->in) != (fold_verify_argument(graph, op, j) == b->in))
				return false;
		FOR_WHILE(j, graph_results(graph, model), a->out != NONE)
			if ((graph_result(graph, model, j) == a->out) !=
				(graph_result(graph, op, j) == b->out))
				return false;
	}
	return true;
}

/* Declared control dependencies: as arguments without a tensor. */
static bool same_after(const struct verifying *verifying, uint32_t model, uint32_t op, int32_t copy)
{
	const struct fold_orbits *orbits = verifying->orbits;
	const struct csr *after = &verifying->graph->after;
	if (csr_length(after, model) != csr_length(after, op))
		return copy == orbits->low || copy == orbits->high;
	FOR(i, csr_length(after, op)) {
		uint32_t one = after->item[after->start[model] + i], two = after->item[after->start[op] + i];
		bool first = is_inside(orbits, one), second = is_inside(orbits, two);
		if (first && second &&
			(orbits->orbit[one] != orbits->orbit[two] ||
				verifying->middle - fold_verify_copy_of(orbits, one) != copy - fold_verify_copy_of(orbits, two)))
			return false;
		if ((first != second || (!first && one != two)) && copy != orbits->low && copy != orbits->high)
			return false;
	}
	return true;
}

/* Arguments of the copy in the middle. */
static void set_models(struct verifying *verifying)
{
	const struct fold_orbits *orbits = verifying->orbits;
	uint32_t count = 0;
	FOR(orbit, orbits->orbits) {
		verifying->first[orbit] = count;
		if (orbits->out[orbit])
			continue;
		uint32_t arguments = graph_operands(verifying->graph, fold_verify_op_of(orbits, orbit, verifying->middle));
		FOR(i, arguments)
			verifying->model[count++] = fold_verify_source_of(verifying, orbit, verifying->middle, i);
	}
}

static void fold_verify_compare(struct verifying *verifying, uint32_t orbit, int32_t copy)
{
	const struct fold_orbits *orbits = verifying->orbits;
	const struct graph *graph = verifying->graph;
	uint32_t model = fold_verify_op_of(orbits, orbit, verifying->middle), op = fold_verify_op_of(orbits, orbit, copy);
	bool same = verifying->run->label[op] == verifying->run->label[model] && same_rest(graph, model, op) &&
		same_after(verifying, model, op, copy);
	FOR_WHILE(i, graph_operands(graph, op), same) {
		struct source source = fold_verify_source_of(verifying, orbit, copy, i);
		same = agree(verifying, &verifying->model[verifying->first[orbit] + i], &source, copy);
	}
	if (!same)
		differ(verifying, orbit, copy);
}

static enum status fold_verify_make_room(struct verifying *verifying, struct arena *arena)
{
	const struct fold_orbits *orbits = verifying->orbits;
	const struct csr *reads = &verifying->graph->reads;
	size_t arguments = 0;
	FOR(orbit, orbits->orbits)
		arguments += csr_length(reads, orbits->item[orbits->start[orbit]]);
	return ROOM(arena, verifying->tag, verifying->graph->tensors) && ROOM(arena, verifying->model, arguments) &&
		ROOM(arena, verifying->first, orbits->orbits) ? OK : NO_MEMORY;
}

/* ---- the range to begin with ---- */

/* The most common value, by Boyer and Moore's vote and a count around it: good enough for a first range. */
static int32_t common_end(const struct fold_orbits *orbits, bool last)
{
	int32_t best = 0, votes = 0;
	FOR(orbit, orbits->orbits) {
		int32_t value = orbits->offset[orbit] + (last ? (int32_t)(orbits->start[orbit + 1] - orbits->start[orbit]) - 1 : 0);
		if (!votes)
			best = value;
		votes += value == best ? 1 : -1;
	}
	return best;
}

static bool fold_verify_set_range(struct fold_orbits *orbits, uint32_t least)
{
	int32_t first = common_end(orbits, false), last = common_end(orbits, true);
	for (int32_t slack = ENDS; slack >= 0; slack--) {
		orbits->low = first;
		orbits->high = last;
		FOR(orbit, orbits->orbits) {
			int32_t from = orbits->offset[orbit], to = from + (int32_t)(orbits->start[orbit + 1] - orbits->start[orbit]) - 1;
			orbits->out[orbit] = from > first + slack || to < last - slack;
			if (orbits->out[orbit])
				continue;
			orbits->low = LARGER(from, orbits->low);
			orbits->high = SMALLER(to, orbits->high);
		}
		if (orbits->high - orbits->low + 1 >= (int32_t)least)
			return true;
	}
	return false;
}

enum status fold_verify(const struct fold_run *run, struct fold_orbits *orbits, struct arena *arena)
{
	struct verifying verifying = { .run = run, .graph = run->graph, .orbits = orbits, .changed = true };
	NEED(fold_verify_make_room(&verifying, arena) == OK);
	bool found = fold_verify_set_range(orbits, run->least);
	for (int round = 0; round < ROUNDS && found && verifying.changed; round++) {
		verifying.changed = false;
		verifying.middle = orbits->low + (orbits->high - orbits->low + 1) / 2 - (orbits->high - orbits->low == 1);
		verifying.low = orbits->low;
		verifying.high = orbits->high;
		set_tags(&verifying);
		drop_strays(&verifying);
		set_models(&verifying);
		for (int32_t copy = orbits->low; copy <= orbits->high; copy++)
			FOR(orbit, orbits->orbits)
				if (!orbits->out[orbit])
					fold_verify_compare(&verifying, orbit, copy);
		orbits->low = verifying.low;
		orbits->high = verifying.high;
		found = orbits->high - orbits->low + 1 >= (int32_t)run->least;
	}
	if (!found || verifying.changed)
		orbits->high = orbits->low - 1;
	return OK;
}
