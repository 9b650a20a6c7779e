/* unit_pipeline_plan.c: the graphs of pipeline ranks compute what the whole step does, microbatch by microbatch. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/model_steps.h"
#include "tests/common/random_model.h"
#include "tests/common/ranks_scheduled.h"
#include "solver/pipeline/check.h"
#include "solver/step/recompute.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "tests/common/support.h"

struct tally { uint32_t run, refused, sent, tied, shared, caught, split; };

/* Gradients of a piece's weights come behind all others of its backward pass, in every order of the rank's graph. */
static void check_weights_wait(
	const struct pipeline_cut *cut, const struct graph *rank, uint32_t number, const char *what, struct tally *tally)
{
	HELD bool *behind = mem_alloc(rank->ops, sizeof *behind);
	for (uint32_t op = 0; op < cut->graph->ops; op++) {
		uint32_t first = graph_find_op(rank, cut->graph->op[op].name);
		if (first == NONE || cut->weight[op] || cut->anywhere[op] || cut->side[op] != SIDE_BACKWARD ||
			cut_rank(cut, op) != number)
			continue;
		for (uint32_t id = 0; id < rank->ops; id++) {
			behind[id] = id == first;
			FOR_ROW(i, &rank->pred, id)
				behind[id] |= behind[rank->pred.item[i]];
		}
		for (uint32_t other = 0; other < cut->graph->ops; other++) {
			uint32_t id = graph_find_op(rank, cut->graph->op[other].name);
			if (id == NONE || !cut->weight[other] || cut->anywhere[other] || cut->of_tied[other] != NONE ||
				cut->piece[other] != cut->piece[op])
				continue;
			cr_assert(behind[id], "%s: %s doesn't wait for %s", what, rank->op[id].name, rank->op[first].name);
			tally->split++;
		}
	}
}

/* Cuts a step behind some ops, runs all ranks and compares. whole: the step before ops were copied to run again, which
 * the blocks are of. */
static void cut_and_run(struct graph *graph, const struct graph *whole, const struct blocks *blocks, uint32_t ranks,
	uint32_t microbatches, bool split, const struct rules *rules, const char *what, struct tally *tally)
{
	uint32_t piece_of[256];
	struct in_flight in_flight[256];
	struct pieces_wanted wanted = { ranks, blocks->blocks, blocks->blocks == 2 * ranks && microbatches % 2 == 0, split };
	OWN(pipeline_cut) cut;
	OWN(pipeline_flow) flow;
	struct graph *rank[64] = { NULL };
	struct units units;
	struct sharding sharding;
	struct mesh mesh = { 0 };
	struct rank_run run;
	struct error error = { 0 };
	for (uint32_t b = 0; b < blocks->blocks; b++) {
		piece_of[b] = b;
		in_flight[b] = (struct in_flight) { 1 + b % 3, 1 + b % 3, 1 };
	}
	cr_assert_eq(pipeline_cut_find(graph, whole, rules, NULL, blocks, piece_of, wanted, &cut), OK);
	enum status status = pipeline_flow_find(&cut, &flow, &error);
	for (uint32_t r = 0; r < ranks && status == OK; r++) {
		rank[r] = pipeline_rank_graph(&cut, &flow, in_flight, microbatches, r, NULL, &error);
		status = error.status;
	}
	cr_assert(status == OK || status == BAD_INPUT, "%s: status %d, %s", what, status, error.text);
	if (status == OK) {
		struct held most[64] = { { 0 } }, less[64];
		for (uint32_t b = 0; b < blocks->blocks; b++) {
			struct held *held = &most[piece_rank(b, ranks, wanted.folded)];
			uint32_t count = in_flight[b].weight;
			held->most = count > held->most ? count : held->most;
			held->least = b < ranks || count < held->least ? count : held->least;
		}
		cr_assert_eq(pipeline_check_ranks(graph, rules, rank, ranks, microbatches, most, &error), OK, "%s: %s", what,
			error.text);
		for (uint32_t r = 0; r < ranks; r++)
			less[r] = (struct held) { 1, 1 };
		for (uint32_t r = 0; r < ranks && split; r++)
			check_weights_wait(&cut, rank[r], r, what, tally);
		struct graph *first = rank[0];
		tally->caught += pipeline_check_ranks(graph, rules, rank, ranks, microbatches, less, &error) != OK;
		rank[0] = rank[ranks - 1];
		tally->caught += ranks > 1 && pipeline_check_ranks(graph, rules, rank, ranks, microbatches, most, &error) != OK;
		rank[0] = first;
		tally->caught += ranks > 1 && pipeline_check_ranks(graph, rules, rank, ranks - 1, microbatches, most, &error) != OK;
		tally->caught += ranks > 1 &&
			pipeline_check_ranks(graph, rules, rank + 1, ranks - 1, microbatches, most, &error) != OK;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		cr_assert_eq(sharding_new(&units, &mesh, &sharding), OK);
		bool same = ranks_run(&run, &units, &sharding, &cut, rank, microbatches, rules);
		cr_assert(same, "%s: %s", what, run.why);
		ranks_free(&run);
		sharding_free(&sharding);
		units_free(&units);
		tally->run++;
		tally->sent += flow.transfers;
		tally->tied += cut.tieds;
		for (uint32_t i = 0; i < flow.transfers; i++)
			tally->shared += flow.transfer[i].state;
	}
	tally->refused += status == BAD_INPUT;
	for (uint32_t r = 0; r < ranks; r++)
		graph_release(rank[r]);
}

