/* fit_list.c: changes of knobs that make a step fit its memory cap. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "fit_list.h"
#include "solver/step/scale.h"
#include "src/base/background.h"
#include "src/plan/verdict.h"

#define X(id, name, text) name,
const char *const fit_meaning_names[FIT_MEANING_COUNT] = { FIT_MEANINGS(X) };
#undef X
#define X(id, name, text) text,
const char *const fit_meaning_texts[FIT_MEANING_COUNT] = { FIT_MEANINGS(X) };
#undef X

/* How a row of the table becomes a change. */
enum form {
	FORM_PLAIN,  /* the words as they are */
	FORM_ORDER,  /* our order and addresses, where the step as it is has its program's */
	FORM_DEVICES,  /* %u is the number of devices, of which there are more than one */
	FORM_BATCH,  /* %u is the batch, divided by the row's number */
	FORM_SEQUENCE,  /* the same of the sequence */
	FORM_PARTS  /* the batch in so many parts */
};

/* X(group, words, form, divisor, meaning); what takes longest comes first, so that threads end together. */
#define FIT_CHANGES(X) \
	X("devices", "devices=%u strategy=auto", DEVICES, 1, SPREAD) \
	X("order", "order=auto", ORDER, 1, SAME) \
	X("recompute", "recompute=auto", PLAIN, 1, SAME) \
	X("recompute", "recompute=auto offload=on", PLAIN, 1, SAME) \
	X("recompute", "recompute=selective", PLAIN, 1, SAME) \
	X("recompute", "recompute=full", PLAIN, 1, SAME) \
	X("loss", "loss_chunks=8", PLAIN, 1, ROUNDED) \
	X("precision", "precision=bf16", PLAIN, 1, RUN) \
	X("precision", "precision=mixed", PLAIN, 1, RUN) \
	X("optimizer", "optimizer=adafactor", PLAIN, 1, RUN) \
	X("optimizer", "optimizer=momentum", PLAIN, 1, RUN) \
	X("optimizer", "optimizer=sgd", PLAIN, 1, RUN) \
	X("batch", "microbatches=%u", PARTS, 2, SPLIT) \
	X("batch", "microbatches=%u", PARTS, 4, SPLIT) \
	X("batch", "microbatches=%u", PARTS, 8, SPLIT) \
	X("batch", "batch=%u", BATCH, 2, RUN) \
	X("batch", "batch=%u", BATCH, 4, RUN) \
	X("sequence", "seq=%u", SEQUENCE, 2, RUN) \
	X("sequence", "seq=%u", SEQUENCE, 4, RUN) \
	X("devices", "devices=%u strategy=zero zero=1", DEVICES, 1, SPREAD) \
	X("devices", "devices=%u strategy=zero zero=2", DEVICES, 1, SPREAD) \
	X("devices", "devices=%u strategy=zero zero=3", DEVICES, 1, SPREAD) \
	X("devices", "devices=%u strategy=megatron tp=%u", DEVICES, 1, SPREAD) \
	X("devices", "devices=%u pp=%u", DEVICES, 1, SPREAD)

struct change {
	const char *group, *words;
	enum form form;
	int64_t divisor;
	enum fit_meaning meaning;
};
#define X(group, words, form, divisor, meaning) { group, words, FORM_##form, divisor, FIT_MEANING_##meaning },
static const struct change changes[] = { FIT_CHANGES(X) };
#undef X
#define CHANGES (sizeof changes / sizeof *changes)
#define NEAREST 6u  /* misses that are paired with each other */
#define SHOWN 3u  /* of what is proved to be above the cap, where nothing fits */
#define WAYS_MOST (CHANGES + NEAREST * (NEAREST - 1) / 2)

struct finding {
	struct planner *planner;
	struct graph *graph;
	const struct scenario *scenario;
	int64_t batch, sequence, devices;
	const struct fit_watch *watch;
	struct fit_list *list;
	struct error *error;
};

/* ---- planning one change ---- */

int64_t fit_step_of(const struct plan *plan, const struct rules *rules, struct error *error)
{
	int64_t time = plan_step_time(plan);
	if (time >= 0)
		return time;
	struct plan_time *simulated = plan_time_of(
		plan->graph, plan->ordered->result.order, plan->sharded, &plan->scenario, rules);
	if (!simulated)
		return fail_memory(error), -1;
	time = simulated->whole.total;
	plan_time_free(simulated);
	return time;
}

