/* eager_update.c: weight updates op by op as PyTorch's optimizers run them.
 *
 * One table of sequences, read off captures of torch.optim (2.13 and 2.15 run the same ones). A row's operands are
 * letters:
 *
 *     w  the parameter   g  its gradient   s  its counter of steps   0 1  its state   c  a constant of one number   a b
 * temporaries
 *
 * Arguments (update.h) have the numbers of PyTorch's defaults at the eleventh step: who runs the ops with an
 * optimizer takes its own. Python's functions keep a temporary in a variable until they set it anew, for the next
 * parameter or the next list: `drops` names the variable whose old value goes behind the row. */
#include <stdio.h>

#include "update.h"

struct row {
	const char *type, *reads;
	char makes;         /* the letter of a new temporary; 0: the first operand is written in place */
	char drops;         /* 0: none */
	const char *writes; /* a fused op's operands that it may write; NULL: as `makes` says */
	const char *form;   /* of its arguments */
};

#define ROWS_MAX 10
struct sequence {
	enum optimizer optimizer;
	const char *state[3]; /* what 0 and 1 are called */
	bool counts, idle;    /* has a counter; keeps state of parameters without a gradient, too */
	struct row way[UPDATE_WAYS][ROWS_MAX];
};

/* Rows: writes its first operand; likewise, and the variable of that letter has its value now; makes a temporary, and
 * lets a variable's old value go (0: none). */
#define WRITES(type, reads, form) { type, reads, 0, 0, NULL, form }
#define SETS(letter, type, reads, form) { type, reads, 0, letter, NULL, form }
#define MAKES(letter, type, reads, drops, form) { type, reads, letter, drops, NULL, form }
#define FUSED(type, reads, writes, form) { type, reads, 0, 0, writes, form }

#define ADAM_EACH WRITES("aten.lerp_.Scalar", "0g", "@0,@g,0.1|"), WRITES("aten.mul_.Tensor", "1", "@1,0.999|"), \
	WRITES("aten.addcmul_.default", "1g", "@1,@g,@g|'value':0.001"), MAKES('a', "aten.sqrt.default", "1", 0, "@1|"), \
	MAKES('b', "aten.div.Tensor", "a", 0, "@a,0.104616|"), SETS('b', "aten.add_.Tensor", "b", "@b,1e-08|"), \
	WRITES("aten.addcdiv_.default", "w0b", "@w,@0,@b|'value':-0.001457")
#define ADAM_FOREACH WRITES("aten._foreach_lerp_.Scalar", "0g", "@0,@g,0.1|"), WRITES("aten._foreach_mul_.Scalar", \
	"1", "@1,0.999|"), \
	WRITES("aten._foreach_addcmul_.Scalar", "1g", "@1,@g,@g,0.001|"), MAKES('a', "aten._foreach_sqrt.default", "1", 'a', \
		"@1|"), \
	WRITES("aten._foreach_div_.ScalarList", "a", "@a,#0.104616|"), WRITES("aten._foreach_add_.Scalar", "a", "@a,1e-08|"), \
	WRITES("aten._foreach_addcdiv_.ScalarList", "w0a", "@w,@0,@a,#-0.001457|")
#define ADAM_FUSED(decay) \
	"@w,@g,@0,@1,[],@s|'lr':0.001,'beta1':0.9,'beta2':0.999,'weight_decay':" decay \
	",'eps':1e-08,'amsgrad':false,'maximize':false"
#define SGD_FUSED(state, momentum) \
	"@w,@g," state "|'weight_decay':0.0,'momentum':" momentum \
	",'lr':0.01,'dampening':0.0,'nesterov':false,'maximize':false,'is_first_step':false"
#define STEP_EACH WRITES("aten.add_.Tensor", "s", "@s,1|")
#define STEP_FOREACH WRITES("aten._foreach_add_.Tensor", "sc", "@s,@C|'alpha':1.0")
#define STEP_FUSED WRITES("aten._foreach_add_.Scalar", "s", "@s,1|")

