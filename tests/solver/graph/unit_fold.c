/* unit_fold.c: chains of equal layers in built-in and random graphs; what is found is checked op by op. */
#include <stdio.h>
#include <string.h>

#include "tests/common/model_steps.h"
#include "solver/graph/fold.h"
#include "src/read/input.h"
#include "src/models/models.h"
#include "tests/common/support.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_join(hash, (unsigned char)*text);
	return hash;
}

static uint64_t hash_tensor(uint64_t hash, const struct tensor *tensor)
{
	hash = hash_join(hash_join(hash, (uint64_t)tensor->bytes), (uint64_t)tensor->dtype << 8 | tensor->dims);
	for (uint32_t i = 0; i < tensor->dims && tensor->shape; i++)
		hash = hash_join(hash, (uint64_t)tensor->shape[i]);
	return hash;
}

/* Ops are alike that have equal types, phases and operands. */
static uint64_t fold_label_op(const struct graph *graph, uint32_t op, void *context)
{
	(void)context;
	uint64_t hash = hash_join(hash_text(0, graph->op[op].type), graph->op[op].phase);
	FOR_ROW(i, &graph->reads, op)
		hash = hash_tensor(hash, &graph->tensor[graph->reads.item[i]]);
	hash = hash_join(hash, 1);
	FOR_ROW(i, &graph->writes, op)
		hash = hash_tensor(hash, &graph->tensor[graph->writes.item[i]]);
	return hash_join(hash, (uint64_t)graph->op[op].workspace);
}

/* ---- an independent checker ------------------------------------------------------------------ */

static uint32_t op_at(const struct fold_segment *segment, uint32_t copy, uint32_t index)
{
	return segment->op[(size_t)copy * segment->ops + index];
}

static bool same_tensor(const struct tensor *a, const struct tensor *b)
{
	if (a->bytes != b->bytes || a->dtype != b->dtype || a->dims != b->dims || !a->shape != !b->shape)
		return false;
	return !a->shape || memcmp(a->shape, b->shape, a->dims * sizeof *a->shape) == 0;
}

static bool same_op(const struct graph *graph, uint32_t a, uint32_t b)
{
	const struct csr *rows[] = { &graph->reads, &graph->writes };
	if (strcmp(graph->op[a].type, graph->op[b].type) != 0 || graph->op[a].phase != graph->op[b].phase)
		return false;
	for (int side = 0; side < 2; side++) {
		if (csr_length(rows[side], a) != csr_length(rows[side], b))
			return false;
		for (uint32_t i = 0; i < csr_length(rows[side], a); i++)
			if (!same_tensor(&graph->tensor[rows[side]->item[rows[side]->start[a] + i]],
				&graph->tensor[rows[side]->item[rows[side]->start[b] + i]]))
				return false;
	}
	return true;
}

/* Says that a tensor of one copy is another one of the next; false when it was said to be something else. */
static bool say(uint32_t *image, uint32_t *origin, uint32_t tensor, uint32_t next)
{
	bool fine = (image[tensor] == NONE || image[tensor] == next) && (origin[next] == NONE || origin[next] == tensor);
	image[tensor] = next;
	origin[next] = tensor;
	return fine;
}

static const char *wrong_argument(
	const struct graph *graph, const struct fold *fold, uint32_t number, uint32_t copy, uint32_t index, uint32_t place)
{
	const struct fold_segment *segment = &fold->segment[number];
	uint32_t middle = segment->copies / 2, model = op_at(segment, middle, index), op = op_at(segment, copy, index);
	uint32_t writer = graph->tensor[graph->reads.item[graph->reads.start[model] + place]].writer;
	uint32_t other = graph->tensor[graph->reads.item[graph->reads.start[op] + place]].writer;
	if (writer == NONE || fold->segment_of[writer] != number)
		return NULL;
	int64_t step = (int64_t)middle - fold->copy_of[writer], from = (int64_t)copy - step;
	if (step < -1 || step > 1)
		return "an argument comes from afar";
	if (from < 0 || from >= segment->copies)
		return other != NONE && fold->segment_of[other] == number ? "an end reads its own segment" : NULL;
	if (other == NONE || fold->segment_of[other] != number || fold->copy_of[other] != from ||
		fold->index_of[other] != fold->index_of[writer])
		return "an argument comes from another op";
	return NULL;
}