Test(pipeline_plan, ranks_of_random_steps_compute_the_whole_steps_states)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed();
	uint32_t rounds = test_rounds(40, 2000);
	struct tally tally = { 0 };
	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t random = seed + round;
		char what[80];
		struct graph *graph = random_step(&random, 3 + round % 12, rules);
		bool *gap = graph ? mem_alloc(graph->ops, sizeof *gap) : NULL;
		struct blocks blocks;
		if (!graph)
			continue;
		for (uint32_t op = 0; op < graph->ops; op++)
			gap[op] = random_next(&random) % 3 == 0;
		cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
		uint32_t ranks = blocks.blocks % 2 == 0 && round % 3 == 0 ? blocks.blocks / 2 : blocks.blocks;
		snprintf(what, sizeof what, "SEED=%lu round %u", (unsigned long)seed, round);
		cut_and_run(graph, graph, &blocks, ranks, 1 + round % 3, round % 2, rules, what, &tally);
		blocks_free(&blocks);
		mem_free(gap);
		graph_release(graph);
	}
	cr_expect_gt(tally.run, 2 * tally.refused, "%u run, %u refused", tally.run, tally.refused);
	cr_expect_gt(tally.sent, tally.run);
	cr_expect_gt(tally.caught, 2 * tally.run, "%u of %u", tally.caught, 4 * tally.run);
}