static const struct sequence sequences[] = {
	{ OPTIMIZER_SGD, { NULL }, false, false,
		{ { WRITES("aten.add_.Tensor", "wg", "@w,@g|'alpha':-0.01") },
			{ WRITES("aten._foreach_add_.List", "wg", "@w,@g|'alpha':-0.01") },
			{ FUSED("aten._fused_sgd_.default", "wg", "wg", SGD_FUSED("[]", "0.0")) } } },
	{ OPTIMIZER_MOMENTUM, { "momentum_buffer" }, false, false,
		{ { WRITES("aten.mul_.Tensor", "0", "@0,0.9|"), WRITES("aten.add_.Tensor", "0g", "@0,@g|"),
			  WRITES("aten.add_.Tensor", "w0", "@w,@0|'alpha':-0.01") },
			{ WRITES("aten._foreach_mul_.Scalar", "0", "@0,0.9|"), WRITES("aten._foreach_add_.List", "0g", "@0,@g|"),
				WRITES("aten._foreach_add_.List", "w0", "@w,@0|'alpha':-0.01") },
			{ FUSED("aten._fused_sgd_.default", "wg0", "wg0", SGD_FUSED("@0", "0.9")) } } },
	{ OPTIMIZER_ADAM, { "exp_avg", "exp_avg_sq" }, true, false,
		{ { STEP_EACH, ADAM_EACH }, { STEP_FOREACH, ADAM_FOREACH },
			{ STEP_FUSED, FUSED("aten._fused_adam_.default", "wg01s", "wg01", ADAM_FUSED("0.0")) } } },
	{ OPTIMIZER_ADAMW, { "exp_avg", "exp_avg_sq" }, true, false,
		{ { STEP_EACH, WRITES("aten.mul_.Tensor", "w", "@w,0.99999|"), ADAM_EACH },
			{ STEP_FOREACH, WRITES("aten._foreach_mul_.Scalar", "w", "@w,0.99999|"), ADAM_FOREACH },
			{ STEP_FUSED, FUSED("aten._fused_adamw_.default", "wg01s", "wg01", ADAM_FUSED("0.01")) } } },
	{ OPTIMIZER_RMSPROP, { "square_avg" }, true, false,
		{ { STEP_EACH, WRITES("aten.mul_.Tensor", "0", "@0,0.99|"),
			  WRITES("aten.addcmul_.default", "0g", "@0,@g,@g|'value':0.01"),
			  MAKES('a', "aten.sqrt.default", "0", 'a', "@0|"), WRITES("aten.add_.Tensor", "a", "@a,1e-08|"),
			  WRITES("aten.addcdiv_.default", "wga", "@w,@g,@a|'value':-0.01") },
			{ STEP_FOREACH, WRITES("aten._foreach_mul_.Scalar", "0", "@0,0.99|"),
				WRITES("aten._foreach_addcmul_.Scalar", "0g", "@0,@g,@g,0.01|"),
				MAKES('a', "aten._foreach_sqrt.default", "0", 'a', "@0|"),
				WRITES("aten._foreach_add_.Scalar", "a", "@a,1e-08|"),
				WRITES("aten._foreach_addcdiv_.Scalar", "wga", "@w,@g,@a,-0.01|") },
			{ WRITES(NULL, NULL, NULL) } } },
	{ OPTIMIZER_LION, { "exp_avg" }, false, false, /* Chen et al. 2023; has no lists */
		{ { WRITES("aten.mul_.Tensor", "w", "@w,0.999999|"), MAKES('a', "aten.lerp.Scalar", "0g", 0, "@0,@g,0.1|"),
			WRITES("aten.sign_.default", "a", "@a|"), WRITES("aten.add_.Tensor", "wa", "@w,@a|'alpha':-0.0001"),
			WRITES("aten.lerp_.Scalar", "0g", "@0,@g,0.01|") } } },
	{ OPTIMIZER_ADAGRAD, { "sum" }, true, true,
		{ { STEP_EACH, WRITES("aten.addcmul_.default", "0g", "@0,@g,@g|"),
			  MAKES('a', "aten.sqrt.default", "0", 0, "@0|"), SETS('a', "aten.add_.Tensor", "a", "@a,1e-10|"),
			  WRITES("aten.addcdiv_.default", "wga", "@w,@g,@a|'value':-0.01") },
			{ STEP_FOREACH, WRITES("aten._foreach_addcmul_.Scalar", "0g", "@0,@g,@g|"),
				MAKES('a', "aten._foreach_sqrt.default", "0", 'a', "@0|"),
				WRITES("aten._foreach_add_.Scalar", "a", "@a,1e-10|"),
				MAKES('b', "aten._foreach_mul.ScalarList", "g", 'b', "@g,#-0.01|"),
				WRITES("aten._foreach_addcdiv_.Scalar", "wba", "@w,@b,@a|") },
			{ STEP_FUSED,
				FUSED("aten._fused_adagrad_.default", "wg0s", "wg0s",
					"@w,@g,@0,@s|'lr':0.01,'lr_decay':0.0,'weight_decay':0.0,'eps':1e-10,'maximize':false") } } },
};

static const struct sequence *sequence_of(enum optimizer optimizer)
{
	FOR(i, COUNT_OF(sequences))
		if (sequences[i].optimizer == optimizer)
			return &sequences[i];
	return NULL;
}

bool eager_update_known(enum optimizer optimizer)
{
	return sequence_of(optimizer) != NULL;
}

const char *const *eager_update_states(enum optimizer optimizer)
{
	return sequence_of(optimizer)->state;
}

