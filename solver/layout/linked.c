/* linked.c: layouts with groups, and the choice of who takes whose place.
 *
 * Taking a place saves memory at one step and ties two lives to one offset for good, which may cost more than it saves. So
 * several choices are laid out, cheaply at first; then, while there is effort, those that may still turn out best.
 */
#include "links.h"
#include "model.h"

#define CHOICES_MOST (1 << LINKS_ALL)
#define ALL_MOST 1000      /* buffers, for all choices */

/* A buffer and a donor whose place it may take. */
struct candidate { uint32_t buffer, donor; int64_t saved, larger; };

struct choice {
	uint32_t *donor;           /* [n] */
	struct linked_layout result; /* without offset and donor; its bound is the choice's */
	enum status status;
	struct error error;
	bool done;                 /* nothing more to hope for */
};

struct linking {
	const struct buffers *buffers;
	const struct layout_links *links;
	const struct layout_options *options;
	struct control *control;
	struct candidate *candidate; /* by saved bytes, most first */
	uint32_t candidates;
	struct choice choice[CHOICES_MOST];
	uint32_t choices;
	bool all;                  /* the choices are all there are */
	int64_t relaxed;           /* no choice has a smaller arena */
	int64_t *pin;              /* [n] scratch: the offset that a chain has to have, or -1 */
};

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	if (a->saved != b->saved)
		return a->saved > b->saved ? -1 : 1;
	if (a->buffer != b->buffer)
		return a->buffer < b->buffer ? -1 : 1;
	return a->donor < b->donor ? -1 : a->donor > b->donor;
}

static enum status list_candidates(struct linking *linking)
{
	const struct buffers *buffers = linking->buffers;
	const struct csr *donors = &linking->links->donors;
	if (!donors->start)
		return OK;
	linking->candidate = mem_alloc(donors->start[buffers->n], sizeof *linking->candidate);
	NEED(linking->candidate);
	for (uint32_t i = 0; i < buffers->n; i++) {
		FOR_ROW(k, donors, i) {
			uint32_t donor = donors->item[k];
			int64_t a = buffers->size[i], b = buffers->size[donor];
			if (layout_may_take(buffers, linking->links, i, donor))
				linking->candidate[linking->candidates++] = (struct candidate){ i, donor, a < b ? a : b, a < b ? b : a };
		}
	}
	qsort(linking->candidate, linking->candidates, sizeof *linking->candidate, compare_candidates);
	return OK;
}

/* ---- choices ----------------------------------------------------------------------------------------- */

static uint32_t *new_choice(struct linking *linking)
{
	uint32_t *donor = mem_alloc(linking->buffers->n, sizeof *donor);
	for (uint32_t i = 0; donor && i < linking->buffers->n; i++)
		donor[i] = NONE;
	linking->choice[linking->choices].donor = donor;
	return donor;
}

/* Adds the choice unless it is there already. */
static void keep_choice(struct linking *linking)
{
	struct choice *latest = &linking->choice[linking->choices];
	for (uint32_t i = 0; i < linking->choices; i++) {
		if (memcmp(linking->choice[i].donor, latest->donor, linking->buffers->n * sizeof *latest->donor) == 0) {
			mem_free(latest->donor);
			return;
		}
	}
	linking->choices++;
}

/* The pin of the chain that the buffer is in. */
static int64_t chain_pin(const struct linking *linking, const uint32_t *donor, uint32_t i)
{
	int64_t pin = -1;
	for (; i != NONE && pin < 0; i = donor[i])
		pin = linking->pin[i];
	return pin;
}

/* Whether the candidate can join those already chosen. taken: [n] who takes each one's place. */
static bool fits_in(const struct linking *linking, const struct candidate *candidate, const uint32_t *donor, const uint32_t *taker)
{
	if (donor[candidate->buffer] != NONE || taker[candidate->donor] != NONE)
		return false;
	int64_t above = chain_pin(linking, donor, candidate->donor);
	for (uint32_t i = candidate->buffer; i != NONE && above >= 0; i = taker[i])
		if (linking->pin[i] >= 0 && linking->pin[i] != above)
			return false;
	return true;
}

