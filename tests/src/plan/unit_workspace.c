/* unit_workspace.c: plans whose ops have workspaces, which lie at addresses of their own. */
#include "src/plan/verdict.h"
#include "src/read/input.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/random_graph.h"
#include "tests/common/support.h"
#include "src/scenario/knobs.h"

enum { ITEMS = 400 };

/* Live at a position, by hand of the graph. */
static bool is_live(const struct plan *plan, uint32_t item, uint32_t position)
{
	const struct graph *graph = plan->graph;
	if (item >= graph->storages)
		return plan->ordered->position[item - graph->storages] == position
			&& graph->op[item - graph->storages].workspace > 0;
	const struct storage *storage = &graph->storage[item];
	uint32_t first = storage->allocator == NONE ? 0 : plan->ordered->position[storage->allocator], last = first;
	if (storage->persistent)
		return storage->bytes > 0;
	FOR_ROW(i, &graph->users, item)
		last = plan->ordered->position[graph->users.item[i]] > last ? plan->ordered->position[graph->users.item[i]]
			: last;
	last = storage->live_out ? graph->ops - 1 : last;
	bool used = storage->bytes > 0 && (storage->live_out || csr_length(&graph->users, item) > 0);
	return used && first <= position && position <= last;
}

static int64_t bytes_of(const struct plan *plan, uint32_t item)
{
	const struct graph *graph = plan->graph;
	int64_t bytes = item < graph->storages ? graph->storage[item].bytes : graph->op[item - graph->storages].workspace;
	return align_up(bytes, plan->scenario.value[K_alignment]);
}

/* The highest byte that the step touches at the plan's addresses; -1: two that are live at an op overlap. *load: the
 * most that is live. */
static int64_t replay(const struct plan *plan, int64_t *load)
{
	uint32_t items = plan->graph->storages + plan->graph->ops;
	HELD uint32_t *live = mem_alloc(items, sizeof *live);
	const int64_t *offset = plan->laid_out->offset;
	int64_t top = 0;
	*load = 0;
	for (uint32_t position = 0; position < plan->graph->ops; position++) {
		uint32_t count = 0;
		int64_t sum = 0;
		for (uint32_t item = 0; item < items; item++) {
			int64_t bytes = bytes_of(plan, item), end = offset[item] + bytes;
			if (!is_live(plan, item, position))
				continue;
			for (uint32_t i = 0; i < count; i++)
				if (offset[item] < offset[live[i]] + bytes_of(plan, live[i]) && offset[live[i]] < end)
					return -1;
			if (offset[item] < 0)
				return -1;
			live[count++] = item;
			sum += bytes;
			top = end > top ? end : top;
		}
		*load = sum > *load ? sum : *load;
	}
	return top;
}

Test(workspace, no_step_touches_a_byte_above_its_arena_or_one_that_is_in_use)
{
	static const char *const layouts[] = { "best", "firstfit", "greedy", "bestfit", "llfb", "roam", "dive" };
	uint64_t seed = test_seed();
	uint32_t count = 0;
	OWN(planner) planner = { .store = store_new() };
	for (uint32_t round = 0; count < test_rounds(100, 3000); round++) {
		OWN(graph) *graph = random_graph(&seed, 1 + (uint32_t)(random_next(&seed) % 30));
		bool any = false;
		for (uint32_t op = 0; op < graph->ops; op++)
			any |= graph->op[op].workspace > 0;
		if (!any)
			continue;
		char words[100];
		snprintf(words, sizeof words, "layout=%s order=%s alignment=%d", layouts[count % 7], round % 2 ? "best"
			: "program",
			(int[]){ 1, 1, 8 }[round % 3]);
		OWN(plan) *plan = plan_of_words(&planner, graph, words);
		int64_t load, top = replay(plan, &load);
		cr_assert_geq(top, 0, "SEED=%llu round %u %s: an overlap", (unsigned long long)test_seed(), round, words);
		cr_assert_eq(load, plan_peak(plan), "SEED=%llu round %u %s", (unsigned long long)test_seed(), round, words);
		cr_assert_eq(plan->laid_out->layout.load, load, "SEED=%llu round %u %s", (unsigned long long)test_seed(), round,
			words);
		cr_assert(top == plan_arena(plan), "SEED=%llu round %u %s: %lld, arena %lld",
			(unsigned long long)test_seed(), round, words, (long long)top, (long long)plan_arena(plan));
		cr_assert_leq(plan_arena(plan), plan_needs(plan));
		count++;
	}
}

