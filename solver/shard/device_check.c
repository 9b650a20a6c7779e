/* device_check.c: verifies the graph of one device, by its own words: nothing here knows how it was built.
 *
 * Ops and their operands are those of the whole step, each in the placement that the sharding says; every collective
 * does what its members say, on one axis, with the right sizes; and whatever is read is the latest version of its
 * storage. */

#include "device_graph.h"

struct check {
	const struct units *units;
	const struct sharding *sharding;
	const struct rules *rules;
	const struct graph *whole, *device;
	struct error *error;
	uint32_t next;             /* the whole step's next op */
	uint32_t *of;              /* [device's tensors] the whole step's tensor, or NONE before its collective */
	struct placement *at;      /* [device's tensors] */
	uint32_t *version;         /* [device's storages] of the whole step's storage that it holds */
	uint32_t *only;            /* [device's storages] the slice that alone is up to date, or NONE */
	uint32_t *summed; /* [device's storages] the collective that overwrote a partial sum, or 0: older names are of no
						 use then */
	uint32_t *latest;          /* [the whole step's storages] writes so far */
	struct binding binding;
	struct arena arena;
};

static enum status device_check_wrong(const struct check *check, const char *what, const char *name)
{
	return fail(check->error, INFEASIBLE, "the graph of a device: %s \"%.100s\"", what, name);
}

/* ---- words ---- */

/* The placement of a tensor that a collective names. False where it names none of the tensor. */
static bool read_places(
	const struct check *check, const struct axis_places *said, uint32_t tensor, struct placement *placement)
{
	int parts = (int)(check->units->part_start[tensor + 1] - check->units->part_start[tensor]);
	bool all = said->axes > 0 && said->axes == check->sharding->mesh.axes;
	memset(placement, PLACE_WHOLE, sizeof *placement);
	FOR_WHILE(a, said->axes, all) {
		bool found = false;
		for (int on = PLACE_PARTIAL; on < parts; on++) {
			char one[40], other[40];
			if (strcmp(placement_text(check->units, tensor, (int8_t)on, one, sizeof one),
					axis_place_text(said->on[a], other, sizeof other)) != 0)
				continue;
			placement->on[a] = (int8_t)on;
			found = true;
		}
		all = found;
	}
	return all;
}

/* The axis that a collective names, or NONE. */
static uint32_t named_axis(const struct check *check, const struct collective *said)
{
	FOR(a, check->sharding->mesh.axes)
		if (strncmp(check->sharding->mesh.axis[a].name, said->axis, sizeof said->axis) == 0)
			return a;
	return NONE;
}

/* ---- versions ---- */

static bool is_slice_view(const struct graph *device, uint32_t tensor)
{
	uint32_t writer = device->tensor[tensor].writer;
	return device->tensor[tensor].alias != NONE && writer != NONE && device->op[writer].collective
		&& device->op[writer].collective->kind == COLLECTIVE_SLICE
		&& graph_pairs(device, writer) == 0;
}

/* The slice that a tensor is a view of, or NONE. */
static uint32_t slice_of(const struct graph *device, uint32_t tensor)
{
	while (tensor != NONE && !is_slice_view(device, tensor))
		tensor = device->tensor[tensor].alias;
	return tensor;
}

/* True where a tensor's memory holds the latest version of what it stands for. */
static bool up_to_date(const struct check *check, uint32_t tensor)
{
	uint32_t storage = check->device->tensor[tensor].storage, only = check->only[storage];
	if (check->summed[storage] > 0 && check->device->tensor[tensor].writer < check->summed[storage])
		return false;
	if (check->version[storage] != check->latest[check->whole->tensor[check->of[tensor]].storage])
		return false;
	while (only != NONE && tensor != only && tensor != NONE)
		tensor = check->device->tensor[tensor].alias;
	return tensor != NONE;
}

/* ---- ops of the step ---- */

/* True where a dim of some argument is cut in blocks: local extents then say less than the rule wants to know. */
static bool strided(const struct check *check, uint32_t id)
{
	const struct graph *device = check->device;
	FOR(k, op_arguments(device, id)) {
		uint32_t reads = graph_operands(device, id);
		uint32_t t = k < reads ? graph_operand(device, id, k)
			: graph_result(device, id, k - reads);
		const struct part *part = check->units->part + check->units->part_start[check->of[t]];
		FOR(a, check->sharding->mesh.axes) {
			int8_t on = check->at[t].on[a];
			if (on > 0 && part[on].dim == part[on - 1].dim)
				return true;
		}
	}
	return false;
}

/* A rule that fits the whole op fits the pieces. */
static enum status check_rule(struct check *check, uint32_t id, uint32_t of)
{
	struct error ignored;
	const struct rule *rule = rules_find(check->rules, check->whole->op[of].type);
	if (!rule || strided(check, id))
		return OK;
	enum status status = rule_bind_op(rule, check->whole, of, &check->binding, &ignored);
	if (status == OK && rule_bind_op(rule, check->device, id, &check->binding, &ignored) == BAD_INPUT)
		return device_check_wrong(check, "shapes don't fit the rule of", check->device->op[id].name);
	return status == NO_MEMORY ? status : OK;
}

