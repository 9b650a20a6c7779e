/* fit.c: recompute=auto of a pipeline. */

#include "solver/recompute/apply.h"
#include "stage.h"

#define TICKS (RECOMPUTE_EFFORT_DEFAULT / 4)   /* of a rank */
#define NEAR 2e-3          /* a rank's choice that is so small a part of its step above the bound is near it */
#define STAYS UINT8_MAX    /* a storage that isn't a rank's to drop */

struct choosing {
	struct stage_context *stage;
	struct pipeline_fit *fit;
	const struct pipelined *pipelined;
	const struct graph *device;
	struct pipeline_flow flow;
	bool *sent;                /* [storages of the device] of the forward pass, and another rank has it, too */
	bool *forward;             /* [ops of the device] */
	uint8_t *fixed;            /* [storages of the device] */
	uint8_t *state;            /* [storages of the device] what is chosen */
	bool *chosen;              /* [storages of the device] by some rank */
	bool *paid;                /* [ops of the device] a rank has it */
	struct error *error;
	struct arena arena;
};

/* A rank's graph of one microbatch as the fit sees it. */
struct rank_step {
	struct graph *graph;
	uint32_t *storage;         /* [storages] of the device, or NONE */
	struct recompute_input input;
	struct arena arena;
};

/* ---- what holds for all ranks ---- */

/* Collectives of the forward pass belong to it, and what they write stays: they don't run again. So does what several
 * ranks have. */
static void pipeline_fit_fix_storages(struct choosing *choosing)
{
	const struct graph *device = choosing->device;
	const struct pipeline_cut *cut = &choosing->pipelined->cut;
	FOR(op, device->ops)
		choosing->forward[op] = cut->side[op] == SIDE_FORWARD;
	FOR(i, choosing->flow.transfers) {
		const struct transfer *transfer = &choosing->flow.transfer[i];
		uint32_t writer = transfer->state ? NONE : device->tensor[transfer->tensor].writer;
		choosing->sent[device->tensor[transfer->tensor].storage] |= writer != NONE && choosing->forward[writer];
	}
	FOR(s, device->storages) {
		uint32_t maker = device->storage[s].allocator;
		bool stays = choosing->sent[s] ||
			(maker != NONE && choosing->forward[maker] && device->op[maker].phase != PHASE_FORWARD);
		choosing->fixed[s] = stays ? RECOMPUTE_SAVED : choosing->fit->fitted->input.fixed[s];
	}
}

static enum status pipeline_fit_begin(struct choosing *choosing)
{
	const struct graph *device = choosing->device;
	struct arena *arena = &choosing->arena;
	TRY(pipeline_flow_find(&choosing->pipelined->cut, &choosing->flow, choosing->error));
	if (!(ROOMS(arena, device->storages, choosing->sent, choosing->fixed, choosing->state, choosing->chosen) &&
		ROOMS(arena, device->ops, choosing->forward, choosing->paid)))
		return fail_memory(choosing->error);
	memset(choosing->state, RECOMPUTE_KEEP, device->storages);
	pipeline_fit_fix_storages(choosing);
	return OK;
}

/* ---- a rank's graph ---- */

/* Nothing that another rank sends fills it there. */
static bool fit_is_own(const struct choosing *choosing, uint32_t rank, uint32_t s)
{
	const struct pipeline_cut *cut = &choosing->pipelined->cut;
	uint32_t maker = choosing->device->storage[s].allocator;
	return maker == NONE || cut_rank(cut, maker) == rank || cut->anywhere[maker];
}

/* Whether the rank has a storage from the forward pass on: an op there fills it, or another rank sends it then. */
static bool fit_comes_forward(const struct choosing *choosing, uint32_t rank, uint32_t s)
{
	const struct graph *device = choosing->device;
	const struct pipeline_cut *cut = &choosing->pipelined->cut;
	const struct pipeline_flow *flow = &choosing->flow;
	uint32_t maker = device->storage[s].allocator;
	bool comes = false;
	if (fit_is_own(choosing, rank, s))
		return maker == NONE || cut->side[maker] == SIDE_FORWARD;
	FOR_ITEMS(member, &device->members, s)
		FOR_SPAN(i, flow->sent_start, member)
			comes |= flow->transfer[i].to == rank && flow->transfer[i].side == SIDE_FORWARD;
	return comes;
}

/* Microbatches of a storage that the rank holds if it is kept: those of the piece whose backward pass reads it, else of
 * the one that touches it. */
