/* config_search.c: enumerating configurations. */

#include "config_search.h"

#define MICROBATCH_MAX 16   /* where their number is open */
#define EXACT_MOST 192 /* fastest configurations whose schedule is played slot by slot */
#define EXACT_LEADING 20  /* so many of the fastest of each cut of the model */
#define ROWS_MANY 1000  /* of more rows what doesn't fit is listed at once */
#define PLAYED_MOST 64  /* and at most so many others that would take their places, at a time */

/* A step and what all its shardings share. */
struct step {
	int64_t samples;
	int recompute;
	struct graph *graph;
	bool guess;
	uint32_t shares; /* of the graph, that are so many samples each: of one alone ops differ */
	struct units units;
	struct blocks blocks;
	struct block_work work;
	struct arena arena;
	uint32_t inserted, period;   /* copies of blocks [inserted - period, inserted) go in at inserted */
	uint32_t layer, layers, layer_blocks; /* of the whole model: first repeated block, layers, blocks of one */
	uint32_t all_blocks;  /* of the whole model */
	struct block_cost *cost;  /* [all_blocks] under the sharding at hand */
};

struct searching {
	const struct config_request *request;
	struct control *control;
	struct rules *rules;
	struct config_list *list;
	size_t room, open_room;
	struct step **open;
	uint32_t opened;
	/* The one at hand; without recomputation, where some of its layers may do without, or NULL. */
	struct step *step, *kept;
	struct config_terms terms, kept_terms, mixed; /* mixed: of some layers as of step, of the others as of kept */
	uint32_t most;  /* blocks that these have room for */
	uint32_t *first;  /* first[pieces + 1] of a cut */
	struct config_cuts cuts;
	bool dense;  /* the model has no experts */
	uint32_t pp_most;  /* blocks of the last step */
	bool whole;  /* what doesn't fit is listed */
	char unsplit[100];  /* the last degree that no dim divides by, in words */
	struct error *error;
};

/* What is left is then only counted, on the steps that are open. */
static bool is_stopped(const struct searching *searching)
{
	return control_status(searching->control) != OK;
}

static bool has_role(const struct units *units, enum factor_role role, int64_t divisor)
{
	FOR(i, units->factors.factors)
		if (units->factors.factor[i].role == role && units->factors.factor[i].size % divisor == 0)
			return true;
	return false;
}

/* ---- steps ---- */

static void step_free(struct step *step)
{
	blocks_free(&step->blocks);
	if (step->graph)
		units_free(&step->units);
	mem_free(step->cost);
	arena_free(&step->arena);
	graph_release(step->graph);
	*step = (struct step) { 0 };
}

static enum status step_build(struct searching *searching, struct step *step)
{
	const struct config_request *request = searching->request;
	step->graph = request->step(request->context, step->samples * step->shares, (enum recompute)step->recompute,
		&step->guess, searching->error);
	if (!step->graph)
		return searching->error->status;
	searching->list->graphs++;
	TRY(units_find(step->graph, searching->rules, &step->units));
	TRY(blocks_find(step->graph, &step->blocks));
	TRY(block_work_find(step->graph, &step->blocks, searching->rules, &step->arena, &step->work));
	uint32_t begin, length, period;
	if (request->repeat > 0) {
		if (!blocks_period(&step->blocks, &begin, &length, &period))
			return refuse(searching->error, "no repeated layer was found in the model");
		step->period = period;
		step->inserted = begin + 2 * period <= begin + length ? begin + 2 * period : begin + period;
	}
	if (blocks_period(&step->blocks, &begin, &length, &period)) {
		step->layer = begin;
		step->layer_blocks = period;
		step->layers = (length + period - 1) / period + request->repeat;
		/* first layers that begin like the others but have another feed-forward part */
		while (period > 1 && step->layer >= period &&
			step->blocks.signature[step->layer - period] == step->blocks.signature[step->layer]) {
			step->layer -= period;
			step->layers++;
		}
	}
	searching->pp_most = step->all_blocks = step->blocks.blocks + request->repeat * step->period;
	NEED(MAKE(step->cost, step->all_blocks));
	return OK;
}

