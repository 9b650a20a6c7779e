/* stage.c: cuts a device's graph into pipeline ranks and times them. */

#include "src/scenario/knobs.h"
#include "stage.h"
#include "times.h"
#include "solver/pipeline/configuration.h"

/* ---- life ---- */

struct pipelined *pipelined_retain(struct pipelined *pipelined)
{
	atomic_fetch_add(&pipelined->references, 1);
	return pipelined;
}

void pipelined_release(void *pointer)
{
	struct pipelined *pipelined = pointer;
	if (!pipelined || atomic_fetch_sub(&pipelined->references, 1) > 1)
		return;
	for (uint32_t r = 0; pipelined->rank && r < pipelined->ranks; r++)
		graph_release(pipelined->rank[r].graph);
	pipeline_free(&pipelined->timing);
	schedule_csv_free(&pipelined->file);
	pipeline_cut_free(&pipelined->cut);
	graph_release(pipelined->device);
	fitted_release(pipelined->fitted);
	arena_free(&pipelined->arena);
	mem_free(pipelined);
}

size_t pipelined_bytes(const struct pipelined *pipelined)
{
	size_t bytes = pipelined->arena.bytes + pipelined->cut.arena.bytes + pipelined->timing.arena.bytes;
	FOR(r, pipelined->ranks)
		bytes += graph_bytes(pipelined->rank[r].graph);
	for (uint32_t r = 0; pipelined->fitted && r < pipelined->fitted->ranks; r++)
		bytes += graph_bytes(pipelined->fitted->rank[r].step) + pipelined->fitted->rank[r].arena.bytes;
	return bytes;
}

/* ---- what is asked for ---- */

static uint32_t pipeline_stage_degree(const struct scenario *scenario, enum knob_id knob)
{
	return scenario->value[knob] > 1 ? (uint32_t)scenario->value[knob] : 1;
}

/* Pieces of the model that each rank has: the knob's, 2 in a V, 1 for schedules that aren't interleaved. */
static uint32_t pipeline_chunks(const struct scenario *scenario)
{
	if (schedule_folded((enum schedule)scenario->value[K_schedule]) && scenario->value[K_pp] > 1)
		return 2;
	if (scenario->value[K_schedule] != SCHEDULE_INTERLEAVED || scenario->value[K_pp] < 2)
		return 1;
	return scenario->value[K_chunks] == KNOB_GIVEN ? 2 : (uint32_t)scenario->value[K_chunks];
}

uint32_t pipeline_layers(const struct graph *step)
{
	OWN(blocks) blocks = { 0 };
	uint32_t first, length, period;
	return blocks_find(step, &blocks) == OK && blocks_period(&blocks, &first, &length, &period) ? length / period : 0;
}

bool pipeline_tries_chunks(const struct scenario *scenario, uint32_t layers, uint32_t chunks)
{
	return schedule_tries_chunks(layers, pipeline_stage_degree(scenario, K_pp), chunks);
}

/* The pin of schedule=@FILE, or NULL. */
static const struct pin *schedule_pin(const struct scenario *scenario)
{
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_SCHEDULE)
			return &scenario->pin[i];
	return NULL;
}

void pipeline_key_add(struct key *key, const struct scenario *scenario, int64_t margin)
{
	key_add_knobs(key, scenario, BY_PIPELINE | BY_MACHINE | BY_LIMIT | BY_MEMORY | BY_RECOMPUTE);
	if (scenario_budget(scenario) >= 0)
		key_add(key, (uint64_t)margin);
	if (scenario->value[K_recompute] == RECOMPUTE_AUTO || scenario->value[K_recompute] == RECOMPUTE_KEPT)
		fit_key_add(key, scenario, margin);
	if (scenario->value[K_schedule] == SCHEDULE_FILE && schedule_pin(scenario))
		key_add_pin(key, schedule_pin(scenario));
}

/* ---- cutting ---- */

#define STRETCHES 8   /* possible cuts for every piece of a model without layers */

/* Cuts by time alone; so that ranks keep the cap by the model; or that from the second round on. */
enum limited { CUTS_AS_WISHED, CUTS_ANY, CUTS_CAPPED };

