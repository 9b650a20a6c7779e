/* shard_chain_splice.c: a plan between two, one too large and one that fits: most copies of a link from the one, the others from the other.
 *
 * Both weigh the same at the best price, but their copies may stand in different states: then no mixture of arcs is a walk without
 * two dear arcs in between, which the ILP would have to find among many.
 */
#include <string.h>

#include "shard_chain_search.h"

struct splice {
	struct chain_search *search;
	const struct chain_choice *under, *over;
	uint32_t number;           /* of the link */
	const struct chain_link *link;
};

/* Values of a copy that goes from one state to another, the next kind of the path. *found becomes false where that is forbidden. */
static enum status add_between(const struct splice *splice, uint32_t from, uint32_t to, struct chain_choice *choice, bool *found)
{
	const struct chain_tree *tree = &splice->search->copy[splice->number].tree;
	const struct chain_bucket *root = &tree->bucket[tree->buckets - 1];
	struct chain_path *path = &choice->path[splice->number];
	size_t square = (size_t)splice->link->states * splice->link->states;
	size_t row = path->block * square + (size_t)from * splice->link->states + to;
	uint32_t *value = arena_alloc(&choice->arena, splice->link->graph.vars, sizeof *value);
	if (!value)
		return NO_MEMORY;
	*found &= !chain_blocked(root->table[row]);
	chain_tree_digits(tree, root, row, value);
	chain_tree_decode(tree, value);
	path->value[path->kinds++] = value;
	return OK;
}

static uint32_t *copy_of_values(const uint32_t *values, uint32_t count, struct arena *arena)
{
	uint32_t *copy = arena_alloc(arena, count, sizeof *copy);
	if (copy)
		memcpy(copy, values, count * sizeof *copy);
	return copy;
}

static bool copy_path(const struct chain_path *path, uint32_t length, uint32_t vars, uint32_t more, struct chain_path *copy, struct arena *arena)
{
	*copy = (struct chain_path) { .block = path->block };
	copy->arc = copy_of_values(path->arc, length, arena);
	copy->state = copy_of_values(path->state, length + 1, arena);
	copy->value = arena_alloc(arena, (size_t)path->kinds + more, sizeof *copy->value);
	bool full = copy->arc && copy->state && copy->value;
	while (full && copy->kinds < path->kinds) {
		copy->value[copy->kinds] = copy_of_values(path->value[copy->kinds], vars, arena);
		full = copy->value[copy->kinds++] != NULL;
	}
	return full;
}

/* The smaller plan, but with the larger one's copies from 1 to middle of the link. *found: there is such a walk. */
static enum status join(const struct splice *splice, uint32_t middle, struct chain_choice *choice, bool *found)
{
	const struct chain_model *model = splice->search->model;
	const struct chain_path *over = &splice->over->path[splice->number], *under = &splice->under->path[splice->number];
	*choice = (struct chain_choice) { 0 };
	*found = false;
	choice->core = copy_of_values(splice->under->core, model->core.vars, &choice->arena);
	choice->path = arena_alloc(&choice->arena, model->links, sizeof *choice->path);
	if (!choice->core || !choice->path)
		return NO_MEMORY;
	for (uint32_t i = 0; i < model->links; i++)
		if (!copy_path(&splice->under->path[i], model->link[i].length, model->link[i].graph.vars, i == splice->number ? over->kinds + 2 : 0,
			&choice->path[i], &choice->arena))
			return NO_MEMORY;
	struct chain_path *path = &choice->path[splice->number];
	uint32_t first = path->kinds;
	for (uint32_t i = 0; i < over->kinds; i++)
		if (!(path->value[path->kinds++] = copy_of_values(over->value[i], splice->link->graph.vars, &choice->arena)))
			return NO_MEMORY;
	for (uint32_t i = 1; i <= middle; i++) {
		path->arc[i] = first + over->arc[i];
		path->state[i] = over->state[i];
	}
	path->state[middle + 1] = over->state[middle + 1];
	*found = true;
	path->arc[0] = path->kinds;
	enum status status = add_between(splice, under->state[0], over->state[1], choice, found);
	path->arc[middle + 1] = path->kinds;
	if (status == OK)
		status = add_between(splice, over->state[middle + 1], under->state[middle + 2], choice, found);
	if (status == OK && *found)
		chain_choice_sum(model, choice);
	return status;
}

enum status chain_splice(struct chain_search *search, const struct chain_choice *under, const struct chain_choice *over, uint32_t link,
	struct chain_choice *best)
{
	struct splice splice = { search, under, over, link, &search->model->link[link] };
	uint32_t low = 0, high = splice.link->length;   /* copies of the larger plan: low fits */
	enum status status = OK;
	*best = (struct chain_choice) { 0 };
	if (under->path[link].block != over->path[link].block || high < 4)
		return OK;
	for (high -= 2; low < high && status == OK;) {
		struct chain_choice choice;
		bool found;
		uint32_t middle = (low + high + 1) / 2;
		status = join(&splice, middle, &choice, &found);
		control_spend(search->control, splice.link->length);
		if (status == OK && found && choice.usage <= search->limit) {
			low = middle;
			chain_choice_free(best);
			*best = choice;
		} else {
			high = middle - 1;
			chain_choice_free(&choice);
		}
	}
	if (status != OK)
		chain_choice_free(best);
	return status;
}