static enum status device_check_reads(struct check *check, uint32_t id, uint32_t of)
{
	FOR(k, graph_operands(check->device, id)) {
		uint32_t t = graph_operand(check->device, id, k), i = check->whole->reads.start[of] + k;
		if (check->of[t] != check->whole->reads.item[i] || !placement_equal(check->at[t], check->sharding->needed[i]))
			return device_check_wrong(check, "another operand than the step's is read by", check->device->op[id].name);
		if (!up_to_date(check, t))
			return device_check_wrong(check, "an old version is read by", check->device->op[id].name);
	}
	return OK;
}

/* Another name of all of a tensor's memory. */
static bool same_memory(const struct graph *graph, uint32_t a, uint32_t b)
{
	if (a >= graph->tensors)
		return false;
	const struct tensor *x = &graph->tensor[a], *y = &graph->tensor[b];
	bool same = a == b || (x->storage == y->storage && x->bytes == y->bytes && x->dims == y->dims && x->shape && y->shape);
	FOR_WHILE(d, x->dims, same && a != b)
		same = x->shape[d] == y->shape[d];
	return same;
}

static enum status check_writes(struct check *check, uint32_t id, uint32_t of)
{
	const struct graph *device = check->device, *whole = check->whole;
	uint32_t pairs = graph_pairs(whole, of);
	if (graph_pairs(device, id) != pairs)
		return device_check_wrong(check, "other writes in place than the step's in", device->op[id].name);
	FOR(k, graph_results(device, id)) {
		uint32_t t = graph_result(device, id, k);
		if (check->of[t] != graph_result(whole, of, k))
			return device_check_wrong(check, "another result than the step's is written by", device->op[id].name);
		if (device->tensor[t].alias == NONE)
			check->version[device->tensor[t].storage] = check->latest[whole->tensor[check->of[t]].storage];
	}
	FOR(k, pairs) {
		struct inplace pair = whole->inplace[whole->inplace_start[of] + k],
					   local = device->inplace[device->inplace_start[id] + k];
		uint32_t storage = whole->tensor[pair.in].storage;
		bool again = false;
		if (!same_memory(whole, check->of[local.in], pair.in) ||
			(pair.out == NONE ? local.out != NONE : local.out == NONE || check->of[local.out] != pair.out))
			return device_check_wrong(check, "another tensor than the step's is overwritten by", device->op[id].name);
		FOR(j, k)
			again |= whole->tensor[whole->inplace[whole->inplace_start[of] + j].in].storage == storage;
		check->latest[storage] += !again;
		check->version[device->tensor[local.in].storage] = check->latest[storage];
		check->only[device->tensor[local.in].storage] = slice_of(device, local.in);
	}
	return OK;
}

static enum status device_check_op(struct check *check, uint32_t id)
{
	const struct op *op = &check->device->op[id];
	uint32_t of = check->next++;
	if (of >= check->whole->ops || strcmp(check->whole->op[of].name, op->name) != 0 ||
		strcmp(check->whole->op[of].type, op->type) != 0 ||
		graph_operands(check->whole, of) != graph_operands(check->device, id) ||
		graph_results(check->whole, of) != graph_results(check->device, id))
		return device_check_wrong(check, "not the step's next op:", op->name);
	TRY(device_check_reads(check, id, of));
	TRY(check_writes(check, id, of));
	return check_rule(check, id, of);
}

/* ---- collectives ---- */

/* What a change on one axis is. */
static enum collective_kind device_check_kind_of(int8_t from, int8_t to)
{
	if (from == PLACE_PARTIAL)
		return to == PLACE_WHOLE ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_REDUCE_SCATTER;
	if (from == PLACE_WHOLE)
		return to == PLACE_PARTIAL ? COLLECTIVE_KEEP_ONE : COLLECTIVE_SLICE;
	return to == PLACE_WHOLE ? COLLECTIVE_ALL_GATHER : to >= 0 ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_KINDS;
}

/* Bytes that a local tensor stands for before an axis cuts it: pieces count as the largest. */
static int64_t uncut(const struct check *check, uint32_t tensor, uint32_t axis)
{
	int8_t on = check->at[tensor].on[axis];
	int64_t bytes = check->device->tensor[tensor].bytes, n = check->sharding->mesh.axis[axis].size;
	if (on < 0)
		return bytes;
	int64_t size = check->units->part[check->units->part_start[check->of[tensor]] + (uint32_t)on].size,
			largest = (size + n - 1) / n;
	return size % n == 0 ? bytes * n : bytes / largest * size;
}

