/* autoparallel.c: from AutoParallel's JSON to the graph of one device. */

#include "fx.h"
#include "solver/rules/rules.h"
#include "src/base/json.h"
#include "src/base/words.h"

struct value {
	const char *name;
	const json_t *node;
	int64_t dim[DIMS_MAX]; /* of the whole tensor */
	uint8_t dims, dtype;
	bool sized, typed, output, parts; /* parts: nodes behind it take its results out */
	struct axis_places places;
	uint32_t tensor, op, source; /* source: what a view is of */
};

struct reading {
	struct error *error;
	struct arena arena;
	struct draft *draft;
	struct rules *rules;
	struct names names;
	struct value *value;
	uint32_t values, missing, moved, unplaced;
	struct about about;
};

static enum status autoparallel_wrong(struct reading *reading, const char *what, const char *name)
{
	return refuse(reading->error, "%s: \"%.80s\"", what, name ? name : "");
}

static const char *autoparallel_text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- mesh, placements ---- */

static enum status autoparallel_take_mesh(struct reading *reading, const json_t *file)
{
	const json_t *mesh = json_object_get(file, "mesh"), *shape = json_object_get(mesh, "shape"),
				 *names = json_object_get(mesh, "dim_names");
	size_t axes = json_array_size(shape);
	if (axes < 1 || axes > MESH_AXES)
		return refuse(reading->error, "mesh: expected a shape of 1 to %d axes", MESH_AXES);
	reading->about.axes = (uint32_t)axes;
	FOR_SIZE(a, axes) {
		int64_t size = json_integer_value(json_array_get(shape, a));
		const char *name = json_string_value(json_array_get(names, a));
		if (size < 1 || size > 1 << 20)
			return refuse(reading->error, "mesh: expected sizes from 1 to 2^20");
		snprintf(reading->about.axis[a].name, sizeof reading->about.axis[a].name, "%s",
			name ? name : (const char *const[]){ "a", "b", "c", "d" }[a % 4]);
		reading->about.axis[a].size = (uint32_t)size;
	}
	return OK;
}

/* Of several results the first that there is: "(None, S(0)R, R)". False where it is something else. */
static bool autoparallel_take_places(const struct reading *reading, const char *text, struct axis_places *places)
{
	text = text && *text == '(' ? text + 1 : text;
	while (text && strncmp(text, "None, ", 6) == 0)
		text += 6;
	bool all = places_read(text ? text : "", reading->about.axes, places) == reading->about.axes;
	places->axes = all ? places->axes : 0;
	return all;
}

/* ---- tensors ---- */

static int autoparallel_dtype_of(const char *name)
{
	static const char *const known[] = { [DTYPE_F32] = "float32", [DTYPE_BF16] = "bfloat16", [DTYPE_F16] = "float16",
		[DTYPE_I64] = "int64", [DTYPE_I32] = "int32", [DTYPE_BOOL] = "bool", [DTYPE_F64] = "float64",
		[DTYPE_U8] = "uint8", [DTYPE_I8] = "int8", [DTYPE_I16] = "int16", [DTYPE_F8E4M3] = "float8_e4m3fn",
		[DTYPE_F8E5M2] = "float8_e5m2", [DTYPE_C64] = "complex64", [DTYPE_U64] = "uint64", [DTYPE_U32] = "uint32" };
	return name ? name_index(known, COUNT_OF(known), name) : -1;
}

/* A tensor of one device: the value's, cut as placed. NONE with the error. */
static uint32_t autoparallel_add_tensor(struct reading *reading, const struct value *value, const char *name,
	const struct axis_places *places, enum kind kind, uint32_t alias)
{
	struct tensor tensor = { .name = name,
		.kind = (uint8_t)kind,
		.alias = alias,
		.dims = value->sized ? value->dims : 0,
		.has_shape = value->sized,
		.has_dtype = value->typed,
		.dtype = value->typed ? value->dtype : DTYPE_OPAQUE,
		.has_bytes = true,
		.places = places->axes ? places : NULL };
	int64_t dim[DIMS_MAX], bits = value->sized && value->typed ? dtype_bits[value->dtype] : 0;
	for (uint8_t i = 0; i < tensor.dims; i++) {
		dim[i] = value->dim[i];
		FOR(a, places->axes)
			if (places->on[a].dim == i)
				dim[i] = dim[i] / reading->about.axis[a].size + (dim[i] % reading->about.axis[a].size != 0);
		if (__builtin_mul_overflow(bits, dim[i], &bits) || bits > BYTES_MAX) {
			autoparallel_wrong(reading, "a size overflows", name);
			return NONE;
		}
	}
	tensor.shape = value->sized ? dim : NULL;
	tensor.bytes = (bits + 7) / 8;
	reading->missing += !value->sized || !value->typed;
	uint32_t id = draft_tensor(reading->draft, &tensor);
	if (id == NONE)
		fail_memory(reading->error);
	return id;
}