/* time * whole / done without overflow. */
static int64_t for_same_work(const struct fit_way *way, int64_t time)
{
	return time / way->done * way->whole + time % way->done * way->whole / way->done;
}

/* The loss, or what reads the same scores. */
static bool is_of_loss(const struct rules *rules, const struct graph *graph, uint32_t op)
{
	bool loss = rules_traits(rules, graph->op[op].type) & (TRAIT_CLASSES | TRAIT_WIDE);
	FOR_ROW(i, &graph->reads, op) {
		uint32_t storage = graph->tensor[graph->reads.item[i]].storage;
		FOR_ROW(k, &graph->users, storage)
			loss |= (rules_traits(rules, graph->op[graph->users.item[k]].type) & TRAIT_CLASSES) != 0;
	}
	return loss;
}

/* What makes an op need less at a time, by what it is. */
static const char *advice_for(const struct rules *rules, const struct graph *graph, uint32_t op)
{
	const struct op *record = &graph->op[op];
	const struct rule *rule = rules_find(rules, record->type);
	uint32_t traits = rules_traits(rules, record->type);
	if (record->phase == PHASE_UPDATE)
		return "It is the weight update's: an update in slices or in one kernel, an optimizer with less state, or ZeRO "
			   "helps.";
	if (is_of_loss(rules, graph, op))
		return "It is the loss's: a loss taken in chunks of the tokens helps, and a smaller batch or sequence.";
	if (traits & (TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS | TRAIT_SUMS_OF_ROWS))
		return "It holds an attention's scores: attention in one kernel helps, and a shorter sequence.";
	if (traits & (TRAIT_SCATTER | TRAIT_EMBEDDING))
		return "It holds a whole table: tensor parallelism cuts it.";
	if (rule && rule_contracts(rule) && csr_length(&graph->writes, op) > 1)
		return "It makes several gradients at once: one after the other, it needs less; so it does with a smaller batch.";
	return "A smaller batch or sequence, a narrower precision or more devices help.";
}

/* The op whose operands forbid every recomputation, where there is that proof; else NULL. *status: OK or NO_MEMORY. */
static char *forbidding(
	const struct transformed *transformed, const struct rules *rules, const char **advice, enum status *status)
{
	const struct fitted *fitted = transformed->fitted;
	*status = OK;
	if (transformed->sharded || transformed->pipelined || !fitted || !fitted->capped || !fitted->impossible)
		return NULL;
	const struct op *op = &fitted->step->op[fitted->certificate.op];
	size_t size = strlen(op->name) + strlen(op->type) + 4;
	char *text = mem_alloc(size, 1);
	*advice = advice_for(rules, fitted->step, fitted->certificate.op);
	if (text)
		snprintf(text, size, "%s (%s)", op->name, op->type);
	else
		*status = NO_MEMORY;
	return text;
}

static enum status set_words(struct scenario *scenario, const char *set, struct error *error)
{
	char word[FIT_SET_SIZE];
	enum status status = OK;
	for (const char *at = set; *at && status == OK; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		snprintf(word, sizeof word, "%.*s", (int)length, at);
		status = scenario_set(scenario, word, error);
		at += length;
	}
	return status;
}

/* Whether a bound proves that no plan of the change keeps the cap: then that is its reason. */
static enum status prove_way(
	struct finding *finding, const struct scenario *scenario, struct fit_way *way, struct error *why)
{
	struct least least;
	char bytes[32], over[32];
	enum status status = planner_least(finding->planner, finding->graph, scenario, &least, why);
	if (status == OK && least.above) {
		way->above = true;
		way->arena = least.bytes;
		way->forbids = forbidding(least.transformed, finding->planner->rules, &way->advice, &status);
		snprintf(way->reason, sizeof way->reason, "no order%s needs less than %s, %s over the cap",
			least.transformed->fitted ? " with any recomputation" : "", bytes_text(least.bytes, bytes, sizeof bytes),
			bytes_text(least.bytes - finding->list->budget, over, sizeof over));
	}
	transformed_release(least.transformed);
	return status;
}

/* Plans a change, but for one that is proved to be above the cap where `all` is false. BAD_INPUT and INFEASIBLE are its
 * reason, no failure of the list. */