/* What cuts of a sharding's step rest on, whatever runs again and whatever the cap. In the store, by references. */
struct footing {
	struct blocks blocks;
	struct block_cost *cost;     /* [blocks] */
	struct step_costs costs;     /* of the sharding's graph of a device */
	struct arena arena, times;
	uint32_t references;
};

struct piping {
	struct stage_context *stage;
	enum limited limited;
	const struct plan_wish *wish;
	const struct sharded *sharded;
	const struct scenario *scenario;
	struct pipelined *pipelined;
	struct config config;
	struct machine machine;
	struct overheads overheads;
	struct footing *footing;
	struct step_costs costs;     /* of the device's graph that is cut */
	struct arena times;
	struct pipeline_flow flow;
	struct arena arena;
	struct error *error;
};

static uint32_t pipeline_stage_pieces_of(const struct piping *piping)
{
	return piping->config.pp * piping->config.chunks;
}

static void footing_release(void *pointer)
{
	struct footing *footing = pointer;
	if (!footing || --footing->references > 0)
		return;
	blocks_free(&footing->blocks);
	arena_free(&footing->times);
	arena_free(&footing->arena);
	mem_free(footing);
}

/* Blocks that one activation goes between; where there are fewer than pieces, blocks between cheap gaps. */
static enum status find_blocks(const struct piping *piping, struct footing *footing)
{
	const struct graph *whole = piping->sharded->shared->graph;
	uint32_t pieces = pipeline_stage_pieces_of(piping), gaps;
	TRY(blocks_find(whole, &footing->blocks));
	if (footing->blocks.stretches >= pieces)
		return OK;
	bool *gap = arena_alloc(&footing->arena, whole->ops, sizeof *gap);
	blocks_free(&footing->blocks);
	TRY(gap ? blocks_cheap_gaps(whole, STRETCHES * pieces, gap, &gaps) : NO_MEMORY);
	return blocks_find_at(whole, gap, &footing->blocks);
}

static enum status cost_blocks(const struct piping *piping, struct footing *footing)
{
	const struct sharded *sharded = piping->sharded;
	const struct graph *whole = sharded->shared->graph;
	struct block_work work;
	TRY(find_blocks(piping, footing));
	TRY(block_work_find(whole, &footing->blocks, piping->stage->rules, &footing->arena, &work));
	NEED(ROOM(&footing->arena, footing->cost, footing->blocks.blocks));
	TRY(block_costs_find(
		&sharded->shared->units, &sharded->sharding, &footing->blocks, &work, &piping->machine, footing->cost));
	return plan_costs_find(
		sharded->device, sharded, piping->scenario, piping->stage->rules, &footing->times, &footing->costs);
}

/* What the stage makes of a sharding's own graph of a device, as far as that depends on nothing else. */
static struct key pipeline_stage_key(
	const char *what, const struct sharded *sharded, const struct scenario *scenario, enum limited limited)
{
	struct key key = key_of(what);
	key_add_key(&key, &sharded->key);
	key_add(&key, sharded->device->fingerprint);
	key_add(&key, limited);
	key_add_knobs(&key, scenario, BY_PIPELINE | BY_MACHINE | BY_MEMORY | BY_LIMIT);
	if (scenario->value[K_schedule] == SCHEDULE_FILE && schedule_pin(scenario))
		key_add_pin(&key, schedule_pin(scenario));
	return key;
}

static enum status find_footing(struct piping *piping)
{
	struct store *store = piping->stage->store;
	struct key key = pipeline_stage_key("footing of cuts", piping->sharded, piping->scenario, CUTS_ANY);
	struct footing *footing = store_find(store, &key);
	if (footing) {
		footing->references++;
		piping->footing = footing;
		return OK;
	}
	NEED(MAKE(footing, 1));
	footing->references = 1;
	piping->footing = footing;
	TRY(cost_blocks(piping, footing));
	footing->references++;
	store_keep(store, &key, footing, footing->blocks.arena.bytes + footing->arena.bytes + footing->times.bytes,
		footing_release);
	return OK;
}

static struct config_model pipeline_stage_model_of(const struct piping *piping)
{
	int64_t cap = piping->limited == CUTS_ANY ? -1 : scenario_budget(piping->scenario),
			margin = piping->limited == CUTS_CAPPED ? 1 : piping->wish->margin;
	return (struct config_model){ .blocks = piping->footing->blocks.blocks,
		.cost = piping->footing->cost,
		.machine = &piping->machine,
		.devices_per_node = (uint32_t)piping->scenario->device.node,
		.limit = cap < 0 || margin == 0 ? -1
		: cap > margin ? cap - margin
		: 0 };
}

