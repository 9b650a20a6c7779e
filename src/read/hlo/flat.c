/* flat.c: flattens a computation, and finds what a loop's body allocates. */
#include <stdio.h>

#include "flat.h"

#define STEPS_MOST 5000000u /* instructions visited: calls can repeat computations without end */
#define PAIRS_MOST \
	10000000u /* arguments times results of an op, at most: above, a result is looked for at its own place alone */

struct value { uint32_t *leaf, count; };

static enum status too_deep(struct flat *flat, const struct hlo_instruction *instruction)
{
	flat->error->line = instruction->line;
	return refuse(flat->error, "calls are nested more than %d deep, or call themselves, at \"%.60s\"",
		HLO_DEPTH, instruction->name);
}

/* ---- values ---- */

static uint32_t flat_add_tensor(struct flat *flat, const struct flat_tensor *tensor)
{
	if (flat->tensors == NONE - 1 || !mem_reserve(&flat->tensor, &flat->tensor_room, flat->tensors + 1, sizeof *tensor))
		return NONE;
	flat->tensor[flat->tensors] = *tensor;
	flat->tensor[flat->tensors].storage = flat->tensors;
	flat->tensor[flat->tensors].over = flat->tensor[flat->tensors].home = NONE;
	return flat->tensors++;
}

static bool flat_add_argument(struct flat *flat, uint32_t tensor)
{
	if (!mem_reserve(&flat->argument, &flat->argument_room, flat->arguments + 1, sizeof *flat->argument))
		return false;
	flat->argument[flat->arguments++] = tensor;
	return true;
}

/* The arrays of a shape in their order. */
static const struct hlo_shape **flat_leaves(
	struct flat *flat, const struct hlo_shape *shape, const struct hlo_shape **at)
{
	if (!shape->tuple)
		*at++ = shape;
	FOR(i, shape->parts)
		at = flat_leaves(flat, &shape->part[i], at);
	return at;
}

/* New tensors for all arrays of an instruction. */
static enum status new_value(
	struct flat *flat, const struct hlo_instruction *instruction, const struct flat_tensor *like, struct value *value)
{
	uint32_t count = instruction->shape->leaves;
	const struct hlo_shape **shape = arena_alloc(flat->arena, count, sizeof *shape);
	*value = (struct value){ arena_alloc(flat->arena, count, sizeof *value->leaf), count };
	if (!(shape && value->leaf))
		return fail_memory(flat->error);
	flat_leaves(flat, instruction->shape, shape);
	FOR(i, count) {
		struct flat_tensor tensor = *like;
		tensor.of = instruction;
		tensor.shape = shape[i];
		tensor.leaf = i;
		tensor.leaves = count;
		tensor.last = NONE;
		if ((value->leaf[i] = flat_add_tensor(flat, &tensor)) == NONE)
			return fail_memory(flat->error);
	}
	return OK;
}

/* ---- instructions ---- */

struct scope {
	const struct hlo_computation *computation;
	const struct value *argument; /* [arguments] of the call */
	uint32_t arguments;
	struct value *value;       /* [instructions] */
	const char *prefix, *path; /* path: op_name of the calls around it that says what is differentiated, or NULL */
	int depth;
};

static enum status flatten(struct flat *flat, struct scope *scope, struct value *result);

static enum status flat_bad(struct flat *flat, const struct hlo_instruction *instruction, const char *what)
{
	flat->error->line = instruction->line;
	return refuse(flat->error, "\"%.60s\" (%.40s) %s", instruction->name, instruction->opcode, what);
}

static enum status concatenate(
	struct flat *flat, const struct scope *scope, const struct hlo_instruction *instruction, struct value *value)
{
	uint64_t count = 0;
	FOR(i, instruction->operands)
		count += scope->value[instruction->operand[i]].count;
	if (opcode(instruction, "tuple") &&
		count != instruction->shape->leaves) /* a shape is as long in the file: no chain of tuples grows beyond it */
		return flat_bad(flat, instruction, "has another shape than what it joins");
	if (count > NONE - 1)
		return flat_bad(flat, instruction, "has too many arrays");
	*value = (struct value){ arena_alloc(flat->arena, (size_t)count, sizeof *value->leaf), 0 };
	if (!value->leaf)
		return fail_memory(flat->error);
	FOR(i, instruction->operands) {
		const struct value *operand = &scope->value[instruction->operand[i]];
		FOR(k, operand->count)
			value->leaf[value->count++] = operand->leaf[k];
	}
	return OK;
}

