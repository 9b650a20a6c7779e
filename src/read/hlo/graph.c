/* graph.c: from a flat HLO module to a graph: kinds, phases, names, what is written in place. */
#include <stdio.h>

#include "flat.h"

struct making {
	struct flat flat;
	struct draft *draft;
	struct error *error;
	struct arena arena;
	uint32_t *tensor; /* of the flat ones: in the draft */
	bool *keeps;      /* of the flat ones: a result of the whole lies in its storage */
	bool *gradient;   /* flat tensors that depend on a gradient */
	int64_t *memo;
	uint32_t missing, unknown_trips;
	bool differentiates;
	bool named, told; /* ops say what they come from, and so of which phase they are */
};

/* ---- names ---- */

static const char *hlo_graph_unique(
	struct making *making, const char *text, size_t length, uint32_t (*find)(const struct draft *, const char *))
{
	char *name = arena_alloc(&making->arena, length + 24, 1);
	if (!name)
		return NULL;
	memcpy(name, text, length);
	draft_unique(making->draft, name, length, find);
	return name;
}

/* "params['h']['kernel']" and so on: the framework's name of an argument, where it has one. */
static const char *argument_name(const struct hlo_instruction *instruction)
{
	return instruction->op_name && *instruction->op_name ? instruction->op_name : instruction->name;
}

static const char *hlo_graph_tensor_name(struct making *making, const struct flat_tensor *tensor)
{
	char text[1200], number[16] = "";
	const char *name = tensor->parameter != NONE ? argument_name(tensor->of) : tensor->of->name;
	if (tensor->leaves > 1)
		PRINT_TO(number, "#%u", tensor->leaf);
	int length = PRINT_TO(text, "%.400s%.600s%s", tensor->prefix, name, number);
	return hlo_graph_unique(making, text, (size_t)length, draft_find_tensor);
}

/* The part of a path between slashes with its wrappers off: "transpose(jvp(MLP))" is MLP. */
static void hlo_graph_add_part(char *module, size_t size, const char *part, size_t length)
{
	static const char *const dull[] = { "while", "body", "cond", "closed_call", "rematted_computation", "checkpoint",
		"shard_map", "" };
	const char *open;
	if (length > 4 && memcmp(part, "jit(", 4) == 0)
		return;
	while ((open = memchr(part, '(', length)) && part[length - 1] == ')') {
		length -= (size_t)(open + 1 - part) + 1;
		part = open + 1;
	}
	FOR(i, COUNT_OF(dull))
		if (strlen(dull[i]) == length && memcmp(dull[i], part, length) == 0)
			return;
	size_t used = strlen(module);
	snprintf(module + used, size - used, "%s%.*s", used ? "." : "", (int)length, part);
}

/* "jit(step)/transpose(jvp(MLP))/Dense_0/dot_general" is MLP.Dense_0: the last part says what it does. */
static void hlo_graph_module_of(const char *op_name, char *module, size_t size)
{
	*module = '\0';
	for (const char *at = op_name, *slash; at && (slash = strchr(at, '/')); at = slash + 1)
		hlo_graph_add_part(module, size, at, (size_t)(slash - at));
}

/* ---- tensors ---- */

static bool hlo_graph_contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* By the names that JAX gives arguments, and by what the step gives back in their place. */
static enum kind argument_kind(const char *name, bool donated)
{
	bool state = hlo_graph_contains(name, ".mu[") || hlo_graph_contains(name, ".nu[") ||
		hlo_graph_contains(name, ".trace[") || hlo_graph_contains(name, ".count") || hlo_graph_contains(name, ".m[") ||
		hlo_graph_contains(name, ".v[") || hlo_graph_contains(name, ".v_row[") || hlo_graph_contains(name, ".v_col[") ||
		hlo_graph_contains(name, ".sum_of_squares[") || strncmp(name, "opt", 3) == 0 ||
		hlo_graph_contains(name, "opt_state");
	if (state)
		return KIND_OPTIMIZER;
	if (donated || strncmp(name, "param", 5) == 0 || strncmp(name, "weight", 6) == 0 ||
		strncmp(name, "variables", 9) == 0 || hlo_graph_contains(name, ".params["))
		return KIND_PARAMETER;
	return KIND_INPUT;
}

static bool donated(const struct hlo_module *module, uint32_t parameter)
{
	FOR(i, module->aliases)
		if (module->alias[i].parameter == parameter)
			return true;
	return false;
}