static void expect_addresses(struct planner *planner, struct graph *graph, const char *words)
{
	OWN(plan) *plan = plan_of_words(planner, graph, words);
	int64_t load, top = replay(plan, &load);
	cr_expect(top == plan_arena(plan) && load == plan_peak(plan) && plan->laid_out->layout.load == load,
		"%s: arena %lld, by addresses %lld; peak %lld, live %lld", words, (long long)plan_arena(plan), (long long)top,
		(long long)plan_peak(plan), (long long)load);
}

/* Collectives' buffers, what is gathered, cut, computed again, sent away, in flight: all that is counted at an op has
 * an address there. */
Test(workspace, what_is_counted_of_steps_of_every_kind_has_an_address)
{
	static const char *const kinds[] = {
		"batch=4", "recompute=full batch=4", "recompute=auto memory=3MiB", "loss_chunks=4", "float8=on",
			"optimizer=sgd accumulation=4",
		"in_place=off", "offload=on recompute=auto memory=3MiB host_bandwidth=1GB/s", "devices=4 strategy=data",
			"devices=4 strategy=zero",
		"devices=4 strategy=zero zero=2 accumulation=2", "devices=4 strategy=megatron tp=4",
			"devices=4 strategy=megatron tp=2 sp=on zero=1 order=fast",
		"devices=4 cp=2 strategy=megatron", "devices=2 pp=2 microbatches=4 strategy=data",
			"devices=4 pp=2 microbatches=4 strategy=data schedule=zbv",
		"devices=2 pp=2 microbatches=2 strategy=data schedule=interleaved recompute=full",
			"devices=2 strategy=data microbatches=2 zero=2",
	};
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = step_of_sizes("gpt", (struct model_config){ .layers = 2, .hidden = 48, .heads = 4, .seq = 32,
		.batch = 8, .vocab = 128 });
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		expect_addresses(&planner, graph, kinds[i]);
	OWN(graph) *chain = graph_open("samples/chain.jsonl", NULL, &(struct error){ 0 });
	expect_addresses(&planner, chain, "order=best;offload conv1.out");
}

/* ---- the smallest arena, by trying all
 * --------------------------------------------------------------------------------------- */

/* Ops that each make a tensor of what came before, half of them with a workspace, all of a few bytes. */
static struct graph *small_graph(uint64_t *seed, uint32_t ops)
{
	OWN(draft) *draft = draft_new();
	uint32_t made[20];
	bool fine = draft;
	for (uint32_t op = 0; fine && op < ops; op++) {
		char name[20];
		int64_t workspace = random_next(seed) % 2 ? 1 + (int64_t)(random_next(seed) % 9) : 0;
		snprintf(name, sizeof name, "op%u", op);
		struct op made_op = { .name = name, .type = "f", .flops = -1, .workspace = workspace,
			.has_workspace = workspace > 0 };
		fine = draft_op(draft, &made_op) != NONE;
		for (uint32_t i = 0; fine && i < random_next(seed) % 3 && op > 0; i++)
			fine = draft_read(draft, op, made[random_next(seed) % op]) == OK;
		made[op] = fine ? random_tensor(draft, "made", op, NONE, KIND_ACTIVATION, 1 + (int64_t)(random_next(seed) % 9))
			: NONE;
		fine = made[op] != NONE && draft_write(draft, op, made[op]) == OK;
	}
	return fine ? graph_build(draft, NULL) : NULL;
}