Test(pipeline_plan, ranks_of_tiny_models_compute_the_whole_steps_states)
{
	static const struct { const char *name; struct model_config size; uint32_t tied; } tiny[] = {
		{ "gpt", { .layers = 3, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 2 }, 1 },
		{ "llama", { .layers = 2, .hidden = 8, .heads = 2, .kv_heads = 1, .ffn = 8, .vocab = 16, .seq = 4, .batch = 2 },
			0 },
		{ "t5", { .layers = 2, .hidden = 8, .heads = 2, .head_width = 4, .ffn = 8, .vocab = 16, .seq = 4, .batch = 2 },
			1 },
		{ "vit", { .layers = 2, .hidden = 8, .heads = 2, .classes = 4, .image = 32, .patch = 16, .batch = 2 }, 0 },
		{ "llama",
			{ .layers = 1,
				.hidden = 8,
				.heads = 2,
				.kv_heads = 1,
				.ffn = 8,
				.vocab = 16,
				.seq = 4,
				.batch = 2,
				.mtp_layers = 2 },
			1 },
		{ "deepseek",
			{ .layers = 2,
				.hidden = 8,
				.heads = 2,
				.head_width = 4,
				.rope_width = 2,
				.value_width = 2,
				.kv_rank = 4,
				.q_rank = 4,
				.ffn = 12,
				.expert_ffn = 4,
				.experts = 4,
				.top_k = 2,
				.shared_experts = 2,
				.vocab = 16,
				.seq = 4,
				.batch = 2,
				.mtp_layers = 1 },
			1 },
	};
	static const enum optimizer optimizers[] = { OPTIMIZER_ADAM, OPTIMIZER_SGD, OPTIMIZER_ADAMW, OPTIMIZER_MOMENTUM };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < sizeof tiny / sizeof *tiny; m++) {
		struct model_config config = sized_model(tiny[m].name, tiny[m].size);
		struct model_training training = { .optimizer = optimizers[m % 4] };
		struct tally tally = { 0 };
		OWN(blocks) blocks;
		config.ffn = tiny[m].size.ffn;
		OWN(graph) *graph = step_of_config(tiny[m].name, config, training);
		bool *gap = mem_alloc(graph->ops, sizeof *gap);
		uint32_t gaps;
		cr_assert_eq(blocks_cheap_gaps(graph, 6, gap, &gaps), OK);
		cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
		cr_assert_eq(blocks.blocks, gaps + 1);
		mem_free(gap);
		for (uint32_t ranks = 2; ranks <= blocks.blocks; ranks++)
			if (blocks.blocks % ranks == 0 || ranks == blocks.blocks)
				for (uint32_t way = 0; way < 3; way++)
					cut_and_run(graph, graph, &blocks, ranks, 2 + way % 2, way > 0, rules, tiny[m].name, &tally);
		cr_expect_eq(tally.refused, 0, "%s", tiny[m].name);
		cr_expect_gt(tally.split, 0, "%s", tiny[m].name);
		cr_expect(tally.tied >= tiny[m].tied * tally.run, "%s: %u tied in %u", tiny[m].name, tally.tied, tally.run);
	}
}

/* A rank for each block: two microbatches, then three with split backward passes. */
static void cut_twice_and_run(struct graph *graph, const struct rules *rules, const char *name)
{
	struct tally tally = { 0 };
	OWN(blocks) blocks;
	uint32_t gaps;
	bool *gap = mem_alloc(graph->ops, sizeof *gap);
	cr_assert_eq(blocks_cheap_gaps(graph, 6, gap, &gaps), OK);
	cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
	mem_free(gap);
	for (uint32_t way = 0; way < 2; way++)
		cut_and_run(graph, graph, &blocks, blocks.blocks, 2 + way, way > 0, rules, name, &tally);
	cr_expect_eq(tally.run, 2, "%s: %u", name, tally.run);
}

/* The other operand of a sum that nobody else reads, or NONE. */
static uint32_t read_once(const struct graph *graph, uint32_t op)
{
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i], readers = 0;
		FOR_ROW(j, &graph->users, graph->tensor[tensor].storage)
			readers += graph->users.item[j] != graph->tensor[tensor].writer;
		if (readers == 1 && graph->tensor[tensor].writer != NONE && graph->tensor[tensor].alias == NONE)
			return tensor;
	}
	return NONE;
}

/* The step in which sums of gradients are written over a part, as PyTorch adds up those of tied parameters. */
static struct graph *summed_in_place(const struct graph *graph, uint32_t *sums)
{
	OWN(draft) *draft = draft_new();
	struct error error = { 0 };
	HELD uint32_t *over = mem_alloc(graph->ops, sizeof *over);
	cr_assert_eq(draft_describe(draft, graph->name, NULL, NULL, &graph->about), OK);
	for (uint32_t op = 0; op < graph->ops; op++) {
		bool sum = strcmp(graph->op[op].type, "aten.add.Tensor") == 0 && graph->op[op].phase == PHASE_BACKWARD &&
			csr_length(&graph->reads, op) == 2 &&
			graph->tensor[graph->writes.item[graph->writes.start[op]]].kind == KIND_GRADIENT;
		over[op] = sum ? read_once(graph, op) : NONE;
		*sums += over[op] != NONE;
	}
	for (uint32_t t = 0; t < graph->tensors; t++) {
		struct tensor tensor = graph->tensor[t];
		if (tensor.writer != NONE && over[tensor.writer] != NONE)
			tensor.alias = over[tensor.writer];
		cr_assert_neq(draft_tensor(draft, &tensor), NONE);
	}
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct op copy = graph->op[op];
		copy.type = over[op] == NONE ? copy.type : "aten.add_.Tensor";
		cr_assert_eq(draft_op(draft, &copy), op);
		FOR_ROW(i, &graph->reads, op)
			cr_assert_eq(draft_read(draft, op, graph->reads.item[i]), OK);
		FOR_ROW(i, &graph->writes, op)
			cr_assert_eq(draft_write(draft, op, graph->writes.item[i]), OK);
		for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1]; i++)
			cr_assert_eq(draft_inplace(draft, op, graph->inplace[i].out, graph->inplace[i].in), OK);
		if (over[op] != NONE)
			cr_assert_eq(draft_inplace(draft, op, graph->writes.item[graph->writes.start[op]], over[op]), OK);
	}
	struct graph *result = graph_build(draft, &error);
	cr_assert_not_null(result, "%s", error.text);
	return result;
}