static uint32_t microbatches_held(const struct choosing *choosing, uint32_t rank, uint32_t s)
{
	const struct graph *device = choosing->device;
	const struct pipeline_cut *cut = &choosing->pipelined->cut;
	uint32_t piece = NONE, maker = device->storage[s].allocator;
	bool weight = false, backward = false, between = !fit_comes_forward(choosing, rank, s);
	FOR_ITEMS(op, &device->users, s) {
		bool back = cut->side[op] == SIDE_BACKWARD;
		if (cut->side[op] == SIDE_UPDATE || (cut_rank(cut, op) != rank && !cut->anywhere[op]) || op == maker)
			continue;
		uint32_t of = cut_rank(cut, op) == rank ? cut->piece[op] : rank;
		piece = piece == NONE || (back && !backward) ? of : piece;
		backward |= back;
		weight |= back && cut->weight[op];
	}
	if (piece == NONE && maker != NONE)
		piece = cut_rank(cut, maker) == rank ? cut->piece[maker] : rank;
	if (piece == NONE)
		return 1;
	const struct in_flight *held = &choosing->pipelined->piece[piece].in_flight;
	uint32_t count = weight ? held->weight : held->input;
	if (between)    /* what gradients of weights make themselves doesn't wait for them */
		count = weight && !cut->weight[maker] ? held->between : 1;
	return LARGER(count, 1);
}

/* Of the rank's ops and storages what recomputation asks; each has room. */
struct rank_traits {
	int64_t *time, *sure, *copies;
	uint32_t *traits, flush;
	uint8_t *fixed;
	bool *forward;
};

static void fit_describe_op(
	struct choosing *choosing, const struct graph *graph, uint32_t op, struct rank_traits *traits)
{
	const struct graph *device = choosing->device;
	const struct fitted *fitted = choosing->fit->fitted;
	uint32_t of = graph_find_op(device, graph->op[op].name);
	const struct collective *said = graph->op[op].collective;
	traits->flush = graph->op[op].added == ADDED_FLUSH ? op : traits->flush;
	if (of != NONE) {
		traits->time[op] = fitted->time[of];
		traits->sure[op] = choosing->paid[of] ? 0 : fitted->sure[of];    /* what several ranks run again counts once */
		choosing->paid[of] = true;
		traits->traits[op] = fitted->traits[of];
		traits->forward[op] = choosing->forward[of];
	} else if (said && said->kind == COLLECTIVE_SEND) {
		uint32_t sent = graph_find_tensor(device, graph->op[op].of);
		uint32_t writer = sent == NONE ? NONE : device->tensor[sent].writer;
		traits->forward[op] = writer != NONE && choosing->forward[writer];
	}
}

static void fit_describe_storage(
	struct choosing *choosing, uint32_t rank, struct rank_step *step, uint32_t s, struct rank_traits *traits)
{
	const struct graph *graph = step->graph, *device = choosing->device;
	const struct storage *storage = &graph->storage[s];
	uint32_t tensor = graph_find_tensor(device, graph->tensor[storage->root].name), maker = storage->allocator;
	uint32_t of = step->storage[s] = tensor == NONE ? NONE : device->tensor[tensor].storage;
	/* Of memory that this rank fills, what comes back under a later name has no copies. */
	bool made = of != NONE && !storage->persistent && device->storage[of].allocator != NONE &&
		(device->storage[of].root == tensor || !fit_is_own(choosing, rank, of));
	bool passes = of != NONE && (storage->kind == KIND_INPUT || made) && !storage->live_out;
	int64_t bytes = 0;
	if (passes && __builtin_mul_overflow(storage->bytes, (int64_t)microbatches_held(choosing, rank, of) - 1, &bytes))
		bytes = BYTES_MAX / 2;
	traits->copies[s] = traits->flush == NONE ? 0 : align_up(bytes, choosing->fit->fitted->input.alignment);
	traits->fixed[s] = of == NONE || (maker != NONE && graph_find_op(device, graph->op[maker].name) == NONE)
		? RECOMPUTE_SAVED
		: choosing->fixed[of];
}

/* Times, pins and copies of a rank's graph, by the names of the device's. */
static bool pipeline_fit_describe(struct choosing *choosing, uint32_t rank, struct rank_step *step)
{
	const struct graph *graph = step->graph;
	const struct recompute_input *input = &choosing->fit->fitted->input;
	struct arena *arena = &step->arena;
	struct rank_traits of = { .flush = NONE };
	if (!(ROOMS(arena, graph->ops, of.time, of.sure, of.traits, of.forward) &&
		ROOMS(arena, graph->storages, of.copies, of.fixed, step->storage)))
		return false;
	FOR(op, graph->ops)
		fit_describe_op(choosing, graph, op, &of);
	FOR(s, graph->storages)
		fit_describe_storage(choosing, rank, step, s, &of);
	step->input = (struct recompute_input){ .graph = graph,
		.time = of.time,
		.sure = of.sure,
		.traits = of.traits,
		.alignment = input->alignment,
		.workspace = input->workspace,
		.random = input->random,
		.fixed = of.fixed,
		.forward = of.forward,
		.copies = of.flush == NONE ? NULL : of.copies,
		.flush = of.flush };
	return true;
}

