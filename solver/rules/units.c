/* units.c: what the ops of a graph can be split along, from their rules. */

#include "units.h"

#define PARTS_MAX 24 /* of one tensor: more are not told apart */

/* ---- parts: factors of tensors' dims ---- */

/* A factor that is cut into equal results (queries, keys and values in one projection) is a product: pieces, then what
 * the pieces consist of. refined[factor] is that product, outermost first, or empty. */
struct refining {
	const struct graph *graph;
	struct units *units;
	struct factor_term *refined; /* [factors] into item */
	struct part *item;
	uint32_t items;
	size_t room;
};

static bool units_add_item(struct refining *refining, struct part part)
{
	if (!GROWN(refining->item, refining->room, refining->items + 1))
		return false;
	refining->item[refining->items++] = part;
	return true;
}

static int64_t term_size(const struct factors *factors, const struct factor_term *term)
{
	int64_t size = 1;
	FOR(i, term->count)
		size *= factors->factor[factors->part[term->first + i]].size;
	return size;
}

/* The parts of a factor above 1: itself, or what it was refined to. Appends to out, at most PARTS_MAX; returns the new
 * count. */
static uint32_t parts_of_factor(
	const struct refining *refining, uint32_t factor, uint8_t dim, struct part *out, uint32_t count)
{
	const struct factors *factors = &refining->units->factors;
	const struct factor_term *term = &refining->refined[factor];
	if (term->count == 0 && count < PARTS_MAX && factors->factor[factor].size > 1)
		out[count++] = (struct part) { factors->factor[factor].size, dim, factors->factor[factor].role, false, factor };
	FOR_WHILE(i, term->count, count < PARTS_MAX) {
		out[count] = refining->item[term->first + i];
		out[count++].dim = dim;
	}
	return count;
}

/* Links [begin, end) join equal pieces to one factor: refines it. */
static bool refine_join(struct refining *refining, uint32_t begin, uint32_t end)
{
	const struct factors *factors = &refining->units->factors;
	const struct factor_link *link = factors->link;
	if (link[begin].to.count != 1 || end - begin < 2)
		return true;
	uint32_t whole = factors->part[link[begin].to.first];
	int64_t piece = term_size(factors, &link[begin].from);
	if (refining->refined[whole].count > 0 || piece * (end - begin) != factors->factor[whole].size)
		return true;
	FOR_FROM(i, begin + 1, end)
		if (term_size(factors, &link[i].from) != piece)
			return true;
	struct part part[PARTS_MAX];
	uint32_t parts = 0;
	FOR(i, link[begin].from.count) {
		uint32_t factor = factors->part[link[begin].from.first + i];
		if (factor == whole)
			return true;
		parts = parts_of_factor(refining, factor, 0, part, parts);
	}
	struct factor_term term = { refining->items, parts + 1 };
	if (!units_add_item(refining, (struct part) { end - begin, 0, ROLE_NONE, false, whole }))
		return false;
	FOR(i, parts)
		if (!units_add_item(refining, part[i]))
			return false;
	refining->refined[whole] = term;
	return true;
}

static bool same_term(const struct factors *factors, const struct factor_term *a, const struct factor_term *b)
{
	return a->count == b->count &&
		memcmp(factors->part + a->first, factors->part + b->first, a->count * sizeof *factors->part) == 0;
}

/* Slots are a product like their tokens, the last part smaller or larger: devices that hold some of the tokens fill
 * slots of their own, so the slots are split as the tokens are (GShard, arXiv 2006.16668, section 3.2). */
static bool refine_slots(struct refining *refining, uint32_t slotted, uint32_t flat)
{
	const struct factors *factors = &refining->units->factors;
	const struct factor_term *slots = &factors->dim[factors->dim_start[slotted] + 1],
							 *tokens = &factors->dim[factors->dim_start[flat]];
	struct part part[PARTS_MAX];
	uint32_t parts = 0;
	if (slots->count != 1 || tokens->count < 2 || refining->refined[factors->part[slots->first]].count > 0)
		return true;
	uint32_t whole = factors->part[slots->first];
	int64_t rest = factors->factor[whole].size;
	FOR(i, tokens->count)
		parts = parts_of_factor(refining, factors->part[tokens->first + i], 0, part, parts);
	for (uint32_t i = 0; i + 1 < parts; rest /= part[i++].size)
		if (rest % part[i].size != 0 || part[i].factor == whole)
			return true;
	if (parts < 2 || rest < 2)
		return true;
	part[parts - 1].size = rest;
	refining->refined[whole] = (struct factor_term) { refining->items, parts };
	FOR(i, parts)
		if (!units_add_item(refining, part[i]))
			return false;
	return true;
}