/* What the cuts come to by the model, and whether the memory cap has moved them. */
static enum status pipeline_stage_estimate(struct piping *piping, struct config_model *model)
{
	struct pipelined *pipelined = piping->pipelined;
	uint32_t *free_cut = arena_alloc(&piping->arena, pipeline_stage_pieces_of(piping) + (size_t)1, sizeof *free_cut);
	NEED(free_cut);
	struct config_result result;
	TRY(config_evaluate(model, &piping->config, &piping->overheads, pipelined->first, EVALUATE_MEMORY, &result));
	pipelined->estimate = result.worst.total;
	model->limit = -1;
	TRY(config_cut(model, &piping->config, &piping->overheads, free_cut));
	FOR(k, pipeline_stage_pieces_of(piping))
		pipelined->moved |= free_cut[k] != pipelined->first[k];
	return OK;
}

static enum status pipeline_stage_cut(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	struct config_model model = pipeline_stage_model_of(piping);
	uint32_t *piece_of = arena_alloc(&piping->arena, piping->footing->blocks.blocks, sizeof *piece_of),
			 pieces = pipeline_stage_pieces_of(piping);
	NEED(ROOM(&pipelined->arena, pipelined->first, pieces + (size_t)1) && piece_of);
	enum status status = config_cut(&model, &piping->config, &piping->overheads, pipelined->first);
	if (status == INFEASIBLE)
		return fail(piping->error, INFEASIBLE,
			"%u pipeline ranks x %u pieces need %u cuts, but the step has just %u blocks of forward ops",
			piping->config.pp, piping->config.chunks, pieces - 1, piping->footing->blocks.stretches);
	TRY(status);
	FOR(k, pieces)
		FOR_SPAN(b, pipelined->first, k)
			piece_of[b] = k;
	TRY(pipeline_stage_estimate(piping, &model));
	TRY(pipeline_cut_find(pipelined->device, piping->sharded->shared->graph, piping->stage->rules,
		&piping->sharded->sharding, &piping->footing->blocks, piece_of,
		(struct pieces_wanted){ piping->config.pp, pieces, pipelined->folded, pipelined->split }, &pipelined->cut));
	return pipeline_flow_find(&pipelined->cut, &piping->flow, piping->error);
}

/* ---- ranks ---- */

/* What a rank's graph says of it. */
static enum status pipeline_stage_measure(struct piping *piping, struct pipeline_rank *rank)
{
	const struct graph *graph = rank->graph;
	struct memory_rules rules = scenario_memory_rules(piping->scenario);
	struct problem problem;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		if (storage->allocator != NONE)
			continue;
		if (storage->kind == KIND_PARAMETER)
			rank->parameters += storage->bytes;
		else if (storage->kind == KIND_OPTIMIZER)
			rank->optimizer += storage->bytes;
		else if (storage->kind == KIND_GRADIENT)
			rank->gradients += storage->bytes;
		else if (storage->persistent)
			rank->inputs += storage->bytes;
	}
	TRY(problem_of_graph(graph, &rules, &problem, piping->error));
	rank->peak = problem_peak(&problem, problem.program, NULL, NULL);
	problem_free(&problem);
	return rank->peak < 0 ? NO_MEMORY : OK;
}

/* Structure without names, without the copies in flight. */
static uint64_t pipeline_stage_shape_of(const struct graph *graph)
{
	uint64_t hash = graph->ops;
	FOR(op, graph->ops) {
		bool flush = graph->op[op].added == ADDED_FLUSH;
		for (const char *c = graph->op[op].type; *c; c++)
			hash = hash_join(hash, (unsigned char)*c);
		hash = hash_join(hash, (uint64_t)graph->op[op].workspace);
		FOR_ITEMS(before, &graph->pred, op)
			hash = hash_join(hash, op - before);
		FOR_ITEMS(touched, &graph->touches, op) {
			const struct storage *storage = &graph->storage[touched];
			hash = hash_join(hash, flush ? 1 : (uint64_t)storage->bytes << 4 | storage->kind);
		}
	}
	return hash;
}