static enum status make_step(struct choosing *choosing, uint32_t rank, struct rank_step *step)
{
	const struct pipelined *pipelined = choosing->pipelined;
	struct in_flight *one;
	NEED(ROOM(&step->arena, one, pipelined->ranks * pipelined->chunks));
	FOR(k, pipelined->ranks * pipelined->chunks)
		one[k] = (struct in_flight) { 1, 1, 1 };
	step->graph = pipeline_rank_graph(
		&pipelined->cut, &choosing->flow, one, pipelined->microbatches, rank, NULL, choosing->error);
	if (!step->graph)
		return choosing->error->status;
	return pipeline_fit_describe(choosing, rank, step) ? OK : NO_MEMORY;
}

/* ---- choosing ---- */

/* What a rank drops; what several ranks make for themselves is dropped where all of them drop it. */
static void pipeline_fit_take(struct choosing *choosing, const struct rank_step *step, const uint8_t *state)
{
	FOR(s, step->graph->storages) {
		uint32_t of = step->storage[s];
		if (of == NONE || state[s] == STAYS)
			continue;
		bool first = !choosing->chosen[of];
		choosing->state[of] = first || (choosing->state[of] != RECOMPUTE_KEEP && state[s] == RECOMPUTE_KEEP) ? state[s]
			: choosing->state[of];
		choosing->chosen[of] = true;
	}
}

/* Of the first round, whose caps are the whole one: what the rank's bound is of goes over, with a copy of its proof. */
static enum status note_bound(
	struct fitted *fitted, uint32_t rank, struct rank_step *step, const struct recompute_plan *plan)
{
	struct recompute_certificate certificate = plan->certificate;
	if (fitted->ranks != rank)
		return OK;
	NEED(MAKE(certificate.arc, certificate.arcs + (size_t)1));
	FOR(i, certificate.arcs)
		certificate.arc[i] = plan->certificate.arc[i];
	fitted->rank[fitted->ranks++] = (struct fitted_rank){ step->graph, step->input, step->storage, plan->bound,
		plan->impossible, certificate, step->arena };
	fitted->bound += plan->bound;
	fitted->impossible |= plan->impossible;
	step->graph = NULL;
	step->arena = (struct arena){ 0 };
	return OK;
}

/* All that a rank's choice depends on: other cuts, and lower caps of other ranks, ask for it again. */
static struct key pipeline_fit_key(const struct rank_step *step, int64_t most, int64_t cap)
{
	const struct recompute_input *input = &step->input;
	size_t ops = step->graph->ops, storages = step->graph->storages;
	const uint64_t whole[] = { step->graph->fingerprint, (uint64_t)most, (uint64_t)cap, (uint64_t)input->alignment,
		input->workspace, input->random };
	struct key key = key_of("recomputation of a rank");
	key_add_bytes(&key, whole, sizeof whole);
	key_add_bytes(&key, input->time, ops * sizeof *input->time);
	key_add_bytes(&key, input->sure, ops * sizeof *input->sure);
	key_add_bytes(&key, input->forward, ops * sizeof *input->forward);
	key_add_bytes(&key, input->fixed, storages);
	key_add_bytes(&key, input->copies, input->copies ? storages * sizeof *input->copies : 0);
	return key;
}

/* A rank's plan under a cap. In the store, by references. */
struct rank_choice { struct recompute_plan plan; uint32_t references; };

static void rank_choice_release(void *pointer)
{
	struct rank_choice *choice = pointer;
	if (!choice || --choice->references > 0)
		return;
	recompute_plan_free(&choice->plan);
	mem_free(choice);
}
DROP(rank_choice, rank_choice_release)

static enum status fit_solve(const struct choosing *choosing, const struct rank_step *step,
	const struct rank_choice *start, int64_t cap, struct recompute_plan *plan)
{
	struct recompute_search_options options = { .ticks = TICKS, .near = NEAR, .start = start ? &start->plan : NULL };
	OWN(recompute_solver) solver = { 0 };
	TRY(recompute_solver_new(&step->input, &solver));
	TRY(recompute_solve(&solver, cap, &options, choosing->stage->control, plan));
	FOR(s, step->graph->storages)
		plan->state[s] = solver.step.droppable[s] ? plan->state[s] : STAYS;
	return OK;
}

/* From the store, or made; a smaller cap than the most that a rank may take begins with that one's. *choice, also where
 * it fails: a reference. */