static bool refine_routes(struct refining *refining, const struct rules *rules)
{
	const struct graph *graph = refining->graph;
	FOR(op, graph->ops) {
		if (!(rules_traits(rules, graph->op[op].type) & TRAIT_DISPATCH) || graph_operands(graph, op) != 2 ||
			graph_results(graph, op) < 1)
			continue;
		uint32_t flat = graph_operand(graph, op, 0), slotted = graph_result(graph, op, 0);
		const int64_t *slots = graph->tensor[slotted].shape, *tokens = graph->tensor[flat].shape;
		if (graph->tensor[flat].dims != 2 || graph->tensor[slotted].dims != 3)
			continue;
		refining->units->copies = (uint32_t)(tokens[0] > 0 ? (slots[0] * slots[1] + tokens[0] - 1) / tokens[0] : 0);
		if (!refine_slots(refining, slotted, flat))
			return false;
	}
	return true;
}

static bool refine_all(struct refining *refining)
{
	const struct factors *factors = &refining->units->factors;
	const struct factor_link *link = factors->link;
	for (uint32_t i = 0, end; i < factors->links; i = end) {
		for (end = i + 1; end < factors->links && link[end].op == link[i].op && link[end].kind == link[i].kind
			&& same_term(factors, &link[end].to, &link[i].to); end++)
			;
		if (link[i].kind == LINK_JOIN && !refine_join(refining, i, end))
			return false;
	}
	return true;
}

/* The parts of one dim, appended to out; one part where the factors don't tell its extent. */
static uint32_t parts_of_dim(
	const struct refining *refining, uint32_t tensor, uint32_t dim, struct part *out, uint32_t count)
{
	const struct factors *factors = &refining->units->factors;
	const struct factor_term *term = &factors->dim[factors->dim_start[tensor] + dim];
	uint32_t begin = count;
	int64_t extent = refining->graph->tensor[tensor].shape[dim], product = 1;
	FOR(i, term->count)
		count = parts_of_factor(refining, factors->part[term->first + i], (uint8_t)dim, out, count);
	FOR_FROM(i, begin, count)
		product *= out[i].size;
	if (product != extent) {
		count = begin;
		if (count < PARTS_MAX && extent > 1)
			out[count++] = (struct part) { extent, (uint8_t)dim, ROLE_NONE, false, NONE };
	}
	return count;
}

static bool fill_parts(struct refining *refining)
{
	const struct graph *graph = refining->graph;
	struct units *units = refining->units;
	if (!ROOM(&units->arena, units->part_start, graph->tensors + 1))
		return false;
	FOR_INT(pass, 2) {
		uint32_t parts = 0;
		FOR(t, graph->tensors) {
			struct part part[PARTS_MAX];
			uint32_t count = 0;
			FOR_WHILE(d, graph->tensor[t].dims, graph->tensor[t].shape)
				count = parts_of_dim(refining, t, d, part, count);
			if (pass == 1 && count > 0)
				COPY(units->part + parts, part, count);
			units->part_start[t] = parts;
			parts += count;
		}
		units->part_start[graph->tensors] = parts;
		if (pass == 0 && !ROOM(&units->arena, units->part, parts))
			return false;
	}
	return true;
}

/* ---- units: indices of ops ---- */

/* A local factor of an op and the parts that carry it in one argument. */
struct carried { uint32_t argument, first, count; };

/* Small all-reduces inside ops; see inside_of(). */
struct inside {
	uint8_t rounds, floats; /* floats per point in one of them */
	bool whole;             /* results without the dim are whole then, like the statistics that are reduced */
};

