/* attempt.c: one part laid out by the strategy that was asked for, or by all of them in turns. */
#include "steps.h"
#include "solver/base/names.h"

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
	TRY(layout_online(part, attempt->trial));
	attempt_keep(attempt, layout_model_height(part, attempt->trial), "first fit as they come");
	return OK;
}

/* The tree knows neither pins nor holes; models that have them are dived through, long-lived buffers first, too. */
static enum status try_tree(struct attempt *attempt, struct control *control)
{
	static const struct layout_recipe long_lived_first = { "WZ", "long-lived first", false };
	if (attempt->part.pins || attempt->part.gapped)
		return try_dive(attempt, &long_lived_first, control);
	int64_t height;
	TRY(layout_tree(&attempt->part, attempt->trial, &height, control));
	attempt_keep(attempt, height, "roam tree");
	return OK;
}

static enum status try_cheap(struct attempt *attempt, struct control *control)
{
	return layout_cheap(&attempt->part, attempt->enough, attempt->offset, &attempt->height, &attempt->dive,
		&attempt->strategy, control);
}

/* ---- turns ---- */

#define WHEEL_LEAST 100    /* buffers, for the squeaky wheel: fewer are a matter for the exact search */
#define WHEEL_GAP 20       /* and within 1/20 of what is wanted, */
#define WHEEL_GAP_ALIGNED 8 /* or 1/8 where alignment leaves waste in every layout and the bound knows little of it */
#define MANY 50000         /* buffers: a dive takes so long that few change little */
#define SEARCH_MOST 4096   /* buffers, for the exact search */
#define EJECT_MOST 500000  /* buffers, for ejection chains */
#define SLICE_EFFORT UINT64_C(6000000)
#define PEAK_EFFORT 1500   /* more for each buffer, */
#define PEAK_MOST UINT64_C(250000000) /* up to so much */
#define TRIFLE 10000000    /* so small a part of the arena is worth little effort: some bytes of gigabytes, */
#define TRIFLE_MANY 500    /* of many buffers */
#define TRIFLE_SHARE 16    /* this share of it */
#define TURNS_MOST 1000    /* where steps that are left out spend nothing */

/* Which step is quick differs from instance to instance: each has its turn, with twice the effort every other time.
 * Turn 0 is for what is too far for the wheel and too large for the exact search, the last one for that alone. */
struct turn {
	struct attempt *attempt;
	const struct layout_options *options;
	struct control *control;
	uint64_t end, trifles;     /* ticks at which turns end; and where little is left to gain */
	uint64_t slice, share;     /* at most, of what is left: the lesser is the effort of a step */
	uint32_t number;
	bool last;
};

static bool is_trifle(const struct attempt *attempt)
{
	int64_t part = attempt->part.n > MANY ? TRIFLE_MANY : TRIFLE;
	return attempt->height > attempt->enough && attempt->height - attempt->enough <= attempt->enough / part;
}

static bool is_within_wheel(const struct attempt *attempt)
{
	return attempt->dive && attempt->part.n >= WHEEL_LEAST && attempt->height > attempt->enough
		&& attempt->height - attempt->enough <= attempt->enough / (attempt->part.aligned ? WHEEL_GAP_ALIGNED : WHEEL_GAP);
}

static uint64_t turn_effort(const struct turn *turn)
{
	return SMALLER(turn->slice, turn->share);
}

static bool wheel_helps(const struct turn *turn)
{
	return turn->number > 0 && !turn->last && turn->attempt->part.n <= MANY;
}

/* Every other time from the best dive's order, else from one after another. */
static enum status try_wheel(struct turn *turn)
{
	struct attempt *attempt = turn->attempt;
	const struct layout_recipe *dive =
		turn->number % 2 ? &layout_dives[(turn->number / 2 + 1) % LAYOUT_DIVES] : attempt->dive;
	int64_t height = attempt->height;
	uint64_t effort = turn_effort(turn);
	TRY(layout_sort(&attempt->part, dive->keys, attempt->order));
	enum status status = layout_wheel(&attempt->part, attempt->order, dive->critical, attempt->enough, effort, effort,
		attempt->offset, &attempt->height, turn->control);
	if (attempt->height < height)
		attempt->strategy = "repeated dives";
	return status;
}

static bool search_helps(const struct turn *turn)
{
	const struct attempt *attempt = turn->attempt;
	return turn->number > 0 && attempt->height > attempt->enough && attempt->height > attempt->bound &&
		attempt->part.n <= SEARCH_MOST;
}