/* In a smallest layout, pushed down as far as it goes, every buffer lies at the lowest place that a pinned one and
 * those below it leave: one of all orders, each buffer in turn at its lowest place, leads to it. */
struct brute {
	const struct plan *plan;
	uint32_t item[ITEMS], count;
	int64_t offset[ITEMS], best;
	bool placed[ITEMS];
};

static bool meet(const struct plan *plan, uint32_t a, uint32_t b)
{
	for (uint32_t position = 0; position < plan->graph->ops; position++)
		if (is_live(plan, a, position) && is_live(plan, b, position))
			return true;
	return false;
}

static int64_t lowest(const struct brute *brute, uint32_t a)
{
	const struct plan *plan = brute->plan;
	int64_t place = 0, bytes = bytes_of(plan, brute->item[a]);
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t b = 0; b < brute->count; b++) {
			int64_t end = brute->offset[b] + bytes_of(plan, brute->item[b]);
			if (!brute->placed[b] || place >= end || brute->offset[b] >= place + bytes
				|| !meet(plan, brute->item[a], brute->item[b]))
				continue;
			place = end;
			moved = true;
		}
	}
	return place;
}

static void try_all(struct brute *brute, uint32_t placed, int64_t height)
{
	if (placed == brute->count)
		brute->best = height;
	for (uint32_t i = 0; placed < brute->count && i < brute->count && brute->best > plan_peak(brute->plan); i++) {
		if (brute->placed[i])
			continue;
		brute->offset[i] = lowest(brute, i);
		int64_t top = brute->offset[i] + bytes_of(brute->plan, brute->item[i]), above = top > height ? top : height;
		brute->placed[i] = true;
		if (above < brute->best)
			try_all(brute, placed + 1, above);
		brute->placed[i] = false;
	}
}

Test(workspace, arenas_are_the_smallest_that_any_layout_has)
{
	uint64_t seed = test_seed();
	uint32_t count = 0, above = 0;
	OWN(planner) planner = { .store = store_new() };
	for (uint32_t round = 0; count < test_rounds(100, 3000); round++) {
		uint32_t ops = 4 + (uint32_t)(random_next(&seed) % 4), pinned = (uint32_t)(random_next(&seed) % ops);
		int64_t at = (int64_t)(random_next(&seed) % 12) * (1 + round % 3);
		OWN(graph) *graph = small_graph(&seed, ops);
		char words[100];
		snprintf(words, sizeof words, "order=%s alignment=%u layout_effort=3;pin tensor made%u at %lld", round % 2
			? "program" : "list",
			1 + round % 3, pinned, (long long)at);
		OWN(plan) *plan = plan_of_words(&planner, graph, words);
		struct brute brute = { .plan = plan, .best = INT64_MAX };
		uint32_t workspaces = 0, pins = 0;
		int64_t height = 0;
		for (uint32_t item = 0; item < plan->laid_out->items; item++) {
			if (plan->laid_out->first[item] == NONE)
				continue;
			if (item == graph->tensor[pinned].storage) {
				brute.placed[brute.count] = true;
				brute.offset[brute.count] = at;
				pins = 1;
				height = at + bytes_of(plan, item);
			}
			brute.item[brute.count++] = item;
			workspaces += item >= graph->storages;
		}
		if (brute.count > 10 || workspaces == 0)
			continue;
		try_all(&brute, pins, height);
		cr_assert(proof_closed(&plan->laid_out->layout.proof), "SEED=%llu round %u: not proved",
			(unsigned long long)test_seed(), round);
		cr_assert_eq(plan_arena(plan), brute.best, "SEED=%llu round %u: %lld, but %lld is possible",
			(unsigned long long)test_seed(), round,
			(long long)plan_arena(plan), (long long)brute.best);
		above += brute.best > plan_peak(plan);
		count++;
	}
	printf("SEED=%llu: %u layouts with workspaces are the smallest, %u of them above the peak\n",
		(unsigned long long)test_seed(), count, above);
}