struct finding {
	struct units *units;
	struct binding binding;
	uint32_t op, arguments;
	bool fits;                   /* the rule, to the op's shapes */
	bool source;                 /* it reads no contents */
	const struct inside *inside; /* all-reduces that let the op do without a whole dim; NULL: it can't */
	bool copies; /* a log-softmax */
	/* of the op's local factors */
	struct carried *carried; /* [factors * arguments], count 0: not in that argument */
	bool *bad;               /* [factors] can't be split */
	size_t room;
	/* results so far */
	struct unit *unit;
	int8_t *place;
	uint32_t count;
	size_t room_units, places, room_places;
};

/* Walks along a dim's local factors and the tensor's parts side by side: a factor is carried where it is a product of
 * parts. */
static void align_dim(struct finding *finding, uint32_t k, uint32_t dim, uint32_t *part)
{
	const struct units *units = finding->units;
	const struct binding *binding = &finding->binding;
	uint32_t tensor = graph_argument(units->graph, finding->op, k);
	uint32_t first = units->part_start[tensor], end = units->part_start[tensor + 1];
	const struct binding_dim *bound = &binding->dim[binding->dim_start[k] + dim];
	bool aligned = true;
	FOR(i, bound->count) {
		uint32_t factor = binding->part[bound->first + i], begin = *part;
		struct carried *carried = &finding->carried[factor * finding->arguments + k];
		int64_t size = binding->factor[factor].size, product = 1;
		while (aligned && product < size && *part < end && units->part[*part].dim == dim)
			product *= units->part[(*part)++].size;
		aligned = aligned && product == size;
		if (!aligned || carried->count > 0) /* unaligned, or twice in one tensor: a diagonal */
			finding->bad[factor] |= size > 1;
		else if (size > 1)
			*carried = (struct carried) { k, begin - first, *part - begin };
	}
	while (*part < end && units->part[*part].dim == dim)
		(*part)++;
}

static const struct part *parts_carried(const struct finding *finding, const struct carried *carried)
{
	const struct units *units = finding->units;
	return units->part + units->part_start[graph_argument(units->graph, finding->op, carried->argument)] + carried->first;
}

/* True where two arguments carry a factor by the same parts. */
static bool carried_alike(const struct finding *finding, const struct carried *a, const struct carried *b)
{
	const struct part *pa = parts_carried(finding, a), *pb = parts_carried(finding, b);
	FOR(i, a->count)
		if (pa[i].size != pb[i].size)
			return false;
	return a->count == b->count;
}

static bool add_unit(struct finding *finding, struct unit unit)
{
	if (!GROWN(finding->unit, finding->room_units, finding->count + 1)
		|| !mem_reserve(&finding->place, &finding->room_places, finding->places + finding->arguments, 1))
		return false;
	finding->unit[finding->count++] = unit;
	memset(finding->place + finding->places, PLACE_WHOLE, finding->arguments);
	finding->places += finding->arguments;
	return true;
}

/* Floats of an all-reduce inside: a point for each of the first result's elements less all dims that are reduced. */
static int64_t reduced_points(const struct finding *finding)
{
	const struct binding *binding = &finding->binding;
	const struct units *units = finding->units;
	uint32_t result = graph_argument(units->graph, finding->op, binding->operands);
	int64_t points = finding->inside->floats;
	FOR_SPAN(i, units->part_start, result)
		points *= units->part[i].size;
	FOR(f, binding->factors)
		if (binding->factor[f].marks & FACTOR_WHOLE)
			points /= binding->factor[f].size > 0 ? binding->factor[f].size : 1;
	return points;
}

/* The part, among those that carry a factor in one argument, of that size and with as much inside it: the same digit of
 * the index. NONE: there is none. */
static uint32_t digit_of(const struct finding *finding, const struct carried *carried, int64_t size, int64_t within)
{
	const struct part *part = parts_carried(finding, carried);
	int64_t inner = 1;
	for (uint32_t i = carried->count; i-- > 0 && inner <= within; inner *= part[i].size)
		if (inner == within && part[i].size == size)
			return i;
	return NONE;
}

/* Where every argument lies when an op is split along a part, of so much inside it, of a local factor; false where one
 * has no such part: it is cut into others there (rows as batch x 2 x 7 here and as batch x 7 x 2 there have the batch
 * in common). */