static struct value *find_value(struct reading *reading, const json_t *input)
{
	const char *name = autoparallel_text_of(input, "name");
	uint32_t id = name ? names_find(&reading->names, name) : NONE;
	return id == NONE ? NULL : &reading->value[id];
}

static bool takes_part(const json_t *node)
{
	const char *op = autoparallel_text_of(node, "op");
	return op && strstr(op, "getitem") != NULL;
}

static enum status autoparallel_take_value(struct reading *reading, const json_t *node, struct value *value)
{
	const json_t *shape = json_object_get(node, "shape");
	int dtype = autoparallel_dtype_of(autoparallel_text_of(node, "dtype"));
	*value = (struct value){ .name = autoparallel_text_of(node, "name"),
		.node = node,
		.tensor = NONE,
		.op = NONE,
		.source = NONE,
		.typed = dtype >= 0,
		.dtype = (uint8_t)(dtype >= 0 ? dtype : 0),
		.sized = json_is_array(shape),
		.dims = (uint8_t)(json_array_size(shape) <= DIMS_MAX ? json_array_size(shape) : 0) };
	if (!value->name || !autoparallel_text_of(node, "op"))
		return autoparallel_wrong(reading, "expected a name and an op of node", value->name);
	if (json_array_size(shape) > DIMS_MAX)
		return autoparallel_wrong(reading, "too many dims of node", value->name);
	for (uint8_t i = 0; i < value->dims; i++) {
		value->dim[i] = json_integer_value(json_array_get(shape, i));
		value->sized &= json_is_integer(json_array_get(shape, i)) && value->dim[i] >= 0;
	}
	reading->unplaced += !autoparallel_take_places(reading, autoparallel_text_of(node, "placement"), &value->places) &&
		strcmp(autoparallel_text_of(node, "op"), "output") != 0;
	return OK;
}

static enum status take_values(struct reading *reading, const json_t *nodes)
{
	size_t count = json_array_size(nodes);
	if (!ROOM(&reading->arena, reading->value, count + 1))
		return fail_memory(reading->error);
	for (; reading->values < count; reading->values++) {
		struct value *value = &reading->value[reading->values];
		if (autoparallel_take_value(reading, json_array_get(nodes, reading->values), value) != OK)
			return reading->error->status;
		uint32_t id = names_add(&reading->names, value->name, reading->values);
		if (id != reading->values)
			return id == NONE ? fail_memory(reading->error)
				: autoparallel_wrong(reading, "two nodes have one name", value->name);
		const json_t *inputs = json_object_get(value->node, "inputs");
		FOR_SIZE(i, json_array_size(inputs)) {
			struct value *from = find_value(reading, json_array_get(inputs, i));
			if (!from || from == value)
				return autoparallel_wrong(reading, "an input that no node before it makes, of", value->name);
			from->output |= strcmp(autoparallel_text_of(value->node, "op"), "output") == 0;
			from->parts |= takes_part(value->node) && i == 0;
		}
	}
	return OK;
}

/* ---- ops ---- */

static enum phase autoparallel_phase_of(const json_t *node)
{
	const char *phase = autoparallel_text_of(node, "phase");
	return phase && strcmp(phase, "backward") == 0 ? PHASE_BACKWARD : PHASE_FORWARD;
}

static uint32_t autoparallel_add_op(struct reading *reading, const struct value *value, const char *name,
	const char *type, const struct collective *collective)
{
	const json_t *source = json_object_get(value->node, "source");
	const char *file = autoparallel_text_of(source, "file"), *module = autoparallel_text_of(value->node, "module_path"),
			   *function = autoparallel_text_of(source, "func");
	char src[300];
	PRINT_TO(src, "%.200s:%lld in %.60s", file ? file : "",
		(long long)json_integer_value(json_object_get(source, "line")), function ? function : "?");
	struct op op = { .name = name,
		.type = type,
		.module = module ? module : "",
		.has_module = module != NULL,
		.src = file ? src : NULL,
		.flops = -1,
		.has_phase = true,
		.phase = (uint8_t)autoparallel_phase_of(value->node),
		.collective = collective };
	uint32_t id = draft_op(reading->draft, &op);
	if (id == NONE)
		fail_memory(reading->error);
	return id;
}