/* Plans of several devices cut a batch of one sample each out of more, on a data axis. */
static uint32_t shares_of(const struct searching *searching, int64_t samples, uint32_t dp)
{
	return samples == 1 && searching->request->batch > 1 && dp != 1 ? 2 : 1;
}

/* The open step of so many samples, or NULL. */
static struct step *step_of(const struct searching *searching, int64_t samples, int recompute, uint32_t shares)
{
	FOR(i, searching->opened)
		if (searching->open[i]->samples == samples && searching->open[i]->recompute == recompute &&
			searching->open[i]->shares == shares)
			return searching->open[i];
	return NULL;
}

/* A step is at hand; layers may do without recomputation where the step that does has the same blocks. */
static void step_take(struct searching *searching, struct step *step)
{
	struct step *kept = step->recompute == RECOMPUTE_NONE || searching->request->recompute >= 0 ||
			searching->request->machine.memory < 0
		? NULL
		: step_of(searching, step->samples, RECOMPUTE_NONE, step->shares);
	bool alike = kept && step->all_blocks == kept->all_blocks && step->layers == kept->layers && step->layers > 0 &&
		step->layer == kept->layer && step->layer_blocks == kept->layer_blocks;
	searching->step = step;
	searching->kept = alike ? kept : NULL;
}

static void step_close(struct searching *searching)
{
	struct step *step = searching->open[--searching->opened];
	step_free(step);
	mem_free(step);
}

static void close_steps(struct searching *searching)
{
	while (searching->opened > 0)
		step_close(searching);
	mem_free(searching->first);
	mem_free(searching->terms.block);
	searching->first = NULL;
	searching->terms.block = NULL;
	searching->most = 0;
}

/* Room for cuts and terms of so many blocks. */
static enum status make_room(struct searching *searching, uint32_t blocks)
{
	uint32_t width = LARGER(blocks, searching->request->devices);
	if (blocks <= searching->most)
		return OK;
	mem_free(searching->first);
	mem_free(searching->terms.block);
	searching->most = blocks;
	searching->cuts.width = width + 1;
	MAKE(searching->first, (SCHEDULE_CHUNKS_MAX + (size_t)9) * (width + 1));
	searching->cuts.first = searching->first + (size_t)8 * (width + 1);
	MAKE(searching->terms.block, 3 * (size_t)blocks);
	searching->kept_terms.block = searching->terms.block + blocks;
	searching->mixed.block = searching->kept_terms.block + blocks;
	return searching->first && searching->terms.block ? OK : NO_MEMORY;
}

/* The step of so many samples is at hand. */
static enum status step_open(struct searching *searching, int64_t samples, int recompute, uint32_t dp)
{
	uint32_t shares = shares_of(searching, samples, dp);
	struct step *step = step_of(searching, samples, recompute, shares);
	if (!step) {
		NEED(mem_reserve(&searching->open, &searching->open_room, searching->opened + (size_t)1, sizeof step));
		NEED(step = searching->open[searching->opened] = mem_alloc(1, sizeof *step));
		*step = (struct step) { .samples = samples, .recompute = recompute, .shares = shares };
		searching->opened++;
		TRY(step_build(searching, step));
		searching->dense = !has_role(&step->units, ROLE_EXPERTS, 1);
	}
	step_take(searching, step);
	return make_room(searching, step->all_blocks);
}

static int64_t samples_of(const struct config *config)
{
	return (int64_t)config->microbatch * config->ep;
}

/* Writes the repeated layer's costs out. */
static void config_search_expand(
	const struct searching *searching, const struct step *step, const struct block_cost *cost)
{
	uint32_t added = searching->request->repeat * step->period, at = step->inserted;
	FOR(b, step->all_blocks) {
		uint32_t source = b < at ? b : b < at + added ? at - step->period + (b - at) % step->period : b - added;
		step->cost[b] = cost[source];
		step->cost[b].like = b >= at && b < at + added ? b - source : 0;
		if (cost[source].shared_with != NONE && cost[source].shared_with >= at)
			step->cost[b].shared_with += added;
	}
}

/* ---- entries ---- */