bool eager_update_counts(enum optimizer optimizer)
{
	return sequence_of(optimizer)->counts;
}

/* ---- one call: parameters updated by the same ops ---- */

enum { LETTERS = 128 };

struct call {
	struct build *build;
	const struct update_options *options;
	const struct eager_parameter *parameter;
	uint32_t count, room;
	uint32_t *value[LETTERS]; /* [count] of each letter that has one; NULL of the others */
	uint32_t *held[LETTERS],
		holds[LETTERS]; /* what the variables of the call before still hold, and how many; room of each: room */
	struct arena *arena;
};

static uint32_t *values(struct call *call, char letter)
{
	uint32_t **value = &call->value[(unsigned char)letter];
	if (!*value)
		ROOM(call->arena, *value, call->room);
	if (!*value)
		call->build->status = NO_MEMORY;
	return *value;
}

/* start: what it begins with where the step is run without an optimizer; < 0: nothing of its own. */
static uint32_t eager_update_state(
	struct build *build, uint32_t parameter, const char *word, enum dtype dtype, struct shape shape, double start)
{
	char name[512];
	if (build->status != OK)
		return NONE;
	PRINT_TO(name, "%.480s.%s", draft_tensor_at(build->draft, parameter)->name, word);
	uint32_t made = build_leaf(build, name, KIND_OPTIMIZER, dtype, shape);
	if (made != NONE && start >= 0) {
		draft_tensor_at(build->draft, made)->starts = STARTS_FILLED;
		draft_tensor_at(build->draft, made)->start = start;
	}
	return made;
}

/* Of what is divided by. */
static double initial_state(const char *word)
{
	return strstr(word, "sq") || strcmp(word, "sum") == 0 ? 1e-4 : 0;
}

/* The state of the call's parameters. */
static void make_states(struct call *call, const struct sequence *sequence)
{
	struct build *build = call->build;
	uint32_t *weight = values(call, 'w'), *counter = values(call, 's');
	FOR_WHILE(i, call->count, build->status == OK) {
		uint32_t parameter = call->parameter[i].parameter;
		struct shape shape = build_shape(build, parameter);
		enum dtype dtype = update_has_master(build, call->options, parameter) ? DTYPE_F32 : build_dtype(build, parameter);
		weight[i] = update_has_master(build, call->options, parameter)
			? eager_update_state(build, parameter, "master", dtype, shape, -1)
			: parameter;
		counter[i] = sequence->counts ? eager_update_state(build, parameter, "step", DTYPE_F32, SCALAR, 10) : NONE;
		for (int s = 0; sequence->state[s]; s++) {
			uint32_t *kept = values(call, (char)('0' + s));
			if (build->status == OK)
				kept[i] = eager_update_state(build, parameter, sequence->state[s],
					call->options->narrow_moments && dtype_bits[dtype] > 16 ? DTYPE_BF16 : dtype, shape,
					initial_state(sequence->state[s]));
		}
	}
}

/* The tensors that the rows' letters stand for. */
static void begin_call(struct call *call, const struct sequence *sequence, enum update_way way)
{
	struct build *build = call->build;
	uint32_t *gradient = values(call, 'g'), *constant = values(call, 'c');
	make_states(call, sequence);
	FOR_WHILE(i, call->count, build->status == OK) {
		gradient[i] = call->parameter[i].gradient;
		constant[i] = NONE;
	}
	if (build->status == OK && sequence->counts && way == UPDATE_FOREACH) {
		char name[512];
		PRINT_TO(name, "%.480s.step.one", draft_tensor_at(build->draft, call->parameter->parameter)->name);
		constant[0] = build_leaf(build, name, KIND_CONSTANT, DTYPE_F32, SCALAR);
		if (constant[0] != NONE) {
			draft_tensor_at(build->draft, constant[0])->starts = STARTS_CONSTANT;
			draft_tensor_at(build->draft, constant[0])->start = 1;
		}
	}
}

static void eager_update_read_operands(struct call *call, const struct row *row)
{
	for (const char *letter = row->reads; *letter; letter++)
		FOR_WHILE(i, call->count, call->build->status == OK)
			if (values(call, *letter)[i] != NONE)
				build_read(call->build, values(call, *letter)[i]);
}

static void eager_update_write_results(struct call *call, const struct row *row, bool list)
{
	struct build *build = call->build;
	const char first[2] = { row->reads[0], '\0' };
	if (row->makes) {
		uint32_t *made = values(call, row->makes), *like = values(call, row->reads[0]);
		FOR_WHILE(i, call->count, build->status == OK)
			made[i] = build_output_like(build, like[i]);
		return;
	}
	for (const char *letter = row->writes ? row->writes : first; *letter; letter++)
		FOR_WHILE(i, call->count, build->status == OK)
			if (list)
				build_touch(build, values(call, *letter)[i]);
			else
				values(call, *letter)[i] = build_inplace(build, values(call, *letter)[i]);
}