static enum status plan_way(struct finding *finding, struct fit_way *way, bool all)
{
	struct scenario scenario;
	struct error why = { 0 };
	if (scenario_copy(&scenario, finding->scenario) != OK)
		return fail_memory(finding->error);
	bool fine = set_words(&scenario, way->set, &why) == OK && (all || prove_way(finding, &scenario, way, &why) == OK);
	if (fine && way->above) {
		scenario_done(&scenario);
		return OK;
	}
	OWN(plan) *plan = fine ? planner_run(finding->planner, finding->graph, &scenario, PLAN_COMPLETE, &why) : NULL;
	enum status status = OK;
	if (plan && plan->limited) {
		status = fail(finding->error, CANCELLED, "cancelled");
	} else if (plan && (way->step = fit_step_of(plan, finding->planner->rules, finding->error)) < 0) {
		status = NO_MEMORY;
	} else if (plan) {
		way->planned = true;
		way->arena = plan_needs(plan);
		way->fits = way->arena <= finding->list->budget;
		way->extra = for_same_work(way, way->step) - finding->list->step;
		notes_guesses(plan->transformed->notes, way->reason);
		way->forbids = forbidding(plan->transformed, finding->planner->rules, &way->advice, &status);
	} else if (why.status == NO_MEMORY || why.status == CANCELLED) {
		*finding->error = why;
		status = why.status;
	} else {
		snprintf(way->reason, sizeof way->reason, "%s", why.text);
	}
	scenario_done(&scenario);
	return status;
}

/* ---- planning many ---- */

#define THREADS 2

/* Changes that threads take one by one. What a plan comes to doesn't depend on the others, so neither does the list. */
struct round {
	struct fit_way *way;
	uint32_t ways;
	bool pairs,
		all; /* pairs: what can't be planned isn't listed; all: what is proved to be above the cap is planned, too */
	bool done[WAYS_MOST];
	pthread_mutex_t lock;  /* of done, and of the watch */
	atomic_uint next;
};

struct worker {
	struct finding finding;
	struct round *round;
	struct error error;
	enum status status;
};

/* Without what is planned, or proved, and saves nothing: the other changes are planned in our order, so what that
 * saves of a captured step by itself is none of theirs. */
static bool helps(const struct fit_list *list, const struct fit_way *way)
{
	return !(way->planned || way->above) || way->arena < (strcmp(way->group, "order") == 0 ? list->arena : list->ours);
}

static int by_needs(const void *left, const void *right)
{
	const struct fit_way *a = left, *b = right;
	return a->arena != b->arena ? (a->arena > b->arena) - (a->arena < b->arena) : strcmp(a->set, b->set);
}

static int compare_ways(const void *left, const void *right)
{
	const struct fit_way *a = left, *b = right;
	if (a->planned != b->planned || a->fits != b->fits)
		return a->planned != b->planned ? b->planned - a->planned : b->fits - a->fits;
	if (a->above != b->above)
		return b->above - a->above;
	int64_t first = a->fits ? a->extra : a->arena, second = b->fits ? b->extra : b->arena;
	if (first == second) {
		first = a->fits ? a->arena : a->extra;
		second = b->fits ? b->arena : b->extra;
	}
	return first != second ? (first > second) - (first < second) : strcmp(a->set, b->set);
}

/* As struct fit_list has them. */
static void sort_ways(struct fit_list *list)
{
	struct fit_way *way = list->way;
	qsort(way, list->ways, sizeof *way, compare_ways);
	for (uint32_t begin = 0, end = 0; end < list->ways && way[end].fits; begin = end) {
		int64_t slowest = way[begin].extra + (list->step + way[begin].extra) / 1000;
		while (end < list->ways && way[end].fits && way[end].extra <= slowest)
			end++;
		qsort(way + begin, end - begin, sizeof *way, by_needs);
	}
}

/* What is planned and saves nothing helps nobody. */
static void fit_list_add(struct fit_list *list, struct fit_way *way)
{
	if (!list->forbids && strcmp(way->group, "recompute") == 0 && !strchr(way->set, ' ')) {
		list->advice = way->advice;
		list->forbids = way->forbids;   /* a proof about the step as it is, but for recomputation */
		way->forbids = NULL;
	}
	mem_free(way->forbids);
	way->forbids = NULL;
	if (!helps(list, way)) {
		list->useless++;
		return;
	}
	list->fitting += way->fits;
	list->way[list->ways++] = *way;
}