static enum status add_entry(struct searching *searching, const struct config_entry *entry)
{
	struct config_list *list = searching->list;
	NEED(mem_reserve(&list->entry, &searching->room, list->entries + 1, sizeof *list->entry) &&
		ROOM(&list->arena, list->entry[list->entries], 1));
	*list->entry[list->entries++] = *entry;
	list->evaluated++;
	return OK;
}

/* What ops move under the kernels that the request's model runs. */
static struct machine machine_of(const struct config_request *request)
{
	struct machine machine = request->machine;
	machine.fused = request->eager ? machine.eager : machine.fused;
	return machine;
}

static struct config_model config_search_model_of(struct searching *searching)
{
	const struct config_request *request = searching->request;
	const struct step *step = searching->step;
	return (struct config_model) { .blocks = step->all_blocks, .cost = step->cost, .terms = &searching->terms,
		.cuts = &searching->cuts, .machine = &request->machine,
		.devices_per_node = request->devices_per_node, .limit = request->machine.memory, .layer = step->layer,
		.layers = step->layers, .period = step->layer_blocks, .joint = step->work.joint, .even = request->even };
}

static bool entry_fits(const struct config_request *request, const struct config_result *result)
{
	return (request->machine.memory < 0 || result->worst.total <= request->machine.memory) &&
		(request->host_memory == 0 || result->host <= request->host_memory);
}

/* Terms of the steps at hand under a configuration and all that differ from it in schedule and cut alone. */
static void config_search_terms(struct searching *searching, const struct config *config)
{
	struct config_model model = config_search_model_of(searching);
	config_terms_find(&model, config, &searching->request->overheads, &searching->terms);
	if (!searching->kept)
		return;
	struct block_term *mixed = searching->mixed.block;
	model.cost = searching->kept->cost;
	config_terms_find(&model, config, &searching->request->overheads, &searching->kept_terms);
	searching->mixed = searching->terms;
	searching->mixed.block = mixed;
}

/* Evaluates an entry, of whose pieces the first layers run again alone if it says so, in a cut as if all did. */
static enum status evaluate_entry(struct searching *searching, enum evaluation what, struct config_entry *entry)
{
	const struct config_request *request = searching->request;
	struct config_model model = config_search_model_of(searching);
	if (entry->config.recompute_layers > 0) {
		config_mix(&model, &entry->config, searching->first, searching->kept_terms.block, searching->mixed.block);
		model.terms = &searching->mixed;
	}
	enum status status = config_evaluate(
		&model, &entry->config, &request->overheads, searching->first, what, &entry->result);
	entry->fits = status == OK && entry_fits(request, &entry->result);
	entry->guess = searching->step->guess;
	return status;
}

/* Where it fits if all layers run again: as few of each piece as fit, the same number of each, as launchers have it
 * (Megatron's recompute_method block). */
static enum status evaluate_partly(struct searching *searching, const struct config *config)
{
	struct config_model model = config_search_model_of(searching);
	struct config_entry entry = { .config = *config };
	uint32_t low = 0, all = config_piece_layers(&model, config, searching->first), high = all;
	model.terms = &searching->kept_terms;
	enum status status = config_evaluate(
		&model, config, &searching->request->overheads, searching->first, EVALUATE_MEMORY, &entry.result);
	if (status != OK || entry_fits(searching->request, &entry.result))  /* none need to: an entry of its own */
		return status;
	while (high - low > 1) {  /* low: doesn't fit */
		entry.config.recompute_layers = low + (high - low) / 2;
		TRY(evaluate_entry(searching, EVALUATE_MEMORY, &entry));
		*(entry.fits ? &high : &low) = entry.config.recompute_layers;
	}
	entry.config.recompute_layers = high;
	if (high == all)
		return OK;
	TRY(evaluate_entry(searching, EVALUATE_CLOSED, &entry));
	return add_entry(searching, &entry);
}

