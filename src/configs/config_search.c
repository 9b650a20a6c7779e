/* config_search.c: enumerating configurations. */

#include "config_search.h"
#include "src/scenario/devices.h"

#define MICROBATCH_MAX 16   /* where their number is open */
#define EXACT_MOST 64  /* fastest configurations whose schedule is played slot by slot */
#define EXACT_LEADING 20  /* of the fastest of each cut of the model so many, too, */
#define PLAYED_MOST 64  /* and at most so many others that would take their places, at a time */

/* A step and what all its shardings share. */
struct step {
	struct graph *graph;
	bool guess;
	struct units units;
	struct blocks blocks;
	struct block_work work;
	struct arena arena;
	uint32_t inserted, period;   /* copies of blocks [inserted - period, inserted) go in at inserted */
	uint32_t layer, layers,
		layer_blocks;  /* of the whole model: the first repeated block, how many layers, blocks of one */
	uint32_t all_blocks;  /* of the whole model */
	struct block_cost *cost;  /* [all_blocks] under the sharding at hand */
};

struct searching {
	const struct config_request *request;
	struct control *control;
	struct rules *rules;
	struct config_list *list;
	size_t room;
	struct step step;
	struct step
		kept; /* the same without recomputation, where some of the layers may do without; all_blocks 0: there is none */
	struct block_cost *mixed;  /* [blocks] of some layers as of step, of the others as of kept */
	uint32_t blocks, *first;  /* first[pieces + 1] of a cut */
	bool dense;  /* the model has no experts */
	char unsplit[100];  /* the last degree that no dim divides by, in words */
	uint32_t whole_ops;  /* of the last step without recomputation */
	struct error *error;
};