/* Part `index` of a tuple. */
static enum status flat_part(struct flat *flat, const struct scope *scope, const struct hlo_instruction *instruction,
	uint32_t index, struct value *value)
{
	const struct hlo_shape *shape = scope->computation->instruction[instruction->operand[0]].shape;
	const struct value *tuple = &scope->value[instruction->operand[0]];
	uint32_t first = 0;
	if (index >= shape->parts || tuple->count != shape->leaves)
		return flat_bad(flat, instruction, "takes a part that its operand doesn't have");
	FOR(i, index)
		first += shape->part[i].leaves;
	*value = (struct value){ tuple->leaf + first, shape->part[index].leaves };
	return OK;
}

static enum status call_scope(
	struct flat *flat, const struct scope *scope, const struct hlo_instruction *instruction, struct value *value)
{
	if (instruction->calls < 1 || instruction->call[0] == NONE)
		return flat_bad(flat, instruction, "names no computation");
	struct value *argument = arena_alloc(flat->arena, instruction->operands, sizeof *argument);
	size_t length = strlen(scope->prefix) + strlen(instruction->name) + 2;
	char *prefix = arena_alloc(flat->arena, length, 1);
	if (!(argument && prefix))
		return fail_memory(flat->error);
	snprintf(prefix, length, "%s%s/", scope->prefix, instruction->name);
	FOR(i, instruction->operands)
		argument[i] = scope->value[instruction->operand[i]];
	if (scope->depth >= HLO_DEPTH)
		return too_deep(flat, instruction);
	struct scope inner = { &flat->module->computation[instruction->call[0]], argument, instruction->operands, NULL,
		prefix, instruction->op_name ? instruction->op_name : scope->path, scope->depth + 1 };
	if (scope->path && strstr(scope->path, "jvp(") && !(inner.path && strstr(inner.path, "jvp(")))
		inner.path = scope->path;
	return flatten(flat, &inner, value);
}

static enum status add_parameter(
	struct flat *flat, const struct scope *scope, const struct hlo_instruction *instruction, struct value *value)
{
	if (!scope->argument && instruction->index >= scope->computation->instructions)
		return flat_bad(flat, instruction, "has a number beyond all parameters");
	if (!scope->argument)
		return new_value(flat, instruction,
			&(struct flat_tensor){ .writer = NONE, .parameter = instruction->index, .prefix = scope->prefix }, value);
	if (instruction->index >= scope->arguments)
		return flat_bad(flat, instruction, "is a parameter that the call doesn't pass");
	*value = scope->argument[instruction->index];
	return value->count == instruction->shape->leaves ? OK : flat_bad(flat, instruction, "gets a value of another shape");
}

/* Of a loop, array k is passed through its body untouched. */
static bool invariant(const struct hlo_module *module, const struct hlo_instruction *loop, uint32_t k)
{
	if (loop->call[0] == NONE)
		return false;
	const struct hlo_computation *body = &module->computation[loop->call[0]];
	const struct hlo_instruction *root = &body->instruction[body->root];
	if (!opcode(root, "tuple") || k >= root->operands || root->operands != root->shape->leaves)
		return false;
	const struct hlo_instruction *taken = &body->instruction[root->operand[k]];
	return opcode(taken, "get-tuple-element") && taken->index == k &&
		opcode(&body->instruction[taken->operand[0]], "parameter");
}

/* The operand's array that every branch of a conditional gives back untouched as array k; NONE where they don't. in:
 * the operands' arrays, one after another. */