static enum status config_search_evaluate(struct searching *searching, const struct config *config, bool *fits)
{
	const struct config_request *request = searching->request;
	struct config_model model = config_search_model_of(searching);
	struct config_entry entry = { .config = *config };
	if (config->pp * config->chunks > searching->step->all_blocks)
		return OK;
	int64_t floor;
	enum status status = config_floor(&model, config, &request->overheads, searching->first, &floor);
	bool over = !searching->whole && !config->offload && model.limit >= 0 && floor > model.limit;
	if (status == OK && !over)
		status = config_cut(&model, config, &request->overheads, searching->first);
	if (status == OK && !over)
		status = evaluate_entry(searching, searching->whole ? EVALUATE_CLOSED : EVALUATE_FITTING, &entry);
	*fits = entry.fits;
	bool counts = !config->offload || entry.result.host > 0;  /* else as without: nothing is in time */
	if (status == OK && counts && (entry.fits || searching->whole))
		status = add_entry(searching, &entry);
	else if (status == OK && counts)
		searching->list->evaluated++;
	if (status == OK && entry.fits && searching->kept && !config->offload)
		status = evaluate_partly(searching, config);
	return status == INFEASIBLE ? OK : status;
}

/* With what may wait in the host's memory, where it doesn't fit without, or any memory will do. */
static enum status evaluate_offloads(struct searching *searching, const struct config *config)
{
	const struct config_request *request = searching->request;
	bool fits = false, done[OFFLOADS] = { false };
	TRY(config_search_evaluate(searching, config, &fits));
	for (uint8_t kinds = 1; kinds < OFFLOADS && (!fits || request->machine.memory < 0); kinds++) {
		struct config offloading = *config;
		offloading.offload = kinds;
		if ((kinds & request->offload) == kinds && !done[OFFLOAD_ACTIVATIONS])
			TRY(config_search_evaluate(searching, &offloading, &done[kinds]));
		done[kinds] &= request->machine.memory >= 0;
	}
	return OK;
}

/* Whether a schedule is tried with so many pieces of a rank. */
static bool tries_chunks(const struct searching *searching, enum schedule schedule, uint32_t pp, uint32_t chunks)
{
	uint32_t layers = searching->step->layers, wanted = searching->request->chunks;
	if (schedule != SCHEDULE_INTERLEAVED)
		return chunks == (schedule_folded(schedule) ? 2 : 1);
	return wanted ? chunks > 1 && chunks == wanted : schedule_tries_chunks(layers, pp, chunks);
}

static bool tries_schedule(
	const struct searching *searching, const struct config *config, enum schedule schedule, uint32_t chunks)
{
	int asked = searching->request->schedule, only = config->pp == 1 ? SCHEDULE_1F1B : asked;
	return (only < 0 || (int)schedule == only) && tries_chunks(searching, schedule, config->pp, chunks) &&
		searching->step->all_blocks / config->pp >= chunks &&
		schedule_possible(schedule, config->pp, chunks, config->microbatches, NULL) == OK;
}

/* Schedules and ZeRO stages of given degrees. */
static enum status vary_schedule(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	config.replicate = request->replicate;
	if (config.replicate > 1 && config.dp % config.replicate != 0)
		return OK;
	memset(searching->cuts.known, 0, sizeof searching->cuts.known);
	uint32_t counted = 0;
	for (int zero = 0; zero <= 3; zero++) {
		if (request->zero >= 0 ? zero != request->zero : zero > 0 && config.dp * config.cp * config.ep == 1)
			continue;
		config.zero = (uint8_t)zero;
		config.keeps = zero == 3 && request->keeps;
		uint32_t before = searching->list->all;
		bool stopped = is_stopped(searching);
		if (!stopped)
			config_search_terms(searching, &config);
		searching->list->all += counted;
		if (counted > 0)    /* stages have the same schedules */
			continue;
		FOR_INT(schedule, SCHEDULE_COUNT)
			for (uint32_t chunks = 1; chunks <= (request->chunks ? request->chunks + 1 : SCHEDULE_CHUNKS_MAX); chunks++) {
				if (!tries_schedule(searching, &config, (enum schedule)schedule, chunks))
					continue;
				config.schedule = (uint8_t)schedule;
				config.chunks = chunks;
				searching->list->all++;
				if (is_stopped(searching))
					continue;
				searching->list->looked++;
				TRY(evaluate_offloads(searching, &config));
			}
		counted = stopped ? searching->list->all - before : 0;
	}
	return OK;
}