static enum status hlo_graph_add_tensor(struct making *making, uint32_t id)
{
	const struct flat_tensor *flat = &making->flat.tensor[id];
	struct tensor tensor = { .alias = NONE,
		.kind = KIND_ACTIVATION,
		.dtype = flat->shape->dtype,
		.line = flat->of->line,
		.dims = flat->shape->rank,
		.shape = flat->shape->dim,
		.bytes = flat->shape->bytes,
		.has_shape = true,
		.has_dtype = true,
		.has_bytes = true };
	if (flat->parameter != NONE)
		tensor.kind = (uint8_t)argument_kind(argument_name(flat->of), donated(making->flat.module, flat->parameter));
	else if (flat->constant)
		tensor.kind = KIND_CONSTANT;
	else if (flat->result && making->flat.tensor[flat->storage].parameter == NONE)
		tensor.kind = KIND_OUTPUT;
	else if (making->gradient[id])
		tensor.kind = KIND_GRADIENT;
	tensor.replaced = flat->parameter != NONE && !flat->stays && !making->keeps[id];
	if (flat->over != NONE)
		tensor.alias = making->tensor[flat->over];
	tensor.address = flat->over == NONE ? hlo_address(making->flat.module, flat->of, flat->leaf) : -1;
	tensor.has_address = tensor.address >= 0;
	making->missing += flat->shape->unsized;
	if (!(tensor.name = hlo_graph_tensor_name(making, flat)))
		return fail_memory(making->error);
	making->tensor[id] = draft_tensor(making->draft, &tensor);
	return making->tensor[id] == NONE ? fail_memory(making->error) : OK;
}

/* ---- ops ---- */

static const struct { const char *opcode, *type;
} collectives[] = {
	{ "all-reduce", "comm.all_reduce" },
	{ "all-reduce-start", "comm.all_reduce" },
	{ "all-gather", "comm.all_gather" },
	{ "all-gather-start", "comm.all_gather" },
	{ "reduce-scatter", "comm.reduce_scatter" },
	{ "all-to-all", "comm.all_to_all" },
	{ "ragged-all-to-all", "comm.all_to_all" },
	{ "collective-permute", "comm.collective_permute" },
	{ "collective-permute-start", "comm.collective_permute" },
};

static const char *hlo_graph_op_type(const struct hlo_instruction *instruction, char *text, size_t size)
{
	FOR(i, COUNT_OF(collectives))
		if (opcode(instruction, collectives[i].opcode))
			return collectives[i].type;
	snprintf(text, size, "xla.%.100s", instruction->opcode);
	return text;
}

static bool reads_gradient(const struct making *making, const struct flat_op *op)
{
	FOR(k, op->reads)
		if (making->gradient[making->flat.argument[op->read + k]])
			return true;
	return false;
}

/* The gradients of TensorFlow's tape. */
static bool is_taped(const char *name)
{
	return hlo_graph_contains(name, "gradient_tape/");
}

/* Names of all ops: whether gradients are computed, and whether they say of which phase an op is. JAX marks what it
 * differentiates, but before 0.7 ("jit(main)") only in functions and modules that have names: where a product stands
 * outside of them, what is forward and what backward isn't said. Other frameworks than JAX and TensorFlow mark nothing.
 */
static void look_at_names(struct making *making)
{
	bool marks = false, old = false, unmarked = false;
	FOR(i, making->flat.ops) {
		const char *name = making->flat.op[i].of->op_name, *path = making->flat.op[i].path;
		name = name ? name : "";
		path = path ? path : "";
		making->named |= *name || *path;
		making->differentiates |= hlo_graph_contains(name, "transpose(jvp") ||
			hlo_graph_contains(path, "transpose(jvp") || is_taped(name);
		marks |= hlo_graph_contains(name, "jit(") || hlo_graph_contains(path, "jit(") ||
			hlo_graph_contains(name, "jvp(") || hlo_graph_contains(name, "pmap(") || is_taped(name);
		old |= hlo_graph_contains(name, "jit(main)/") || hlo_graph_contains(path, "jit(main)/");
		unmarked |= !hlo_graph_contains(name, "jvp(") && !hlo_graph_contains(path, "jvp(") &&
			(hlo_graph_contains(name, "/dot_general") || hlo_graph_contains(name, "/conv_general_dilated"));
	}
	making->told = marks && !(old && unmarked);
}

/* JAX wraps what it differentiates: jvp() forward, transpose(jvp()) backward. What stands outside of it and needs a
 * gradient updates. */
static enum phase hlo_graph_phase_of(const struct making *making, const struct flat_op *op, bool gradient)
{
	const char *name = op->of->op_name ? op->of->op_name : "";
	if (!making->differentiates)
		return PHASE_FORWARD;
	if (op->path && !hlo_graph_contains(name, "jvp("))
		name = op->path;
	if (hlo_graph_contains(name, "transpose(") || is_taped(name))
		return PHASE_BACKWARD;
	if (hlo_graph_contains(name, "jvp("))
		return PHASE_FORWARD;
	if (gradient)
		return *name ? PHASE_UPDATE : PHASE_BACKWARD;
	return PHASE_FORWARD;
}

