/* shortlist.c: plans of one choice. */
#include "decide.h"

static bool keeps_limit(const struct goal *goal, const struct outcome *plan)
{
	return goal->limit < 0 || plan->needs <= goal->limit;
}

/* Whether time decides between plans of which one keeps the limit. */
static bool by_time(const struct goal *goal, const struct outcome *plan)
{
	return goal->of == GOAL_FASTEST && keeps_limit(goal, plan);
}

int outcome_order(const struct goal *goal, const struct outcome *a, const struct outcome *b)
{
	bool keeps = keeps_limit(goal, a);
	int time = (a->time > b->time) - (a->time < b->time), needs = (a->needs > b->needs) - (a->needs < b->needs);
	if (keeps != keeps_limit(goal, b))
		return keeps ? -1 : 1;
	return needs == 0 || (by_time(goal, a) && time != 0) ? time : needs;
}

bool outcome_better(const struct goal *goal, const struct outcome *a, const struct outcome *b)
{
	return outcome_order(goal, a, b) < 0;
}

struct outcome plan_outcome(const struct plan *plan)
{
	return (struct outcome) { plan_needs(plan), plan->speed.time < 0 ? INT64_MAX : plan->speed.time };
}

/* Whether b is out where a is there. Of equals each is. */
static bool beats(const struct goal *goal, const struct plan *first, const struct plan *second)
{
	struct outcome a = plan_outcome(first), b = plan_outcome(second);
	if (!by_time(goal, &a) || !keeps_limit(goal, &b))
		return !outcome_better(goal, &b, &a);
	return (a.time <= b.time && a.needs <= b.needs) || !is_as_fast(b.time, a.time);
}

void shortlist_add(struct shortlist *list, struct plan *plan)
{
	uint32_t left = 0;
	bool out = !plan || list->plans == sizeof list->plan / sizeof *list->plan;
	FOR_WHILE(i, list->plans, !out)
		out = beats(&list->goal, list->plan[i], plan);
	if (out) {
		plan_release(plan);
		return;
	}
	FOR(i, list->plans)
		if (beats(&list->goal, plan, list->plan[i]))
			plan_release(list->plan[i]);
		else
			list->plan[left++] = list->plan[i];
	list->plan[left] = plan;
	list->plans = left + 1;
}

void shortlist_join(struct shortlist *list, struct shortlist *other)
{
	while (other->plans > 0)
		shortlist_add(list, other->plan[--other->plans]);
}

/* The best by a goal, first of all within the limit. */
static uint32_t best_of(const struct shortlist *list, const struct goal *goal)
{
	uint32_t best = 0;
	FOR_FROM(i, 1, list->plans) {
		struct outcome ours = plan_outcome(list->plan[best]), theirs = plan_outcome(list->plan[i]);
		best = outcome_better(goal, &theirs, &ours) ? i : best;
	}
	return best;
}

struct plan *shortlist_leader(const struct shortlist *list)
{
	return list->plans > 0 ? list->plan[best_of(list, &list->goal)] : NULL;
}

struct plan *shortlist_take(struct shortlist *list)
{
	struct goal smallest = { GOAL_SMALLEST, list->goal.limit };
	struct plan *plan = list->plans > 0 ? plan_retain(list->plan[best_of(list, &smallest)]) : NULL;
	shortlist_drop(list);
	return plan;
}

void shortlist_drop(struct shortlist *list)
{
	while (list->plans > 0)
		plan_release(list->plan[--list->plans]);
}

struct plan *better_of(int64_t limit, struct plan *first, struct plan *second)
{
	struct shortlist list = { .goal = { GOAL_FASTEST, limit } };
	shortlist_add(&list, first);
	shortlist_add(&list, second);
	return shortlist_take(&list);
}

bool plan_is_over(const struct plan *plan)
{
	int64_t budget = scenario_budget(&plan->scenario);
	return budget >= 0 && plan_needs(plan) > budget;
}

bool bytes_are_far(int64_t bytes, int64_t limit)
{
	return bytes > limit + limit / 100 * 25;
}

bool plan_is_far(const struct plan *quick, int64_t limit)
{
	return bytes_are_far(plan_needs(quick), limit);
}

struct plan *planning_keep(const struct planning *planning, struct plan *plan)
{
	enum status status = planning->error->status;
	if (!plan)
		return NULL;
	plan->limited |= status == CANCELLED;
	if (status != NO_MEMORY && status != LIMIT) {
		error_set(planning->error, OK);
		return plan;
	}
	plan_release(plan);
	return NULL;
}