static uint32_t passed_through(const struct flat *flat, const struct scope *scope,
	const struct hlo_instruction *conditional, uint32_t k, const struct value *in)
{
	uint32_t found = NONE,
			 before = conditional->operands ? scope->computation->instruction[conditional->operand[0]].shape->leaves
			: 0;
	FOR(b, conditional->calls) {
		const struct hlo_computation *branch = conditional->call[b] == NONE
			? NULL
			: &flat->module->computation[conditional->call[b]];
		const struct hlo_instruction *root = branch ? &branch->instruction[branch->root] : NULL;
		if (!root || b + 1 >= conditional->operands || !opcode(root, "tuple") || k >= root->operands ||
			root->operands != root->shape->leaves)
			return NONE;
		const struct hlo_shape *given = scope->computation->instruction[conditional->operand[b + 1]].shape;
		const struct hlo_instruction *taken = &branch->instruction[root->operand[k]];
		if (!opcode(taken, "get-tuple-element") || !opcode(&branch->instruction[taken->operand[0]], "parameter") ||
			taken->index >= given->leaves || given->parts != given->leaves || before + taken->index >= in->count ||
			(found != NONE && in->leaf[before + taken->index] != in->leaf[found]))
			return NONE;
		found = before + taken->index;
		before += given->leaves;
	}
	return found;
}

static enum status flat_add_op(
	struct flat *flat, const struct scope *scope, const struct hlo_instruction *instruction, struct value *value)
{
	struct flat_op op = { .of = instruction,
		.in = scope->computation,
		.prefix = scope->prefix,
		.path = scope->path,
		.depth = scope->depth,
		.read = flat->arguments };
	struct value in;
	bool loop = opcode(instruction, "while");
	TRY(concatenate(flat, scope, instruction, &in));
	if (loop && (instruction->calls < 1 || in.count != instruction->shape->leaves))
		return flat_bad(flat, instruction, "doesn't give back what it takes");
	TRY(new_value(flat, instruction,
		&(struct flat_tensor){ .writer = flat->ops, .parameter = NONE, .prefix = scope->prefix }, value));
	for (uint32_t i = 0; i < in.count; i++, op.reads++)
		if (!flat_add_argument(flat, in.leaf[i]))
			return fail_memory(flat->error);
	op.write = flat->arguments;
	/* What a start gives back besides the result are its operands; what a loop leaves alone is no result. */
	bool start = text_ends(instruction->opcode, "-start") && instruction->shape->parts > 1 &&
		!opcode(instruction, "all-reduce-start");
	uint32_t skip_from = start && !opcode(instruction, "copy-start") ? 0 : 1;
	for (uint32_t i = 0, p = 0, end = start ? instruction->shape->part[0].leaves : 0; i < value->count; i++) {
		while (start && i >= end && p + 1 < instruction->shape->parts)
			end += instruction->shape->part[++p].leaves;
		uint32_t same = start && p == skip_from ? i - (end - instruction->shape->part[p].leaves) : NONE;
		if (loop && invariant(flat->module, instruction, i))
			same = i;
		if (opcode(instruction, "conditional"))
			same = passed_through(flat, scope, instruction, i, &in);
		if (same < in.count) {
			flat->tensor[value->leaf[i]].unused = true;
			value->leaf[i] = in.leaf[same];
		} else if (!flat_add_argument(flat, value->leaf[i]))
			return fail_memory(flat->error);
		else
			op.writes++;
	}
	if (!mem_reserve(&flat->op, &flat->op_room, flat->ops + 1, sizeof op))
		return fail_memory(flat->error);
	flat->op[flat->ops++] = op;
	return OK;
}

static enum status add_instruction(
	struct flat *flat, struct scope *scope, const struct hlo_instruction *instruction, struct value *value)
{
	bool one = instruction->operands >= 1;
	if (opcode(instruction, "parameter"))
		return add_parameter(flat, scope, instruction, value);
	if (opcode(instruction, "constant"))
		return new_value(flat, instruction,
			&(struct flat_tensor){ .writer = NONE, .parameter = NONE, .constant = true, .prefix = scope->prefix },
			value);
	if (opcode(instruction, "tuple"))
		return concatenate(flat, scope, instruction, value);
	if (opcode(instruction, "get-tuple-element"))
		return one ? flat_part(flat, scope, instruction, instruction->index, value)
			: flat_bad(flat, instruction, "has no operand");
	static const char *const passes[] = { "bitcast", "add-dependency", "optimization-barrier", "all-reduce-done",
		"async-update" };
	if (name_index(passes, COUNT_OF(passes), instruction->opcode) >= 0 && one &&
		scope->value[instruction->operand[0]].count == instruction->shape->leaves) {
		*value = scope->value[instruction->operand[0]];
		return OK;
	}
	if (opcode(instruction, "copy-done") && one)
		return flat_part(flat, scope, instruction, 0, value);
	if (text_ends(instruction->opcode, "-done") && one &&
		scope->computation->instruction[instruction->operand[0]].shape->parts > 1)
		return flat_part(flat, scope, instruction, 1, value);
	if (opcode(instruction, "call") || (opcode(instruction, "fusion") && flat->open))
		return call_scope(flat, scope, instruction, value);
	return flat_add_op(flat, scope, instruction, value);
}