static bool has_role(const struct units *units, enum factor_role role, int64_t divisor)
{
	for (uint32_t i = 0; i < units->factors.factors; i++)
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

static enum status step_build(struct searching *searching, int64_t batch, enum recompute recompute, struct step *step)
{
	const struct config_request *request = searching->request;
	step->graph = request->step(request->context, batch, recompute, &step->guess, searching->error);
	if (!step->graph)
		return searching->error->status;
	searching->list->graphs++;
	enum status status = units_find(step->graph, searching->rules, &step->units);
	if (status == OK)
		status = blocks_find(step->graph, &step->blocks);
	if (status == OK)
		status = block_work_find(step->graph, searching->rules, &step->arena, &step->work);
	uint32_t begin, length, period;
	if (status == OK && request->repeat > 0) {
		if (!blocks_period(&step->blocks, &begin, &length, &period))
			return fail(searching->error, BAD_INPUT, "no repeated layer was found in the model");
		step->period = period;
		step->inserted = begin + 2 * period <= begin + length ? begin + 2 * period : begin + period;
	}
	if (status == OK && blocks_period(&step->blocks, &begin, &length, &period)) {
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
	step->all_blocks = step->blocks.blocks + request->repeat * step->period;
	if (status == OK && !(step->cost = mem_alloc(step->all_blocks, sizeof *step->cost)))
		status = NO_MEMORY;
	return status;
}

/* The step without recomputation, where it has the same blocks: layers may do without. */
static enum status open_kept(struct searching *searching, const struct config *config)
{
	if (config->recompute == RECOMPUTE_NONE || searching->request->recompute >= 0 ||
		searching->request->machine.memory < 0)
		return OK;
	enum status status = step_build(searching, (int64_t)config->microbatch * config->ep, RECOMPUTE_NONE, &searching->kept);
	const struct step *step = &searching->step, *kept = &searching->kept;
	bool alike = status == OK && step->all_blocks == kept->all_blocks && step->layers == kept->layers &&
		step->layers > 0 && step->layer == kept->layer && step->layer_blocks == kept->layer_blocks;
	searching->mixed = alike ? mem_alloc(step->all_blocks, sizeof *searching->mixed) : NULL;
	if (alike && !searching->mixed)
		return NO_MEMORY;
	if (!alike)
		step_free(&searching->kept);
	return status;
}

static void close_steps(struct searching *searching)
{
	step_free(&searching->step);
	step_free(&searching->kept);
	mem_free(searching->mixed);
	mem_free(searching->first);
	searching->mixed = NULL;
	searching->first = NULL;
}

/* partial: some of the layers may keep their activations. */
static enum status step_open(struct searching *searching, const struct config *config, bool partial)
{
	enum status status = step_build(
		searching, (int64_t)config->microbatch * config->ep, (enum recompute)config->recompute, &searching->step);
	searching->blocks = searching->step.all_blocks;
	searching->dense = status == OK && !has_role(&searching->step.units, ROLE_EXPERTS, 1);
	return status == OK && partial ? open_kept(searching, config) : status;
}

/* Writes the repeated layer's costs out. */
static void config_search_expand(
	const struct searching *searching, const struct step *step, const struct block_cost *cost)
{
	uint32_t added = searching->request->repeat * step->period, at = step->inserted;
	for (uint32_t b = 0; b < step->all_blocks; b++) {
		uint32_t source = b < at ? b : b < at + added ? at - step->period + (b - at) % step->period : b - added;
		step->cost[b] = cost[source];
		if (cost[source].shared_with != NONE && cost[source].shared_with >= at)
			step->cost[b].shared_with += added;
	}
}

/* ---- entries ---- */

static enum status add_entry(struct searching *searching, const struct config_entry *entry)
{
	struct config_list *list = searching->list;
	NEED(mem_reserve(&list->entry, &searching->room, list->entries + 1, sizeof *list->entry));
	list->entry[list->entries++] = *entry;
	return OK;
}

/* What ops move under the kernels that the request's model runs. */
static struct machine machine_of(const struct config_request *request)
{
	struct machine machine = request->machine;
	machine.fused = request->eager ? machine.eager : machine.fused;
	return machine;
}

static struct config_model config_search_model_of(const struct searching *searching)
{
	const struct config_request *request = searching->request;
	const struct step *step = &searching->step;
	return (struct config_model) { .blocks = searching->blocks, .cost = step->cost, .machine = &request->machine,
		.devices_per_node = request->devices_per_node, .limit = request->machine.memory, .layer = step->layer,
		.layers = step->layers, .period = step->layer_blocks, .joint = step->work.joint, .even = request->even };
}

static bool entry_fits(const struct config_request *request, const struct config_result *result)
{
	return (request->machine.memory < 0 || result->worst.total <= request->machine.memory) &&
		(request->host_memory == 0 || result->host <= request->host_memory);
}

/* Evaluates an entry, of whose pieces the first layers run again alone if it says so, in a cut as if all did. */
static enum status evaluate_entry(const struct searching *searching, bool exact, struct config_entry *entry)
{
	const struct config_request *request = searching->request;
	struct config_model model = config_search_model_of(searching);
	if (entry->config.recompute_layers > 0) {
		config_mix(&model, &entry->config, searching->first, searching->kept.cost, searching->mixed);
		model.cost = searching->mixed;
	}
	enum status status = config_evaluate(
		&model, &entry->config, &request->overheads, searching->first, exact, &entry->result);
	entry->fits = status == OK && entry_fits(request, &entry->result);
	entry->guess = searching->step.guess;
	return status;
}

/* Where it fits if all layers run again: as few of each piece as fit, the same number of each, as launchers have it
 * (Megatron's recompute_method block). */
static enum status evaluate_partly(struct searching *searching, const struct config *config)
{
	struct config_model model = config_search_model_of(searching);
	struct config_entry entry = { .config = *config }, best = { 0 };
	uint32_t low = 0, high = config_piece_layers(&model, config, searching->first);
	model.cost = searching->kept.cost;
	enum status status = config_evaluate(
		&model, config, &searching->request->overheads, searching->first, false, &entry.result);
	if (status != OK || entry_fits(searching->request, &entry.result))  /* none need to: an entry of its own */
		return status;
	while (high - low > 1 && status == OK) {  /* low: doesn't fit */
		entry.config.recompute_layers = low + (high - low) / 2;
		status = evaluate_entry(searching, false, &entry);
		best = entry.fits ? entry : best;
		*(entry.fits ? &high : &low) = entry.config.recompute_layers;
	}
	return status == OK && best.fits ? add_entry(searching, &best) : status;
}

static enum status config_search_evaluate(struct searching *searching, const struct config *config, bool *fits)
{
	const struct config_request *request = searching->request;
	struct config_model model = config_search_model_of(searching);
	struct config_entry entry = { .config = *config };
	if (config->pp * config->chunks > searching->blocks)
		return OK;
	enum status status = config_cut(&model, config, &request->overheads, searching->first);
	if (status == OK)
		status = evaluate_entry(searching, false, &entry);
	*fits = entry.fits;
	if (!config->offload || entry.result.host > 0)  /* a link that carries nothing in time: as without */
		if (status == OK)
			status = add_entry(searching, &entry);
	if (entry.fits && searching->kept.all_blocks > 0 && !config->offload)
		if (status == OK)
			status = evaluate_partly(searching, config);
	return status == INFEASIBLE ? OK : status;
}

/* With what may wait in the host's memory, where it doesn't fit without, or any memory will do. */
static enum status evaluate_offloads(struct searching *searching, const struct config *config)
{
	const struct config_request *request = searching->request;
	bool fits = false, done[OFFLOADS] = { false };
	enum status status = config_search_evaluate(searching, config, &fits);
	for (uint8_t kinds = 1; kinds < OFFLOADS && status == OK && (!fits || request->machine.memory < 0); kinds++) {
		struct config offloading = *config;
		offloading.offload = kinds;
		if ((kinds & request->offload) == kinds && !done[OFFLOAD_ACTIVATIONS])
			status = config_search_evaluate(searching, &offloading, &done[kinds]);
		done[kinds] &= request->machine.memory >= 0;
	}
	return status;
}

/* Whether a schedule is tried with so many pieces of a rank. */
static bool tries_chunks(const struct searching *searching, enum schedule schedule, uint32_t pp, uint32_t chunks)
{
	uint32_t layers = searching->step.layers, wanted = searching->request->chunks;
	if (schedule != SCHEDULE_INTERLEAVED)
		return chunks == (schedule_folded(schedule) ? 2 : 1);
	return wanted ? chunks > 1 && chunks == wanted : schedule_tries_chunks(layers, pp, chunks);
}

/* Schedules and ZeRO stages of given degrees. */
static enum status vary_schedule(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	enum status status = OK;
	config.replicate = request->replicate;
	if (config.replicate > 1 && config.dp % config.replicate != 0)
		return OK;
	for (int schedule = 0; schedule < SCHEDULE_COUNT && status == OK; schedule++)
		for (uint32_t chunks = 1; chunks <= (request->chunks ? request->chunks + 1 : SCHEDULE_CHUNKS_MAX); chunks++)
			for (int zero = 0; zero <= 3 && status == OK; zero++) {
				bool needless = (config.pp == 1 && schedule != SCHEDULE_1F1B) ||
					(zero > 0 && request->zero < 0 && config.dp * config.cp * config.ep == 1);
				bool impossible = !tries_chunks(searching, (enum schedule)schedule, config.pp, chunks) ||
					searching->blocks / config.pp < chunks ||
					schedule_possible((enum schedule)schedule, config.pp, chunks, config.microbatches, NULL) != OK;
				if (needless || impossible || (request->zero >= 0 && zero != request->zero) ||
					(request->schedule >= 0 && config.pp > 1 && schedule != request->schedule))
					continue;
				config.schedule = (uint8_t)schedule;
				config.chunks = chunks;
				config.zero = (uint8_t)zero;
				config.keeps = zero == 3 && request->keeps;
				status = evaluate_offloads(searching, &config);
			}
	return status;
}

/* Pipelines: what the other degrees leave. */
static enum status vary_pipeline(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	uint32_t inner = config.tp * config.cp * config.ep, rest = request->devices / inner;
	enum status status = OK;
	for (uint32_t pp = 1; pp <= rest && pp <= searching->blocks && status == OK; pp++) {
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
	}
	return status;
}

/* ---- shardings ---- */

/* A sharding with its context and experts axes, or NONE. */
struct split_step { struct sharding sharding; uint32_t context, experts; };

static enum status split_open(
	const struct searching *searching, const struct step *step, const struct config *config, struct split_step *split)
{
	const struct config_request *request = searching->request;
	struct mesh mesh = { .padding = request->padding };
	struct axis_roles roles[MESH_AXES];
	uint32_t context = NONE, experts = NONE;
	if (config->ep > 1) {
		roles[experts = mesh.axes] = roles_experts;
		mesh_add_axis(&mesh, "ep", config->ep, config->cp * config->tp, request->devices_per_node, &request->machine);
	}
	if (config->cp > 1) {
		roles[context = mesh.axes] = roles_context;
		mesh_add_axis(&mesh, "cp", config->cp, config->tp, request->devices_per_node, &request->machine);
	}
	if (config->tp > 1) {
		roles[mesh.axes] = config->sp ? roles_tensor_sp : roles_tensor;
		mesh_add_axis(&mesh, "tp", config->tp, 1, request->devices_per_node, &request->machine);
	}
	units_dispatch(&step->units, &mesh);
	split->context = context;
	split->experts = experts;
	return split_by_roles(&step->units, &mesh, roles, &split->sharding);
}

static int64_t config_search_share_of(int64_t time, uint32_t thousandths)
{
	return time / 1000 * thousandths;
}

/* Leaves out of collectives inside layers what products hide. */
static void hide(const struct overheads *overheads, struct block_cost *cost, uint32_t blocks)
{
	for (uint32_t b = 0; b < blocks; b++) {
		int64_t forward = config_search_share_of(cost[b].forward_link, overheads->inside),
				backward = config_search_share_of(cost[b].backward_link, overheads->inside);
		int64_t weight = config_search_share_of(cost[b].weight_link, overheads->inside);
		cost[b].forward -= forward;
		cost[b].forward_link -= forward;
		cost[b].backward -= backward;
		cost[b].backward_link -= backward;
		cost[b].weight -= weight;
		cost[b].weight_link -= weight;
		cost[b].beside = config_search_share_of(cost[b].summed, overheads->inside);
	}
}

/* The costs of all blocks under it. */
static enum status split_cost(struct searching *searching, const struct step *step, const struct split_step *split)
{
	HELD struct block_cost *cost = mem_alloc(step->blocks.blocks, sizeof *cost);
	struct machine machine = machine_of(searching->request);
	enum status status = !cost ? NO_MEMORY
		: block_costs_find(&step->units, &split->sharding, &step->blocks, &step->work, &machine,
									 split->context, split->experts, cost);
	if (status == OK) {
		searching->list->splits++;
		across_find(&step->units, &split->sharding, &step->blocks, cost);
		hide(&searching->request->overheads, cost, step->blocks.blocks);
		config_search_expand(searching, step, cost);
	}
	return status;
}

static enum status split_one(struct searching *searching, const struct step *step, const struct config *config)
{
	struct split_step split;
	TRY(split_open(searching, step, config, &split));
	enum status status = split_cost(searching, step, &split);
	sharding_free(&split.sharding);
	return status;
}

static enum status config_search_split(struct searching *searching, const struct config *config)
{
	TRY(split_one(searching, &searching->step, config));
	return searching->kept.all_blocks > 0 ? split_one(searching, &searching->kept, config) : OK;
}

static enum status vary_inner(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	const struct units *units = &searching->step.units;
	uint64_t tp_most = request->tp ? request->tp : request->devices_per_node,
			 cp_most = request->cp ? request->cp : 2 * (uint64_t)request->devices_per_node;
	for (uint32_t tp = request->tp ? request->tp : 1; tp <= tp_most; tp++)
		for (uint32_t cp = request->cp ? request->cp : 1; cp <= cp_most; cp++)
			for (int sp = 0; sp < 2; sp++) {
				uint64_t inner = (uint64_t)tp * cp * config.ep;
				if (inner > request->devices || request->devices % inner != 0 || (sp && tp == 1) ||
					(request->sp >= 0 && tp > 1 && sp != request->sp))
					continue;
				bool heads = tp == 1 || has_role(units, ROLE_HEADS, tp) || has_role(units, ROLE_FFN, tp);
				bool rows = (cp == 1 && !sp) || has_role(units, ROLE_SEQUENCE, (int64_t)cp * (sp ? tp : 1));
				if (!heads && tp == request->tp)
					snprintf(searching->unsplit, sizeof searching->unsplit,
						"tp %u divides neither heads nor the feed-forward width", tp);
				else if (!rows && (cp == request->cp || (sp && tp == request->tp)))
					snprintf(searching->unsplit, sizeof searching->unsplit,
						"the model has no sequence that %s %u divides", cp > 1 ? "cp" : "sp with tp", cp > 1 ? cp : tp);
				if (!heads || !rows)
					continue;
				config.tp = tp;
				config.cp = cp;
				config.sp = (uint8_t)sp;
				TRY(control_spend(searching->control, 1) ? control_status(searching->control)
														 : config_search_split(searching, &config));
				TRY(vary_pipeline(searching, config));
			}
	return OK;
}

/* ---- steps of all sizes ---- */

static enum status vary_step(struct searching *searching, struct config config)
{
	const struct config_request *request = searching->request;
	uint32_t most = 0;
	enum status status = step_open(searching, &config, true);
	if (status == OK && config.ep > 1 && !has_role(&searching->step.units, ROLE_EXPERTS, config.ep)) {
		snprintf(searching->unsplit, sizeof searching->unsplit, "ep %u doesn't divide the experts", config.ep);
		close_steps(searching);
		return OK;
	}
	if (status == OK) {
		most = searching->blocks > request->devices ? searching->blocks : request->devices;
		searching->first = mem_alloc((size_t)8 * most + 1, sizeof *searching->first);
		status = searching->first ? OK : NO_MEMORY;
		if (config.recompute == RECOMPUTE_NONE)
			searching->whole_ops = searching->step.graph->ops;
		/* nothing to compute again: the same as without */
		if (status == OK && (config.recompute == RECOMPUTE_NONE || searching->step.graph->ops != searching->whole_ops))
			status = vary_inner(searching, config);
	}
	close_steps(searching);
	return status;
}

static enum status vary_all(struct searching *searching)
{
	const struct config_request *request = searching->request;
	uint32_t most = request->microbatches
		? (uint32_t)(request->batch < UINT32_MAX / 2 ? request->batch : UINT32_MAX / 2)
		: MICROBATCH_MAX;
	uint64_t ep_most = request->ep ? request->ep : 8 * (uint64_t)request->devices_per_node;
	enum status status = OK;
	for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_OPS && status == OK; recompute++)
		for (uint32_t microbatch = 1; microbatch <= most && microbatch <= request->batch && status == OK; microbatch *= 2)
			for (uint32_t ep = request->ep ? request->ep : 1; ep <= ep_most && status == OK; ep++) {
				if ((recompute >= RECOMPUTE_AUTO && recompute != request->recompute) || request->devices % ep != 0 ||
					(ep > 1 && searching->dense) || (request->recompute >= 0 && recompute != request->recompute) ||
					(request->microbatch && microbatch != request->microbatch) ||
					request->batch % ((int64_t)microbatch * ep) != 0)
					continue;
				struct config config = { .microbatch = microbatch, .ep = ep, .recompute = (uint8_t)recompute };
				status = vary_step(searching, config);
				if (status == BAD_INPUT && searching->list->entries > 0)   /* a batch that this graph can't have */
					status = OK;
			}
	return status;
}

/* ---- the fastest, played ---- */

/* Evaluates an entry anew, its schedule played slot by slot. The step is open. */
static enum status config_search_play(struct searching *searching, struct config_entry *entry)
{
	const struct config *config = &entry->config;
	searching->first = mem_alloc((size_t)config->pp * config->chunks + 1, sizeof *searching->first);
	enum status status = searching->first ? config_search_split(searching, config) : NO_MEMORY;
	struct config_model model = config_search_model_of(searching);
	if (status == OK)
		status = config_cut(&model, config, &searching->request->overheads, searching->first);
	if (status == OK)
		status = evaluate_entry(searching, true, entry);
	while (status == OK && !entry->fits && config->recompute_layers > 0 &&
		config->recompute_layers + 1 < config_piece_layers(&model, config, searching->first)) {
		entry->config.recompute_layers++;  /* more was in flight than the schedule's definition says */
		status = evaluate_entry(searching, true, entry);
	}
	mem_free(searching->first);
	searching->first = NULL;
	return status;
}

static bool same_step(const struct config *a, const struct config *b)
{
	return a->microbatch == b->microbatch && a->ep == b->ep && a->recompute == b->recompute;
}

/* Plays the schedules of the wanted entries; those that share a step one after the other. */
static enum status config_search_refine(struct searching *searching, bool *wanted)
{
	struct config_list *list = searching->list;
	struct config_entry *entry = list->entry;
	enum status status = OK;
	for (uint32_t i = 0; i < list->fitting && status == OK; i++) {
		if (!wanted[i])
			continue;
		const struct config config = entry[i].config;
		status = step_open(searching, &config, true);
		for (uint32_t j = i; j < list->fitting && status == OK; j++)
			if (wanted[j] && same_step(&config, &entry[j].config)) {
				status = control_spend(searching->control, 1) ? control_status(searching->control)
					: config_search_play(searching, &entry[j]);
				entry[j].played = true;
				wanted[j] = false;
			}
		close_steps(searching);
	}
	return status;
}

/* Of the first leading entries that nobody has played, and of the variants that come next in their cuts, so many of
 * each; how many in all. O(fitting). */
static uint32_t want_leading(const struct config_list *list, uint32_t each, bool *wanted)
{
	uint32_t count = 0, leading = list->leading < EXACT_LEADING ? list->leading : EXACT_LEADING;
	for (uint32_t lead = 0; lead < leading; lead++) {
		const struct config *leader = &list->entry[lead].config;
		if (list->entry[lead].played)
			continue;
		for (uint32_t i = lead, found = 0; i < list->fitting && found < each; i = i == lead ? list->leading : i + 1)
			if (!list->entry[i].played && config_same_cut(&list->entry[i].config, leader)) {
				wanted[i] = true;
				found++;
				count++;
			}
	}
	return count;
}

/* The fastest are played, then what leads because nobody has played it yet: closed forms are below what many schedules
 * take. */
static enum status rank_played(struct searching *searching)
{
	struct config_list *list = searching->list;
	HELD bool *wanted = mem_alloc(list->entries, sizeof *wanted);
	NEED(wanted || list->entries == 0);
	for (uint32_t i = 0; i < list->entries; i++)
		list->entry[i].played = list->entry[i].config.pp == 1;
	config_rank_by_time(list);
	for (uint32_t i = 0; i < list->fitting && i < EXACT_MOST; i++)
		wanted[i] = !list->entry[i].played;
	TRY(config_search_refine(searching, wanted));
	TRY(config_rank(list));
	for (uint32_t each = 1; want_leading(list, each, wanted) > 0; each += each < PLAYED_MOST ? each : 0) {
		TRY(config_search_refine(searching, wanted));
		TRY(config_rank(list));
	}
	return OK;
}

/* ---- one configuration ---- */

struct config_case {
	struct searching searching;
	struct config_request request;
	struct config_list counts;
	struct config config;
	struct split_step split;
	bool is_split;
};

struct config_case *config_case_open(
	const struct config_request *request, const struct config *config, struct error *error)
{
	struct config_case *opened = mem_alloc(1, sizeof *opened);
	if (!opened) {
		fail_memory(error);
		return NULL;
	}
	opened->request = *request;
	opened->config = *config;
	opened->searching = (struct searching){
		.request = &opened->request, .rules = rules_new(), .list = &opened->counts, .error = error
	};
	enum status status = opened->searching.rules ? step_open(&opened->searching, config, false) : NO_MEMORY;
	if (status == OK) {
		opened->searching.first = mem_alloc((size_t)config->pp * config->chunks + 1, sizeof *opened->searching.first);
		status = opened->searching.first ? OK : NO_MEMORY;
	}
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
		sharding_free(&opened->split.sharding);
	close_steps(&opened->searching);
	rules_free(opened->searching.rules);
	mem_free(opened);
}

enum status config_case_evaluate(struct config_case *opened, const struct machine *machine,
	const struct overheads *overheads, struct config_result *result)
{
	opened->request.machine = *machine;
	opened->request.machine.memory = -1;
	opened->request.overheads.inside = overheads->inside;
	enum status status = opened->is_split
		? OK
		: split_open(&opened->searching, &opened->searching.step, &opened->config, &opened->split);
	struct mesh *mesh = &opened->split.sharding.mesh;
	opened->is_split = status == OK;
	for (uint32_t a = 0; opened->is_split && a < mesh->axes;
		a++) { /* how the step is split doesn't depend on the links */
		mesh->axis[a].near = machine->near;
		mesh->axis[a].far = machine->far;
	}
	if (status == OK)
		status = split_cost(&opened->searching, &opened->searching.step, &opened->split);
	struct config_model model = config_search_model_of(&opened->searching);
	if (status == OK)
		status = config_cut(&model, &opened->config, overheads, opened->searching.first);
	if (status == OK)
		status = config_evaluate(&model, &opened->config, overheads, opened->searching.first, true, result);
	return status;
}

/* Why nothing can be evaluated: the first of what is wanted that can't be. */
static enum status no_configuration(const struct searching *searching)
{
	const struct config_request *request = searching->request;
	const struct {
		const char *name;
		uint32_t wanted;
	} degree[] = { { "dp", request->dp }, { "tp", request->tp }, { "pp", request->pp }, { "cp", request->cp },
		{ "ep", request->ep } };
	uint64_t product = 1;
	char text[120] = "";
	struct words words = { text, sizeof text, 0 };
	for (size_t i = 0; i < sizeof degree / sizeof *degree; i++)
		if (degree[i].wanted) {
			product *= degree[i].wanted;
			words_add(&words, "%s%s %u", words.at ? " x " : "", degree[i].name, degree[i].wanted);
		}
	if (product == 0 || request->devices % product != 0)
		return fail(
			searching->error, BAD_INPUT, "no configuration: %s doesn't divide the %u devices", text, request->devices);
	if (request->ep > 1 && searching->dense)
		return fail(searching->error, BAD_INPUT, "no configuration: the model has no experts for ep %u", request->ep);
	if (searching->unsplit[0])
		return fail(searching->error, BAD_INPUT, "no configuration: %s", searching->unsplit);
	if (request->pp > searching->blocks && searching->blocks > 0)
		return fail(searching->error, BAD_INPUT, "no configuration: pp %u, but the model has %u blocks", request->pp,
			searching->blocks);
	return fail(searching->error, BAD_INPUT,
		"no configuration: the degrees must multiply to %u devices, and %lld samples must be whole microbatches",
		request->devices, (long long)request->batch);
}

enum status config_search(
	const struct config_request *request, struct control *control, struct config_list *list, struct error *error)
{
	struct searching searching = {
		.request = request, .control = control, .rules = rules_new(), .list = list, .error = error
	};
	*list = (struct config_list) { 0 };
	if (!searching.rules)
		return fail_memory(error);
	enum status status = vary_all(&searching);
	if (status == OK)
		status = rank_played(&searching);
	rules_free(searching.rules);
	if (status == OK && list->entries == 0)
		status = no_configuration(&searching);
	if (status == NO_MEMORY)
		fail_memory(error);
	if (status != OK)
		config_list_free(list);
	return status;
}

enum status config_list_copy(struct config_list *to, const struct config_list *from)
{
	*to = *from;
	to->entry = mem_alloc(from->entries, sizeof *to->entry);
	if (!to->entry) {
		*to = (struct config_list) { 0 };
		return NO_MEMORY;
	}
	if (from->entries > 0)
		memcpy(to->entry, from->entry, from->entries * sizeof *to->entry);
	return OK;
}

void config_list_free(struct config_list *list)
{
	mem_free(list->entry);
	*list = (struct config_list) { 0 };
}