/* Pipelines: what the other degrees leave. */
static enum status vary_pipeline(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	uint32_t inner = config.tp * config.cp * config.ep, rest = request->devices / inner;
	enum status status = OK;
	for (uint32_t pp = 1; pp <= rest && pp <= searching->step->all_blocks && status == OK; pp++) {
		config.pp = pp;
		config.dp = rest / pp;
		int64_t together = (int64_t)config.dp * config.ep * config.microbatch;
		if (rest % pp != 0 || (request->pp && pp != request->pp) || (request->dp && config.dp != request->dp)
			|| request->batch % together != 0)
			continue;
		config.microbatches = (uint32_t)(request->batch / together);
		if (request->microbatches && config.microbatches != request->microbatches)
			continue;
		status = vary_schedule(searching, config);
		if (request->watch)
			request->watch->found(request->watch->context, searching->list);
	}
	return status;
}

/* ---- shardings ---- */

static enum status split_open(
	const struct searching *searching, const struct step *step, const struct config *config, struct sharding *sharding)
{
	const struct config_request *request = searching->request;
	struct mesh mesh = { .padding = request->padding, .copies = request->copies };
	struct axis_roles roles[MESH_AXES];
	if (step->shares > 1) {
		roles[mesh.axes] = roles_data;
		mesh_add_axis(&mesh, "dp", step->shares, config->ep * config->cp * config->tp, request->devices_per_node,
			&(struct machine) { .memory = -1 });
	}
	if (config->ep > 1) {
		roles[mesh.axes] = roles_experts;
		mesh_add_axis(&mesh, "ep", config->ep, config->cp * config->tp, request->devices_per_node, &request->machine);
	}
	if (config->cp > 1) {
		roles[mesh.axes] = roles_context;
		mesh_add_axis(&mesh, "cp", config->cp, config->tp, request->devices_per_node, &request->machine);
	}
	if (config->tp > 1) {
		roles[mesh.axes] = config->sp ? roles_tensor_sp : roles_tensor;
		mesh_add_axis(&mesh, "tp", config->tp, 1, request->devices_per_node, &request->machine);
	}
	units_dispatch(&step->units, &mesh);
	return split_by_roles(&step->units, &mesh, roles, sharding);
}

/* The costs of all blocks under it. */
static enum status split_cost(struct searching *searching, const struct step *step, const struct sharding *sharding)
{
	HELD struct block_cost *MAKE(cost, step->blocks.blocks);
	struct machine machine = machine_of(searching->request);
	NEED(cost);
	TRY(block_costs_find(&step->units, sharding, &step->blocks, &step->work, &machine, cost));
	searching->list->splits++;
	FOR(b, step->blocks.blocks)
		cost[b].ideal /= step->shares;
	across_find(&step->units, sharding, &step->blocks, cost);
	config_hide(&searching->request->overheads, cost, step->blocks.blocks);
	config_search_expand(searching, step, cost);
	return OK;
}

static enum status split_one(struct searching *searching, const struct step *step, const struct config *config)
{
	struct sharding sharding;
	TRY(split_open(searching, step, config, &sharding));
	enum status status = split_cost(searching, step, &sharding);
	sharding_free(&sharding);
	return status;
}

/* What the step computes again, under a sharding. */
static enum status vary_recompute(struct searching *searching, struct config config)
{
	for (int recompute = RECOMPUTE_NONE; recompute < RECOMPUTE_COUNT; recompute++) {
		bool stopped = control_spend(searching->control, 1);
		int64_t samples = stopped ? searching->open[0]->samples : samples_of(&config);
		struct step *step = step_of(
			searching, samples, recompute, shares_of(searching, samples, searching->request->dp));
		if (!step)
			continue;
		config.recompute = (uint8_t)recompute;
		if (!stopped)
			TRY(split_one(searching, step, &config));
		step_take(searching, step);
		TRY(vary_pipeline(searching, config));
	}
	return OK;
}