static enum status flatten(struct flat *flat, struct scope *scope, struct value *result)
{
	const struct hlo_computation *computation = scope->computation;
	if (!ROOM(flat->arena, scope->value, computation->instructions))
		return fail_memory(flat->error);
	FOR(i, computation->instructions) {
		if (++flat->steps > STEPS_MOST)
			return refuse(flat->error, "more than %u instructions once calls are inlined", STEPS_MOST);
		TRY(add_instruction(flat, scope, &computation->instruction[i], &scope->value[i]));
	}
	*result = scope->value[computation->root];
	return OK;
}

/* ---- memory that is written again ---- */

static void find_last(struct flat *flat)
{
	FOR(i, flat->ops)
		FOR(k, flat->op[i].reads)
			flat->tensor[flat->argument[flat->op[i].read + k]].last = i;
}

/* How well a result of op i goes where its read lies, which ends there: 0 not at all. What XLA has given addresses has
 * these; a result goes to its home; other values to what comes in, so that its memory is one storage from there on. */
static int suits(struct flat *flat, uint32_t i, uint32_t k, uint32_t r)
{
	const struct flat_op *op = &flat->op[i];
	const struct flat_tensor *in = &flat->tensor[flat->argument[op->read + r]],
							 *out = &flat->tensor[flat->argument[op->write + k]];
	if (in->last != i || in->result || in->stays || in->shape->bytes != out->shape->bytes)
		return 0;
	int64_t from = hlo_address(flat->module, in->of, in->leaf), to = hlo_address(flat->module, out->of, out->leaf);
	bool home = out->home != NONE && in->storage == out->home;
	if (from >= 0 && to >= 0)
		return from == to ? 4 : 0;
	bool seen_to = flat->module->scheduled &&
		flat->argument[op->read + r] == out->home; /* by XLA, which copies what it couldn't write over */
	if (!seen_to && !hlo_shares(flat, op, k, r))
		return 0;
	return home ? 3 : (flat->tensor[in->storage].parameter != NONE) == (out->home == NONE) ? 2 : 1;
}

static void find_place(struct flat *flat, uint32_t i, uint32_t k)
{
	const struct flat_op *op = &flat->op[i];
	uint32_t id = flat->argument[op->write + k], found = NONE;
	bool one = opcode(op->of, "while") || (uint64_t)op->reads * op->writes > PAIRS_MOST;
	int most = 0, fits;
	for (uint32_t r = one ? flat->tensor[id].leaf : 0; r < op->reads; r = one ? NONE : r + 1)
		if ((fits = suits(flat, i, k, r)) > most)
			most = fits, found = r;
	if (found == NONE)
		return;
	struct flat_tensor *out = &flat->tensor[id], *in = &flat->tensor[flat->argument[op->read + found]];
	out->over = flat->argument[op->read + found];
	out->storage = in->storage;
	in->last = NONE - 1; /* taken: no second result can have it */
}

/* Results go where an operand ends, as XLA lets them: one result for one operand. */
static void flat_share(struct flat *flat, const struct value *result)
{
	FOR(i, result->count)
		flat->tensor[result->leaf[i]].result = true;
	find_last(flat);
	FOR(i, flat->ops)
		FOR(k, flat->op[i].writes)
			find_place(flat, i, k);
	find_last(flat);
}

/* ---- what computations hold that ops run ---- */

