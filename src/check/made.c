/* made.c: one row for each stage that makes a graph of a graph. */
#include <string.h>

#include "chunks.h"
#include "made.h"
#include "solver/graph/growth.h"
#include "sizes.h"
#include "values.h"

static enum status check_scale(struct check *check, const struct graph *before, const struct graph *after)
{
	const int64_t *value = check->scenario.value;
	int64_t batch = value[K_batch] == KNOB_GIVEN ? before->about.batch : value[K_batch],
			sequence = value[K_seq] == KNOB_GIVEN ? 0 : value[K_seq];
	bool given = value[K_batch] == KNOB_GIVEN && value[K_microbatches] <= 1;
	int64_t wanted = given || batch <= 0 ? 0 : batch / value[K_microbatches];
	const struct graph *base = growth_base(before);
	bool captured = base && wanted > 0 && wanted != before->about.batch;
	bool other = captured && before->other && before->other->about.batch == wanted;
	const struct graph *of = !captured ? before : other ? before->other : base;
	TRY(values_check(check, check->rules, of, after, VALUES_COPIES));
	if (captured && sequence == 0)
		return sizes_check_captured(check, check->rules, of, after, wanted);
	return sizes_check(check, check->rules, of, after, wanted, sequence);
}

static enum status check_train(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(
		check, check->rules, before, after, VALUES_CASTS | VALUES_COPIES | VALUES_UPDATES | VALUES_GRADIENTS);
}

static enum status check_optimizer(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after,
		VALUES_CASTS | VALUES_UPDATES | (check->scenario.value[K_accumulation] > 1 ? VALUES_SUMS : 0));
}

static enum status check_chunks(struct check *check, const struct graph *before, const struct graph *after)
{
	return before == after ? OK : chunks_check(check, check->rules, before, after);
}

static enum status check_same(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after, 0);
}

static enum status check_separate(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after, VALUES_SEPARATE);
}

static enum status check_float8(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after, VALUES_CASTS | VALUES_TWINS);
}

static enum status check_twins(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after, VALUES_TWINS);
}

static enum status check_form(struct check *check, const struct graph *before, const struct graph *after)
{
	return values_check(check, check->rules, before, after, VALUES_TWINS | VALUES_REGROUPED);
}

/* Names in src/plan/transform.c's table. check NULL: another part of the checker looks at it, or nobody. */
static const struct {
	const char *step;
	enum status (*check)(struct check *check, const struct graph *before, const struct graph *after);
	const char *held, *trusted;
} made[] = {
	{ "train", check_train,
		"the training step: the forward pass computes what the graph given computes, through casts and copies alone",
		"the backward pass and the weight update that rules made of the forward pass: that they compute gradients" },
	{ "scale", check_scale,
		"another batch or sequence: every op reads the values that it read; weights stay, and shapes, bytes and FLOPs "
		"fit the operators' rules, "
		"or are those of a capture, or have grown by what each sample adds",
		"workspaces that are known at one batch, at another, and, of captures at one batch, which extents of equal "
		"size are "
		"samples" },
	{ "optimizer", check_optimizer,
		"another precision, optimizer or accumulation: forward and backward ops read the values that they read, "
		"through casts alone",
		"the update that rules made, and in which format each tensor is computed" },
	{ "loss chunks", check_chunks,
		"the loss in chunks: every op of it runs on every chunk, parts are all rows in their order, sums have a term "
		"from each",
		"how the chunks' losses are weighed" },
	{ "recompute", NULL, NULL, NULL },   /* recompute.c */
	{ "recompute to fit", NULL, NULL, NULL },
	{ "recompute a device's to fit", NULL, NULL, NULL },
	{ "float8", check_float8, "8-bit products: every op reads the values that it read, through casts alone", NULL },
	{ "group heads", NULL, NULL, "attention that reads keys and values by groups, without copies of their heads" },
	{ "late casts", check_twins, "gradients summed before they are cast: every op reads the values that it read",
		NULL },
	{ "device form", check_form,
		"sums of gradients in another order: each has the same summands, and every other op reads the values that it "
		"read",
		NULL },
	{ "share views", check_twins, "views that are left out: each has a twin that is the same", NULL },
	{ "shard", NULL, NULL, NULL },       /* device_graph_check() */
	{ "pipeline", NULL, NULL, NULL },    /* pipeline_check_ranks() */
	{ "late reruns", check_same, NULL, NULL },
	{ "in_place", check_separate, "without writes in place: every op reads the values that it read",
		"without writes in place: that nothing is read under an older name once its memory was written over" },
};

enum { STAGES = sizeof made / sizeof *made };

enum status made_check(void *context, const char *step, const struct graph *before, const struct graph *after)
{
	struct check *check = context;
	for (uint32_t i = 0; i < STAGES; i++) {
		if (strcmp(made[i].step, step) != 0)
			continue;
		check->made |= before == after ? 0 : 1u << i;
		enum status status = made[i].check && before != after ? made[i].check(check, before, after) : OK;
		if (status == INFEASIBLE) {
			char text[500];
			snprintf(text, sizeof text, "%.480s", check->error->text);
			return check_wrong(check, "stage \"%s\": %.350s", step, text);
		}
		return status;
	}
	return check_wrong(check, "nothing is known of stage \"%.50s\"", step);
}

void made_report(const struct check *check)
{
	for (uint32_t i = 0; i < STAGES; i++) {
		if ((check->made >> i & 1) == 0)
			continue;
		if (made[i].held)
			check_passed(check, made[i].held);
		if (made[i].trusted)
			check_trusted(check, made[i].trusted);
	}
}
