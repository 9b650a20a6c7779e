/* units.h: along what ops can be split, and which tensors and ops are alike.
 *
 * A tensor's dims are products of parts (batch * sequence after a view, 3 * heads * head size in a fused projection).
 * An op is split along one of its units: an index of its rule, or a part of one. Every operand and result that has the
 * unit is sharded there, the others are whole, and results of a sum over the unit are partial. What a unit of an op
 * says of each operand and result does not depend on a mesh. */
#pragma once

#include "factors.h"

#define UNIT_NONE (-1) /* every device of the axis computes all of the op */
#define UNIT_PARTIAL \
	(-2) /* a linear op that passes partial sums on: operands and results P, but for what stays_whole() */

/* Of a sum of operands an op makes the sum of what it makes of the summands: never; of all operands that are such sums;
 * of the first; of the others. */
enum linear { LINEAR_NOT, LINEAR_ALL, LINEAR_FIRST, LINEAR_REST };

/* The op's k-th argument is whole where partial sums pass. */
static inline bool stays_whole(enum linear linear, uint32_t operands, uint32_t k)
{
	return (linear == LINEAR_FIRST && k > 0 && k < operands) || (linear == LINEAR_REST && k == 0);
}

/* role: enum factor_role; even: its pieces must be equal; factor: its class in units.factors */
struct part { int64_t size; uint8_t dim, role; bool even; uint32_t factor; };
/* inside: all-reduces that the op itself makes when it is split along the unit, each of points floats on the whole
 * mesh: the row maxima and sums of a softmax over a sharded vocabulary, the statistics of a batch norm over a sharded
 * batch. copies: it is the classes of a log-softmax, see split_scratch(). */
struct unit { int64_t size, points; uint8_t role; bool reduced; uint8_t inside; bool copies; };

/* What can be split in a graph. */
struct units {
	const struct graph *graph;
	uint32_t copies;          /* of a token, one for each of its experts; 0: there are none */
	struct factors factors;
	uint32_t *part_start; /* [tensors + 1]: parts of a tensor, dims in order, outermost first */
	struct part *part;
	uint32_t *unit_start; /* [ops + 1] */
	struct unit *unit;
	size_t *place_start; /* [ops + 1]: place[place_start[op] + unit * arguments + k], see units_place() */
	int8_t *place;
	uint8_t *linear; /* [ops] enum linear: UNIT_PARTIAL is possible */
	/* Classes of what is alike: a split or a placement means the same to all members, and costs them the same. Tensors:
	 * bytes, type, shape, parts, and whether they wait in the host's memory; ops: type, phase, FLOPs, workspace, units
	 * and arguments. Numbered as they first occur. */
	uint32_t *tensor_class, *op_class, tensor_classes, op_classes;
	struct csr readers;    /* tensor -> ops that read it, once each */
	uint32_t *kept, kepts; /* tensors that nothing writes, ascending */
	struct arena arena;
};

/* Finds parts and units. Opaque ops have no units; parts that no rule joins stay. OK or NO_MEMORY. Nearly linear. */
enum status units_find(const struct graph *graph, const struct rules *rules, struct units *units);
void units_free(struct units *units);
#define units_drop units_free
/* Its last step: the classes. O(arguments * units). */
enum status units_find_alike(struct units *units);

static inline uint32_t unit_count(const struct units *units, uint32_t op)
{
	return units->unit_start[op + 1] - units->unit_start[op];
}
/* Arguments of an op: operands in the order of graph->reads, then results in the order of graph->writes. */
static inline uint32_t op_arguments(const struct graph *graph, uint32_t op)
{
	return graph_operands(graph, op) + graph_results(graph, op);
}
/* Where argument k lies on an axis on which the op is split along unit (or UNIT_NONE, UNIT_PARTIAL). A P operand of a
 * unit is one that is added once (a bias beside a sum): one device adds it, the others nothing. */
static inline int8_t units_place(const struct units *units, uint32_t op, int8_t unit, uint32_t k)
{
	if (unit < 0)
		return unit == UNIT_NONE || stays_whole(units->linear[op], graph_operands(units->graph, op), k)
			? PLACE_WHOLE
			: PLACE_PARTIAL;
	return units->place[units->place_start[op] + (size_t)unit * op_arguments(units->graph, op) + k];
}
/* A label for fold_find(), context being the units: the op's class. Equal layers have equal ones; equal shapes alone
 * have not (the weights of a query's and of an output's projection). O(1). */
uint64_t units_label(const struct graph *graph, uint32_t op, void *context);