static bool place_digit(struct finding *finding, uint32_t factor, int64_t size, int64_t within, int8_t *place)
{
	const struct carried *carried = finding->carried + (size_t)factor * finding->arguments;
	FOR(k, finding->arguments) {
		uint32_t digit = carried[k].count > 0 ? digit_of(finding, &carried[k], size, within) : NONE;
		if (carried[k].count > 0 && digit == NONE)
			return false;
		place[k] = digit == NONE ? PLACE_WHOLE : (int8_t)(carried[k].first + digit);
	}
	return true;
}

/* What a source reads only for its format may lie as it is cut already: where it has the part's own factor, along that.
 */
static void place_unread(struct finding *finding, const struct part *part, int8_t *place)
{
	const struct units *units = finding->units;
	FOR(k, finding->binding.operands) {
		uint32_t tensor = graph_argument(units->graph, finding->op, k), first = units->part_start[tensor];
		for (uint32_t i = first; i < units->part_start[tensor + 1] && part->factor != NONE; i++)
			if (units->part[i].factor == part->factor && units->part[i].size == part->size)
				place[k] = (int8_t)(i - first);
	}
}

/* The first argument that carries a local factor, or NULL; *everywhere: all results do. */
static const struct carried *carrier(const struct finding *finding, uint32_t factor, bool *everywhere)
{
	const struct carried *carried = finding->carried + (size_t)factor * finding->arguments, *model = NULL;
	*everywhere = true;
	FOR(k, finding->arguments) {
		model = !model && carried[k].count > 0 ? &carried[k] : model;
		*everywhere = *everywhere && (k < finding->binding.operands || carried[k].count > 0);
	}
	return model;
}

/* Results without the part are partial sums, and so is what is added to them. */
static void place_partial(const struct finding *finding, bool everywhere, int8_t *place)
{
	const struct binding *binding = &finding->binding;
	FOR(k, finding->arguments)
		if (place[k] == PLACE_WHOLE &&
			(k >= binding->operands || (!everywhere && k < 64 && (binding->addends >> k & 1))))
			place[k] = PLACE_PARTIAL;
}

/* The units of one local factor: its parts that are the same in every argument that has it. */
static bool add_factor(struct finding *finding, uint32_t factor)
{
	const struct binding *binding = &finding->binding;
	uint8_t marks = binding->factor[factor].marks;
	bool everywhere, inside = (marks & FACTOR_WHOLE) && finding->inside, whole = inside && finding->inside->whole;
	const struct carried *model = carrier(finding, factor, &everywhere);
	if (finding->bad[factor] || binding->factor[factor].size < 2 ||
		(marks & ~FACTOR_REDUCED & ~(inside ? FACTOR_WHOLE : 0)) != 0)
		return true;
	if (!model || (!everywhere && !(marks & FACTOR_REDUCED) && !whole))
		return true;
	const struct part *part = parts_carried(finding, model);
	int64_t within = binding->factor[factor].size;
	FOR(j, model->count) {
		within /= part[j].size;
		if (!add_unit(finding,
				(struct unit){ part[j].size, inside ? reduced_points(finding) : 0, part[j].role, !everywhere && !whole,
					inside ? finding->inside->rounds : 0, inside && finding->copies }))
			return false;
		int8_t *place = finding->place + finding->places - finding->arguments;
		if (!place_digit(finding, factor, part[j].size, within, place)) {
			finding->count--;
			finding->places -= finding->arguments;
			continue;
		}
		if (!whole)
			place_partial(finding, everywhere, place);
		if (finding->source)
			place_unread(finding, &part[j], place);
	}
	return true;
}

/* Along what only an operand of a source has, that may be cut as well: every device makes all of the results. */
static bool add_unread(struct finding *finding)
{
	const struct units *units = finding->units;
	FOR(k, finding->binding.operands) {
		uint32_t tensor = graph_argument(units->graph, finding->op, k), first = units->part_start[tensor];
		size_t begin = units->place_start[finding->op];
		FOR_FROM(i, first, units->part_start[tensor + 1]) {
			bool placed = false;
			for (size_t at = begin; at < finding->places; at += finding->arguments)
				placed |= finding->place[at + k] == (int8_t)(i - first);
			if (placed)
				continue;
			if (!add_unit(finding, (struct unit) { .size = units->part[i].size, .role = units->part[i].role }))
				return false;
			finding->place[finding->places - finding->arguments + k] = (int8_t)(i - first);
		}
	}
	return true;
}