/* What is wrong with a segment, or NULL. */
static const char *wrong(const struct graph *graph, const struct fold *fold, uint32_t number)
{
	const struct fold_segment *segment = &fold->segment[number];
	static uint32_t image[1 << 16], origin[1 << 16];
	cr_assert_lt(graph->tensors, 1 << 16);
	memset(image, 0xff, sizeof image);
	memset(origin, 0xff, sizeof origin);
	for (uint32_t copy = 0; copy < segment->copies; copy++)
		for (uint32_t i = 0; i < segment->ops; i++) {
			uint32_t op = op_at(segment, copy, i), next = op_at(segment, copy + 1 < segment->copies ? copy + 1 : copy, i);
			bool inner = copy > 0 && copy + 2 < segment->copies;
			if (fold->segment_of[op] != number || fold->copy_of[op] != copy || fold->index_of[op] != i)
				return "an op is not where it says";
			if (!same_op(graph, op, op_at(segment, 0, i)))
				return "two ops differ";
			for (uint32_t j = 0; j < csr_length(&graph->reads, op); j++) {
				uint32_t tensor = graph->reads.item[graph->reads.start[op] + j],
						 after = graph->reads.item[graph->reads.start[next] + j];
				const char *text = wrong_argument(graph, fold, number, copy, i, j);
				if (text)
					return text;
				if (!inner)
					continue;
				if (!say(image, origin, tensor, after))
					return "no isomorphism";
				uint32_t writer = graph->tensor[tensor].writer;
				if (tensor != after && writer != NONE && fold->segment_of[writer] != number)
					return "copies read different tensors from outside";
			}
			for (uint32_t j = 0; j < csr_length(&graph->writes, op) && inner; j++)
				if (!say(image, origin, graph->writes.item[graph->writes.start[op] + j],
						graph->writes.item[graph->writes.start[next] + j]))
					return "results differ";
		}
	return NULL;
}

static void find(const struct graph *graph, struct fold *fold)
{
	cr_assert_eq(fold_find(graph, fold_label_op, NULL, 2, fold), OK);
	for (uint32_t i = 0; i < fold->segments; i++) {
		const char *text = wrong(graph, fold, i);
		cr_assert_null(text, "%s, segment %u: %s", graph->name ? graph->name : "", i, text);
	}
}

/* ---- built-in and captured models ------------------------------------------------------------ */

static struct graph *model_of(const char *name, int64_t layers, enum recompute recompute)
{
	return step_of_config(name, sized_model(name, (struct model_config){ .layers = layers }),
		(struct model_training){ .optimizer = OPTIMIZER_ADAM, .recompute = recompute });
}

Test(fold, layers_of_built_in_models_are_copies_forward_backward_and_update_together)
{
	static const struct { const char *name; int64_t layers; uint32_t copies[2];
	} models[] = { { "gpt", 2, { 2 } }, { "gpt", 3, { 3 } }, { "gpt", 12, { 12 } }, { "llama", 7, { 7 } },
		{ "bert", 12, { 12 } }, { "vit", 12, { 12 } }, { "moe", 6, { 6 } }, { "t5", 12, { 11, 11 } } };
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		OWN(graph) *graph = model_of(models[i].name, models[i].layers, RECOMPUTE_NONE);
		OWN(fold) fold;
		find(graph, &fold);
		for (uint32_t j = 0; j < 2 && models[i].copies[j]; j++) {
			bool phase[PHASE_COUNT] = { false };
			cr_assert_gt(fold.segments, j);
			cr_assert_eq(fold.segment[j].copies, models[i].copies[j], "%s: %u copies", models[i].name, fold.segment[j].copies);
			for (uint32_t k = 0; k < fold.segment[j].ops; k++)
				phase[graph->op[fold.segment[j].op[k]].phase] = true;
			cr_assert(phase[PHASE_FORWARD] && phase[PHASE_BACKWARD] && phase[PHASE_UPDATE]);
		}
	}
}

