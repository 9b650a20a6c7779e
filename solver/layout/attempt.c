/* attempt.c: one part laid out by the strategy that was asked for, or by all of them in turns. */
#include "steps.h"

/* Keeps the trial if it is better. */
static void attempt_keep(struct attempt *attempt, int64_t height, const char *strategy)
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
	TRY(layout_sort(&attempt->part, recipe->keys, attempt->order));
	TRY(layout_dive(
		&attempt->part, attempt->order, recipe->critical, attempt->height, attempt->trial, &height, control));
	if (height < attempt->height)
		attempt->dive = recipe;
	attempt_keep(attempt, height, recipe->name);
	return OK;
}

static enum status attempt_try_fit(
	struct attempt *attempt, const struct layout_recipe *recipe, bool tightest, struct control *control)
{
	int64_t height;
	TRY(layout_sort(&attempt->part, recipe->keys, attempt->order));
	TRY(layout_fit(&attempt->part, attempt->order, tightest, attempt->height, attempt->trial, &height, control));
	attempt_keep(attempt, height, recipe->name);
	return OK;
}

#define ONLINE_LEAST 1000000 /* buffers, for what is quicker than a dive and mostly worse */

enum status layout_attempt_first(struct attempt *attempt)
{
	const struct layout_model *part = &attempt->part;
	struct control none = { 0 };
	if (part->n < ONLINE_LEAST || part->pins || part->gapped || part->aligned)
		return try_dive(attempt, &layout_dives[0], &none);
	enum status status = layout_online(part, attempt->trial);
	if (status == OK)
		attempt_keep(attempt, layout_model_height(part, attempt->trial), "first fit as they come");
	return status;
}

/* The tree knows neither pins nor holes; models that have them are dived through, long-lived buffers first, too. */
static enum status try_tree(struct attempt *attempt, struct control *control)
{
	static const struct layout_recipe long_lived_first = { "WZ", "long-lived first", false };
	if (attempt->part.pins || attempt->part.gapped)
		return try_dive(attempt, &long_lived_first, control);
	int64_t height;
	enum status status = layout_tree(&attempt->part, attempt->trial, &height, control);
	if (status == OK)
		attempt_keep(attempt, height, "roam tree");
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

static enum status try_wheel(
	struct attempt *attempt, const struct layout_recipe *dive, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status = layout_sort(&attempt->part, dive->keys, attempt->order);
	if (status == OK)
		status = layout_wheel(&attempt->part, attempt->order, dive->critical, attempt->enough, effort, effort,
			attempt->offset, &attempt->height, control);
	if (attempt->height < height)
		attempt->strategy = "repeated dives";
	return status;
}

#define SEARCH_MOST 4096   /* buffers, for the exact search */

static bool search_helps(const struct attempt *attempt)
{
	return attempt->height > attempt->enough && attempt->height > attempt->bound && attempt->part.n <= SEARCH_MOST;
}

static enum status attempt_try_search(
	struct attempt *attempt, const struct layout_options *options, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status = layout_exact(&attempt->part, attempt->enough, options->capacity > 0, effort, attempt->offset,
		&attempt->height,
				      &attempt->bound, &attempt->core, control);
	if (attempt->height < height)
		attempt->strategy = "exact search";
	return status;
}

static enum status try_peak(struct attempt *attempt, uint64_t effort, struct control *control)
{
	int64_t height = attempt->height;
	enum status status = layout_peak(&attempt->part, attempt->enough, effort, attempt->offset, &attempt->height,
		control);
	if (attempt->height < height)
		attempt->strategy = "peak first";
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
	return !part->pins && !part->gapped && part->n >= WHEEL_LEAST && attempt->height > attempt->enough;
}

#define TRIFLE 10000000   /* so small a part of the arena is worth little effort: some bytes of gigabytes, */
#define TRIFLE_SHARE 16   /* this share of it */

static bool is_trifle(const struct attempt *attempt)
{
	return attempt->height > attempt->enough && attempt->height - attempt->enough <= attempt->enough / TRIFLE;
}

/* Wheel, search and windows around the peak in turns, with twice the effort each time: which of them is quick differs
 * from instance to instance. So does the order from which the wheel gets there: every other time it is the best dive's,
 * else one after another. */
static enum status take_turns(
	struct attempt *attempt, const struct layout_options *options, uint64_t end, struct control *control)
{
	enum status status = OK;
	uint64_t slice = SLICE_EFFORT, trifles = control->ticks + (end - control->ticks) / TRIFLE_SHARE;
	for (size_t turn = 0; status == OK && wheel_helps(attempt); turn++, slice += turn % 2 ? 0 : slice) {
		uint64_t last = is_trifle(attempt) ? trifles : end;
		if (control->ticks >= last)
			break;
		uint64_t share = (last - control->ticks) / 4 + 1, effort = slice < share ? slice : share,
				 more = slice + peak_effort(attempt);
		more = turn == 0 && attempt->part.n > SEARCH_MOST ? first_peak_effort(attempt, options) : more < share ? more : share;
		status = try_wheel(attempt, turn % 2 ? attempt->dive : &layout_dives[(turn / 2 + 1) % LAYOUT_DIVES], effort, control);
		if (status == OK && search_helps(attempt))
			status = attempt_try_search(attempt, options, effort, control);
		if (status == OK && turn % 2 == 0 && peak_helps(attempt) && !is_trifle(attempt))
			status = try_peak(attempt, more, control);
	}
	return status;
}

static enum status try_cheap(struct attempt *attempt, struct control *control)
{
	return layout_cheap(&attempt->part, attempt->enough, attempt->offset, &attempt->height, &attempt->dive,
		&attempt->strategy, control);
}

static enum status try_everything(
	struct attempt *attempt, const struct layout_options *options, struct control *control)
{
	enum status status = try_cheap(attempt, control);
	uint64_t left = UINT64_MAX - control->ticks;
	uint64_t end = control->ticks + (options->effort < left ? options->effort : left);
	/* Too far for the wheel, and too many for the exact search. */
	if (status == OK && options->effort > 0 && attempt->part.n > SEARCH_MOST && peak_helps(attempt) &&
		!wheel_helps(attempt))
		status = try_peak(attempt, first_peak_effort(attempt, options), control);
	if (status == OK)
		status = take_turns(attempt, options, end, control);
	left = control->ticks < end ? end - control->ticks : 0;
	left = is_trifle(attempt) ? left / TRIFLE_SHARE : left;
	return status == OK && left > 0 && search_helps(attempt) ? attempt_try_search(attempt, options, left, control)
		: status;
}

enum status layout_attempt(struct attempt *attempt, const struct layout_options *options, struct control *control)
{
	static const struct layout_recipe best_fit = { "WZ", "best fit", false }, first_fit = { "EWZ", "first fit", false },
				   by_size = { "ZW", "greedy by size", false }, llfb = { "WZ", "llfb", false };
	switch (options->strategy) {
	case LAYOUT_BEST_FIT:       return attempt_try_fit(attempt, &best_fit, true, control);
	case LAYOUT_FIRST_FIT:      return attempt_try_fit(attempt, &first_fit, false, control);
	case LAYOUT_GREEDY_BY_SIZE: return attempt_try_fit(attempt, &by_size, true, control);
	case LAYOUT_LLFB:           return try_dive(attempt, &llfb, control);
	case LAYOUT_ROAM:           return try_tree(attempt, control);
	case LAYOUT_DIVE:           return try_cheap(attempt, control);
	default:                    return try_everything(attempt, options, control);
	}
}