/* A split into, or a joining of, equal pieces: the parts inside the pieces are units. */
static bool add_pieces(struct finding *finding, uint32_t whole, const uint32_t *piece, uint32_t pieces)
{
	const struct carried *of_whole = NULL, *model = NULL;
	FOR(k, finding->arguments)
		if (finding->carried[whole * finding->arguments + k].count > 0)
			of_whole = &finding->carried[whole * finding->arguments + k];
	FOR(i, pieces)
		FOR(k, finding->arguments) {
			const struct carried *carried = &finding->carried[piece[i] * finding->arguments + k];
			if (carried->count > 0 && model && !carried_alike(finding, model, carried))
				return true;
			model = carried->count > 0 ? carried : model;
		}
	if (!of_whole || !model || of_whole->count != model->count + 1)
		return true;
	struct carried inside = { of_whole->argument, of_whole->first + 1, model->count };
	const struct part *part = parts_carried(finding, &inside);
	if (part[-1].size != pieces || !carried_alike(finding, &inside, model))
		return true;
	FOR(j, inside.count) {
		if (!add_unit(finding, (struct unit) { .size = part[j].size, .role = part[j].role }))
			return false;
		int8_t *place = finding->place + finding->places - finding->arguments;
		place[inside.argument] = (int8_t)(inside.first + j);
		FOR(i, pieces)
			FOR(k, finding->arguments)
				if (finding->carried[piece[i] * finding->arguments + k].count > 0)
					place[k] = (int8_t)(finding->carried[piece[i] * finding->arguments + k].first + j);
	}
	return true;
}

/* Factors that hang together without being equal can't be split, but equal pieces can be inside. */
static bool visit_links(struct finding *finding)
{
	const struct binding *binding = &finding->binding;
	FOR(i, binding->links) {
		const struct binding_link *link = &binding->link[i];
		if (link->kind != LINK_BROADCAST)
			finding->bad[link->from] = finding->bad[link->to] = true;
	}
	FOR(i, binding->links) {
		uint32_t piece[32], pieces = 0, whole = binding->link[i].to;
		if (binding->link[i].kind != LINK_JOIN)
			continue;
		FOR_WHILE(j, binding->links, pieces < 32)
			if (binding->link[j].kind == LINK_JOIN && binding->link[j].to == whole)
				piece[pieces++] = binding->link[j].from;
		bool first = true;
		FOR(j, i)
			first = first && !(binding->link[j].kind == LINK_JOIN && binding->link[j].to == whole);
		if (first && pieces < 32 && !add_pieces(finding, whole, piece, pieces))
			return false;
	}
	return true;
}

static uint32_t parts_in_dim(const struct units *units, uint32_t tensor, uint8_t dim, uint32_t *first)
{
	uint32_t count = 0;
	*first = 0;
	FOR_SPAN(i, units->part_start, tensor) {
		*first += units->part[i].dim < dim;
		count += units->part[i].dim == dim;
	}
	return count;
}

/* The tokens of a routing op, with the slots that they fill: dim 0 of its matrices, dim 1 of its stacks of matrices.
 * Neither is split without the other. */