/* Takes the candidate's place if it is the choice to do so and it can be. */
static void take(const struct linking *linking, const struct candidate *candidate, uint32_t *donor, uint32_t *taker)
{
	if (!fits_in(linking, candidate, donor, taker))
		return;
	donor[candidate->buffer] = candidate->donor;
	taker[candidate->donor] = candidate->buffer;
}

/* Takes from the most bytes saved down, of candidates that save at least so large a part of the larger one; but those that are
 * pinned to one place have no choice. */
static enum status choose_similar(struct linking *linking, double part)
{
	uint32_t n = linking->buffers->n, *donor = new_choice(linking), *taker = mem_alloc(n, sizeof *taker);
	enum status status = donor && taker ? OK : NO_MEMORY;
	for (uint32_t i = 0; status == OK && i < n; i++)
		taker[i] = NONE;
	for (int pinned = 1; pinned >= 0 && status == OK; pinned--) {
		for (uint32_t i = 0; i < linking->candidates; i++) {
			const struct candidate *candidate = &linking->candidate[i];
			bool similar = (double)candidate->saved >= part * (double)candidate->larger;
			if (pinned ? linking->pin[candidate->buffer] >= 0 && linking->pin[candidate->donor] >= 0 : similar)
				take(linking, candidate, donor, taker);
		}
	}
	if (status == OK)
		keep_choice(linking);
	else
		mem_free(donor);
	mem_free(taker);
	return status;
}

/* All sets of candidates that do without a donor twice. */
static enum status choose_all(struct linking *linking)
{
	uint32_t n = linking->buffers->n, *taker = mem_alloc(n, sizeof *taker);
	enum status status = taker ? OK : NO_MEMORY;
	for (uint32_t set = UINT32_C(1) << linking->candidates; set-- > 0 && status == OK;) {
		uint32_t *donor = new_choice(linking);
		bool fits = donor != NULL;
		for (uint32_t i = 0; i < n; i++)
			taker[i] = NONE;
		for (uint32_t i = 0; i < linking->candidates && fits; i++) {
			const struct candidate *candidate = &linking->candidate[i];
			if (!(set >> i & 1))
				continue;
			fits = fits_in(linking, candidate, donor, taker);
			donor[candidate->buffer] = candidate->donor;
			taker[candidate->donor] = candidate->buffer;
		}
		if (fits)
			keep_choice(linking);
		else
			mem_free(donor);
		status = donor ? OK : NO_MEMORY;
	}
	mem_free(taker);
	return status;
}

static enum status list_choices(struct linking *linking)
{
	static const double parts[] = { 0, 0.5, 1, 2 };
	enum status status = OK;
	linking->all = linking->candidates == 0 || (linking->candidates <= LINKS_ALL && linking->buffers->n <= ALL_MOST);
	if (linking->all)
		return choose_all(linking);
	for (size_t i = 0; i < sizeof parts / sizeof *parts && status == OK; i++)
		status = choose_similar(linking, parts[i]);
	return status;
}

/* ---- layouts ------------------------------------------------------------------------------------------- */

/* Names buffers instead of compounds: the first of each. */
static void name_clash(const struct linking *linking, struct linked_layout *result)
{
	uint32_t *clash = result->layout.clash.buffer;
	for (int side = 0; side < 2 && clash[side] != NONE; side++)
		for (uint32_t i = 0; i < linking->buffers->n; i++)
			if (result->compounds.whole[i] == clash[side] && linking->pin[i] >= 0) {
				clash[side] = i;
				break;
			}
}