static void find_alike(struct piping *piping, uint64_t *shape)
{
	struct pipelined *pipelined = piping->pipelined;
	FOR(r, pipelined->ranks) {
		struct pipeline_rank *rank = &pipelined->rank[r];
		shape[r] = hash_join(pipeline_stage_shape_of(rank->graph),
			(uint64_t)(rank->parameters + rank->optimizer + rank->gradients + rank->inputs));
		rank->alike = r;
		FOR_WHILE(other, r, rank->alike == r)
			rank->alike = shape[other] == shape[r] ? other : r;
	}
}

/* Of schedules that don't split the backward pass what follows from their definition; of others what has been played.
 */
static struct in_flight piece_in_flight(const struct piping *piping, uint32_t k)
{
	const struct pipelined *pipelined = piping->pipelined;
	struct in_flight in_flight = pipelined->timing.at_most[k];
	if (!pipelined->split && pipelined->schedule < SCHEDULE_COUNT)
		in_flight = config_in_flight(
			&piping->config, piece_rank(k, pipelined->ranks, pipelined->folded), k / pipelined->ranks);
	in_flight.input = in_flight.input > 0 ? in_flight.input : 1;
	in_flight.weight = in_flight.weight > 0 ? in_flight.weight : 1;
	return in_flight;
}

static enum status build_ranks(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	uint32_t pieces = pipeline_stage_pieces_of(piping);
	struct in_flight *in_flight = NULL;
	struct kept_bytes *kept = NULL;
	uint64_t *shape = NULL;
	NEED(ROOMS(&piping->arena, pieces, in_flight, kept) && ROOM(&piping->arena, shape, pipelined->ranks));
	FOR(k, pieces)
		pipelined->piece[k].in_flight = in_flight[k] = piece_in_flight(piping, k);
	FOR(r, pipelined->ranks) {
		struct pipeline_rank *rank = &pipelined->rank[r];
		rank->graph = pipeline_rank_graph(
			&pipelined->cut, &piping->flow, in_flight, pipelined->microbatches, r, kept, piping->error);
		TRY(rank->graph ? pipeline_stage_measure(piping, rank) : piping->error->status);
		if (rank->peak > pipelined->rank[pipelined->reported].peak)
			pipelined->reported = r;
	}
	FOR(k, pieces) {
		struct pipeline_piece *piece = &pipelined->piece[k];
		piece->kept = kept[k].input + kept[k].weight;
		piece->kept_weight = pipelined->split ? kept[k].weight : piece->kept;
		piece->between = kept[k].between;
		pipelined->rank[piece_rank(k, pipelined->ranks, pipelined->folded)].kept += kept[k].input * in_flight[k].input +
			kept[k].weight * in_flight[k].weight + kept[k].between * in_flight[k].between;
	}
	find_alike(piping, shape);
	return OK;
}

/* ---- time ---- */

/* The larger of what goes to the next piece and what comes back. */
static void measure_sends(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	const struct pipeline_cut *cut = &pipelined->cut;
	uint32_t pieces = pipeline_stage_pieces_of(piping);
	struct config_model model = pipeline_stage_model_of(piping);
	for (int side = SIDE_FORWARD; side <= SIDE_BACKWARD; side++)
		for (uint32_t k = 0; k + 1 < pieces; k++) {
			int64_t bytes = 0;
			FOR(i, piping->flow.transfers) {
				const struct transfer *transfer = &piping->flow.transfer[i];
				uint32_t writer = transfer->state ? NONE : cut->graph->tensor[transfer->tensor].writer;
				if (writer != NONE && transfer->side == side && cut->piece[writer] == (side == SIDE_FORWARD ? k : k + 1))
					bytes += cut->graph->tensor[transfer->tensor].bytes;
			}
			if (bytes > pipelined->piece[k].sent)
				pipelined->piece[k].sent = bytes;
		}
	for (uint32_t k = 0; k + 1 < pieces; k++)
		pipelined->send[k] = pipelined->piece[k].send = config_send_time(&model, &piping->config, pipelined->piece[k].sent);
}