/* Tells the watch what is there by now. */
static void fit_list_show(const struct finding *finding, struct round *round, uint32_t planned)
{
	struct fit_list now = *finding->list;
	pthread_mutex_lock(&round->lock);
	round->done[planned] = true;
	now.way = mem_alloc(WAYS_MOST, sizeof *now.way);
	if (now.way) {
		memcpy(now.way, finding->list->way, finding->list->ways * sizeof *now.way);
		for (uint32_t i = 0; i < round->ways; i++) {
			const struct fit_way *way = &round->way[i];
			if (!round->done[i] || (round->pairs && !way->planned && !way->above))
				continue;
			now.useless += !helps(&now, way);
			now.fitting += way->planned && way->fits;
			if (helps(&now, way))
				now.way[now.ways++] = *way;
		}
		sort_ways(&now);
		finding->watch->found(finding->watch->context, &now);
	}
	mem_free(now.way);
	pthread_mutex_unlock(&round->lock);
}

static void fit_list_work(void *context, const atomic_bool *cancel)
{
	struct worker *worker = context;
	uint32_t i;
	(void)cancel;   /* the planner's own says when to end */
	while (worker->status == OK && (i = atomic_fetch_add(&worker->round->next, 1)) < worker->round->ways) {
		worker->status = plan_way(&worker->finding, &worker->round->way[i], worker->round->all);
		if (worker->finding.watch && worker->status == OK)
			fit_list_show(&worker->finding, worker->round, i);
	}
}

/* Plans changes, on two threads where a second planner can be had, and adds them to the list. pairs and all as in
 * struct round. */
static enum status plan_ways(struct finding *finding, struct fit_way *way, uint32_t ways, bool pairs, bool all)
{
	struct planner *planner = finding->planner;
	struct planner second = { .store = store_new(), .rules_file = planner->rules_file, .abandoned = planner->abandoned,
		.order_solver = planner->order_solver, .control = { .cancel = planner->control.cancel } };
	struct round round = { .way = way, .ways = ways, .pairs = pairs, .all = all };
	struct worker worker[THREADS];
	pthread_mutex_init(&round.lock, NULL);
	for (int i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){ .finding = *finding, .round = &round };
		worker[i].finding.error = &worker[i].error;
	}
	worker[1].finding.planner = &second;
	struct background *beside = second.store ? background_start(fit_list_work, &worker[1]) : NULL;
	fit_list_work(&worker[0], NULL);
	if (beside)
		background_end(beside);
	planner_done(&second);
	pthread_mutex_destroy(&round.lock);
	enum status status = OK;
	for (int i = 0; i < THREADS && status == OK; i++)
		if ((status = worker[i].status) != OK)
			*finding->error = worker[i].error;
	for (uint32_t i = 0; i < ways; i++)
		if (status == OK && (way[i].planned || way[i].above || !pairs))
			fit_list_add(finding->list, &way[i]);
		else
			mem_free(way[i].forbids);
	return status;
}

/* ---- the changes ---- */

/* The change that a row of the table stands for here; false: there is none. */
static bool make_way(const struct finding *finding, const struct change *change, struct fit_way *way)
{
	int64_t whole = change->form == FORM_BATCH || change->form == FORM_PARTS ? finding->batch
		: change->form == FORM_SEQUENCE ? finding->sequence
		: 0;
	int64_t number = change->form == FORM_DEVICES ? finding->devices
		: change->form == FORM_PARTS ? change->divisor
		: whole / change->divisor;
	*way = (struct fit_way){ .group = change->group, .meaning = change->meaning, .done = 1, .whole = 1 };
	if ((change->form == FORM_DEVICES && finding->devices < 2) || (whole && whole % change->divisor != 0))
		return false;
	if ((change->form == FORM_ORDER && !finding->list->captured) || (change->form > FORM_DEVICES && whole < 2))
		return false;
	if (change->form == FORM_PARTS && finding->scenario->value[K_microbatches] > 1)
		return false;
	if (change->form == FORM_BATCH || change->form == FORM_SEQUENCE) {
		way->done = number;
		way->whole = whole;
	}
	/* The words of the table, each %u the number. */
	size_t used = 0;
	for (const char *at = change->words; *at && used + 24 < sizeof way->set; at++)
		if (*at == '%' && at[1] == 'u') {
			used += (size_t)snprintf(way->set + used, sizeof way->set - used, "%" PRId64, number);
			at++;
		} else {
			way->set[used++] = *at;
		}
	way->set[used] = '\0';
	return true;
}