Test(pipeline_plan, ranks_that_sum_tied_gradients_in_place_compute_the_whole_steps_states)
{
	static const char *const names[] = { "gpt", "t5" };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
		struct model_config size = { .layers = 3,
			.hidden = 8,
			.heads = 2,
			.head_width = 4,
			.ffn = 8,
			.vocab = 16,
			.positions = 8,
			.seq = 4,
			.batch = 2 };
		uint32_t sums = 0;
		OWN(graph) *step = step_of_config(
			names[m], sized_model(names[m], size), (struct model_training){ .optimizer = OPTIMIZER_ADAM });
		OWN(graph) *graph = summed_in_place(step, &sums);
		cr_expect_gt(sums, 0, "%s", names[m]);
		cut_twice_and_run(graph, rules, names[m]);
	}
}

/* Steps of two layers, of GPT and of Llama. */
static void cut_decoders(struct model_training training)
{
	static const char *const names[] = { "gpt", "llama" };
	const struct model_config size = { .layers = 2, .hidden = 8, .heads = 2, .kv_heads = 2, .ffn = 8, .positions = 8,
		.vocab = 16, .seq = 4, .batch = 2 };
	for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
		OWN(graph) *graph = step_of_config(names[m], sized_model(names[m], size), training);
		cut_twice_and_run(graph, test_rules(), names[m]);
	}
}

/* Gradients are added to memory that lives from step to step: no sum beside it. */
Test(pipeline_plan, ranks_that_add_to_gradients_of_earlier_steps_compute_the_whole_steps_states)
{
	cut_decoders((struct model_training){ .optimizer = OPTIMIZER_ADAM, .accumulate = true });
}

/* Microbatches add up gradients in 16 bits and cast the sums where casts belong to the update. */
Test(pipeline_plan, ranks_that_add_up_narrow_gradients_compute_the_whole_steps_states)
{
	static const char *const names[] = { "gpt", "llama" };
	OWN(rules) *rules = rules_new();
	for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
		struct model_config config = model_find(names[m])->config;
		const struct train_options options = { .rules = rules, .update = { .optimizer = OPTIMIZER_ADAM, .master = true } };
		struct error error = { 0 };
		uint32_t moved;
		config.layers = config.heads = config.kv_heads = config.batch = 2;
		config.hidden = config.ffn = config.positions = 8;
		config.vocab = 16;
		config.seq = 4;
		OWN(graph) *built = model_build(names[m], &config, &error),
				   *mixed = built ? precision_apply(built, rules, PRECISION_MIXED, &error) : NULL;
		OWN(graph) *step = mixed ? train_step(mixed, &options, &error) : NULL;
		cr_assert_not_null(step, "%s", error.text);
		OWN(graph) *graph = late_casts(step, true, &moved, &error);
		cr_assert(graph && moved > 10, "%s: %u", names[m], moved);
		for (uint32_t op = 0; op < graph->ops; op++)
			cr_assert(!graph_widens_gradient(graph, op) || graph->op[op].phase == PHASE_UPDATE, "%s", graph->op[op].name);
		cut_twice_and_run(graph, rules, names[m]);
	}
}

/* A scaled loss: the flag that some gradient isn't finite is summed over all ranks before any of them updates. */
Test(pipeline_plan, ranks_of_a_scaled_loss_compute_the_whole_steps_states)
{
	cut_decoders((struct model_training){ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED });
}