/* Whether the model has what that tensor and context parallelism cut; what was asked for and isn't there is noted. */
static bool inner_splits(struct searching *searching, uint32_t tp, uint32_t cp, bool sp)
{
	const struct config_request *request = searching->request;
	const struct units *units = &searching->step->units;
	bool heads = tp == 1 || has_role(units, ROLE_HEADS, tp) || has_role(units, ROLE_FFN, tp);
	bool rows = (cp == 1 && !sp) || has_role(units, ROLE_SEQUENCE, (int64_t)cp * (sp ? tp : 1));
	if (!heads && tp == request->tp)
		PRINT_TO(searching->unsplit, "tp %u divides neither heads nor the feed-forward width", tp);
	else if (!rows && (cp == request->cp || (sp && tp == request->tp)))
		PRINT_TO(searching->unsplit, "the model has no sequence that %s %u divides", cp > 1 ? "cp" : "sp with tp",
			cp > 1 ? cp : tp);
	return heads && rows;
}

static enum status vary_inner(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	uint64_t tp_most = request->tp ? request->tp : request->devices_per_node,
			 cp_most = request->cp ? request->cp : 2 * (uint64_t)request->devices_per_node;
	for (uint32_t tp = request->tp ? request->tp : 1; tp <= tp_most; tp++)
		for (uint32_t cp = request->cp ? request->cp : 1; cp <= cp_most; cp++)
			FOR_INT(sp, 2) {
				uint64_t inner = (uint64_t)tp * cp * config.ep;
				if (inner > request->devices || request->devices % inner != 0 || (sp && tp == 1) ||
					(request->sp >= 0 && tp > 1 && sp != request->sp) || !inner_splits(searching, tp, cp, sp))
					continue;
				config.tp = tp;
				config.cp = cp;
				config.sp = (uint8_t)sp;
				TRY(vary_recompute(searching, config));
			}
	return OK;
}

/* ---- steps of all sizes ---- */

/* The steps of so many samples. One that computes nothing again is the same as without. */
static enum status open_steps(struct searching *searching, int64_t samples)
{
	int wanted = searching->request->recompute, end = wanted >= 0 ? wanted : RECOMPUTE_AUTO - 1;
	for (int recompute = wanted >= 0 ? wanted : RECOMPUTE_NONE; recompute <= end; recompute++) {
		enum status status = step_open(searching, samples, recompute, searching->request->dp);
		bool again = wanted < 0 && recompute != RECOMPUTE_NONE;
		if (status != OK && !(again && status == BAD_INPUT))
			return status;
		if (again && (status != OK || searching->step->graph->ops == searching->open[0]->graph->ops)) {
			step_close(searching);
			step_take(searching, searching->open[0]);
		}
	}
	return OK;
}

/* All ways to run so many samples at once: microbatch x ep. */
static enum status vary_samples(
	struct searching *searching, uint64_t samples, uint32_t microbatch_most, uint64_t ep_most)
{
	const struct config_request *request = searching->request;
	bool any = request->microbatches || request->microbatch; /* who asks for one may mean 3 samples, too */
	enum status status = OK;
	for (uint32_t microbatch = 1; microbatch <= SMALLER(microbatch_most, samples) && status == OK;
		microbatch += any ? 1 : microbatch) {
		uint64_t ep = samples / microbatch;
		if (samples % microbatch != 0 || ep > ep_most || request->devices % ep != 0 || (request->ep && ep != request->ep) ||
			(ep > 1 && searching->dense) || (request->microbatch && microbatch != request->microbatch))
			continue;
		struct config config = { .microbatch = microbatch, .ep = (uint32_t)ep };
		if (searching->opened == 0)
			TRY(open_steps(searching, (int64_t)samples));
		if (ep > 1 && !has_role(&searching->step->units, ROLE_EXPERTS, (int64_t)ep))
			PRINT_TO(searching->unsplit, "ep %u doesn't divide the experts", config.ep);
		else
			status = vary_inner(searching, config);
	}
	return status;
}