static enum status add_arguments(struct making *making, uint32_t id, const struct flat_op *op)
{
	const struct flat *flat = &making->flat;
	enum status status = OK;
	for (uint32_t k = 0; k < op->reads && status == OK; k++)
		status = draft_read(making->draft, id, making->tensor[flat->argument[op->read + k]]);
	for (uint32_t k = 0; k < op->writes && status == OK; k++) {
		uint32_t out = flat->argument[op->write + k], in = flat->tensor[out].over;
		status = draft_write(making->draft, id, making->tensor[out]);
		if (in != NONE)
			if (status == OK)
				status = draft_inplace(making->draft, id, making->tensor[out], making->tensor[in]);
	}
	return status == OK ? OK : fail_memory(making->error);
}

static enum status hlo_graph_add_op(struct making *making, const struct flat_op *flat)
{
	const struct hlo_instruction *of = flat->of;
	char type[128], module[600], name[1200];
	struct collective said = collective_unsaid();
	bool gradient = reads_gradient(making, flat);
	struct op op = { .type = hlo_graph_op_type(of, type, sizeof type),
		.module = module,
		.src = of->src,
		.flops = hlo_flops(making->flat.module, flat->in, of, making->memo),
		.workspace = flat->workspace,
		.has_workspace = flat->workspace > 0,
		.line = of->line,
		.has_phase = making->told };
	enum phase phase = hlo_graph_phase_of(making, flat, gradient);
	op.phase = making->told ? (uint8_t)phase : PHASE_FORWARD;
	hlo_graph_module_of(of->op_name, module, sizeof module);
	if (!*module)
		hlo_graph_module_of(flat->path, module, sizeof module);
	op.has_module = *module != '\0';
	if (collective_of_type(op.type) != COLLECTIVE_KINDS) {
		said.size = of->group ? of->group : making->flat.module->devices;
		op.collective = &said;
	}
	making->unknown_trips += strcmp(of->opcode, "while") == 0 && of->trips == 0;
	int length = PRINT_TO(name, "%.400s%.600s", flat->prefix, of->name);
	if (!(op.name = hlo_graph_unique(making, name, (size_t)length, draft_find_op)))
		return fail_memory(making->error);
	FOR(k, flat->writes)
		making->gradient[making->flat.argument[flat->write + k]] = gradient || phase == PHASE_BACKWARD;
	uint32_t id = draft_op(making->draft, &op);
	return id == NONE ? fail_memory(making->error) : add_arguments(making, id, flat);
}

/* ---- what is said of it ---- */

static bool hlo_graph_is_collective(const struct hlo_instruction *instruction)
{
	FOR(i, COUNT_OF(collectives))
		if (opcode(instruction, collectives[i].opcode))
			return true;
	return false;
}

/* Before XLA's partitioner: sizes are those of all devices together. The partitioner names the entry NAME_spmd and
 * leaves shardings at its parameters and its root only; before it, collectives are in shard_maps only. */
static bool is_whole(const struct hlo_module *module)
{
	bool cut = false, sends = false, inside = module->unpartitioned;
	if (module->scheduled || strstr(module->computation[module->entry].name, "_spmd"))
		return false;
	FOR(c, module->computations)
		FOR(i, module->computation[c].instructions) {
			const struct hlo_instruction *instruction = &module->computation[c].instruction[i];
			bool kept = opcode(instruction, "parameter") || (c == module->entry && i == module->computation[c].root);
			cut |= instruction->shards > 1;
			inside |= instruction->shards > 1 && !kept;
			sends |= hlo_graph_is_collective(instruction);
		}
	return inside || (cut && !sends);
}

