/* fit_list.c: changes of knobs that make a step fit its memory cap. */
#include <inttypes.h>
#include <pthread.h>

#include "fit_list.h"
#include "src/models/open.h"
#include "src/base/background.h"
#include "src/decide/decide.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"

#define X(id, name, text) name,
const char *const fit_meaning_names[FIT_MEANING_COUNT] = { FIT_MEANINGS(X) };
#undef X
#define X(id, name, text) text,
const char *const fit_meaning_texts[FIT_MEANING_COUNT] = { FIT_MEANINGS(X) };
#undef X

/* How a row of the table becomes a change. */
enum form {
	FORM_PLAIN,  /* the words as they are */
	FORM_OURS,  /* of a step that is its program's as it is: our order or allocator */
	FORM_DEVICES,  /* %u is the number of devices, of which there are more than one */
	FORM_BATCH,  /* %u is the batch, divided by the row's number */
	FORM_SEQUENCE,  /* the same of the sequence */
	FORM_PARTS  /* the batch in so many parts */
};

#define APPLIED "tidemark_torch.apply(plan, graph).step(model, optimizer)"
#define CHECKPOINT "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)"

#define PAGED "bitsandbytes.optim.PagedAdamW32bit of each p, in p.register_post_accumulate_grad_hook()"

/* X(group, words, form, divisor, meaning, what to do in PyTorch); what takes little time comes first. */
#define FIT_CHANGES(X) \
	X("allocator", "allocator=expandable", OURS, 1, SAME, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True") \
	X("recompute", "recompute=full", PLAIN, 1, SAME, CHECKPOINT " for each layer") \
	X("recompute", "recompute=every:2", PLAIN, 1, SAME, CHECKPOINT " for each second layer") \
	X("recompute", "recompute=selective", PLAIN, 1, SAME, "checkpoint() around the core of each attention") \
	X("recompute", "recompute=knapsack:50%", PLAIN, 1, SAME, \
		"torch.compile(model) with torch._functorch.config.activation_memory_budget = 0.5") \
	X("loss", "loss_chunks=8", PLAIN, 1, ROUNDED, "the loss of an eighth of the tokens at a time, with its backward()") \
	X("precision", "precision=bf16", PLAIN, 1, RUN, "model.to(torch.bfloat16)") \
	X("precision", "precision=autocast", PLAIN, 1, RUN, "with torch.autocast(\"cuda\", dtype=torch.bfloat16): the loss") \
	X("precision", "precision=mixed", PLAIN, 1, RUN, "model.half(), with fp32 copies of its weights in the optimizer") \
	X("optimizer", "moments=bf16", PLAIN, 1, RUN, "an optimizer that keeps its moments in torch.bfloat16") \
	X("optimizer", "optimizer=adafactor", PLAIN, 1, RUN, "torch.optim.Adafactor(model.parameters())") \
	X("optimizer", "optimizer=momentum", PLAIN, 1, RUN, "torch.optim.SGD(model.parameters(), momentum=0.9)") \
	X("optimizer", "optimizer=sgd", PLAIN, 1, RUN, "torch.optim.SGD(model.parameters())") \
	X("batch", "microbatches=%u", PARTS, 2, SPLIT, "%u times (loss / %u).backward(), then optimizer.step()") \
	X("batch", "microbatches=%u", PARTS, 4, SPLIT, "%u times (loss / %u).backward(), then optimizer.step()") \
	X("batch", "microbatches=%u", PARTS, 8, SPLIT, "%u times (loss / %u).backward(), then optimizer.step()") \
	X("batch", "batch=%u", BATCH, 2, RUN, "DataLoader(dataset, batch_size=%u)") \
	X("batch", "batch=%u", BATCH, 4, RUN, "DataLoader(dataset, batch_size=%u)") \
	X("sequence", "seq=%u", SEQUENCE, 2, RUN, "sequences of %u tokens") \
	X("sequence", "seq=%u", SEQUENCE, 4, RUN, "sequences of %u tokens") \
	X("recompute", "recompute=auto", PLAIN, 1, SAME, APPLIED) \
	X("order", "order=auto", OURS, 1, SAME, APPLIED) \
	X("recompute", "recompute=auto offload=on", PLAIN, 1, SAME, APPLIED ", with what it names on the host") \
	X("host", "offload=states", PLAIN, 1, SAME, PAGED) \
	X("devices", "devices=%u strategy=zero zero=1", DEVICES, 1, SPREAD, "ZeroRedundancyOptimizer") \
	X("devices", "devices=%u strategy=zero zero=2", DEVICES, 1, SPREAD, \
		"fully_shard(layer, reshard_after_forward=False)") \
	X("devices", "devices=%u strategy=zero zero=3", DEVICES, 1, SPREAD, "fully_shard(layer) for each layer") \
	X("devices", "devices=%u strategy=megatron tp=%u", DEVICES, 1, SPREAD, \
		"parallelize_module(model, mesh[\"tp\"], plan)") \
	X("devices", "devices=%u pp=%u", DEVICES, 1, SPREAD, "torch.distributed.pipelining, %u stages") \
	X("devices", "devices=%u strategy=auto", DEVICES, 1, SPREAD, "tidemark_torch.apply(plan).distribute(model, mesh)")

struct change {
	const char *group, *words;
	enum form form;
	int64_t divisor;
	enum fit_meaning meaning;
	const char *how;
};
#define X(group, words, form, divisor, meaning, how) \
	{ group, words, FORM_##form, divisor, FIT_MEANING_##meaning, how },
static const struct change changes[] = { FIT_CHANGES(X) };
#undef X
#define CHANGES (COUNT_OF(changes))
#define PAIRS_MOST 16u
#define ADAPTERS 3
#define WAYS_MOST (CHANGES + PAIRS_MOST + ADAPTERS)

const char *fit_set(const struct fit_way *way)
{
	size_t length = strlen(FIT_PROGRAM);
	return way->set + (strncmp(way->set, FIT_PROGRAM, length) == 0 ? length : 0);
}

struct finding {
	struct planner *planner;
	struct graph *graph;
	const struct scenario *scenario;
	int64_t batch, sequence;
	const struct fit_question *asked;
	struct fit_list *list;
	struct error *error;
};

/* ---- planning one change ---- */

/* time * whole / done without overflow. */
static int64_t for_same_work(const struct fit_way *way, int64_t time)
{
	return time / way->done * way->whole + time % way->done * way->whole / way->done;
}

/* Where operands of an op forbid every recomputation. */
static void fit_list_prove(const struct transformed *transformed, const struct rules *rules, struct why_not *proof)
{
	const struct fitted *fitted = transformed->fitted;
	*proof = (struct why_not){ .advice = NULL };
	if (!transformed->sharded && !transformed->pipelined && fitted && fitted->capped && fitted->impossible)
		why_not_of(fitted->step, fitted->certificate.op, 0, rules, proof);
}

enum status fit_plan(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct fit_came *came, struct error *error)
{
	OWN(plan) *plan = planner_run(planner, graph, scenario, PLAN_UNPROVED, error);
	if (!plan)
		return error->status;
	const struct plan_speed *speed = &plan->speed;
	int64_t count = speed->tokens > 0 ? speed->tokens : speed->samples, time = plan_step_time(plan);
	struct verdict verdict = plan_verdict(plan);
	*came = (struct fit_came){ .needs = verdict.needed, .fits = fits_runs(verdict.fits), .tokens = speed->tokens > 0,
		.state_first = verdict.state_first, .step = larger_of(time < 0 ? speed->time : time, 0) };
	came->rate = came->step > 0 ? (double)count / ((double)came->step * 1e-12) : 0;
	notes_guesses(plan->transformed->notes, came->guesses);
	fit_list_prove(plan->transformed, planner->rules, &came->proof);
	return plan->limited ? fail(error, CANCELLED, "stopped before there was a whole plan") : OK;
}

static enum status set_words(struct scenario *scenario, const char *set, struct error *error)
{
	enum status status = OK;
	for (const char *at = set; *at && status == OK; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		status = scenario_set(scenario, PRINTED(FIT_SET_SIZE, "%.*s", (int)length, at), error);
		at += length;
	}
	return status;
}

/* Whether a bound proves that no plan of the change keeps the cap: then that is its reason. */
static enum status prove_way(
	struct finding *finding, const struct scenario *scenario, struct fit_way *way, struct error *why)
{
	struct least least;
	enum status status = planner_least(finding->planner, finding->graph, scenario, &least, why);
	if (status == OK && least.above) {
		way->above = true;
		way->came.needs = least.bytes + scenario_reserve(scenario);
		fit_list_prove(least.transformed, finding->planner->rules, &way->came.proof);
		notes_guesses(least.transformed->notes, way->came.guesses);
		PRINT_TO(way->reason, "no order%s needs less than %s, %s over the cap%s%s",
			least.transformed->fitted && least.transformed->fitted->capped ? " with any recomputation" : "",
			BYTES(way->came.needs),
			BYTES(way->came.needs - finding->list->budget), *way->came.guesses ? "; " : "",
			way->came.guesses);
	}
	transformed_release(least.transformed);
	return status;
}

/* Plans a change, but for one that is proved to be above the cap. BAD_INPUT and INFEASIBLE are its reason. */
static enum status plan_way(struct finding *finding, struct fit_way *way)
{
	OWN(scenario) scenario;
	struct error why = { 0 };
	if (scenario_copy(&scenario, finding->scenario) != OK)
		return fail_memory(finding->error);
	enum status status = set_words(&scenario, way->set, &why);
	status = status == OK ? prove_way(finding, &scenario, way, &why) : status;
	if (status == OK && way->above)
		return OK;
	THEN(status, fit_plan(finding->planner, finding->graph, &scenario, &way->came, &why));
	if (status == NO_MEMORY || status == CANCELLED) {
		*finding->error = why;
		return error_set(finding->error, status);
	}
	way->planned = status == OK;
	size_t said = strlen(way->how);
	if (way->planned && way->came.state_first)
		snprintf(way->how + said, sizeof way->how - said, "%s" FIT_STATE_FIRST, said > 0 ? "; " : "");
	way->fits = way->planned && way->came.needs <= finding->list->budget;
	way->extra = for_same_work(way, way->came.step) - finding->list->base.step;
	PRINT_TO(way->reason, "%s", way->planned ? way->came.guesses : why.text);
	return OK;
}

/* ---- planning many ---- */

#define THREADS 2

/* Changes that threads take one by one. What a plan comes to doesn't depend on the others, so neither does the list. */
struct round {
	struct fit_way *way;
	uint32_t ways;
	bool pairs;  /* what can't be planned isn't listed */
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

/* Without what is planned, or proved, and saves nothing: the other changes are planned in expandable segments, so what
 * these save by themselves is none of theirs. */
static bool helps(const struct fit_list *list, const struct fit_way *way)
{
	return !(way->planned || way->above) ||
		way->came.needs < (text_is(way->group, "allocator") ? list->base.needs : list->ours);
}

static int fit_list_order(const struct fit_way *a, const struct fit_way *b, int goal)
{
	struct outcome first = { a->came.needs, a->extra }, second = { b->came.needs, b->extra };
	int order = outcome_order(&(struct goal){ goal, -1 }, &first, &second);
	return order ? order : strcmp(a->set, b->set);
}

static int by_needs(const void *left, const void *right)
{
	return fit_list_order(left, right, GOAL_SMALLEST);
}

static int compare_ways(const void *left, const void *right)
{
	const struct fit_way *a = left, *b = right;
	if (a->planned != b->planned || a->fits != b->fits)
		return a->planned != b->planned ? b->planned - a->planned : b->fits - a->fits;
	if (a->above != b->above)
		return b->above - a->above;
	return fit_list_order(a, b, a->fits ? GOAL_FASTEST : GOAL_SMALLEST);
}

/* As struct fit_list has them. */
static void sort_ways(struct fit_list *list)
{
	struct fit_way *way = list->way;
	qsort(way, list->ways, sizeof *way, compare_ways);
	for (uint32_t begin = 0, end = 0; end < list->ways && way[end].fits; begin = end) {
		int64_t now = list->base.step;
		while (end < list->ways && way[end].fits && is_as_fast(now + way[end].extra, now + way[begin].extra))
			end++;
		qsort(way + begin, end - begin, sizeof *way, by_needs);
	}
}

/* What is planned and saves nothing helps nobody. */
static void fit_list_add(struct fit_list *list, const struct fit_way *way)
{
	if (!*list->proof.op && text_is(way->group, "recompute"))
		list->proof = way->came.proof;   /* about the step as it is, but for recomputation */
	if (!helps(list, way)) {
		list->useless++;
		return;
	}
	list->fitting += way->fits && !*way->model;
	list->way[list->ways++] = *way;
}

/* Whether a change that keeps the results, as much as a pair does, is as fast. */
static bool fit_list_beaten(const struct fit_list *list, const struct fit_way *pair)
{
	bool beaten = false;
	FOR(i, list->ways) {
		const struct fit_way *way = &list->way[i];
		beaten |= way->fits && !way->pair && way->meaning < FIT_MEANING_RUN && way->meaning <= pair->meaning &&
			way->extra <= pair->extra + (list->base.step + pair->extra) / 1000;
	}
	return beaten;
}

static bool fit_list_takes(const struct fit_list *list, const struct round *round, uint32_t i)
{
	const struct fit_way *way = &round->way[i];
	return !round->pairs || way->above || (way->planned && !(way->pair && fit_list_beaten(list, way)));
}

/* Tells the watch what is there by now. */
static void fit_list_show(const struct finding *finding, struct round *round, uint32_t planned)
{
	struct fit_list now;
	pthread_mutex_lock(&round->lock);
	finding->list->tried++;
	now = *finding->list;
	MAKE(now.way, WAYS_MOST);
	if (now.way) {
		COPY(now.way, finding->list->way, finding->list->ways);
		FOR(i, round->ways)
			if (round->done[i] && fit_list_takes(finding->list, round, i))
				fit_list_add(&now, &round->way[i]);
		sort_ways(&now);
		finding->asked->watch->found(finding->asked->watch->context, &now, &round->way[planned]);
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
		worker->status = plan_way(&worker->finding, &worker->round->way[i]);
		worker->round->done[i] = worker->status == OK;
		if (worker->finding.asked->watch && worker->status == OK)
			fit_list_show(&worker->finding, worker->round, i);
	}
}

/* Plans changes, on two threads where a second planner can be had, and adds them to the list. pairs as in struct round.
 */
static enum status plan_ways(struct finding *finding, struct fit_way *way, uint32_t ways, bool pairs)
{
	struct planner *planner = finding->planner;
	struct planner second = { .store = store_new(), .rules_file = planner->rules_file, .abandoned = planner->abandoned,
		.order_solver = planner->order_solver, .control = { .cancel = planner->control.cancel } };
	struct round round = { .way = way, .ways = ways, .pairs = pairs };
	struct worker worker[THREADS];
	finding->list->all += ways;
	pthread_mutex_init(&round.lock, NULL);
	FOR_INT(i, THREADS) {
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
	for (int i = 0; i < THREADS && (status == OK || status == CANCELLED); i++)
		if (worker[i].status != OK) {
			status = worker[i].status;
			*finding->error = worker[i].error;
		}
	FOR(i, ways)
		if ((status == OK || status == CANCELLED) && round.done[i] && fit_list_takes(finding->list, &round, i))
			fit_list_add(finding->list, &way[i]);
	finding->list->limited = status == CANCELLED;
	return status;
}

/* ---- the changes ---- */

/* Words of the table, each %u the number. */
static void fit_list_fill(int64_t number, const char *from, const char *before, char text[FIT_SET_SIZE])
{
	struct words words = { text, FIT_SET_SIZE, 0 };
	words_add(&words, "%s", before);
	for (; *from && words.at + 24 < FIT_SET_SIZE; from++)
		if (*from == '%' && from[1] == 'u') {
			words_add(&words, "%" PRId64, number);
			from++;
		} else {
			text[words.at++] = *from;
		}
	text[words.at] = '\0';
}

/* Whether there is such a change: of what is divided (whole; 0: nothing) a part, of captured steps, on more devices. */
static bool way_is_there(const struct finding *finding, const struct change *change, int64_t whole)
{
	if (change->form == FORM_OURS && !finding->list->captured)
		return false;
	if (change->form == FORM_DEVICES && finding->asked->devices < 2)
		return false;
	if (change->form == FORM_PARTS && finding->scenario->value[K_microbatches] > 1)
		return false;
	return change->form <= FORM_DEVICES || (whole >= 2 && whole % change->divisor == 0);
}

/* The change that a row of the table stands for here; false: there is none. */
static bool make_way(const struct finding *finding, const struct change *change, struct fit_way *way)
{
	int64_t whole = change->form == FORM_BATCH || change->form == FORM_PARTS ? finding->batch
		: change->form == FORM_SEQUENCE ? finding->sequence
		: 0;
	int64_t number = change->form == FORM_DEVICES ? finding->asked->devices
		: change->form == FORM_PARTS ? change->divisor
		: whole / change->divisor;
	bool order = change->form == FORM_OURS && text_is(change->group, "order");
	*way = (struct fit_way){ .group = change->group, .row = (uint32_t)(change - changes), .meaning = change->meaning,
		.done = 1, .whole = 1 };
	if (!way_is_there(finding, change, whole))
		return false;
	if (change->form == FORM_BATCH || change->form == FORM_SEQUENCE) {
		way->done = number;
		way->whole = whole;
	}
	fit_list_fill(number, change->words, finding->list->captured && !order ? FIT_PROGRAM : "", way->set);
	fit_list_fill(number, change->how, "", way->how);
	return true;
}

/* Batch and sequence of the step asked for; 0 where it has none. */
static enum status find_sizes(struct finding *finding)
{
	struct factors factors;
	if (error_set(finding->error, factors_find(finding->graph, finding->planner->rules, &factors)) != OK)
		return finding->error->status;
	FOR(i, factors.factors) {
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

/* The largest embedding table: what is quantised for fine-tuning is neither it nor a head as large. */
static int64_t fit_list_largest_table(const struct graph *graph, const struct rules *rules)
{
	int64_t most = -1;
	FOR(op, graph->ops) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		if (rule && (rule->traits & TRAIT_EMBEDDING))
			FOR_ITEMS(tensor, &graph->reads, op)
				most = LARGER(most, graph->storage[graph->tensor[tensor].storage].bytes);
	}
	return most;
}

/* Weights beside those that are trained: a quantised base is another step, whose capture says what it needs. */
static void fit_list_find_frozen(const struct graph *graph, const struct rules *rules, struct fit_list *list)
{
	int64_t table = fit_list_largest_table(graph, rules);
	bool trains = false;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		const struct tensor *root = &graph->tensor[storage->root];
		bool updated = false;
		FOR_ITEMS(user, &graph->users, s)
			updated |= graph->op[user].phase == PHASE_UPDATE;
		trains |= storage->kind == KIND_PARAMETER && updated;
		if (storage->kind == KIND_PARAMETER && !updated && root->dims > 1 && dtype_bits[root->dtype] >= 16 &&
			storage->bytes != table) {
			list->frozen += storage->bytes;
			list->weights += storage->bytes * 8 / dtype_bits[root->dtype];
		}
	}
	list->tuned = trains;
	list->frozen = trains ? list->frozen : 0;
}

static enum status find_singles(struct finding *finding)
{
	struct fit_way way[CHANGES];
	uint32_t ways = 0;
	FOR_SIZE(i, CHANGES)
		ways += make_way(finding, &changes[i], &way[ways]);
	return plan_ways(finding, way, ways, false);
}

/* Both changes at once. */
static bool pair_ways(const struct fit_way *a, const struct fit_way *b, struct fit_way *pair)
{
	*pair = (struct fit_way){ .group = a->group, .pair = true,
		.meaning = LARGER(a->meaning, b->meaning),
		.done = a->done * b->done, .whole = a->whole * b->whole };
	return strcmp(a->group, b->group) != 0 && !(strstr(a->set, " offload=") && strstr(b->set, " offload=")) &&
		PRINT_TO(pair->set, "%s %s", a->set, fit_set(b)) < (int)sizeof pair->set &&
		PRINT_TO(pair->how, "%s; %s", a->how, b->how) > 0;
}

struct candidate {
	const struct fit_way *a, *b;
	bool changes, over;   /* the results; more than the limit, where both take off what each takes off alone */
	int64_t first;   /* the least of it goes first */
};

COMPARATOR(compare_candidates, struct candidate, COMPARE(a->changes, b->changes, COMPARE(a->over, b->over,
	COMPARE(a->first, b->first, COMPARE(a->a, b->a, COMPARE(a->b, b->b, 0))))))

/* It fits at less than a tenth more time: whatever goes with it only takes longer or changes more. */
static bool fit_list_is_fast(const struct fit_list *list, const struct fit_way *way)
{
	return way->fits && way->extra < list->base.step / 10;
}

/* Whether some change that keeps the results does. */
static bool fit_list_has_fast(const struct fit_list *list)
{
	bool has = false;
	FOR(i, list->ways)
		has |= fit_list_is_fast(list, &list->way[i]) && list->way[i].meaning < FIT_MEANING_RUN;
	return has;
}

/* What doesn't do alone. Of recomputation's rows pairs have the one that fits itself to what the other change leaves,
 * and each layer's; all are planned in expandable segments, and orders come with recomputation. */
static bool fit_list_pairs_it(const struct fit_list *list, const struct fit_way *way)
{
	bool fits_itself = strstr(way->set, "recompute=auto");
	return (way->planned || way->above) && !way->pair && !*way->model &&
		!(fits_itself ? fit_list_is_fast(list, way) : way->fits) &&
		!text_is(way->group, "allocator") && !text_is(way->group, "order") &&
		(!text_is(way->group, "recompute") || fits_itself || strstr(way->set, "recompute=full"));
}

/* Of one group, each layer's recomputation apart. */
static bool fit_list_alike(const struct fit_way *a, const struct fit_way *b)
{
	return text_is(a->group, b->group) && !strstr(a->set, "=full") == !strstr(b->set, "=full");
}

/* Pairs of changes that don't do alone, at most two of the same two groups: where something fits alone those that
 * change least of the run, else those that need least. offload: those that offload with recomputation. Returns how
 * many. */
static uint32_t fit_list_pair_up(const struct fit_list *list, bool offload, struct fit_way *pair, uint32_t most)
{
	struct candidate candidate[CHANGES * (CHANGES - 1) / 2];
	uint32_t candidates = 0, pairs = 0;
	FOR(i, list->ways)
		FOR(j, i) {
			const struct fit_way *a = &list->way[j], *b = &list->way[i];
			int64_t needs = a->came.needs + b->came.needs - list->ours;
			if (fit_list_pairs_it(list, a) && fit_list_pairs_it(list, b) && !text_is(a->group, b->group) &&
				(strstr(a->set, " offload=on") || strstr(b->set, " offload=on")) == offload &&
				needs <= list->budget + list->budget / 8)
				candidate[candidates++] = (struct candidate){ a, b, LARGER(a->meaning, b->meaning) >= FIT_MEANING_RUN,
					needs > list->budget, list->fitting ? a->row + b->row : needs };
		}
	qsort(candidate, candidates, sizeof *candidate, compare_candidates);
	FOR_WHILE(i, candidates, pairs < most) {
		uint32_t same = 0;
		FOR(j, i) {
			const struct candidate *one = &candidate[i], *other = &candidate[j];
			same += (fit_list_alike(one->a, other->a) && fit_list_alike(one->b, other->b)) ||
				(fit_list_alike(one->a, other->b) && fit_list_alike(one->b, other->a));
		}
		pairs += same < 2 && pair_ways(candidate[i].a, candidate[i].b, &pair[pairs]);
	}
	return pairs;
}

/* With offloading, which takes longest to plan, only where nothing fits. */
static enum status fit_list_find_pairs(struct finding *finding)
{
	struct fit_way pair[PAIRS_MOST];
	uint32_t pairs = fit_list_pair_up(finding->list, false, pair, PAIRS_MOST - 4), rest;
	TRY(plan_ways(finding, pair, pairs, true));
	if (finding->list->fitting)
		return OK;
	sort_ways(finding->list);
	rest = fit_list_pair_up(finding->list, true, pair, PAIRS_MOST - pairs);
	return plan_ways(finding, pair, rest, true);
}

/* ---- adapters ---- */

/* Adapters beside the frozen weights of a model, up to the first that fits. */
static enum status fit_list_find_adapters(struct finding *finding)
{
	static const struct { const char *sizes, *set, *how; } adapters[ADAPTERS] = {
		{ ":lora=16:target=all", "", "" },
		{ ":lora=16:target=all:base=nf4", "", ", of a model loaded with BitsAndBytesConfig(load_in_4bit=True)" },
		{ ":lora=16:target=all:base=nf4", "recompute=auto", ", of a model in 4 bits; " APPLIED } };
	enum status status = OK;
	struct fit_way way = { 0 };
	for (int i = 0; i < ADAPTERS && status == OK && !way.fits; i++) {
		OWN(planner) planner = { .store = store_new(), .rules_file = finding->planner->rules_file,
			.abandoned = finding->planner->abandoned, .control = { .cancel = finding->planner->control.cancel } };
		struct finding adapted = *finding;
		struct error error = { 0 };
		way = (struct fit_way){ .group = "adapters", .meaning = FIT_MEANING_ADAPTERS, .done = 1, .whole = 1 };
		PRINT_TO(way.model, "%s%s", finding->asked->model, adapters[i].sizes);
		PRINT_TO(way.set, "%s%s", finding->list->captured ? FIT_PROGRAM : "", adapters[i].set);
		PRINT_TO(way.how, "peft.get_peft_model(model, LoraConfig(r=16, target_modules=\"all-linear\"))%s",
			adapters[i].how);
		OWN(graph) *graph = open_graph(way.model, NULL, &error);
		if (!planner.store || (!graph && error.status == NO_MEMORY))
			return fail_memory(finding->error);
		if (!graph)
			return OK;   /* a model without linear layers, or with adapters already */
		adapted.planner = &planner;
		adapted.graph = graph;
		status = plan_ways(&adapted, &way, 1, true);
	}
	return status;
}

/* ---- the list ---- */

/* The step as it is. */
static enum status find_base(struct finding *finding)
{
	struct fit_list *list = finding->list;
	OWN(scenario) scenario;
	if (scenario_copy(&scenario, finding->scenario) != OK)
		return fail_memory(finding->error);
	int64_t *value = scenario.value;
	list->captured = scenario_allocator(&scenario, finding->graph) != ALLOCATOR_PLAN && value[K_order] == ORDER_AUTO &&
		value[K_layout] == LAYOUT_BEST && value[K_recompute] != RECOMPUTE_AUTO;
	if (list->captured) {
		value[K_order] = ORDER_PROGRAM;
		value[K_allocator] = value[K_allocator] == ALLOCATOR_AUTO ? ALLOCATOR_PYTORCH : value[K_allocator];
	}
	TRY(fit_plan(finding->planner, finding->graph, &scenario, &list->base, finding->error));
	list->proof = list->base.proof;
	list->ours = list->base.needs;
	list->fits = list->base.needs <= list->budget;
	if (list->fits || value[K_allocator] == finding->scenario->value[K_allocator])
		return OK;
	struct fit_came ours;
	value[K_allocator] = finding->scenario->value[K_allocator];
	enum status status = fit_plan(finding->planner, finding->graph, &scenario, &ours, finding->error);
	list->ours = status == OK ? ours.needs : list->ours;
	return status;
}

enum status fit_list_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	const struct fit_question *question, struct fit_list *list, struct error *error)
{
	struct finding finding = { .planner = planner, .graph = graph, .scenario = scenario, .asked = question,
		.list = list, .error = error };
	*list = (struct fit_list){ .budget = scenario_device_memory(scenario) };
	TRY(find_base(&finding));
	if (list->fits)
		return OK;
	NEEDED(error, (MAKE(list->way, WAYS_MOST)));
	fit_list_find_frozen(graph, planner->rules, list);
	enum status status = find_sizes(&finding);
	status = status == OK ? find_singles(&finding) : status;
	if (status == OK && question->model)
		status = fit_list_find_adapters(&finding);
	sort_ways(list);
	if (status == OK && !fit_list_has_fast(list))
		status = fit_list_find_pairs(&finding);
	sort_ways(list);
	return list->limited ? error_set(error, OK) : status;
}

int64_t fit_frees(const struct fit_list *list, uint32_t number)
{
	int64_t most = 0;
	FOR(i, list->ways) {
		const struct fit_way *way = &list->way[i];
		if (way->pair || !(way->planned || way->above) || !text_is(way->group, list->way[number].group))
			continue;
		if (i < number)
			return 0;
		most = larger_of(most, list->base.needs - way->came.needs);
	}
	return list->way[number].pair ? 0 : most;
}

enum status fit_list_copy(struct fit_list *to, const struct fit_list *from)
{
	*to = *from;
	MAKE(to->way, from->ways ? from->ways : 1);
	NEED(to->way);
	if (from->ways)   /* an empty list has no memory */
		COPY(to->way, from->way, from->ways);
	return OK;
}

void fit_list_free(struct fit_list *list)
{
	mem_free(list->way);
	*list = (struct fit_list){ 0 };
}