Test(fold, recomputed_layers_are_copies_too)
{
	OWN(graph) *graph = model_of("gpt", 8, RECOMPUTE_FULL);
	OWN(fold) fold;
	find(graph, &fold);
	cr_assert(fold.segments >= 1 && fold.segment[0].copies >= 7, "%u copies", fold.segments ? fold.segment[0].copies : 0);
}

Test(fold, layers_of_captured_steps_are_copies)
{
	static const struct { const char *sample; uint32_t copies; } samples[] = {
		{ "samples/gpt2_xl_b1_s1024_adam.jsonl.gz", 48 }, { "samples/bert_base_b1_s512_adam.jsonl.gz", 12 },
		{ "samples/vit_b_16_b1_adam.jsonl.gz", 12 } };
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = graph_open(samples[i].sample, NULL, &error);
		OWN(fold) fold;
		cr_assert_not_null(graph, "%s", error.text);
		find(graph, &fold);
		cr_assert(fold.segments >= 1 && fold.segment[0].copies == samples[i].copies);
		cr_assert_lt(graph->ops - fold.segment[0].copies * fold.segment[0].ops, 150);
	}
}

/* ---- random segments, repeated --------------------------------------------------------------- */

enum { OPS_MAX = 24, COPIES_MAX = 9, ARGUMENTS = 3 };

/* An op of a copy: arguments are ops of its own copy or the one before, a parameter of its own, or something that all
 * copies share. */
struct template {
	uint32_t ops, copies, types;
	struct { uint32_t type, arguments, from[ARGUMENTS]; uint8_t kind[ARGUMENTS]; } op[OPS_MAX];
};
enum { SAME, BEFORE, PARAMETER, SHARED };

static void draw_template(struct template *template, uint64_t *seed)
{
	*template = (struct template){ .ops = 4 + random_below(seed, OPS_MAX - 4),
		.copies = 3 + random_below(seed, COPIES_MAX - 3),
		.types = 1 + random_below(seed, 8) };
	for (uint32_t i = 0; i < template->ops; i++) {
		template->op[i].type = random_below(seed, template->types);
		template->op[i].arguments = 1 + random_below(seed, ARGUMENTS);
		for (uint32_t j = 0; j < template->op[i].arguments; j++) {
			uint32_t kind = random_below(seed, 6);
			/* The first argument makes one stream of all ops. */
			template->op[i].kind[j] = (uint8_t)(j == 0 ? (i ? SAME : BEFORE) : kind < 3 ? (i ? SAME : SHARED) : kind - 2);
			template->op[i].from[j] = j == 0 ? (i ? i - 1 : template->ops - 1)
				: template->op[i].kind[j] == SAME ? random_below(seed, i)
				: random_below(seed, template->ops);
		}
	}
}

static uint32_t new_tensor(struct draft *draft, const char *prefix, uint32_t number, enum kind kind)
{
	char name[40];
	snprintf(name, sizeof name, "%s%u", prefix, number);
	uint32_t tensor = draft_tensor(
		draft, &(struct tensor){ .name = name, .bytes = 64, .kind = (uint8_t)kind, .alias = NONE, .has_bytes = true });
	cr_assert_neq(tensor, NONE);
	return tensor;
}

static uint32_t new_op(struct draft *draft, uint32_t number, const char *type, uint32_t result)
{
	char name[40];
	snprintf(name, sizeof name, "op%u", number);
	uint32_t op = draft_op(draft, &(struct op) { .name = name, .type = type, .module = "", .flops = -1 });
	cr_assert_neq(op, NONE);
	cr_assert_eq(draft_write(draft, op, result), OK);
	return op;
}