static enum status check_move(const struct check *check, uint32_t id, uint32_t from, uint32_t to)
{
	const struct op *op = &check->device->op[id];
	const struct mesh *mesh = &check->sharding->mesh;
	uint32_t axis = named_axis(check, op->collective);
	struct placement said;
	if (!read_places(check, &op->collective->from, check->of[from], &said) || !placement_equal(said, check->at[from]))
		return device_check_wrong(check, "begins in another placement than its operand's:", op->name);
	FOR(a, mesh->axes)
		if (axis == NONE || (check->at[from].on[a] != check->at[to].on[a]) != (a == axis))
			return device_check_wrong(check, "changes not just the axis that it names:", op->name);
	int8_t before = check->at[from].on[axis], after = check->at[to].on[axis];
	if (op->collective->kind != device_check_kind_of(before, after))
		return device_check_wrong(check, "has another type than what it does:", op->name);
	if (uncut(check, from, axis) != uncut(check, to, axis))
		return device_check_wrong(check, "has an operand and a result whose sizes don't belong together:", op->name);
	return OK;
}

static enum status check_collective(struct check *check, uint32_t id)
{
	const struct graph *device = check->device;
	const struct op *op = &device->op[id];
	uint32_t pair = device->inplace_start[id];
	if (graph_operands(device, id) != 1 || graph_results(device, id) != 1)
		return device_check_wrong(check, "a collective that isn't of one tensor:", op->name);
	uint32_t from = graph_operand(device, id, 0), to = graph_result(device, id, 0);
	uint32_t into = pair < device->inplace_start[id + 1] ? device->inplace[pair].in : NONE;
	check->of[to] = check->of[from];
	if (!read_places(check, &op->collective->to, check->of[to], &check->at[to]))
		return device_check_wrong(check, "doesn't say where it goes:", op->name);
	if (!up_to_date(check, from))
		return device_check_wrong(check, "an old version is read by", op->name);
	if (into != NONE &&
		(check->of[into] != check->of[to] || (into != from && !placement_equal(check->at[into], check->at[to]))))
		return device_check_wrong(check, "overwrites another tensor:", op->name);
	if (into == NONE && device->tensor[to].alias != NONE && device->tensor[to].alias != from)
		return device_check_wrong(check, "is a view of another tensor than its operand:", op->name);
	uint32_t source = device->tensor[from].storage, target = device->tensor[to].storage;
	if (source != target)
		check->version[target] = check->version[source];
	if (into != NONE)
		check->only[target] = NONE;
	if (into == from)
		check->summed[target] = id;
	return check_move(check, id, from, to);
}

/* ---- all ---- */

/* Every tensor has the extents and bytes of its placement. */
static enum status device_check_sizes(const struct check *check)
{
	FOR(t, check->device->tensors) {
		const struct tensor *tensor = &check->device->tensor[t];
		int64_t shape[DIMS_MAX];
		if (check->of[t] == NONE)
			return device_check_wrong(check, "nothing of the step is behind", tensor->name);
		if (!placement_divides(check->units, &check->sharding->mesh, check->of[t], check->at[t])
			|| tensor->bytes != placement_bytes(check->units, &check->sharding->mesh, check->of[t], check->at[t]))
			return device_check_wrong(check, "the size isn't that of the placement:", tensor->name);
		placement_shape(check->units, &check->sharding->mesh, check->of[t], check->at[t], shape);
		for (int d = 0; d < tensor->dims && tensor->shape; d++)
			if (tensor->shape[d] != shape[d])
				return device_check_wrong(check, "the extents aren't those of the placement:", tensor->name);
	}
	return OK;
}

/* What stays is whole and up to date under the step's own name. */
static enum status check_end(const struct check *check)
{
	if (check->next != check->whole->ops)
		return device_check_wrong(check, "an op of the step is missing:", check->whole->op[check->next].name);
	FOR(s, check->whole->storages) {
		const char *name = check->whole->tensor[check->whole->storage[s].root].name;
		uint32_t t = graph_find_tensor(check->device, name);
		if (t == NONE || (check->whole->storage[s].live_out && !up_to_date(check, t)))
			return device_check_wrong(check, "the latest version is never brought back to", name);
	}
	return OK;
}

static bool device_check_start(struct check *check)
{
	const struct graph *device = check->device;
	if (!(ROOMS(&check->arena, device->tensors, check->of, check->at) &&
		ROOMS(&check->arena, device->storages, check->version, check->only, check->summed) &&
		ROOM(&check->arena, check->latest, check->whole->storages)))
		return false;
	FOR(t, device->tensors) {
		check->of[t] = graph_find_tensor(check->whole, device->tensor[t].name);
		if (check->of[t] != NONE)
			check->at[t] = check->sharding->produced[check->of[t]];
	}
	FOR(s, device->storages)
		check->only[s] = NONE;
	return true;
}

enum status device_graph_check(const struct units *units, const struct sharding *sharding, const struct rules *rules,
	const struct graph *device, struct error *error)
{
	struct check check = {
		.units = units, .sharding = sharding, .rules = rules, .whole = units->graph, .device = device, .error = error
	};
	enum status status = device_check_start(&check) ? OK : fail_memory(error);
	FOR_WHILE(id, device->ops, status == OK)
		status = device->op[id].collective ? check_collective(&check, id) : device_check_op(&check, id);
	THEN(status, device_check_sizes(&check));
	THEN(status, check_end(&check));
	binding_free(&check.binding);
	arena_free(&check.arena);
	return status;
}
