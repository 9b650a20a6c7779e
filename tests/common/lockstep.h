/* lockstep.h: executes a step dense on one device, and sharded on all devices of a mesh in lockstep, with collectives
 * simulated among their groups alone. After every op the devices' pieces must make up the dense result. For tests. */
#pragma once

#include "interpreter.h"
#include "random_sharding.h"
#include "solver/shard/device_graph.h"

/* A tensor of a running step: its elements' places in a storage. of: the whole step's tensor. */
struct cell {
	uint32_t of;
	struct placement at;
	double *memory;
	int32_t *place;
	struct array shape;        /* value: scratch */
};

/* One device. */
struct device { struct cell *cell; };

struct lockstep {
	const struct units *units;
	const struct sharding *sharding;
	const struct graph *whole, *local;
	const struct rules *rules;
	uint32_t devices;
	uint8_t *apart;            /* [devices * devices] bit a: two devices differ on axis a */
	struct device dense, *device;
	struct binding binding;
	char why[600];
	uint32_t ops_split, collectives, smaller;  /* smaller: pieces that are, where a part doesn't divide */
	struct arena arena;
};

static inline uint32_t apart(const struct lockstep *run, uint32_t a, uint32_t b)
{
	return run->apart[a * run->devices + b];
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* First and size of what a device has of a part: of unequal pieces the last ones are smaller. */
static inline int64_t part_range(
	const struct mesh *mesh, struct placement at, uint32_t part, int64_t size, uint32_t device, int64_t *first)
{
	int64_t end = size;
	*first = 0;
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (at.on[a] == (int8_t)part) {
			size = (size + mesh->axis[a].size - 1) / mesh->axis[a].size;
			*first += mesh_coordinate(mesh, device, a) * size;
		}
	*first = *first < end ? *first : end;
	return end - *first < size ? end - *first : size;
}

/* The whole indices of one dim that a device has, in order. */
static inline int64_t dim_indices(
	const struct lockstep *run, uint32_t tensor, struct placement at, uint32_t device, int dim, int32_t *index)
{
	const struct units *units = run->units;
	int64_t count = 1;
	index[0] = 0;
	for (uint32_t i = units->part_start[tensor]; i < units->part_start[tensor + 1]; i++) {
		if (units->part[i].dim != dim)
			continue;
		int64_t first,
			size = part_range(
				&run->sharding->mesh, at, i - units->part_start[tensor], units->part[i].size, device, &first);
		for (int64_t j = count; j-- > 0;)
			for (int64_t k = size; k-- > 0;)
				index[j * size + k] = (int32_t)(index[j] * units->part[i].size + first + k);
		count *= size;
	}
	return count;
}

/* What a device has of a tensor. */
static inline void shape_piece(
	struct lockstep *run, uint32_t tensor, struct placement at, uint32_t device, struct array *piece)
{
	const struct tensor *of = &run->whole->tensor[tensor];
	*piece = (struct array) { .dims = of->dims, .count = 1 };
	for (int d = 0; d < of->dims; d++) {
		piece->whole[d] = of->shape[d];
		piece->index[d] = arena_alloc(&run->arena, (size_t)of->shape[d], sizeof *piece->index[d]);
		piece->shape[d] = dim_indices(run, tensor, at, device, d, piece->index[d]);
		piece->count *= piece->shape[d];
	}
	piece->value = arena_alloc(&run->arena, (size_t)piece->count, sizeof *piece->value);
}

static inline void load(struct cell *cell)
{
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->shape.value[i] = cell->memory[cell->place[i]];
}

static inline void store(const struct cell *cell, const double *value)
{
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->memory[cell->place[i]] = value[i];
}

static inline void own_memory(struct lockstep *run, struct cell *cell)
{
	cell->memory = arena_alloc(&run->arena, (size_t)cell->shape.count, sizeof *cell->memory);
	cell->place = arena_alloc(&run->arena, (size_t)cell->shape.count, sizeof *cell->place);
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->place[i] = (int32_t)i;
}

/* The same elements as another cell of as many. */
static inline bool same_memory(struct lockstep *run, struct cell *cell, const struct cell *of)
{
	cell->memory = of->memory;
	cell->place = of->place;
	if (cell->shape.count != of->shape.count)
		snprintf(run->why, sizeof run->why, "tensor %s shares memory of another size", run->whole->tensor[cell->of].name);
	return cell->shape.count == of->shape.count;
}

/* The number that a tensor begins with. */
static inline double first_value(const struct tensor *tensor, int64_t place)
{
	uint64_t hash = text_hash(tensor->name) + (uint64_t)place * 977;
	bool integer = tensor->dtype > DTYPE_F8E5M2 && tensor->dtype < DTYPE_BOOL;
	double unit = hash_unit(hash);
	return integer ? floor(unit * 1000)
		: tensor->dtype == DTYPE_BOOL ? unit > 0.5
		: tensor->kind == KIND_OPTIMIZER ? 0.1 + unit
		: 2 * unit - 1;
}

/* ---- placements from the graph's own words --------------------------------------------------- */

/* All whole where there are none. */
static inline struct placement read_placement(
	const struct lockstep *run, const struct axis_places *places, uint32_t tensor)
{
	struct placement placement;
	memset(&placement, PLACE_WHOLE, sizeof placement);
	for (uint32_t a = 0; places && a < places->axes && a < run->sharding->mesh.axes; a++) {
		uint32_t parts = run->units->part_start[tensor + 1] - run->units->part_start[tensor];
		for (int on = PLACE_PARTIAL; on < (int)parts; on++) {
			char one[40], other[40];
			if (strcmp(placement_text(run->units, tensor, (int8_t)on, one, sizeof one),
					axis_place_text(places->on[a], other, sizeof other)) == 0)
				placement.on[a] = (int8_t)on;
		}
	}
	return placement;
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* The local shape is that of device 0, whose pieces are the largest; others have as much or less. */
static inline bool check_local(struct lockstep *run, uint32_t t, const struct array *piece, uint32_t device)
{
	const struct tensor *tensor = &run->local->tensor[t];
	bool fine = tensor->dims == piece->dims;
	for (int d = 0; d < piece->dims && fine; d++)
		fine = device == 0 ? tensor->shape[d] == piece->shape[d] : tensor->shape[d] >= piece->shape[d];
	run->smaller += piece->count < run->device[0].cell[t].shape.count;
	if (!fine)
		snprintf(run->why, sizeof run->why, "tensor %s has another local shape than its placement says", tensor->name);
	return fine;
}

static inline bool set_up_device(
	struct lockstep *run, const struct graph *graph, struct device *device, uint32_t number, bool dense)
{
	device->cell = arena_alloc(&run->arena, graph->tensors, sizeof *device->cell);
	for (uint32_t t = 0; t < graph->tensors; t++) {
		const struct tensor *tensor = &graph->tensor[t];
		struct cell *cell = &device->cell[t];
		if (!dense && tensor->writer != NONE && graph->op[tensor->writer].collective)
			continue;          /* when it is written */
		cell->of = dense ? t : graph_find_tensor(run->whole, tensor->name);
		cell->at = read_placement(run, dense ? NULL : tensor->places, cell->of);
		shape_piece(run, cell->of, cell->at, number, &cell->shape);
		if (!dense && !check_local(run, t, &cell->shape, number))
			return false;
		if (tensor->writer != NONE || tensor->alias != NONE)
			continue;
		own_memory(run, cell);
		for (int64_t i = 0; i < cell->shape.count; i++)
			cell->memory[i] = first_value(&run->whole->tensor[cell->of], whole_place(&cell->shape, i));
	}
	for (uint32_t t = 0; t < graph->tensors; t++)
		if (graph->tensor[t].writer == NONE && graph->tensor[t].alias != NONE
			&& !same_memory(run, &device->cell[t], &device->cell[graph->storage[graph->tensor[t].storage].root]))
			return false;
	return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

#define ARGUMENTS 40

/* Executes op `id` of a graph, which is op `of` of the whole step, on one device. operand: pieces to read instead of
 * its own. */
static inline bool run_on(struct lockstep *run, const struct graph *graph, struct device *device, uint32_t id,
	uint32_t of, const struct array *operand, const struct array *wide)
{
	const struct graph *whole = run->whole;
	struct array in[ARGUMENTS], out[ARGUMENTS];
	int32_t *from[ARGUMENTS];
	struct call call = { .graph = whole,
		.op = of,
		.rule = rules_find(run->rules, whole->op[of].type),
		.in = in,
		.out = out,
		.from = from,
		.operands = (int)csr_length(&graph->reads, id),
		.results = (int)csr_length(&graph->writes, id) };
	call.binding = run->binding.tensors > 0 ? &run->binding : NULL;
	for (uint32_t a = 0; a < run->sharding->mesh.axes && graph != whole; a++)
		call.split |= run->sharding->split[of].on[a] != UNIT_NONE;
	for (int k = 0; k < call.operands; k++) {
		struct cell *cell = &device->cell[graph->reads.item[graph->reads.start[id] + (uint32_t)k]];
		load(cell);
		in[k] = operand ? operand[k] : cell->shape;
		in[k].value = arena_alloc(&run->arena, (size_t)in[k].count, sizeof(double));
		memcpy(in[k].value, operand ? operand[k].value : cell->shape.value, (size_t)in[k].count * sizeof(double));
	}
	for (int r = 0; r < call.results; r++) {
		out[r] = wide ? wide[r] : device->cell[graph->writes.item[graph->writes.start[id] + (uint32_t)r]].shape;
		out[r].value = arena_alloc(&run->arena, (size_t)out[r].count, sizeof(double));
		from[r] = arena_alloc(&run->arena, (size_t)out[r].count, sizeof **from);
	}
	bool view = call.rule && call.rule->cost == COST_NONE && call.operands > 0 && call.binding && run_view(&call);
	if (!view && !run_op(&call)) {
		snprintf(run->why, sizeof run->why, "op %s of type %s is split, but the interpreter doesn't know it",
			whole->op[of].name, whole->op[of].type);
		return false;
	}
	for (int r = 0; r < call.results; r++) {
		uint32_t t = graph->writes.item[graph->writes.start[id] + (uint32_t)r],
				 overwritten = graph_written_over(graph, id, t);
		struct cell *cell = &device->cell[t];
		if (overwritten != NONE) {
			if (!same_memory(run, cell, &device->cell[overwritten]))
				return false;
		} else if (view && graph->tensor[t].alias != NONE) {
			struct cell *source = &device->cell[graph->reads.item[graph->reads.start[id]]];
			cell->memory = source->memory;
			cell->place = arena_alloc(&run->arena, (size_t)cell->shape.count, sizeof *cell->place);
			for (int64_t i = 0; i < cell->shape.count; i++)
				cell->place[i] = source->place[from[r][i]];
			continue;
		} else {
			own_memory(run, cell);
		}
		for (int64_t i = 0; i < cell->shape.count; i++) {
			int64_t at[DIMS_MAX], wide_at[DIMS_MAX], place = i;
			unravel(&cell->shape, i, at);
			for (int d = 0; wide && d < cell->shape.dims; d++)
				wide_at[d] = local_index(&out[r], d, cell->shape.index[d][at[d]]);
			place = wide ? ravel(&out[r], wide_at) : i;
			cell->memory[cell->place[i]] = view ? in[0].value[from[r][place]] : out[r].value[place];
		}
	}
	/* Writes without a new name: some function of the old value and of what the op reads beside it. The flag of a
	 * scaled loss stays, all gradients being finite. */
	for (uint32_t i = graph->inplace_start[id]; i < graph->inplace_start[id + 1]; i++) {
		struct cell *cell = &device->cell[graph->inplace[i].in];
		const struct array *with = call.results > 0 ? &out[call.results - 1] : NULL;
		bool like = with && with->dims == cell->shape.dims &&
			memcmp(with->whole, cell->shape.whole, (size_t)with->dims * sizeof *with->whole) == 0;
		if (graph->inplace[i].out != NONE || (rules_traits(run->rules, graph->op[id].type) & TRAIT_UNSCALES))
			continue;
		load(cell);
		for (int64_t j = 0; j < cell->shape.count; j++)
			cell->shape.value[j] = 0.9 * cell->shape.value[j] + (like ? 0.1 * with->value[j] : 0.05);
		store(cell, cell->shape.value);
	}
	return true;
}

/* A piece as devices that differ on some axes only have it together: values from whichever of them holds an element. */
static inline struct array joined_piece(struct lockstep *run, uint32_t t, uint32_t device, uint32_t axes)
{
	const struct mesh *mesh = &run->sharding->mesh;
	struct cell *own = &run->device[device].cell[t];
	struct placement at = own->at;
	struct array piece;
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (axes >> a & 1)
			at.on[a] = PLACE_WHOLE;
	shape_piece(run, own->of, at, device, &piece);
	for (uint32_t other = 0; other < run->devices; other++) {
		bool near = (apart(run, other, device) & ~axes) == 0;
		struct cell *cell = &run->device[other].cell[t];
		for (int64_t i = 0; near && i < cell->shape.count; i++) {
			int64_t index[DIMS_MAX];
			unravel(&cell->shape, i, index);
			for (int d = 0; d < piece.dims; d++)
				index[d] = local_index(&piece, d, cell->shape.index[d][index[d]]);
			piece.value[ravel(&piece, index)] = cell->memory[cell->place[i]];
		}
	}
	return piece;
}

/* Ops that talk to each other inside (softmax over a sharded dim): every device sees its group's rows and keeps its
 * own. */
static inline bool run_inside(struct lockstep *run, uint32_t id, uint32_t of, uint32_t axes)
{
	struct array *operand = arena_alloc(&run->arena, (size_t)run->devices * ARGUMENTS, sizeof *operand);
	const struct graph *graph = run->local;
	for (uint32_t d = 0; d < run->devices; d++)
		for (uint32_t k = 0; k < csr_length(&graph->reads, id); k++)
			operand[d * ARGUMENTS + k] = joined_piece(run, graph->reads.item[graph->reads.start[id] + k], d, axes);
	for (uint32_t d = 0; d < run->devices; d++) {
		struct array wide[ARGUMENTS];
		for (uint32_t r = 0; r < csr_length(&graph->writes, id); r++) {
			struct cell *cell = &run->device[d].cell[graph->writes.item[graph->writes.start[id] + r]];
			struct placement at = cell->at;
			for (uint32_t a = 0; a < run->sharding->mesh.axes; a++)
				if (axes >> a & 1)
					at.on[a] = PLACE_WHOLE;
			shape_piece(run, cell->of, at, d, &wide[r]);
		}
		if (!run_on(run, graph, &run->device[d], id, of, operand + (size_t)d * ARGUMENTS, wide))
			return false;
	}
	return true;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static inline uint32_t axis_named(const struct mesh *mesh, const struct collective *said)
{
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (strcmp(mesh->axis[a].name, said->axis) == 0)
			return a;
	return NONE;
}

/* One element of a result: from the devices of the group that hold it. False unless the collective finds it where it
 * must be. */
static inline bool collect_element(const struct lockstep *run, const char *type, uint32_t axis, uint32_t device,
	uint32_t operand, const struct array *result, int64_t element, double *value)
{
	const struct mesh *mesh = &run->sharding->mesh;
	bool own = strcmp(type, "comm.slice") == 0 || strcmp(type, "comm.keep_one") == 0, sums = strstr(type, "reduce");
	uint32_t found = 0;
	int64_t at[DIMS_MAX], index[DIMS_MAX];
	unravel(result, element, at);
	*value = 0;
	for (uint32_t other = own ? device : 0; other < (own ? device + 1 : run->devices); other++) {
		bool member = (apart(run, other, device) & ~(1u << axis)) == 0;
		const struct cell *cell = &run->device[other].cell[operand];
		for (int d = 0; member && d < result->dims; d++) {
			index[d] = local_index(&cell->shape, d, result->index[d][at[d]]);
			member = index[d] >= 0;
		}
		if (!member)
			continue;
		found++;
		*value += cell->shape.value[ravel(&cell->shape, index)];
	}
	if (strcmp(type, "comm.keep_one") == 0 && mesh_coordinate(mesh, device, axis) != 0)
		*value = 0;
	return found == (sums ? mesh->axis[axis].size : 1);
}

static inline bool run_collective(struct lockstep *run, uint32_t id)
{
	const struct graph *graph = run->local;
	const struct op *op = &graph->op[id];
	uint32_t operand = graph->reads.item[graph->reads.start[id]], result = graph->writes.item[graph->writes.start[id]];
	uint32_t axis = axis_named(&run->sharding->mesh, op->collective), overwritten = graph_written_over(graph, id, result);
	run->collectives++;
	for (uint32_t d = 0; d < run->devices; d++)
		load(&run->device[d].cell[operand]);
	for (uint32_t d = 0; d < run->devices; d++) {
		struct cell *cell = &run->device[d].cell[result], *source = &run->device[d].cell[operand];
		cell->of = source->of;
		cell->at = read_placement(run, graph->tensor[result].places, cell->of);
		shape_piece(run, cell->of, cell->at, d, &cell->shape);
		if (!check_local(run, result, &cell->shape, d))
			return false;
		for (int64_t i = 0; i < cell->shape.count; i++)
			if (!collect_element(run, op->type, axis, d, operand, &cell->shape, i, &cell->shape.value[i])) {
				snprintf(run->why, sizeof run->why, "%s of type %s doesn't find an element once", op->name, op->type);
				return false;
			}
	}
	for (uint32_t d = 0; d < run->devices; d++) {
		struct cell *cell = &run->device[d].cell[result], *source = &run->device[d].cell[operand];
		if (overwritten != NONE && !same_memory(run, cell, &run->device[d].cell[overwritten]))
			return false;
		if (overwritten == NONE && graph->tensor[result].alias != NONE) {   /* a view of its operand */
			cell->memory = source->memory;
			cell->place = arena_alloc(&run->arena, (size_t)cell->shape.count, sizeof *cell->place);
			for (int64_t i = 0; i < cell->shape.count; i++) {
				int64_t at[DIMS_MAX];
				unravel(&cell->shape, i, at);
				for (int k = 0; k < cell->shape.dims; k++)
					at[k] = local_index(&source->shape, k, cell->shape.index[k][at[k]]);
				cell->place[i] = source->place[ravel(&source->shape, at)];
			}
			continue;
		}
		if (overwritten == NONE)
			own_memory(run, cell);
		store(cell, cell->shape.value);
	}
	return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Every device's piece of a tensor, summed over the axes on which it is partial, is a piece of the dense one. */
static inline bool same_as_dense(struct lockstep *run, uint32_t t, const char *when)
{
	uint32_t of = run->device[0].cell[t].of, partial = 0;
	struct cell *dense = &run->dense.cell[of];
	double largest = 1;
	for (uint32_t a = 0; a < run->sharding->mesh.axes; a++)
		partial |= run->device[0].cell[t].at.on[a] == PLACE_PARTIAL ? 1u << a : 0;
	for (int64_t i = 0; i < dense->shape.count; i++)
		largest = fmax(largest, fabs(dense->memory[dense->place[i]]));
	for (uint32_t d = 0; d < run->devices; d++) {
		struct cell *cell = &run->device[d].cell[t];
		for (int64_t i = 0; i < cell->shape.count; i++) {
			double sum = 0, expected = dense->memory[dense->place[whole_place(&cell->shape, i)]];
			for (uint32_t other = 0; other < run->devices; other++) {
				const struct cell *part = &run->device[other].cell[t];
				sum += (apart(run, other, d) & ~partial) == 0 ? part->memory[part->place[i]] : 0;
			}
			if (!(fabs(sum - expected) <= 1e-7 * largest)) {
				snprintf(run->why, sizeof run->why, "%s: tensor %s on device %u, element %ld: %.12g, dense %.12g", when,
					run->local->tensor[t].name, d, (long)i, sum, expected);
				return false;
			}
		}
	}
	return true;
}

static inline bool compare_results(struct lockstep *run, uint32_t id)
{
	const struct graph *graph = run->local;
	bool fine = true;
	char when[200];
	snprintf(when, sizeof when, "after %.80s of type %.80s", graph->op[id].name, graph->op[id].type);
	FOR_ROW(i, &graph->writes, id)
		fine = fine && same_as_dense(run, graph->writes.item[i], when);
	for (uint32_t i = graph->inplace_start[id]; i < graph->inplace_start[id + 1]; i++)
		fine = fine && same_as_dense(run, graph->inplace[i].in, when);
	return fine;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static inline bool step_op(struct lockstep *run, uint32_t id)
{
	uint32_t of = graph_find_op(run->whole, run->local->op[id].name), inside = 0;
	const struct rule *rule = rules_find(run->rules, run->whole->op[of].type);
	struct error error;
	for (uint32_t a = 0; a < run->sharding->mesh.axes; a++) {
		int8_t on = run->sharding->split[of].on[a];
		run->ops_split += on != UNIT_NONE;
		inside |= on >= 0 && run->units->unit[run->units->unit_start[of] + (uint32_t)on].inside > 0 ? 1u << a : 0;
	}
	if (!rule || rule_bind_op(rule, run->whole, of, &run->binding, &error) != OK)
		run->binding.tensors = 0;
	if (!run_on(run, run->whole, &run->dense, of, of, NULL, NULL))
		return false;
	if (inside)
		return run_inside(run, id, of, inside) && compare_results(run, id);
	for (uint32_t d = 0; d < run->devices; d++)
		if (!run_on(run, run->local, &run->device[d], id, of, NULL, NULL))
			return false;
	return compare_results(run, id);
}

/* At the end: what persists and what the step puts out. */
static inline bool compare_ends(struct lockstep *run)
{
	for (uint32_t s = 0; s < run->whole->storages; s++) {
		uint32_t root = run->whole->storage[s].root;
		if (run->whole->storage[s].live_out
			&& !same_as_dense(run, graph_find_tensor(run->local, run->whole->tensor[root].name), "at the end"))
			return false;
	}
	return true;
}

/* Executes a sharded step and compares it with the dense one. True: the same numbers; else run->why says what differs.
 * Free with lockstep_free(). rules: those that the units were found with. */
static inline bool lockstep_run(struct lockstep *run, const struct units *units, const struct sharding *sharding,
	const struct graph *local, const struct rules *rules)
{
	*run = (struct lockstep) { .units = units, .sharding = sharding, .whole = units->graph, .local = local, .rules = rules,
		.devices = mesh_devices(&sharding->mesh) };
	run->device = arena_alloc(&run->arena, run->devices, sizeof *run->device);
	run->apart = arena_alloc(&run->arena, (size_t)run->devices * run->devices, sizeof *run->apart);
	for (uint32_t d = 0; d < run->devices * run->devices; d++)
		for (uint32_t a = 0; a < sharding->mesh.axes; a++)
			if (mesh_coordinate(&sharding->mesh, d / run->devices, a) != mesh_coordinate(&sharding->mesh, d % run->devices, a))
				run->apart[d] |= (uint8_t)(1u << a);
	if (!set_up_device(run, run->whole, &run->dense, 0, true))
		return false;
	for (uint32_t d = 0; d < run->devices; d++)
		if (!set_up_device(run, local, &run->device[d], d, false))
			return false;
	for (uint32_t id = 0; id < local->ops; id++)
		if (strncmp(local->op[id].type, "comm.", 5) == 0 ? !run_collective(run, id) : !step_op(run, id))
			return false;
	return compare_ends(run);
}

static inline void lockstep_free(struct lockstep *run)
{
	binding_free(&run->binding);
	arena_free(&run->arena);
}