/* What every piece has of ops and modules. */
static void stage_name_pieces(struct piping *piping)
{
	const struct pipeline_cut *cut = &piping->pipelined->cut;
	FOR(op, cut->graph->ops) {
		struct pipeline_piece *piece = &piping->pipelined->piece[cut->piece[op]];
		const struct op *of = &cut->graph->op[op];
		piece->ops += cut->side[op] != SIDE_UPDATE;
		if (cut->side[op] != SIDE_UPDATE && of->phase == PHASE_FORWARD && *of->module) {
			piece->first = piece->first ? piece->first : of->module;
			piece->last = of->module;
		}
	}
}

/* Of what follows a rank's passes, the optimizer's part. */
static void stage_time_update(struct piping *piping, uint32_t r, int64_t rest)
{
	const struct pipeline_cut *cut = &piping->pipelined->cut;
	struct pipeline_rank *rank = &piping->pipelined->rank[r];
	FOR(op, cut->graph->ops)
		if (cut_rank(cut, op) == r && cut->side[op] == SIDE_UPDATE && piping->costs.stream[op] == 0)
			rank->update += piping->costs.time[op];
	rank->update = SMALLER(rank->update, rest);
	rank->exposed = rest - rank->update;
}

/* A rank's passes, and what follows them. pass: scratch. */
static enum status stage_time_rank(struct piping *piping, uint32_t r, struct rank_clock *first, struct pass_time *pass)
{
	struct pipelined *pipelined = piping->pipelined;
	OWN(rank_clock) passes = { 0 };
	OWN(rank_clock) whole = { 0 };
	TRY(rank_clock_find(&pipelined->cut, &piping->costs, r, false, first, &passes));
	TRY(rank_clock_find(&pipelined->cut, &piping->costs, r, true, first, &whole));
	pipelined->ahead = larger_of(pipelined->ahead, whole.model.ahead);
	rank_passes(&passes, pass);
	FOR(c, pipelined->chunks) {
		struct pipeline_piece *piece = &pipelined->piece[rank_piece(r, c, pipelined->ranks, pipelined->folded)];
		const struct pass_time *back = &pass[backward_at(&passes, c)];
		piece->forward = pass[c].time;
		piece->backward = back[0].time + back[1].time;
		piece->weight = back[1].time;
		piece->forward_link = pipelined->forward_link ? pass[c].waits : 0;
		piece->backward_link = pipelined->forward_link ? back[0].waits + back[1].waits : 0;
	}
	stage_time_update(piping, r, larger_of(0, whole.time.total - passes.time.total));
	return OK;
}

/* Of ranks that do the same the first one is simulated. */
static enum status stage_time_ranks(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	uint32_t ranks = pipelined->ranks;
	struct pass_time *pass;
	uint64_t *work;
	OWN(rank_clock) first = { 0 };
	NEED(ROOM(&piping->arena, pass, 3 * (size_t)pipelined->chunks) && ROOM(&piping->arena, work, ranks));
	piping->costs = piping->footing->costs;
	if (pipelined->device != piping->sharded->device)    /* ops that run again take time, too */
		TRY(plan_costs_find(pipelined->device, piping->sharded, piping->scenario, piping->stage->rules, &piping->times,
			&piping->costs));
	FOR(r, ranks) {
		uint32_t twin = 0;
		work[r] = rank_work(&pipelined->cut, &piping->costs, r);
		while (work[twin] != work[r])
			twin++;
		if (twin == r)
			TRY(stage_time_rank(piping, r, &first, pass));
		FOR_WHILE(c, pipelined->chunks, twin < r)
			pipelined->piece[rank_piece(r, c, ranks, pipelined->folded)] =
				pipelined->piece[rank_piece(twin, c, ranks, pipelined->folded)];
		pipelined->rank[r] = pipelined->rank[twin];
		pipelined->rank[r].twin = twin;
		if (pipelined->rank[r].exposed + pipelined->rank[r].update > pipelined->exposed + pipelined->update) {
			pipelined->exposed = pipelined->rank[r].exposed;
			pipelined->update = pipelined->rank[r].update;
		}
	}
	return OK;
}