/* Layers that run again on the ranks that ran them: the device's graph has ops that the step that was cut has not. */
Test(pipeline_plan, ranks_run_again_what_they_ran)
{
	struct model_config small = { .family = FAMILY_GPT,
		.layers = 4,
		.hidden = 8,
		.heads = 2,
		.vocab = 8,
		.positions = 4,
		.seq = 4,
		.batch = 1,
		.tied = true };
	struct error error;
	OWN(graph) *graph = step_of_config("small", small, (struct model_training) { .optimizer = OPTIMIZER_SGD });
	struct rules *rules = test_rules();
	OWN(activations) activations;
	struct tally tally = { 0 };
	OWN(blocks) blocks;
	HELD bool *drop = mem_alloc(graph->storages, sizeof *drop), *gap = mem_alloc(graph->ops, sizeof *gap);
	uint32_t gaps;
	cr_assert_eq(activations_find(graph, rules, &activations, &error), OK);
	recompute_choose(graph, &activations, &(struct recompute_options) { .mode = RECOMPUTE_FULL }, drop);
	OWN(graph) *again = recompute_apply(graph, &activations, drop, NULL, 0, &error);
	cr_assert_not_null(again, "%s", error.text);
	cr_assert_gt(again->ops, graph->ops);
	cr_assert_eq(blocks_cheap_gaps(graph, 3, gap, &gaps), OK);
	cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
	for (uint32_t ranks = 2; ranks <= 4; ranks += 2)
		for (int split = 0; split < 2 && blocks.blocks == 4; split++)
			cut_and_run(again, graph, &blocks, ranks, 2, split, rules, "runs again", &tally);
	cr_expect_eq(tally.run, 4);
	cr_expect_eq(tally.refused, 0);
}

/* The graphs of a schedule's ranks, with what it has in flight, run slot by slot as it is played. */
static void run_scheduled(struct graph *graph, const struct blocks *blocks, enum schedule schedule, uint32_t ranks,
	uint32_t microbatches, const struct rules *rules, uint32_t *ran)
{
	uint32_t pieces = ranks * (schedule_folded(schedule) || schedule == SCHEDULE_INTERLEAVED ? 2 : 1), piece_of[64];
	int64_t time[4][16];
	struct graph *rank[8] = { NULL };
	OWN(pipeline_cut) cut;
	OWN(pipeline_flow) flow;
	OWN(pipeline_plan) plan;
	struct units units;
	struct sharding sharding;
	struct mesh mesh = { 0 };
	struct rank_run run;
	struct error error = { 0 };
	for (uint32_t b = 0; b < blocks->blocks; b++)
		piece_of[b] = b * pieces / blocks->blocks;
	for (uint32_t k = 0; k < pieces; k++) {
		time[0][k] = 10 + k % 3;
		time[1][k] = 20 + k % 4;
		time[2][k] = 10;
		time[3][k] = k % 2;
	}
	struct pipeline pipeline = { .schedule = schedule,
		.ranks = ranks,
		.chunks = pieces / ranks,
		.microbatches = microbatches,
		.forward = time[0],
		.backward = time[1],
		.weight = time[2],
		.send = time[3] };
	cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK, "%s", error.text);
	cr_assert_eq(pipeline_cut_find(graph, graph, rules, NULL, blocks, piece_of,
					 (struct pieces_wanted){ ranks, pieces, plan.folded, plan.split }, &cut),
		OK);
	cr_assert_eq(pipeline_flow_find(&cut, &flow, &error), OK, "%s", error.text);
	for (uint32_t r = 0; r < ranks; r++) {
		rank[r] = pipeline_rank_graph(&cut, &flow, plan.piece_in_flight, microbatches, r, NULL, &error);
		cr_assert_not_null(rank[r], "%s", error.text);
	}
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(sharding_new(&units, &mesh, &sharding), OK);
	bool same = ranks_run_scheduled(&run, &units, &sharding, &cut, rank, &plan, microbatches, rules, ran);
	cr_assert(same, "%s: %s", schedule_names[schedule], run.why);
	ranks_free(&run);
	sharding_free(&sharding);
	units_free(&units);
	for (uint32_t r = 0; r < ranks; r++)
		graph_release(rank[r]);
}