/* Lays the choice out, again with more effort; a worse layout, of a run that was stopped, changes nothing. */
static enum status try_choice(struct linking *linking, struct choice *choice, uint64_t effort)
{
	struct layout_options options = *linking->options;
	struct linked_layout result = { 0 }, *kept = &choice->result;
	struct layout_clash clash;
	options.effort = effort;
	choice->error = (struct error){ 0 };
	choice->status = layout_links_join(linking->buffers, linking->links, options.alignment, choice->donor, &result.compounds, &clash,
					   &choice->error);
	if (choice->status == OK) {
		choice->status = layout_solve(&result.compounds.buffers, &options, linking->control, &result.layout, &choice->error);
		result.bound = result.layout.proof.bound;
		name_clash(linking, &result);
	} else {
		result.layout.clash = clash;
	}
	if (kept->layout.offset && (!result.layout.offset || result.layout.arena > kept->layout.arena)) {
		linked_layout_free(&result);
	} else {
		linked_layout_free(kept);
		*kept = result;
	}
	choice->done = choice->status == INFEASIBLE || proof_closed(&kept->layout.proof)
		|| (options.capacity > 0 && kept->layout.offset && kept->layout.arena <= options.capacity);
	return choice->status == NO_MEMORY || choice->status == BAD_INPUT || choice->status == CANCELLED ? choice->status : OK;
}

/* The better of two: one with a layout, the lower one. */
static bool better(const struct choice *a, const struct choice *b)
{
	if (!a->result.layout.offset || !b->result.layout.offset)
		return a->result.layout.offset && !b->result.layout.offset;
	return a->result.layout.arena < b->result.layout.arena;
}

static struct choice *best_choice(struct linking *linking)
{
	struct choice *best = &linking->choice[0];
	for (uint32_t i = 1; i < linking->choices; i++)
		if (better(&linking->choice[i], best))
			best = &linking->choice[i];
	return best;
}

static bool good_enough(const struct linking *linking, const struct choice *best)
{
	const struct layout *layout = &best->result.layout;
	return layout->offset && (layout->arena <= linking->relaxed || (linking->options->capacity > 0 && layout->arena <= linking->options->capacity));
}

/* All choices cheaply, then, the best one first, with effort those that are not refuted. */
static enum status try_choices(struct linking *linking)
{
	uint64_t effort = linking->options->effort;
	enum status status = OK;
	for (uint32_t i = 0; i < linking->choices && status == OK && !good_enough(linking, best_choice(linking)); i++)
		status = try_choice(linking, &linking->choice[i], linking->choices == 1 ? effort : 0);
	for (uint32_t left = linking->choices; left > 1 && effort > 0 && status == OK && !good_enough(linking, best_choice(linking)); left--) {
		struct choice *best = best_choice(linking), *next = NULL;
		for (uint32_t i = 0; i < linking->choices; i++) {
			struct choice *choice = &linking->choice[i];
			bool hopeless = best->result.layout.offset && choice->result.layout.proof.bound >= best->result.layout.arena;
			if (!choice->done && !hopeless && (!next || better(choice, next)))
				next = choice;
		}
		if (!next)
			break;
		status = try_choice(linking, next, effort);
		next->done = true;
	}
	return status;
}

/* What no choice is below; *refuted: there is none that can be. */
static int64_t bound_of_all(const struct linking *linking, bool *refuted)
{
	int64_t least = INT64_MAX;
	*refuted = true;
	for (uint32_t i = 0; i < linking->choices; i++) {
		const struct choice *choice = &linking->choice[i];
		*refuted &= choice->status == INFEASIBLE;
		least = choice->result.bound < least ? choice->result.bound : least;
	}
	*refuted &= linking->all;
	return linking->all && least > linking->relaxed ? least : linking->relaxed;
}

static enum status take_result(struct linking *linking, struct linked_layout *result, struct error *error)
{
	struct choice *best = best_choice(linking);
	uint32_t n = linking->buffers->n;
	bool refuted;
	int64_t bound = bound_of_all(linking, &refuted), capacity = linking->options->capacity;
	*result = best->result;
	best->result = (struct linked_layout){ 0 };
	result->bound = bound;
	if (linking->candidates) {
		result->donor = best->donor;
		best->donor = NULL;
	}
	if (result->layout.offset) {
		result->offset = mem_alloc(n, sizeof *result->offset);
		NEED(result->offset);
		layout_compounds_spread(&result->compounds, n, result->layout.offset, result->offset);
	}
	result->proved = result->offset && result->layout.arena <= bound;
	if (error)
		*error = best->error;
	/* What one choice cannot do another one might. */
	if (best->status == INFEASIBLE && result->offset && !refuted && !(capacity > 0 && bound > capacity))
		return OK;
	return best->status;
}