static bool add_slots(struct finding *finding)
{
	const struct units *units = finding->units;
	const struct graph *graph = units->graph;
	uint32_t first, count = NONE, at;
	FOR(k, finding->arguments) {
		uint32_t tensor = graph_argument(graph, finding->op, k);
		const struct binding_dim *dim = &finding->binding
											 .dim[finding->binding.dim_start[k] + (graph->tensor[tensor].dims == 3)];
		FOR(i, graph->tensor[tensor].dims > 1 ? dim->count : 0)
			finding->bad[finding->binding.part[dim->first + i]] = true;
		uint32_t parts = parts_in_dim(units, tensor, graph->tensor[tensor].dims == 3, &first);
		if (graph->tensor[tensor].dims < 2 || graph->tensor[tensor].dims > 3 || (count != NONE && parts != count))
			return true;
		count = parts;
	}
	FOR_WHILE(j, count, count != NONE) {
		int64_t size = 0;
		uint8_t role = ROLE_NONE;
		FOR(k, finding->arguments) {
			uint32_t tensor = graph_argument(graph, finding->op, k);
			parts_in_dim(units, tensor, graph->tensor[tensor].dims == 3, &first);
			struct part *part = &units->part[units->part_start[tensor] + first + j];
			part->even = true;
			size = size > 0 && part->size > 0 ? common_divisor(size, part->size) : size + part->size;
			role = part->role;
		}
		if (size < 2)
			continue;
		if (!add_unit(finding, (struct unit) { .size = size, .role = role }))
			return false;
		at = (uint32_t)(finding->places - finding->arguments);
		FOR(k, finding->arguments) {
			uint32_t tensor = graph_argument(graph, finding->op, k);
			parts_in_dim(units, tensor, graph->tensor[tensor].dims == 3, &first);
			finding->place[at + k] = (int8_t)(first + j);
		}
	}
	return true;
}

static bool find_op(struct finding *finding, const struct rule *rule)
{
	const struct graph *graph = finding->units->graph;
	const struct binding *binding = &finding->binding;
	struct error ignored;
	enum status status = rule_bind_op(rule, graph, finding->op, &finding->binding, &ignored);
	finding->arguments = op_arguments(graph, finding->op);
	finding->fits = status == OK && binding->tensors == finding->arguments;
	if (!finding->fits)
		return status != NO_MEMORY;
	size_t cells = (size_t)binding->factors * finding->arguments, room = finding->room;
	if (!GROWN(finding->carried, room, cells)
		|| !GROWN(finding->bad, finding->room, cells))
		return false;
	if (cells == 0)
		return true;
	CLEAR(finding->carried, cells);
	memset(finding->bad, 0, binding->factors);
	FOR(k, finding->arguments) {
		uint32_t tensor = graph_argument(graph, finding->op, k);
		uint32_t part = finding->units->part_start[tensor], dims = binding->dim_start[k + 1] - binding->dim_start[k];
		FOR(d, dims)
			align_dim(finding, k, d, &part);
	}
	if (!visit_links(finding) || ((rule->traits & TRAIT_ROUTES) && !add_slots(finding)))
		return false;
	FOR(f, binding->factors)
		if (!add_factor(finding, f))
			return false;
	return !finding->source || add_unread(finding);
}

/* Ops of which a sum of results for summands is the result for the sum: partial sums pass. Of several operands, those
 * that the rule says; else only an op with one operand is linear (a number may stand beside it). What repeats its
 * operand isn't: the sum of the operand is the smaller one. */
static enum linear linear_in(const struct graph *graph, const struct rule *rule, uint32_t op)
{
	uint32_t operands = graph_operands(graph, op);
	if (strstr(rule->factors, "@expand"))
		return LINEAR_NOT;
	if ((rule->traits & TRAIT_SCATTER) && (rule->traits & TRAIT_ROWS)) /* rows, and where each is added to */
		return LINEAR_FIRST;
	if (operands > 1 && (rule->traits & TRAIT_LINEAR) && (rule->traits & TRAIT_JOINTLY_LINEAR))
		return LINEAR_REST;
	if (rule->cost == COST_NONE)
		return operands == 1 ? LINEAR_ALL : LINEAR_NOT;
	return rule->traits &
			(operands > 1 ? TRAIT_JOINTLY_LINEAR
			: operands == 1 ? TRAIT_LINEAR
			: 0)
		? LINEAR_ALL
		: LINEAR_NOT;
}

static bool units_floating(const struct graph *graph, uint32_t op, enum linear linear)
{
	FOR(k, op_arguments(graph, op)) {
		uint8_t dtype = graph->tensor[graph_argument(graph, op, k)].dtype;
		if (dtype > DTYPE_F8E5M2 && dtype < DTYPE_C64 && !stays_whole(linear, graph_operands(graph, op), k))
			return false;
	}
	return true;
}