/* Every schedule: a split backward pass is two passes of ops, each of which finds there what it reads when the schedule
 * says that it runs. */
Test(pipeline_plan, ranks_of_every_schedule_compute_the_whole_steps_states)
{
	struct model_config small = { .family = FAMILY_GPT,
		.layers = 3,
		.hidden = 8,
		.heads = 2,
		.vocab = 8,
		.positions = 4,
		.seq = 4,
		.batch = 1,
		.tied = true };
	OWN(graph) *graph = step_of_config("small", small, (struct model_training) { .optimizer = OPTIMIZER_SGD });
	struct rules *rules = test_rules();
	OWN(blocks) blocks;
	HELD bool *gap = mem_alloc(graph->ops, sizeof *gap);
	uint32_t gaps;
	cr_assert_eq(blocks_cheap_gaps(graph, 11, gap, &gaps), OK);
	cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
	for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++)
		for (uint32_t ranks = 2; ranks <= test_rounds(2, 4); ranks++) {
			uint32_t ran[PASS_COUNT];
			bool split = schedule_split((enum schedule)schedule);
			run_scheduled(graph, &blocks, (enum schedule)schedule, ranks, 2 * ranks, rules, ran);
			cr_expect(ran[PASS_FORWARD] > 0 && (ran[PASS_WEIGHT] > 0) == split && (ran[PASS_INPUT] > 0) == split &&
					(ran[PASS_BACKWARD] > 0) == !split,
				"%s", schedule_names[schedule]);
		}
}

/* Two microbatches of a tied model over two ranks: what failing allocations leave. */
Test(pipeline_plan, failing_allocations_leave_nothing)
{
	struct model_config small = { .family = FAMILY_GPT,
		.layers = 1,
		.hidden = 8,
		.heads = 2,
		.vocab = 16,
		.positions = 4,
		.seq = 4,
		.batch = 1,
		.tied = true };
	struct error error;
	OWN(graph) *graph = step_of_config("small", small, (struct model_training) { .optimizer = OPTIMIZER_SGD });
	OWN(blocks) blocks;
	HELD bool *gap = mem_alloc(graph->ops, sizeof *gap);
	uint32_t gaps, piece_of[] = { 0, 1 };
	struct in_flight in_flight[] = { { 2, 2, 1 }, { 1, 2, 2 } };
	struct rules *rules = test_rules();
	cr_assert_eq(blocks_cheap_gaps(graph, 1, gap, &gaps), OK);
	cr_assert_eq(gaps, 1);
	cr_assert_eq(blocks_find_at(graph, gap, &blocks), OK);
	EACH_REFUSAL(refused) {
		OWN(pipeline_cut) cut = { 0 };
		OWN(pipeline_flow) flow = { 0 };
		struct graph *rank = NULL;
		refused.status = pipeline_cut_find(graph, graph, rules, NULL, &blocks, piece_of,
			(struct pieces_wanted){ .ranks = 2, .pieces = 2, .split = true }, &cut);
		if (refused.status == OK)
			refused.status = pipeline_flow_find(&cut, &flow, &error);
		for (uint32_t r = 0; r < 2 && refused.status == OK; r++) {
			graph_release(rank);
			rank = pipeline_rank_graph(&cut, &flow, in_flight, 2, r, NULL, &error);
			refused.status = error.status;
		}
		graph_release(rank);
	}
}