static enum status pipeline_stage_play(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	const struct mesh *mesh = &piping->sharded->sharding.mesh;
	uint32_t experts = mesh_axis_named(mesh, "ep");
	int64_t held = experts != NONE && mesh->axis[experts].dispatch > 0 ? mesh->axis[experts].held : 0;
	TRY(stage_time_ranks(piping));
	stage_name_pieces(piping);
	FOR(k, pipeline_stage_pieces_of(piping)) {
		struct pipeline_piece *piece = &pipelined->piece[k];
		pipelined->forward[k] = piece->forward;
		pipelined->backward[k] = piece->backward;
		pipelined->weight[k] = piece->weight;
		if (pipelined->forward_link) {
			piece->forward_link -= dispatch_lost(held, piece->forward - piece->forward_link, piece->forward_link);
			piece->backward_link -= dispatch_lost(held, piece->backward - piece->backward_link, piece->backward_link);
			pipelined->forward_link[k] = piece->forward_link;
			pipelined->backward_link[k] = piece->backward_link;
		}
	}
	measure_sends(piping);
	struct pipeline pipeline = pipelined_pipeline(pipelined);
	int64_t rest = pipelined->exposed + pipelined->update;
	TRY(pipeline_run(&pipeline, &pipelined->timing, piping->error));
	pipelined->bound = pipeline_bound(&pipeline, pipelined->folded) + rest;
	pipelined->time = pipelined->timing.time + rest;
	pipelined->bubble = pipelined->timing.time - pipelined->timing.ideal;
	return OK;
}

/* ---- the stage ---- */

/* Whether passes run beside each other, so that one hides the other's collectives. */
static bool passes_overlap(const struct pipelined *pipelined)
{
	bool overlaps = pipelined->schedule == SCHEDULE_DUALPIPEV;
	for (uint32_t i = 0; pipelined->order && i < pipelined->ranks * pipelined->order->slots; i++)
		overlaps |= pipelined->order->slot[i].overlapped;
	return overlaps;
}

static bool pipeline_stage_start(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	uint32_t pieces = pipeline_stage_pieces_of(piping);
	if (!(ROOM(&pipelined->arena, pipelined->piece, pieces) &&
		ROOM(&pipelined->arena, pipelined->rank, pipelined->ranks) &&
		ROOM(&pipelined->arena, pipelined->forward, 6 * (size_t)pieces)))
		return false;
	pipelined->backward = pipelined->forward + pieces;
	pipelined->weight = pipelined->backward + pieces;
	pipelined->send = pipelined->weight + pieces;
	if (passes_overlap(pipelined)) {
		pipelined->forward_link = pipelined->send + pieces;
		pipelined->backward_link = pipelined->forward_link + pieces;
	}
	return true;
}

/* The named schedule that an order is most like: for the model of memory that cuts are made with. */
static enum schedule likeness(const struct pipeline_order *order)
{
	if (order->chunks > 1)
		return order->folded && order->chunks == 2 ? SCHEDULE_ZBV : SCHEDULE_INTERLEAVED;
	return order->split ? SCHEDULE_ZB1P : SCHEDULE_1F1B;
}

/* schedule=@FILE: it must be of as many ranks and microbatches as the scenario. */
static enum status pipeline_stage_read_order(struct piping *piping)
{
	struct pipelined *pipelined = piping->pipelined;
	struct config *config = &piping->config;
	const struct pin *pin = schedule_pin(piping->scenario);
	const struct pipeline_order *order = &pipelined->file.order;
	if (!pin)
		return refuse(piping->error, "schedule=file needs a file: schedule=@FILE");
	const char *path = pin->a;
	TRY(pin->b ? schedule_csv_read(pin->b, strlen(pin->b), &pipelined->file, piping->error)
		: schedule_csv_open(path, &pipelined->file, piping->error));
	if (order->ranks != config->pp || order->microbatches != config->microbatches)
		return refuse(piping->error,
			"%.200s is a schedule of %u ranks and %u microbatches: set pp=%u microbatches=%u", path, order->ranks,
			order->microbatches, order->ranks, order->microbatches);
	if (order->folded && order->chunks != 2)
		return refuse(piping->error, "%.200s: %u stages on each rank; in a V there can be two", path, order->chunks);
	pipelined->order = order;
	pipelined->folded = order->folded;
	pipelined->split = order->split;
	pipelined->chunks = config->chunks = order->chunks;
	config->schedule = (uint8_t)likeness(order);
	return OK;
}