static enum status try_search(struct turn *turn)
{
	struct attempt *attempt = turn->attempt;
	int64_t height = attempt->height;
	enum status status = layout_exact(&attempt->part, attempt->enough, turn->options->capacity > 0, turn_effort(turn),
		attempt->offset, &attempt->height, &attempt->bound, &attempt->core, turn->control);
	if (attempt->height < height)
		attempt->strategy = "exact search";
	return status;
}

static bool peak_helps(const struct turn *turn)
{
	const struct attempt *attempt = turn->attempt;
	const struct layout_model *part = &attempt->part;
	bool far = turn->options->effort > 0 && part->n > SEARCH_MOST && !is_within_wheel(attempt);
	return !part->pins && !part->gapped && part->n >= WHEEL_LEAST && attempt->height > attempt->enough &&
		(turn->number == 0 ? far : turn->number % 2 && !turn->last && !is_trifle(attempt));
}

/* Of many buffers more for the first time. */
static uint64_t peak_effort(const struct turn *turn)
{
	uint64_t n = turn->attempt->part.n, least = SLICE_EFFORT + SMALLER(n * PEAK_EFFORT, PEAK_MOST);
	uint64_t first = turn->options->effort / 4, more = turn->slice + least;
	if (turn->number < 2 && n > SEARCH_MOST)
		return first < least ? least : first < 16 * least ? first : 16 * least;
	return SMALLER(more, turn->share);
}

static enum status try_peak(struct turn *turn)
{
	struct attempt *attempt = turn->attempt;
	int64_t height = attempt->height;
	enum status status = layout_peak(&attempt->part, attempt->enough, peak_effort(turn), attempt->offset, &attempt->height,
		turn->control);
	if (attempt->height < height)
		attempt->strategy = "peak first";
	return status;
}

/* Fewer are better off with dives and exact search, of more the first places alone take all effort. */
static bool eject_helps(const struct turn *turn)
{
	uint32_t n = turn->attempt->part.n;
	return n > SEARCH_MOST && n <= EJECT_MOST && peak_helps(turn);
}

static enum status try_eject(struct turn *turn)
{
	struct attempt *attempt = turn->attempt;
	int64_t height = attempt->height;
	enum status status = layout_eject(&attempt->part, attempt->enough, peak_effort(turn), attempt->offset,
		&attempt->height, turn->control);
	if (attempt->height < height)
		attempt->strategy = "ejection chains";
	return status;
}

/* docs/benchmarks.md says what each is worth. */
static const struct step {
	const char *name;
	bool (*helps)(const struct turn *turn);
	enum status (*run)(struct turn *turn);
} steps[] = {
	{ "layout.wheel", wheel_helps, try_wheel },
	{ "layout.exact", search_helps, try_search },
	{ "layout.eject", eject_helps, try_eject },
	{ "layout.peak", peak_helps, try_peak },
};

/* What the next turn may spend; false after the last one. */
static bool turn_begins(struct turn *turn)
{
	uint64_t ticks = turn->control->ticks, left = ticks < turn->end ? turn->end - ticks : 0;
	bool trifle = is_trifle(turn->attempt);
	if (turn->last || turn->number == 0)
		return !turn->last;
	turn->trifles = turn->number == 1 ? ticks + left / TRIFLE_SHARE : turn->trifles;
	uint64_t end = trifle ? turn->trifles : turn->end;
	turn->last = !is_within_wheel(turn->attempt) || ticks >= end || turn->number == TURNS_MOST;
	if (turn->last) {
		turn->slice = turn->share = trifle ? left / TRIFLE_SHARE : left;
		return turn->share > 0;
	}
	turn->share = (end - ticks) / 4 + 1;
	turn->slice *= turn->number > 1 && turn->number % 2 ? 2 : 1;
	return true;
}

static enum status try_everything(
	struct attempt *attempt, const struct layout_options *options, struct control *control)
{
	struct turn turn = { .attempt = attempt, .options = options, .control = control, .slice = SLICE_EFFORT };
	TRY(try_cheap(attempt, control));
	uint64_t left = UINT64_MAX - control->ticks;
	turn.end = control->ticks + SMALLER(options->effort, left);
	for (; turn_begins(&turn); turn.number++)
		FOR_SIZE(i, COUNT_OF(steps))
			if (steps[i].helps(&turn) && step_runs(steps[i].name))
				TRY(steps[i].run(&turn));
	return OK;
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