static const char *eager_update_name_of(const void *context, char letter, uint32_t i)
{
	const struct call *call = context;
	const uint32_t *value = call->value[(unsigned char)letter];
	return value && value[i] != NONE ? draft_tensor_at(call->build->draft, value[i])->name : NULL;
}

/* The row's op, with its arguments for those who run it. */
static void run_row(struct call *call, const struct row *row, bool list)
{
	struct build *build = call->build;
	struct argument_names names = { eager_update_name_of, call, list, call->count };
	uint32_t op = build_op(build, row->type, NULL, 0), made = row->makes ? call->count : list ? 0 : 1;
	eager_update_read_operands(call, row);
	const char **MAKE_IN(call->arena, result, call->count);
	/* Operands have the names from before the op, results those behind it. */
	const struct arguments *arguments = result && build->status == OK ? arguments_make(call->arena, row->form, &names)
		: NULL;
	eager_update_write_results(call, row, list);
	FOR_WHILE(i, made, arguments && build->status == OK)
		result[i] = eager_update_name_of(call, row->makes ? row->makes : row->reads[0], i);
	arguments = arguments ? arguments_with_result(call->arena, arguments, result, made, list) : NULL;
	if (build->status == OK && (!arguments || draft_op_arguments(build->draft, op, arguments) != OK))
		build->status = NO_MEMORY;
}

/* A variable gets its new value: the old one goes. */
static void eager_update_drop(struct call *call, char letter)
{
	unsigned char place = (unsigned char)letter;
	FOR_WHILE(i, call->holds[place], call->build->status == OK)
		build_op(call->build, RELEASE_TYPE, IN(call->held[place][i]));
	if (!call->held[place])
		ROOM(call->arena, call->held[place], call->room);
	if (!call->held[place]) {
		call->build->status = NO_MEMORY;
		return;
	}
	memcpy(call->held[place], values(call, letter), call->count * sizeof *call->held[place]);
	call->holds[place] = call->count;
}

static void run_call(struct call *call, const struct sequence *sequence)
{
	struct build *build = call->build;
	enum update_way way = call->parameter->way;
	if (!sequence->way[way][0].type)
		way = sequence->way[UPDATE_FOREACH][0].type ? UPDATE_FOREACH : UPDATE_EACH;
	begin_call(call, sequence, way);
	for (const struct row *row = sequence->way[way];
		row < sequence->way[way] + ROWS_MAX && row->type && build->status == OK; row++) {
		run_row(call, row, way != UPDATE_EACH);
		if (row->drops)
			eager_update_drop(call, row->drops);
	}
	FOR_WHILE(i, call->count, build->status == OK)
		if (update_has_master(build, call->options, call->parameter[i].parameter))
			build_map_inplace(build, "aten.copy_.default", IN(call->parameter[i].parameter, values(call, 'w')[i]));
}

void eager_update_all(
	struct build *build, const struct update_options *options, const struct eager_parameter *parameter, uint32_t count)
{
	OWN(arena) arena = { 0 };
	struct call call = { .build = build, .options = options, .room = count, .arena = &arena };
	bool seen[DTYPE_COUNT] = { false };
	const struct sequence *sequence = sequence_of(options->optimizer);
	bool lists = sequence->way[UPDATE_FOREACH][0].type != NULL;
	for (uint32_t i = 0; i < count && build->status == OK; i += call.count) {
		call.parameter = parameter + i;
		for (call.count = 1; i + call.count < count && lists && parameter[i].way != UPDATE_EACH &&
			parameter[i + call.count].call == parameter[i].call;)
			call.count++;
		/* Lists of one function call differ in their dtype: one seen before means another call, whose variables are new. */
		enum dtype dtype = build_dtype(build, parameter[i].parameter);
		if (lists && parameter[i].way != UPDATE_EACH && seen[dtype]) {
			memset(call.holds, 0, sizeof call.holds);
			memset(seen, 0, sizeof seen);
		}
		seen[dtype] = true;
		build->module = call.count == 1 ? draft_tensor_at(build->draft, parameter[i].parameter)->name : NULL;
		build->src = NULL;
		run_call(&call, sequence);
	}
}

void eager_update_idle(struct build *build, const struct update_options *options, uint32_t parameter)
{
	OWN(arena) arena = { 0 };
	struct eager_parameter idle = { .parameter = parameter, .gradient = NONE };
	struct call call = { .build = build, .options = options, .room = 1, .count = 1, .parameter = &idle, .arena = &arena };
	if (build->status == OK && sequence_of(options->optimizer)->idle)
		make_states(&call, sequence_of(options->optimizer));
}