static enum status pipeline_stage_run(struct piping *piping)
{
	const struct config *config = &piping->config;
	enum schedule schedule = piping->pipelined->schedule;
	if (schedule == SCHEDULE_FILE)
		TRY(pipeline_stage_read_order(piping));
	TRY(schedule_possible(schedule, config->pp, config->chunks, config->microbatches, piping->error));
	NEED(pipeline_stage_start(piping));
	TRY(find_footing(piping));
	TRY(pipeline_stage_cut(piping));
	TRY(pipeline_stage_play(piping));
	return build_ranks(piping);
}

/* A new one of the graph of a device, still empty. */
static bool pipeline_stage_begin(struct piping *piping, struct graph *device)
{
	const struct scenario *scenario = piping->scenario;
	struct pipelined *MAKE(pipelined, 1);
	piping->pipelined = pipelined;
	if (!pipelined)
		return false;
	atomic_store(&pipelined->references, 1);
	pipelined->device = graph_retain(device);
	pipelined->ranks = piping->config.pp;
	pipelined->chunks = piping->config.chunks;
	pipelined->microbatches = piping->config.microbatches;
	pipelined->schedule = piping->config.pp < 2 ||
			(piping->config.chunks < 2 && piping->config.schedule == SCHEDULE_INTERLEAVED)
		? SCHEDULE_1F1B
		: (enum schedule)scenario->value[K_schedule];
	pipelined->folded = schedule_folded(pipelined->schedule);
	pipelined->split = schedule_split(pipelined->schedule);
	return true;
}

/* Of the sharding's graph of a device, or of that graph with ops that run again. */
static struct pipelined *stage_device(struct stage_context *stage, const struct sharded *sharded, struct graph *device,
	enum limited limited, const struct scenario *scenario, const struct plan_wish *wish, struct error *error)
{
	struct piping piping = { .stage = stage,
		.limited = limited,
		.sharded = sharded,
		.scenario = scenario,
		.wish = wish,
		.overheads = overheads_all,
		.machine = scenario->machine,
		.config = { .dp = mesh_devices(&sharded->sharding.mesh),
			.tp = 1,
			.pp = pipeline_stage_degree(scenario, K_pp),
			.cp = 1,
			.ep = 1,
			.microbatches = pipeline_stage_degree(scenario, K_microbatches),
			.chunks = pipeline_chunks(scenario),
			.schedule = (uint8_t)scenario->value[K_schedule] },
		.error = error };
	enum status status = pipeline_stage_begin(&piping, device) ? pipeline_stage_run(&piping) : NO_MEMORY;
	struct pipelined *pipelined = piping.pipelined;
	if (status == NO_MEMORY)
		fail_memory(error);
	error_set(error, status);
	pipeline_flow_free(&piping.flow);
	footing_release(piping.footing);
	arena_free(&piping.times);
	arena_free(&piping.arena);
	if (status == OK)
		return pipelined;
	pipelined_release(pipelined);
	return NULL;
}

/* ---- recompute=auto ---- */

#define FIT_TRIES 3   /* caps of ranks, each less by what the try before was above */
#define FAR 4         /* so large a part of the cap above it: lower caps don't help */

static int64_t cap_of(const struct scenario *scenario, const struct plan_wish *wish)
{
	int64_t cap = scenario_budget(scenario);
	return cap > wish->margin ? cap - wish->margin : 0;
}

/* The step in which nothing runs again, the same for all margins. */
static struct pipelined *stage_first(struct stage_context *stage, const struct sharded *sharded, enum limited limited,
	const struct scenario *scenario, const struct plan_wish *wish, struct error *error)
{
	struct key key = pipeline_stage_key("first cuts", sharded, scenario, limited);
	struct pipelined *first = store_find(stage->store, &key);
	if (first)
		return pipelined_retain(first);
	first = stage_device(stage, sharded, sharded->device, limited, scenario, wish, error);
	if (first)
		store_keep(stage->store, &key, pipelined_retain(first), pipelined_bytes(first), pipelined_release);
	return first;
}

/* Cut again with what runs again; lowers the caps of ranks that are above in program order. */
static struct pipelined *pipeline_stage_try_fit(struct stage_context *stage, const struct sharded *sharded,
	enum limited limited, const struct scenario *scenario, const struct plan_wish *wish, struct pipeline_fit *fit,
	struct error *error)
{
	OWN(graph) *device = pipeline_fit_graph(stage, fit, error);
	struct pipelined *next = device ? stage_device(stage, sharded, device, limited, scenario, wish, error) : NULL;
	for (uint32_t r = 0; next && r < next->ranks; r++) {
		int64_t above = next->rank[r].peak - cap_of(scenario, wish);
		next->replayed = LARGER(next->rank[r].peak, next->replayed);
		fit->cap[r] -= LARGER(above, 0);
	}
	return next;
}