/* Ops over a whole dim that can be computed on shards of it with a few small all-reduces: maxima and sums of rows
 * (Megatron's vocabulary-parallel loss, arXiv 1909.08053 section 3; softmax over a sharded sequence), sums and squares
 * of channels (batch norm over a sharded batch, as PyTorch's SyncBatchNorm: what it computes is what one device would).
 */
static const struct inside *inside_of(const struct rule *rule)
{
	static const struct inside maxima = { 2, 1, false }, sums = { 1, 1, false }, channels = { 1, 2, true };
	return rule->traits & TRAIT_MAXIMA_OF_ROWS ? &maxima : rule->traits & TRAIT_SUMS_OF_ROWS ? &sums
		: rule->traits & TRAIT_SUMS_OF_CHANNELS ? &channels : NULL;
}

static bool fill_units(struct finding *finding, const struct rules *rules)
{
	struct units *units = finding->units;
	const struct graph *graph = units->graph;
	if (!(ROOMS(&units->arena, graph->ops + 1, units->unit_start, units->place_start) &&
		ROOM(&units->arena, units->linear, graph->ops)))
		return false;
	FOR(op, graph->ops) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		finding->op = op;
		finding->inside = rule ? inside_of(rule) : NULL;
		finding->copies = rule && (rule->traits & TRAIT_WIDE) && (rule->traits & (TRAIT_MAXIMA_OF_ROWS | TRAIT_SUMS_OF_ROWS));
		finding->source = rule && (rule->traits & TRAIT_SOURCE);
		if (rule && !find_op(finding, rule))
			return false;
		enum linear linear = rule && finding->fits ? linear_in(graph, rule, op) : LINEAR_NOT;
		units->linear[op] = (uint8_t)(units_floating(graph, op, linear) ? linear : LINEAR_NOT);
		units->unit_start[op + 1] = finding->count;
		units->place_start[op + 1] = finding->places;
	}
	ROOM(&units->arena, units->unit, finding->count);
	units->place = arena_alloc(&units->arena, finding->places, 1);
	if (!units->unit || !units->place)
		return false;
	if (finding->count > 0) {
		COPY(units->unit, finding->unit, finding->count);
		memcpy(units->place, finding->place, finding->places);
	}
	return true;
}

/* Who reads what, and what nothing writes. */
static enum status list_tensors(struct units *units)
{
	const struct graph *graph = units->graph;
	NEED(csr_transpose(&units->arena, &graph->reads, graph->ops, graph->tensors, &units->readers) == OK);
	csr_unique(&units->readers, graph->tensors);
	FOR(t, graph->tensors)
		units->kepts += graph->tensor[t].writer == NONE;
	ROOM(&units->arena, units->kept, units->kepts);
	for (uint32_t t = 0, k = 0; units->kept && t < graph->tensors; t++)
		if (graph->tensor[t].writer == NONE)
			units->kept[k++] = t;
	return units->kept ? OK : NO_MEMORY;
}

enum status units_find(const struct graph *graph, const struct rules *rules, struct units *units)
{
	*units = (struct units) { .graph = graph };
	struct refining refining = { .graph = graph, .units = units };
	struct finding finding = { .units = units };
	enum status status = factors_find(graph, rules, &units->factors);
	if (status == OK) {
		MAKE(refining.refined, units->factors.factors);
		if (!refining.refined || !refine_routes(&refining, rules) || !refine_all(&refining) || !fill_parts(&refining) ||
			!fill_units(&finding, rules))
			status = NO_MEMORY;
	}
	THEN(status, list_tensors(units));
	THEN(status, units_find_alike(units));
	mem_free(refining.refined);
	mem_free(refining.item);
	mem_free(finding.carried);
	mem_free(finding.bad);
	mem_free(finding.unit);
	mem_free(finding.place);
	binding_free(&finding.binding);
	if (status != OK)
		units_free(units);
	return status;
}

void units_free(struct units *units)
{
	factors_free(&units->factors);
	arena_free(&units->arena);
	*units = (struct units) { 0 };
}

uint64_t units_label(const struct graph *graph, uint32_t op, void *context)
{
	const struct units *units = context;
	(void)graph;
	return units->op_class[op];
}