static enum status vary_all(struct searching *searching)
{
	const struct config_request *request = searching->request;
	uint64_t batch = (uint64_t)request->batch, most = !request->microbatches ? MICROBATCH_MAX : UINT32_MAX / 2,
			 ep_most = request->ep ? request->ep : 8 * (uint64_t)request->devices_per_node;
	enum status status = OK;
	for (uint64_t samples = 1; samples <= batch && samples <= most * ep_most && status == OK; samples++) {
		if (batch % samples != 0)
			continue;
		status = vary_samples(searching, samples, (uint32_t)most, ep_most);
		if (!is_stopped(searching) || status != OK)
			close_steps(searching);
		if (status == BAD_INPUT && searching->list->evaluated > 0)   /* a batch that this graph can't have */
			status = OK;
	}
	return status;
}

/* ---- the fastest, played ---- */

/* Evaluates an entry anew, its schedule played slot by slot. The step is open and split. */
static enum status config_search_play(struct searching *searching, struct config_entry *entry)
{
	const struct config *config = &entry->config;
	struct config_model model = config_search_model_of(searching);
	memset(searching->cuts.known, 0, sizeof searching->cuts.known);
	config_search_terms(searching, config);
	TRY(config_cut(&model, config, &searching->request->overheads, searching->first));
	TRY(evaluate_entry(searching, EVALUATE_PLAYED, entry));
	while (!entry->fits && config->recompute_layers > 0 &&
		config->recompute_layers + 1 < config_piece_layers(&model, config, searching->first)) {
		entry->config.recompute_layers++;  /* more was in flight than the schedule's definition says */
		TRY(evaluate_entry(searching, EVALUATE_PLAYED, entry));
	}
	return OK;
}

static bool same_step(const struct config *a, const struct config *b)
{
	return a->microbatch == b->microbatch && a->ep == b->ep && a->recompute == b->recompute &&
		(samples_of(a) > 1 || (a->dp == 1) == (b->dp == 1));
}

static bool same_split(const struct config *a, const struct config *b)
{
	return same_step(a, b) && a->tp == b->tp && a->cp == b->cp && a->sp == b->sp;
}

/* Plays the wanted entries from one on that share its sharding. */
static enum status config_search_refine_split(struct searching *searching, uint32_t i, bool *wanted)
{
	const struct config_list *list = searching->list;
	const struct config config = list->entry[i]->config;
	TRY(split_one(searching, searching->step, &config));
	if (searching->kept)
		TRY(split_one(searching, searching->kept, &config));
	for (; i < list->fitting; i++)
		if (wanted[i] && same_split(&config, &list->entry[i]->config)) {
			if (control_spend(searching->control, 1))
				return control_status(searching->control);
			enum status status = config_search_play(searching, list->entry[i]);
			if (status != INFEASIBLE) /* cut where this form of the step can't be: it stays as it was estimated */
				TRY(status);
			list->entry[i]->played = true;
			wanted[i] = false;
		}
	return OK;
}

/* Plays the schedules of the wanted entries; those that share a step one after the other. */
static enum status config_search_refine(struct searching *searching, bool *wanted)
{
	const struct config_list *list = searching->list;
	TRY(control_status(searching->control));
	FOR(i, list->fitting) {
		if (!wanted[i])
			continue;
		const struct config config = list->entry[i]->config;
		if (config.recompute != RECOMPUTE_NONE && searching->request->recompute < 0)
			TRY(step_open(searching, samples_of(&config), RECOMPUTE_NONE, config.dp));
		TRY(step_open(searching, samples_of(&config), config.recompute, config.dp));
		FOR_FROM(j, i, list->fitting)
			if (wanted[j] && same_step(&config, &list->entry[j]->config))
				TRY(config_search_refine_split(searching, j, wanted));
	}
	return OK;
}

/* The fastest are played, then what leads because nobody has played it yet: closed forms are below what many schedules
 * take. */