static bool is_fitter(const struct pipelined *one, const struct pipelined *than, int64_t cap)
{
	bool fits = one->replayed <= cap, did = than->replayed <= cap;
	return fits != did ? fits : fits ? one->time < than->time : one->replayed < than->replayed;
}

/* What the whole costs: times of the device's graph, where each rank has its share. */
static void note_fit(struct pipelined *pipelined, const struct pipeline_fit *fit, int64_t cap)
{
	struct fitted *fitted = fit->fitted;
	graph_release(fitted->recomputed);
	fitted->recomputed = graph_retain(pipelined->device);
	fitted->extra = fitted_extra(fitted, pipelined->device);
	fitted->cap = cap;
	fitted->proved = !fitted->impossible && fitted->extra <= fitted->bound;
	fitted->replayed = pipelined->replayed;
	pipelined->fitted = fitted_retain(fitted);
}

/* What was found, whatever ended the search, but for want of memory. */
static struct pipelined *stage_found(struct pipelined *best, struct pipelined *other, struct error *error)
{
	pipelined_release(other);
	if (best && error->status == NO_MEMORY) {
		pipelined_release(best);
		return NULL;
	}
	if (best)
		error_set(error, OK);
	return best;
}

/* Every rank computes again what lets it keep the cap, behind cuts of that kind; NULL, too, where these are another's.
 */
static struct pipelined *stage_fitted(struct stage_context *stage, const struct sharded *sharded, enum limited limited,
	const struct pipelined *other, const struct scenario *scenario, const struct plan_wish *wish,
	const struct recompute_options *options, struct error *error)
{
	OWN(pipelined) *first = stage_first(stage, sharded, limited, scenario, wish, error);
	if (!first ||
		(other && memcmp(first->first, other->first, first->ranks * first->chunks * sizeof *first->first) == 0))
		return NULL;
	struct pipeline_fit fit = { .pipelined = first, .most = scenario_budget(scenario) };
	struct pipelined *best = NULL;
	int64_t cap = cap_of(scenario, wish);
	fit.fitted = fitted_of_pinned(stage, first->device, first->device, scenario, sharded, options, error);
	MAKE(fit.cap, first->ranks);
	if (fit.fitted && !fit.cap)
		fail_memory(error);
	for (uint32_t r = 0; fit.cap && r < first->ranks; r++)
		fit.cap[r] = cap;
	for (int round = 0; round < FIT_TRIES && fit.fitted && fit.cap && !(best && best->replayed <= cap); round++) {
		struct pipelined *next = pipeline_stage_try_fit(stage, sharded, limited, scenario, wish, &fit, error);
		bool better = next && (!best || is_fitter(next, best, cap));
		bool last = !next || fit.impossible || next->replayed - cap > cap / FAR;
		if (next)
			next->unfit = fit.impossible && round == 0;    /* caps of later rounds are lower */
		if (better)
			note_fit(next, &fit, cap);
		pipelined_release(better ? best : next);
		best = better ? next : best;
		if (last)
			break;
	}
	fitted_release(fit.fitted);
	mem_free(fit.cap);
	return stage_found(best, NULL, error);
}

struct pipelined *stage_pipeline(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct recompute_options *options,
	struct error *error)
{
	if (!options)
		return stage_device(stage, sharded, sharded->device, CUTS_AS_WISHED, scenario, wish, error);
	int64_t cap = cap_of(scenario, wish);
	struct pipelined *even = stage_fitted(stage, sharded, CUTS_ANY, NULL, scenario, wish, options, error), *uneven;
	if (!even || (even->replayed <= cap && even->fitted->extra == 0) || even->ranks < 2)
		return even;
	uneven = stage_fitted(stage, sharded, CUTS_CAPPED, even, scenario, wish, options, error);
	bool better = uneven && is_fitter(uneven, even, cap);
	even->unfit &= !uneven || uneven->unfit;
	if (uneven)
		uneven->unfit &= even->unfit;
	return better ? stage_found(uneven, even, error) : stage_found(even, uneven, error);
}
