/* alike.c: tensors and ops that are alike, as classes: compared field by field with the first of their class, found by
 * hashing. */

#include "units.h"

/* The first member of every class, its hash, and a table of classes + 1. */
struct classes {
	uint32_t *model, *bucket, count;
	uint64_t *hash;
	size_t model_room, hash_room, buckets;
};

/* A cheaper hash than hash_join(): what collides is compared. */
static inline uint64_t alike_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static bool alike_spread(struct classes *classes)
{
	size_t buckets = classes->buckets > 0 ? 4 * classes->buckets : 256;
	uint32_t *MAKE(bucket, buckets);
	if (!bucket)
		return false;
	FOR(i, classes->count) {
		size_t at = (size_t)classes->hash[i] & (buckets - 1);
		while (bucket[at] > 0)
			at = (at + 1) & (buckets - 1);
		bucket[at] = i + 1;
	}
	mem_free(classes->bucket);
	classes->bucket = bucket;
	classes->buckets = buckets;
	return true;
}

/* The class of a member with such a hash, a new one where no model is alike; NONE when out of memory. */
static uint32_t alike_class_of(struct classes *classes, const struct units *units, uint32_t member, uint64_t hash,
	bool (*alike)(const struct units *units, uint32_t model, uint32_t member))
{
	if (2 * (size_t)classes->count >= classes->buckets && !alike_spread(classes))
		return NONE;
	size_t at = (size_t)hash & (classes->buckets - 1);
	for (; classes->bucket[at] > 0; at = (at + 1) & (classes->buckets - 1)) {
		uint32_t found = classes->bucket[at] - 1;
		if (classes->hash[found] == hash && alike(units, classes->model[found], member))
			return found;
	}
	if (!GROWN(classes->model, classes->model_room, classes->count + 1)
		|| !GROWN(classes->hash, classes->hash_room, classes->count + 1))
		return NONE;
	classes->model[classes->count] = member;
	classes->hash[classes->count] = hash;
	classes->bucket[at] = ++classes->count;
	return classes->count - 1;
}

static void classes_free(struct classes *classes)
{
	mem_free(classes->model);
	mem_free(classes->hash);
	mem_free(classes->bucket);
}

/* ---- tensors ---- */

static uint64_t hash_tensor(const struct units *units, uint32_t t)
{
	const struct tensor *tensor = &units->graph->tensor[t];
	uint64_t hash = alike_mix(alike_mix(1, (uint64_t)tensor->bytes), (uint64_t)tensor->dtype << 8 | tensor->dims);
	hash = alike_mix(hash, graph_in_host(units->graph, t));
	FOR_WHILE(d, tensor->dims, tensor->shape)
		hash = alike_mix(hash, (uint64_t)tensor->shape[d]);
	FOR_SPAN(i, units->part_start, t)
		hash = alike_mix(hash, (uint64_t)units->part[i].size << 8 | units->part[i].role);
	return hash;
}

static bool tensors_alike(const struct units *units, uint32_t model, uint32_t member)
{
	const struct tensor *a = &units->graph->tensor[model], *b = &units->graph->tensor[member];
	const struct part *pa = units->part + units->part_start[model], *pb = units->part + units->part_start[member];
	uint32_t parts = units->part_start[model + 1] - units->part_start[model];
	if (a->bytes != b->bytes || a->dtype != b->dtype || a->dims != b->dims || (a->shape == NULL) != (b->shape == NULL)
		|| units->part_start[member + 1] - units->part_start[member] != parts
		|| graph_in_host(units->graph, model) != graph_in_host(units->graph, member))
		return false;
	FOR_WHILE(d, a->dims, a->shape)
		if (a->shape[d] != b->shape[d])
			return false;
	FOR(i, parts)
		if (pa[i].size != pb[i].size || pa[i].dim != pb[i].dim || pa[i].role != pb[i].role || pa[i].even != pb[i].even)
			return false;
	return true;
}

/* ---- ops ---- */

static uint64_t hash_op(const struct units *units, uint32_t o)
{
	const struct graph *graph = units->graph;
	const struct op *op = &graph->op[o];
	uint64_t hash = alike_mix(
		alike_mix(alike_mix(op->phase, (uint64_t)op->flops), (uint64_t)op->workspace), unit_count(units, o));
	for (const char *text = op->type; *text; text++)
		hash = hash * 31 + (unsigned char)*text;
	FOR_ITEMS(read, &graph->reads, o)
		hash = alike_mix(hash, units->tensor_class[read]);
	FOR_ITEMS(written, &graph->writes, o)
		hash = alike_mix(hash, UINT64_C(1) << 32 | units->tensor_class[written]);
	return hash;
}

static bool rows_alike(const struct units *units, const struct csr *csr, uint32_t a, uint32_t b)
{
	for (uint32_t i = csr->start[a], j = csr->start[b]; i < csr->start[a + 1]; i++, j++)
		if (units->tensor_class[csr->item[i]] != units->tensor_class[csr->item[j]])
			return false;
	return true;
}

static bool units_alike(const struct units *units, uint32_t a, uint32_t b)
{
	const struct unit *ua = units->unit + units->unit_start[a], *ub = units->unit + units->unit_start[b];
	uint32_t count = unit_count(units, a);
	size_t places = (size_t)count * op_arguments(units->graph, a);
	if (unit_count(units, b) != count || units->linear[a] != units->linear[b])
		return false;
	FOR(u, count)
		if (ua[u].size != ub[u].size || ua[u].points != ub[u].points || ua[u].role != ub[u].role ||
			ua[u].reduced != ub[u].reduced || ua[u].inside != ub[u].inside ||
			ua[u].copies != ub[u].copies)
			return false;
	return places == 0 || memcmp(units->place + units->place_start[a], units->place + units->place_start[b], places) == 0;
}

static bool ops_alike(const struct units *units, uint32_t model, uint32_t member)
{
	const struct graph *graph = units->graph;
	const struct op *a = &graph->op[model], *b = &graph->op[member];
	return a->phase == b->phase && a->flops == b->flops && a->workspace == b->workspace
		&& graph_operands(graph, model) == graph_operands(graph, member)
		&& graph_results(graph, model) == graph_results(graph, member)
		&& rows_alike(units, &graph->reads, model, member) && rows_alike(units, &graph->writes, model, member)
		&& units_alike(units, model, member) && strcmp(a->type, b->type) == 0;
}

/* ---- all ---- */

enum status units_find_alike(struct units *units)
{
	const struct graph *graph = units->graph;
	struct classes tensors = { 0 }, ops = { 0 };
	bool found = true;
	NEED(ROOM(&units->arena, units->tensor_class, graph->tensors) && ROOM(&units->arena, units->op_class, graph->ops));
	FOR_WHILE(t, graph->tensors, found) {
		units->tensor_class[t] = alike_class_of(&tensors, units, t, hash_tensor(units, t), tensors_alike);
		found = units->tensor_class[t] != NONE;
	}
	FOR_WHILE(op, graph->ops, found) {
		units->op_class[op] = alike_class_of(&ops, units, op, hash_op(units, op), ops_alike);
		found = units->op_class[op] != NONE;
	}
	units->tensor_classes = tensors.count;
	units->op_classes = ops.count;
	classes_free(&tensors);
	classes_free(&ops);
	return found ? OK : NO_MEMORY;
}