static enum status rank_played(struct searching *searching)
{
	struct config_list *list = searching->list;
	HELD bool *MAKE(wanted, list->entries);
	NEED(wanted || list->entries == 0);
	FOR(i, list->entries) {
		const struct config *config = &list->entry[i]->config;
		list->entry[i]->played = config->pp == 1 &&
			shares_of(searching, samples_of(config), config->dp) ==
				shares_of(searching, samples_of(config), searching->request->dp);
	}
	if (!is_stopped(searching))
		TRY(config_rank_by_time(list));
	FOR_WHILE(i, list->fitting, i < EXACT_MOST)
		wanted[i] = !list->entry[i]->played;
	enum status status = config_search_refine(searching, wanted);
	TRY(config_rank_fitting(list));
	for (uint32_t each = 1; status == OK && config_want_leading(list, EXACT_LEADING, each, wanted) > 0;
		each += each < PLAYED_MOST ? each : 0) {
		status = config_search_refine(searching, wanted);
		TRY(config_rank_fitting(list));
	}
	if (status == OK || list->fitting == 0)
		TRY(config_rank(list));
	return status;
}

static enum status search_once(struct searching *searching)
{
	enum status status = vary_all(searching);
	status = status == OK ? rank_played(searching) : status;
	close_steps(searching);
	return status;
}

/* ---- one configuration ---- */

struct config_case {
	struct searching searching;
	struct config_request request;
	struct config_list counts;
	struct config config;
	struct sharding sharding;
	bool is_split;
};

struct config_case *config_case_open(
	const struct config_request *request, const struct config *config, struct error *error)
{
	struct config_case *MAKE(opened, 1);
	if (!opened) {
		fail_memory(error);
		return NULL;
	}
	opened->request = *request;
	opened->config = *config;
	opened->searching = (struct searching){
		.request = &opened->request, .rules = rules_new(), .list = &opened->counts, .error = error
	};
	enum status status = opened->searching.rules
		? step_open(&opened->searching, samples_of(config), config->recompute, config->dp) : NO_MEMORY;
	if (error_set(error, status) == OK)
		return opened;
	if (status == NO_MEMORY)
		fail_memory(error);
	config_case_free(opened);
	return NULL;
}

void config_case_free(struct config_case *opened)
{
	if (!opened)
		return;
	if (opened->is_split)
		sharding_free(&opened->sharding);
	close_steps(&opened->searching);
	mem_free(opened->searching.open);
	rules_free(opened->searching.rules);
	mem_free(opened);
}

enum status config_case_evaluate(struct config_case *opened, const struct machine *machine,
	const struct overheads *overheads, struct config_result *result)
{
	opened->request.machine = *machine;
	opened->request.machine.memory = -1;
	opened->request.overheads.inside = overheads->inside;
	struct searching *searching = &opened->searching;
	if (!opened->is_split)
		TRY(split_open(searching, searching->step, &opened->config, &opened->sharding));
	struct mesh *mesh = &opened->sharding.mesh;
	opened->is_split = true;
	FOR_FROM(a, searching->step->shares > 1, mesh->axes) { /* how a step is split doesn't depend on links */
		mesh->axis[a].near = machine->near;
		mesh->axis[a].far = machine->far;
	}
	TRY(split_cost(searching, searching->step, &opened->sharding));
	struct config_model model = config_search_model_of(searching);
	model.cuts = NULL;
	config_terms_find(&model, &opened->config, overheads, &searching->terms);
	TRY(config_cut(&model, &opened->config, overheads, searching->first));
	return config_evaluate(&model, &opened->config, overheads, searching->first, EVALUATE_PLAYED, result);
}

enum status config_search(
	const struct config_request *request, struct control *control, struct config_list *list, struct error *error)
{
	struct searching searching = {
		.request = request, .control = control, .rules = rules_new(), .list = list, .error = error
	};
	*list = (struct config_list) { 0 };
	NEEDED(error, searching.rules);
	searching.whole = request->rows > ROWS_MANY;
	enum status status = search_once(&searching);
	if (status == OK && list->entries < list->evaluated && list->fitting < LARGER(request->rows, 1)) {
		config_list_free(list);
		searching.room = 0;
		searching.whole = true;
		status = search_once(&searching);
	}
	mem_free(searching.open);
	rules_free(searching.rules);
	if (status == OK && list->evaluated == 0)
		status = config_refuse(request, searching.dense, searching.unsplit, searching.pp_most, error);
	if (status != OK && status != CANCELLED)
		config_list_free(list);
	return status == NO_MEMORY ? fail_memory(error) : status;
}