/* The most that lives at once: all but what stays. O(flat). */
static enum status flat_simulate(struct flat *flat, int64_t *peak)
{
	uint32_t *last;
	int64_t *dying, live = 0;
	if (!(ROOM(flat->arena, last, flat->tensors) && ROOM(flat->arena, dying, (size_t)flat->ops + 1)))
		return fail_memory(flat->error);
	FOR(t, flat->tensors) {
		const struct flat_tensor *tensor = &flat->tensor[t];
		uint32_t end = tensor->result ? flat->ops
			: tensor->last != NONE ? tensor->last
			: tensor->writer != NONE ? tensor->writer
			: 0;
		if (end > last[tensor->storage])
			last[tensor->storage] = end;
	}
	FOR(t, flat->tensors) {
		const struct flat_tensor *tensor = &flat->tensor[t];
		if (tensor->storage != t || tensor->stays || tensor->unused)
			continue;
		dying[last[t]] += tensor->shape->bytes;
		live += tensor->writer == NONE ? tensor->shape->bytes : 0;
		if (live > BYTES_MAX || dying[last[t]] > BYTES_MAX)
			return refuse(flat->error, "the sizes of a computation's buffers overflow");
	}
	*peak = live;
	FOR(i, flat->ops) {
		FOR(k, flat->op[i].writes) {
			const struct flat_tensor *tensor = &flat->tensor[flat->argument[flat->op[i].write + k]];
			live += tensor->storage == flat->argument[flat->op[i].write + k] ? tensor->shape->bytes : 0;
			if (live > BYTES_MAX)
				return refuse(flat->error, "the sizes of a computation's buffers overflow");
		}
		*peak = larger_of(*peak, live + flat->op[i].workspace);
		live -= dying[i];
	}
	return *peak > BYTES_MAX ? refuse(flat->error, "the sizes of a computation's buffers overflow") : OK;
}

static enum status find_workspaces(struct flat *flat);

/* The most that lives in a computation that an op runs, its results and those of its arguments included that needn't
 * stay. stays: [leaves], of the arrays of its parameter; NULL: all, or none of a loop, whose results end where its
 * parameter's arrays lie. */
static enum status body_peak(struct flat *flat, const struct flat_op *op, uint32_t computation, bool loop,
	const bool *stays, uint32_t leaves, int64_t *peak)
{
	struct flat body = { .module = flat->module,
		.error = flat->error,
		.arena = flat->arena,
		.body = { flat->body[0], flat->body[1] },
		.steps = flat->steps,
		.apart = flat->apart };
	struct scope scope = { .computation = &flat->module->computation[computation], .prefix = "", .depth = op->depth + 1 };
	struct value result = { 0 };
	*peak = flat->body[loop][computation];
	if (*peak >= 0 && !stays)
		return OK;
	enum status status = op->depth >= HLO_DEPTH ? too_deep(flat, op->of) : flatten(&body, &scope, &result);
	for (uint32_t t = 0; status == OK && t < body.tensors; t++) {
		struct flat_tensor *tensor = &body.tensor[t];
		tensor->stays = tensor->constant ||
			(tensor->parameter != NONE &&
				(stays ? tensor->parameter > 0 || tensor->leaf >= leaves || stays[tensor->leaf] : !loop));
		if (loop && tensor->parameter != NONE && tensor->leaf < result.count)
			body.tensor[result.leaf[tensor->leaf]].home = t;
	}
	if (status == OK)
		flat_share(&body, &result);
	if (status == OK)
		status = find_workspaces(&body);
	if (status == OK)
		status = flat_simulate(&body, peak);
	if (status == OK && !stays)
		flat->body[loop][computation] = *peak;
	flat->steps = body.steps;
	body.apart = NULL; /* lent */
	hlo_flat_done(&body);
	return status;
}

/* Which storages and tensors were seen: [tensors] each, with the number of the look. */
struct marks { uint32_t *storage, *tensor, look; };

/* A storage's bytes the first time that one of its tensors is met in this look. */
static int64_t flat_count_once(const struct flat *flat, struct marks *marks, uint32_t tensor)
{
	uint32_t storage = flat->tensor[tensor].storage;
	bool first = marks->storage[storage] != marks->look;
	marks->storage[storage] = marks->look;
	return first ? flat->tensor[storage].shape->bytes : 0;
}