/* Batch and sequence of the step asked for; 0 where it has none. */
static enum status find_sizes(struct finding *finding)
{
	struct factors factors;
	if (error_set(finding->error, factors_find(finding->graph, finding->planner->rules, &factors)) != OK)
		return finding->error->status;
	for (uint32_t i = 0; i < factors.factors; i++) {
		const struct factor *factor = &factors.factor[i];
		if (factor->role == ROLE_SEQUENCE && !factor->fixed && factor->size > finding->sequence)
			finding->sequence = factor->size;
	}
	finding->batch = scale_given_batch(finding->graph, &factors);
	factors_free(&factors);
	const int64_t *value = finding->scenario->value;
	finding->batch = value[K_batch] != KNOB_GIVEN ? value[K_batch] : finding->batch;
	finding->sequence = value[K_seq] != KNOB_GIVEN ? value[K_seq] : finding->sequence;
	return OK;
}

static enum status find_singles(struct finding *finding)
{
	struct fit_way way[CHANGES];
	uint32_t ways = 0;
	for (size_t i = 0; i < CHANGES; i++)
		ways += make_way(finding, &changes[i], &way[ways]);
	return plan_ways(finding, way, ways, false, false);
}

/* Both changes at once. */
static bool pair_ways(const struct fit_way *a, const struct fit_way *b, struct fit_way *pair)
{
	*pair = (struct fit_way){ .group = a->group, .meaning = a->meaning > b->meaning ? a->meaning : b->meaning,
		.done = a->done * b->done, .whole = a->whole * b->whole };
	return strcmp(a->group, b->group) != 0 && strcmp(a->group, "order") != 0 && strcmp(b->group, "order") != 0 &&
		snprintf(pair->set, sizeof pair->set, "%s %s", a->set, b->set) < (int)sizeof pair->set;
}

/* The changes that come nearest to the cap, planned or proved to be above it, the nearest first; returns how many. */
static uint32_t list_nearest(const struct fit_list *list, bool proved_alone, uint32_t most, uint32_t *nearest)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < list->ways; i++) {
		uint32_t at = count;
		if (!list->way[i].above && (proved_alone || !list->way[i].planned))
			continue;
		for (; at > 0 && by_needs(&list->way[nearest[at - 1]], &list->way[i]) > 0; at--)
			nearest[at] = nearest[at - 1];
		nearest[at] = i;
		count++;
	}
	return count < most ? count : most;
}

/* Pairs of the changes that come nearest; recomputation, which fits itself to what the other one leaves, is always
 * among them. */
static enum status fit_list_find_pairs(struct finding *finding)
{
	struct fit_way pair[NEAREST * (NEAREST - 1) / 2];
	const struct fit_way *way = finding->list->way;
	uint32_t nearest[WAYS_MOST], all = list_nearest(finding->list, false, WAYS_MOST, nearest),
								 count = all < NEAREST ? all : NEAREST, pairs = 0;
	for (uint32_t i = count; i < all; i++)
		if (strcmp(way[nearest[i]].set, "recompute=auto") == 0)
			nearest[count - 1] = nearest[i];
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j < count; j++)
			pairs += pair_ways(&way[nearest[i]], &way[nearest[j]], &pair[pairs]);
	return plan_ways(finding, pair, pairs, true, false);
}

/* Nothing fits: what is proved to be above the cap and comes nearest is planned all the same, to be seen with its time.
 */
static enum status plan_nearest(struct finding *finding)
{
	struct fit_list *list = finding->list;
	struct fit_way way[SHOWN], *row = list->way;
	uint32_t nearest[WAYS_MOST], ways = list_nearest(list, true, SHOWN, nearest), left = 0;
	for (uint32_t i = 0; i < ways; i++) {
		way[i] = row[nearest[i]];
		way[i].above = false;
		*way[i].reason = '\0';
		row[nearest[i]].above = row[nearest[i]].planned = false;
		row[nearest[i]].set[0] = '\0';
	}
	for (uint32_t i = 0; i < list->ways; i++)
		if (*row[i].set)
			row[left++] = row[i];
	list->ways = left;
	struct finding unwatched = *finding;
	unwatched.watch = NULL;  /* rows that were told of don't go away meanwhile */
	return plan_ways(&unwatched, way, ways, false, true);
}