static enum status relaxed_bound(struct linking *linking, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct buffers relaxed;
	OWN(layout_model) model = { 0 };
	enum status status = layout_links_relax(linking->buffers, linking->links, linking->options->alignment, &arena, &relaxed);
	THEN(status, layout_model_build(&relaxed, linking->options->alignment, &model, error));
	linking->relaxed = status == OK ? model.max_load * model.unit : 0;
	return status;
}

enum status layout_solve_linked(const struct buffers *buffers, const struct layout_links *links, const struct layout_options *options,
				struct control *control, struct linked_layout *result, struct error *error)
{
	struct linking *linking = mem_alloc(1, sizeof *linking);
	*result = (struct linked_layout){ .layout.clash = LAYOUT_NO_CLASH };
	NEED(linking);
	*linking = (struct linking){ .buffers = buffers, .links = links, .options = options, .control = control };
	linking->pin = mem_alloc(buffers->n, sizeof *linking->pin);
	enum status status = linking->pin ? list_candidates(linking) : NO_MEMORY;
	for (uint32_t i = 0; status == OK && i < buffers->n; i++)
		linking->pin[i] = buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] : -1;
	THEN(status, list_choices(linking));
	THEN(status, relaxed_bound(linking, error));
	THEN(status, try_choices(linking));
	if (status == OK)
		status = take_result(linking, result, error);
	else if (status == CANCELLED && take_result(linking, result, error) == NO_MEMORY)
		status = NO_MEMORY;
	for (uint32_t i = 0; i < linking->choices; i++) {
		linked_layout_free(&linking->choice[i].result);
		mem_free(linking->choice[i].donor);
	}
	if (status == NO_MEMORY || status == BAD_INPUT)
		linked_layout_free(result);
	mem_free(linking->candidate);
	mem_free(linking->pin);
	mem_free(linking);
	return status;
}

void linked_layout_free(struct linked_layout *result)
{
	layout_free(&result->layout);
	layout_compounds_free(&result->compounds);
	mem_free(result->offset);
	mem_free(result->donor);
	*result = (struct linked_layout){ 0 };
}

enum status linked_layout_flatten(const struct linked_layout *linked, uint32_t n, struct layout *layout)
{
	const struct layout *whole = &linked->layout;
	*layout = *whole;
	layout->proof.bound = linked->bound;
	layout->offset = whole->offset ? mem_alloc(n, sizeof *layout->offset) : NULL;
	layout->core = whole->core ? mem_alloc(n, sizeof *layout->core) : NULL;
	layout->core_count = 0;
	if ((whole->offset && !layout->offset) || (whole->core && !layout->core)) {
		layout_free(layout);
		return NO_MEMORY;
	}
	if (whole->offset)
		memcpy(layout->offset, linked->offset, n * sizeof *layout->offset);
	bool *in = mem_alloc(linked->compounds.buffers.n, sizeof *in);
	if (!in) {
		layout_free(layout);
		return NO_MEMORY;
	}
	for (uint32_t k = 0; k < whole->core_count; k++)
		in[whole->core[k]] = true;
	for (uint32_t i = 0; i < n && layout->core; i++)
		if (in[linked->compounds.whole[i]])
			layout->core[layout->core_count++] = i;
	mem_free(in);
	layout->irreducible &= layout->core_count == whole->core_count;
	if (layout->ground != LAYOUT_PROOF_LOAD)
		layout->ground = LAYOUT_PROOF_SEARCH;
	layout->proof.by = layout_proof_names[layout->ground];
	return OK;
}