/* Operands that end with a conditional are its branches' to overwrite once they have read them: all others stay. */
static enum status flat_find_branches(struct flat *flat, uint32_t i, struct marks *marks, int64_t *peak)
{
	const struct flat_op op = flat->op[i];
	bool *stays;
	if (!ROOM(flat->arena, stays, op.reads))
		return fail_memory(flat->error);
	for (uint32_t b = 0, first = op.of->operands ? op.in->instruction[op.of->operand[0]].shape->leaves : 0;
		b < op.of->calls; b++) {
		uint32_t leaves = b + 1 < op.of->operands ? op.in->instruction[op.of->operand[b + 1]].shape->leaves : 0;
		int64_t most = 0;
		if (first > op.reads || leaves > op.reads - first)
			return flat_bad(flat, op.of, "has operands of other shapes");
		marks->look++;
		FOR_FROM(r, first, first + leaves) { /* one array twice is one array */
			uint32_t id = flat->argument[op.read + r];
			const struct flat_tensor *in = &flat->tensor[id];
			stays[r] = in->stays || in->result || in->last != i || marks->tensor[id] == marks->look;
			marks->tensor[id] = marks->look;
		}
		TRY(body_peak(flat, &op, op.of->call[b], false, stays + first, leaves, &most));
		*peak = most > *peak ? most : *peak;
		first += leaves;
	}
	return OK;
}

/* What the computations that op i runs hold at most beside what is counted outside: its results, and operands that end
 * with it. */
static enum status flat_find_workspace(struct flat *flat, uint32_t i, struct marks *marks)
{
	const struct flat_op op = flat->op[i];
	int64_t peak = 0, counted = 0, condition = 0;
	bool loop = opcode(op.of, "while"), branches = opcode(op.of, "conditional");
	if (!loop && !branches && !opcode(op.of, "async-start"))
		return OK;
	FOR(k, op.of->calls)
		if (op.of->call[k] == NONE)
			return flat_bad(flat, op.of, "names no computation");
	if (branches)
		TRY(flat_find_branches(flat, i, marks, &peak));
	else if (op.of->calls)
		TRY(body_peak(flat, &op, op.of->call[0], loop, NULL, 0, &peak));
	if (loop && op.of->calls > 1)
		TRY(body_peak(flat, &op, op.of->call[1], false, NULL, 0, &condition));
	marks->look++;
	FOR(r, op.reads) {
		const struct flat_tensor *in = &flat->tensor[flat->argument[op.read + r]];
		if (loop)
			counted += in->shape->bytes;
		else if (branches && in->last == i && !in->stays && !in->result)
			counted += flat_count_once(flat, marks, flat->argument[op.read + r]);
	}
	for (uint32_t k = 0; !loop && k < op.writes; k++)
		counted += flat_count_once(flat, marks, flat->argument[op.write + k]);
	peak -= counted;
	flat->op[i].workspace = LARGER(peak, condition);
	return OK;
}

static enum status find_workspaces(struct flat *flat)
{
	struct marks marks = { arena_alloc(flat->arena, flat->tensors, sizeof *marks.storage),
		arena_alloc(flat->arena, flat->tensors, sizeof *marks.tensor), 0 };
	if (!(marks.storage && marks.tensor))
		return fail_memory(flat->error);
	FOR(i, flat->ops)
		TRY(flat_find_workspace(flat, i, &marks));
	return OK;
}

/* ---- the whole ---- */

/* Arguments stay, but for those that are given away for a result. */
static void give_arguments(struct flat *flat)
{
	FOR(t, flat->tensors)
		flat->tensor[t].stays = flat->tensor[t].constant || flat->tensor[t].parameter != NONE;
	FOR(i, flat->module->aliases) {
		const struct hlo_alias *alias = &flat->module->alias[i];
		for (uint32_t t = 0; t < flat->tensors && alias->output < flat->results; t++)
			if (flat->tensor[t].parameter == alias->parameter && flat->tensor[t].leaf == alias->leaf) {
				flat->tensor[t].stays = false;
				flat->tensor[flat->result[alias->output]].home = t;
				break;
			}
	}
}

enum status hlo_flatten(struct flat *flat, uint32_t computation)
{
	struct scope scope = { .computation = &flat->module->computation[computation], .prefix = "" };
	struct value result = { 0 };
	uint32_t longest = 0;
	FOR(i, flat->module->computations)
		longest = LARGER(flat->module->computation[i].instructions, longest);
	MAKE(flat->apart, longest);
	TRY(flat->apart ? flatten(flat, &scope, &result) : fail_memory(flat->error));
	flat->result = result.leaf;
	flat->results = result.count;
	give_arguments(flat);
	flat_share(flat, &result);
	return find_workspaces(flat);
}

void hlo_flat_done(struct flat *flat)
{
	mem_free(flat->tensor);
	mem_free(flat->op);
	mem_free(flat->argument);
	mem_free(flat->apart);
}