/* One axis of an operand, of which *tensor has the placement *at, goes where `to` has it. name: of the op and of its
 * result. */
static enum status add_move(struct reading *reading, const struct value *reader, const struct value *from,
	const char *name, uint32_t axis, const struct axis_places *to, struct axis_places *at, uint32_t *tensor)
{
	const char *type = place_move(at->on[axis], to->on[axis]);
	struct collective said = collective_unsaid();
	uint32_t before = *tensor;
	PRINT_TO(said.axis, "%s", reading->about.axis[axis].name);
	said.size = reading->about.axis[axis].size;
	said.from = *at;
	at->on[axis] = to->on[axis];
	said.to = *at;
	if ((*tensor = draft_find_tensor(reading->draft, name)) != NONE)
		return OK;
	uint32_t op = autoparallel_add_op(reading, reader, name, type ? type : "aten.slice.Tensor", type ? &said : NULL);
	if (op == NONE)
		return NO_MEMORY;
	*tensor = autoparallel_add_tensor(reading, from, name, at,
		autoparallel_phase_of(reader->node) == PHASE_BACKWARD ? KIND_GRADIENT : KIND_ACTIVATION, type ? NONE : before);
	reading->moved += type != NULL;
	if (*tensor == NONE)
		return reading->error->status;
	return draft_read(reading->draft, op, before) == OK && draft_write(reading->draft, op, *tensor) == OK
		? OK
		: fail_memory(reading->error);
}

static bool place_differs(const struct axis_places *a, const struct axis_places *b, uint32_t axis)
{
	return a->on[axis].dim != b->on[axis].dim || (a->on[axis].dim >= 0 && a->on[axis].blocks != b->on[axis].blocks);
}

/* An operand in the placement that its reader needs: an op for each axis of the mesh where it differs. What only cuts
 * comes first, then from the last axis, which has the smallest pieces, to the first. */
static enum status add_moved(
	struct reading *reading, const struct value *reader, struct value *from, const char *wanted, uint32_t *tensor)
{
	struct axis_places to, at = from->places;
	enum status status = OK;
	*tensor = from->tensor;
	if (!from->places.axes || !autoparallel_take_places(reading, wanted, &to))
		return OK;
	FOR_INT(pass, 2)
		for (uint32_t axis = at.axes; axis-- > 0 && status == OK;) {
			char name[300];
			if (!place_differs(&at, &to, axis) || (pass == 0 && place_move(at.on[axis], to.on[axis])))
				continue;
			struct axis_places next = at;
			next.on[axis] = to.on[axis];
			bool last = axis_places_equal(&next, &to);
			PRINT_TO(name, "%.120s as %.60s%s%s", from->name, wanted, last ? "" : " along ",
				last ? "" : reading->about.axis[axis].name);
			status = add_move(reading, reader, from, name, axis, &to, &at, tensor);
		}
	return status;
}

static enum status autoparallel_add_leaf(struct reading *reading, struct value *value)
{
	const char *kind = autoparallel_text_of(value->node, "placeholder_kind");
	enum kind as = !kind || strcmp(kind, "input") == 0 ? KIND_INPUT
		: strcmp(kind, "param") == 0                   ? KIND_PARAMETER
		: strcmp(kind, "buffer") == 0                  ? KIND_BUFFER
		: KIND_GRADIENT;
	value->tensor = autoparallel_add_tensor(reading, value, value->name, &value->places, as, NONE);
	return value->tensor == NONE ? reading->error->status : OK;
}

static bool autoparallel_is_view(const struct reading *reading, const char *type)
{
	const struct rule *rule = rules_find(reading->rules, type);
	return rule && rule->cost == COST_NONE;
}

static enum status autoparallel_add_result(struct reading *reading, struct value *value, uint32_t op, uint32_t source)
{
	enum kind kind = value->output ? KIND_OUTPUT
		: autoparallel_phase_of(value->node) == PHASE_BACKWARD ? KIND_GRADIENT
		: KIND_ACTIVATION;
	value->tensor = autoparallel_add_tensor(reading, value, value->name, &value->places, kind, source);
	if (value->tensor == NONE)
		return reading->error->status;
	return draft_write(reading->draft, op, value->tensor) == OK ? OK : fail_memory(reading->error);
}