/* The schedule's time by another way, and by what is held. */
Test(pipeline_plan, schedules_played_twice_agree)
{
	uint64_t seed = test_seed(), state = seed;
	for (int round = 0; round < 200; round++) {
		uint32_t ranks = 1 + (uint32_t)(random_next(&state) % 5), chunks = ranks > 1 && round % 3 == 0 ? 2 + round % 2 : 1;
		uint32_t microbatches = chunks > 1 ? ranks * (1 + (uint32_t)(random_next(&state) % 3))
			: 1 + (uint32_t)(random_next(&state) % 9);
		struct held in_flight[5];
		int64_t forward[15], backward[15], send[15];
		OWN(pipeline_plan) plan;
		struct error error;
		for (uint32_t k = 0; k < ranks * chunks; k++) {
			forward[k] = (int64_t)(random_next(&state) % 100);
			backward[k] = (int64_t)(random_next(&state) % 200);
			send[k] = (int64_t)(random_next(&state) % 30);
		}
		struct pipeline pipeline = { .schedule = chunks > 1 ? SCHEDULE_INTERLEAVED
			: round % 2 ? SCHEDULE_GPIPE
			: SCHEDULE_1F1B,
			.ranks = ranks,
			.chunks = chunks,
			.microbatches = microbatches,
			.forward = forward,
			.backward = backward,
			.send = send,
			.blocking = round % 7 == 0 };
		cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK);
		cr_assert_eq(pipeline_check_time(&pipeline, in_flight, NULL), plan.time, "SEED=%lu round %d",
			(unsigned long)seed, round);
		for (uint32_t k = 0; k < ranks * chunks; k++)
			cr_assert(plan.piece_in_flight[k].weight <= in_flight[k % ranks].most &&
				plan.piece_in_flight[k].weight >= in_flight[k % ranks].least);
	}
}

/* Passes beside each other hide each other's collectives: the schedule again by the checker's own way, never longer
 * than without, never below its bound. */
Test(pipeline_plan, passes_beside_each_other_hide_collectives)
{
	uint64_t seed = test_seed(), state = seed;
	uint32_t shorter = 0;
	for (int round = 0; round < 200; round++) {
		uint32_t ranks = 2 + (uint32_t)(random_next(&state) % 4),
				 microbatches = 2 * ranks + (uint32_t)(random_next(&state) % 9), pieces = 2 * ranks;
		struct held in_flight[5];
		int64_t forward[10], backward[10], weight[10], send[10], links[2][10];
		OWN(pipeline_plan) plan, alone;
		struct error error;
		for (uint32_t k = 0; k < pieces; k++) {
			forward[k] = 1 + (int64_t)(random_next(&state) % 100);
			backward[k] = 2 + (int64_t)(random_next(&state) % 200);
			weight[k] = (int64_t)(random_next(&state) % (uint64_t)(backward[k] - 1));
			send[k] = (int64_t)(random_next(&state) % 30);
			links[0][k] = (int64_t)(random_next(&state) % (uint64_t)(forward[k] + 1));
			links[1][k] = (int64_t)(random_next(&state) % (uint64_t)(backward[k] - weight[k] + 1));
		}
		struct pipeline pipeline = { .schedule = SCHEDULE_DUALPIPEV,
			.ranks = ranks,
			.chunks = 2,
			.microbatches = microbatches,
			.forward = forward,
			.backward = backward,
			.weight = weight,
			.send = send };
		cr_assert_eq(pipeline_run(&pipeline, &alone, &error), OK, "%s", error.text);
		pipeline.forward_link = links[0];
		pipeline.backward_link = links[1];
		cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK);
		struct pipeline_order order = { ranks, 2, microbatches, plan.folded, plan.split, plan.slots, plan.slot };
		struct pipeline again = pipeline;
		again.order = &order;
		cr_assert_eq(
			pipeline_check_time(&again, in_flight, NULL), plan.time, "SEED=%lu round %d", (unsigned long)seed, round);
		cr_assert_geq(plan.time, pipeline_bound(&pipeline, true));
		cr_assert_geq(plan.time, plan.ideal);
		shorter += plan.time < alone.time;
		cr_assert_leq(plan.ideal, alone.ideal);
	}
	cr_expect_gt(shorter, 150, "%u", shorter);
	/* alone, no more than both, and where one computes and the other sends as long as the longer */
	cr_expect_eq(pipeline_together(10, 0, 20, 0), 30);
	cr_expect_eq(pipeline_together(10, 5, 20, 10), 20);
	cr_expect_eq(pipeline_together(10, 10, 20, 0), 20);
	cr_expect_eq(pipeline_together(10, 10, 20, 20), 30);
	cr_expect_eq(pipeline_together(10, 2, 20, 3), 25);
	cr_expect_eq(pipeline_together(10, 4, 0, 0), 10);
}