/* ---- the list ---- */

/* What the scenario's own plan needs, where the step as it is isn't planned by it. */
static enum status find_ours(struct finding *finding)
{
	OWN(plan) *plan = planner_run(finding->planner, finding->graph, finding->scenario, PLAN_COMPLETE, finding->error);
	if (!plan)
		return finding->error->status;
	finding->list->ours = plan_needs(plan);
	return plan->limited ? fail(finding->error, CANCELLED, "cancelled") : OK;
}

/* The step as it is. */
static enum status find_base(struct finding *finding)
{
	struct fit_list *list = finding->list;
	OWN(scenario) scenario;
	if (scenario_copy(&scenario, finding->scenario) != OK)
		return fail_memory(finding->error);
	int64_t *value = scenario.value;
	const char *source = finding->graph->source;
	list->captured = source && strncmp(source, "torch ", 6) == 0 && value[K_order] == ORDER_AUTO &&
		value[K_layout] == LAYOUT_BEST && value[K_recompute] != RECOMPUTE_AUTO;
	if (list->captured) {
		value[K_order] = ORDER_PROGRAM;
		value[K_allocator] = value[K_allocator] == ALLOCATOR_AUTO ? ALLOCATOR_PYTORCH : value[K_allocator];
	}
	struct plan *plan = planner_run(finding->planner, finding->graph, &scenario, PLAN_COMPLETE, finding->error);
	if (!plan)
		return finding->error->status;
	enum status status = plan->limited ? fail(finding->error, CANCELLED, "cancelled") : OK;
	if (status == OK)
		list->forbids = forbidding(plan->transformed, finding->planner->rules, &list->advice, &status);
	if (status == OK) {
		list->arena = list->ours = plan_needs(plan);
		list->fits = list->arena <= list->budget;
		notes_guesses(plan->transformed->notes, list->guesses);
		list->step = fit_step_of(plan, finding->planner->rules, finding->error);
		status = list->step < 0 ? NO_MEMORY : OK;
	}
	plan_release(plan);
	return error_set(finding->error, status);
}

enum status fit_list_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	uint32_t devices, const struct fit_watch *watch, struct fit_list *list, struct error *error)
{
	struct finding finding = { .planner = planner,
		.graph = graph,
		.scenario = scenario,
		.devices = devices,
		.watch = watch,
		.list = list,
		.error = error };
	*list = (struct fit_list){ .budget = scenario_budget(scenario) };
	enum status status = find_base(&finding);
	if (status != OK || list->fits)
		return status;
	if (!(list->way = mem_alloc(WAYS_MOST, sizeof *list->way)))
		return fail_memory(error);
	status = list->captured ? find_ours(&finding) : OK;
	if (status == OK)
		status = find_sizes(&finding);
	if (status == OK)
		status = find_singles(&finding);
	sort_ways(list);
	if (status == OK && list->fitting == 0)
		status = fit_list_find_pairs(&finding);
	if (status == OK && list->fitting == 0)
		status = plan_nearest(&finding);
	sort_ways(list);
	return status;
}

enum status fit_list_copy(struct fit_list *to, const struct fit_list *from)
{
	*to = *from;
	to->way = mem_alloc(from->ways ? from->ways : 1, sizeof *to->way);
	to->forbids = from->forbids ? mem_alloc(strlen(from->forbids) + 1, 1) : NULL;
	if (!to->way || (from->forbids && !to->forbids)) {
		fit_list_free(to);
		return NO_MEMORY;
	}
	if (from->ways)   /* an empty list has no memory */
		memcpy(to->way, from->way, from->ways * sizeof *to->way);
	for (uint32_t i = 0; i < to->ways; i++)
		to->way[i].forbids = NULL;
	if (from->forbids)
		memcpy(to->forbids, from->forbids, strlen(from->forbids));
	return OK;
}

void fit_list_free(struct fit_list *list)
{
	mem_free(list->way);
	mem_free(list->forbids);
	*list = (struct fit_list){ 0 };
}