static enum status autoparallel_add_node(struct reading *reading, struct value *value)
{
	const json_t *inputs = json_object_get(value->node, "inputs");
	const char *type = autoparallel_text_of(value->node, "op");
	struct value *first = find_value(reading, json_array_get(inputs, 0));
	if (takes_part(value->node) && first && first->op != NONE)
		return autoparallel_add_result(reading, value, first->op, first->source);
	uint32_t *operand = NULL;
	enum status status = ROOM(&reading->arena, operand, json_array_size(inputs) + 1) ? OK : fail_memory(reading->error);
	for (size_t i = 0; i < json_array_size(inputs) && status == OK; i++) {
		const json_t *input = json_array_get(inputs, i);
		struct value *from = find_value(reading, input);
		operand[i] = NONE;
		if (from->tensor != NONE)
			status = add_moved(reading, value, from, autoparallel_text_of(input, "dst_placement"), &operand[i]);
	}
	if (status == OK && (value->op = autoparallel_add_op(reading, value, value->name, type, NULL)) == NONE)
		return NO_MEMORY;
	for (size_t i = 0; i < json_array_size(inputs) && status == OK; i++)
		if (operand[i] != NONE && draft_read(reading->draft, value->op, operand[i]) != OK)
			status = fail_memory(reading->error);
	value->source = json_array_size(inputs) && status == OK && autoparallel_is_view(reading, type) ? operand[0] : NONE;
	return status == OK && !value->parts ? autoparallel_add_result(reading, value, value->op, value->source) : status;
}

/* ---- the step ---- */

static enum status autoparallel_describe(struct reading *reading, const json_t *file)
{
	const json_t *summary = json_object_get(file, "summary");
	char assumed[900];
	struct words words = { assumed, sizeof assumed, 0 };
	words_add(&words, "sizes are of one device of the mesh; %u transfers were added where placements differ, once for "
		"each tensor and placement; inputs and gradients of parameters stay to the end; it has no optimizer", reading->moved);
	if (json_is_number(json_object_get(summary, "total")))
		words_add(&words, "\nits own costs: %.1f in all, computation %.1f, communication %.1f, other transitions %.1f",
			json_number_value(json_object_get(summary, "total")),
			json_number_value(json_object_get(summary, "compute")), json_number_value(json_object_get(summary, "comm")),
			json_number_value(json_object_get(summary, "transition")));
	if (reading->unplaced)
		words_add(&words, "\n%u nodes without a placement that is understood: they count as whole", reading->unplaced);
	struct about about = reading->about;
	about.intake = (struct intake){
		.said = true, .format = "AutoParallel JSON", .missing = reading->missing, .assumed = assumed
	};
	return draft_describe(reading->draft, "step", NULL, NULL, &about) == OK ? OK : fail_memory(reading->error);
}

static enum status autoparallel_read_file(struct reading *reading, const json_t *file)
{
	const json_t *nodes = json_object_get(file, "nodes");
	if (!json_is_array(nodes) || json_array_size(nodes) >= NONE)
		return refuse(reading->error, "it has no list of nodes");
	TRY(autoparallel_take_mesh(reading, file));
	TRY(take_values(reading, nodes));
	FOR(i, reading->values) {
		const char *op = autoparallel_text_of(reading->value[i].node, "op");
		if (strcmp(op, "placeholder") == 0 || strcmp(op, "get_attr") == 0)
			TRY(autoparallel_add_leaf(reading, &reading->value[i]));
		else if (strcmp(op, "output") != 0)
			TRY(autoparallel_add_node(reading, &reading->value[i]));
	}
	return autoparallel_describe(reading, file);
}

struct graph *autoparallel_read(const char *text, size_t size, struct error *error)
{
	struct reading reading = { .error = error, .draft = draft_new(), .rules = rules_new() };
	struct graph *graph = NULL;
	*error = (struct error){ 0 };
	json_t *file = json_read_text(text, size, "JSON", error);
	enum status status = !reading.draft || !reading.rules ? fail_memory(reading.error)
		: file ? autoparallel_read_file(&reading, file)
		: error->status;
	if (status == OK)
		graph = graph_build(reading.draft, error);
	else
		error_set(error, status);
	json_decref(file);
	draft_free(reading.draft);
	rules_free(reading.rules);
	names_free(&reading.names);
	arena_free(&reading.arena);
	return graph;
}