static enum status hlo_graph_describe(struct making *making, const char *format, bool open)
{
	const struct hlo_module *module = making->flat.module;
	char assumed[1400], by[300], version[100], devices[60] = "";
	bool all = is_whole(module);
	int length = PRINT_TO(assumed,
		"what is a parameter, optimizer state or input is told by the names of arguments, and by what the step gives "
		"back "
		"in their place\n%s",
		open ? "fusions are open: each op in them has a result of its own"
		: "fusions are one op each: nothing inside them is stored");
	if (making->unknown_trips)
		length += snprintf(assumed + length, sizeof assumed - (size_t)length,
			"\n%u loop%s count%s as one trip for the time: XLA doesn't say how many", making->unknown_trips,
			making->unknown_trips == 1 ? "" : "s", making->unknown_trips == 1 ? "s" : "");
	if (all)
		length += snprintf(assumed + length, sizeof assumed - (size_t)length,
			"\nthis is before it is cut over %u devices: sizes are of all of them together, but within a shard_map",
			module->devices);
	if (!making->named)
		length += snprintf(assumed + length, sizeof assumed - (size_t)length,
			"\nno op says what it comes from (op_name): what is forward, backward and update is not known");
	else if (!making->told)
		length += snprintf(assumed + length, sizeof assumed - (size_t)length,
			"\nwhat is forward, backward and update is not known: names of ops (op_name) say it in modules by JAX 0.7 "
			"or later");
	if (module->devices > 1)
		PRINT_TO(devices, all ? ", for all %u devices" : ", of one of %u devices", module->devices);
	PRINT_TO(version, "%s%s", module->scheduled ? "scheduled" : "not scheduled", devices);
	struct about about = {
		.intake = { .said = true,
			.format = format,
			.version = version,
			.missing = making->missing,
			.derived = !module->scheduled,
			.assumed = assumed,
			.advice = module->scheduled ? NULL
			: all ? "jax.jit(step).lower(...).compile().as_text() has what one device runs, in XLA's own order"
			: "jax.jit(step).lower(...).compile().as_text() has XLA's own order" }
	};
	if (module->devices > 1 && !all) {
		about.axes = 1;
		about.axis[0].size = module->devices;
		memcpy(about.axis[0].name, "spmd", 5);
	}
	if (module->assigned) {
		int64_t total = module->arguments + module->temporary + module->outputs + module->constants;
		PRINT_TO(by,
			"XLA's buffer assignment: arguments %lld, temporaries %lld, results beside them %lld, constants %lld B; "
			"with the holes in its layout, which layout=file shows",
			(long long)module->arguments, (long long)module->temporary, (long long)module->outputs,
			(long long)module->constants);
		about.intake.peak = total;
		about.intake.peak_by = by;
	}
	return draft_describe(making->draft, module->name, NULL, NULL, &about) == OK ? OK : fail_memory(making->error);
}

static enum status hlo_graph_make(struct making *making, const char *format)
{
	struct flat *flat = &making->flat;
	TRY(hlo_flatten(flat, flat->module->entry));
	if (!(ROOM(&making->arena, making->tensor, flat->tensors) && ROOM(&making->arena, making->keeps, flat->tensors) &&
		ROOM(&making->arena, making->gradient, flat->tensors)))
		return fail_memory(making->error);
	look_at_names(making);
	FOR(t, flat->tensors)
		making->keeps[flat->tensor[t].storage] |= flat->tensor[t].result;
	/* Ops say what depends on a gradient, which their results' kinds need: tensors that ops write come with them. */
	FOR(t, flat->tensors)
		if (flat->tensor[t].writer == NONE)
			TRY(hlo_graph_add_tensor(making, t));
	FOR(i, flat->ops) {
		const struct flat_op *op = &flat->op[i];
		bool gradient = reads_gradient(making, op);
		gradient |= making->differentiates && hlo_graph_phase_of(making, op, gradient) == PHASE_BACKWARD;
		FOR(k, op->writes) {
			making->gradient[flat->argument[op->write + k]] = gradient;
			TRY(hlo_graph_add_tensor(making, flat->argument[op->write + k]));
		}
		TRY(hlo_graph_add_op(making, op));
	}
	return hlo_graph_describe(making, format, flat->open);
}

struct graph *hlo_graph(const struct hlo_module *module, bool open_fusions, const char *format, struct error *error)
{
	struct making making = { .error = error };
	making.flat = (struct flat){ .module = module, .error = error, .arena = &making.arena, .open = open_fusions };
	making.draft = draft_new();
	FOR_INT(loop, 2)
		ROOM(&making.arena, making.flat.body[loop], module->computations);
	enum status status = ROOM(&making.arena, making.memo, module->computations) && making.draft &&
		making.flat.body[0] && making.flat.body[1] ? OK : fail_memory(making.error);
	for (uint32_t c = 0; status == OK && c < module->computations; c++) {
		making.flat.body[0][c] = making.flat.body[1][c] = -1;
		making.memo[c] = -2;
	}
	if (status == OK)
		status = hlo_graph_make(&making, format);
	struct graph *graph = status == OK ? graph_build(making.draft, error) : NULL;
	if (status != OK)
		error_set(error, status);
	draft_free(making.draft);
	hlo_flat_done(&making.flat);
	arena_free(&making.arena);
	return graph;
}