static enum status fit_choose(
	const struct choosing *choosing, const struct rank_step *step, int64_t cap, struct rank_choice **choice)
{
	struct key key = pipeline_fit_key(step, choosing->fit->most, cap);
	OWN(rank_choice) *first = NULL;
	*choice = store_find(choosing->stage->store, &key);
	if (*choice) {
		(*choice)->references++;
		return OK;
	}
	if (cap < choosing->fit->most)
		TRY(fit_choose(choosing, step, choosing->fit->most, &first));
	struct rank_choice *MAKE(made, 1);
	*choice = made;
	NEED(made);
	made->references = 1;
	TRY(fit_solve(choosing, step, first, cap, &made->plan));
	made->references++;
	store_keep(choosing->stage->store, &key, made,
		step->graph->storages + step->graph->ops * sizeof(uint32_t) +
			made->plan.certificate.arcs * sizeof *made->plan.certificate.arc,
		rank_choice_release);
	return OK;
}

static enum status choose_states(struct choosing *choosing, uint32_t rank, struct rank_step *step)
{
	OWN(rank_choice) *choice = NULL;
	enum status status = fit_choose(choosing, step, choosing->fit->cap[rank], &choice);
	if (status == OK) {
		pipeline_fit_take(choosing, step, choice->plan.state);
		choosing->fit->impossible |= choice->plan.impossible;
		status = note_bound(choosing->fit->fitted, rank, step, &choice->plan);
	}
	return fail_status(choosing->error, status);
}

/* The rank's graph is there from the first round on. */
static enum status choose_rank(struct choosing *choosing, uint32_t rank)
{
	struct rank_step step = { 0 };
	const struct fitted_rank *made = &choosing->fit->fitted->rank[rank];
	bool again = rank < choosing->fit->fitted->ranks;
	if (again)
		step = (struct rank_step){ graph_retain(made->step), made->storage, made->input, { 0 } };
	enum status status = again ? OK : make_step(choosing, rank, &step);
	status = status == OK ? choose_states(choosing, rank, &step) : status;
	graph_release(step.graph);
	arena_free(&step.arena);
	return status == NO_MEMORY ? fail_memory(choosing->error) : status;
}

/* ---- the device's graph ---- */

/* The states along the device's program order. What can't be played so is written anew once, for all its readers. */
static struct graph *apply_states(struct choosing *choosing)
{
	struct recompute_input input = choosing->fit->fitted->input;
	OWN(recompute_step) step;
	OWN(recompute_replay) replay = { 0 };
	struct recompute_base base = { 0 };
	struct graph *graph = NULL;
	uint32_t *order = arena_alloc(&choosing->arena, choosing->device->ops, sizeof *order);
	input.forward = choosing->forward;
	input.fixed = choosing->fixed;
	enum status status = recompute_step_find(&input, &step);
	FOR_WHILE(op, choosing->device->ops, order)
		order[op] = op;
	status = status == OK && order ? recompute_replay_new(&step, &replay) : NO_MEMORY;
	status = status == OK ? recompute_base_of(&step, order, &base) : status;
	for (int once = 0; once < 2 && status == OK; once++) {
		FOR(s, step.storages) {
			uint8_t *state = &choosing->state[s];
			*state = !step.droppable[s] ? RECOMPUTE_KEEP : once && *state != RECOMPUTE_KEEP ? RECOMPUTE_HOLD : *state;
		}
		status = recompute_play_all(&replay, &base, choosing->state);
		if (replay.valid)
			break;
	}
	if (status != OK)
		fail_memory(choosing->error);
	else if (!replay.valid)
		fail(choosing->error, INFEASIBLE, "recompute=auto found nothing to recompute on these pipeline ranks");
	else
		graph = recompute_build(&replay, choosing->state, choosing->error);
	recompute_base_free(&base);
	return graph;
}

struct graph *pipeline_fit_graph(struct stage_context *stage, struct pipeline_fit *fit, struct error *error)
{
	struct choosing choosing = {
		.stage = stage, .fit = fit, .pipelined = fit->pipelined, .device = fit->pipelined->device, .error = error
	};
	enum status status = pipeline_fit_begin(&choosing);
	fit->impossible = false;
	if (status == OK && !fit->fitted->rank &&
		!(MAKE(fit->fitted->rank, fit->pipelined->ranks)))
		status = fail_memory(error);
	FOR_WHILE(r, fit->pipelined->ranks, status == OK)
		status = choose_rank(&choosing, r);
	struct graph *graph = status == OK ? apply_states(&choosing) : NULL;
	pipeline_flow_free(&choosing.flow);
	arena_free(&choosing.arena);
	return graph;
}