static struct graph *repeat(const struct template *template)
{
	struct draft *draft = draft_new();
	uint32_t result[COPIES_MAX][OPS_MAX], number = 0, shared = new_tensor(draft, "shared", 0, KIND_INPUT);
	uint32_t head = new_tensor(draft, "head", 0, KIND_ACTIVATION);
	uint32_t op = new_op(draft, number++, "head", head);
	cr_assert_eq(draft_read(draft, op, shared), OK);
	for (uint32_t copy = 0; copy < template->copies; copy++)
		for (uint32_t i = 0; i < template->ops; i++) {
			char type[20];
			snprintf(type, sizeof type, "type%u", template->op[i].type);
			result[copy][i] = new_tensor(draft, "t", number, KIND_ACTIVATION);
			op = new_op(draft, number++, type, result[copy][i]);
			for (uint32_t j = 0; j < template->op[i].arguments; j++) {
				uint32_t from = template->op[i].from[j], kind = template->op[i].kind[j];
				uint32_t tensor = kind == SAME ? result[copy][from] : kind == BEFORE ? (copy ? result[copy - 1][from] : head)
					: kind == SHARED ? shared : new_tensor(draft, "p", number * ARGUMENTS + j, KIND_PARAMETER);
				cr_assert_eq(draft_read(draft, op, tensor), OK);
			}
		}
	op = new_op(draft, number++, "tail", new_tensor(draft, "tail", 0, KIND_OUTPUT));
	cr_assert_eq(draft_read(draft, op, result[template->copies - 1][template->ops - 1]), OK);
	struct error error = { 0 };
	struct graph *graph = graph_build(draft, &error);
	draft_free(draft);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

Test(fold, repeated_random_segments_are_found)
{
	uint64_t seed = test_seed();
	uint32_t folded = 0, all = 0;
	for (int round = 0; round < 400; round++) {
		struct template template;
		OWN(fold) fold;
		draw_template(&template, &seed);
		OWN(graph) *graph = repeat(&template);
		find(graph, &fold);
		for (uint32_t i = 0; i < fold.segments; i++)
			folded += fold.segment[i].copies * fold.segment[i].ops;
		all += graph->ops;
	}
	/* Copies at the ends may be cut through; random segments may repeat within themselves. */
	cr_assert_gt(10 * folded, 7 * all, "SEED=%llu: %u of %u", (unsigned long long)test_seed(), folded, all);
}

Test(fold, layers_that_alternate_are_copies_of_two)
{
	enum { HALF = 6 };
	struct template template = { .ops = 2 * HALF, .copies = 8 };
	OWN(fold) fold;
	for (uint32_t i = 0; i < 2 * HALF; i++) {
		template.op[i].type = i == HALF + 3 ? HALF : i % HALF;
		template.op[i].arguments = 1 + (i % HALF == 2);
		template.op[i].kind[0] = i ? SAME : BEFORE;
		template.op[i].from[0] = i ? i - 1 : 2 * HALF - 1;
		template.op[i].kind[1] = PARAMETER;
	}
	OWN(graph) *graph = repeat(&template);
	find(graph, &fold);
	cr_assert_eq(fold.segments, 1);
	cr_assert_eq(fold.segment[0].ops, 2 * HALF, "%u ops", fold.segment[0].ops);
	cr_assert_geq(fold.segment[0].copies, 7);
}

Test(fold, running_out_of_memory_leaks_nothing)
{
	OWN(graph) *graph = model_of("gpt", 3, RECOMPUTE_NONE);
	EACH_REFUSAL(refused) {
		struct fold fold;
		refused.status = fold_find(graph, fold_label_op, NULL, 2, &fold);
		if (refused.status == OK)
			fold_free(&fold);
	}
}
