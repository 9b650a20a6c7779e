/* bind.c: applies a factor string to the shapes of an op.
 *
 * The op's tensors are assigned to the string's slots (optional ones may stay empty), then extents are solved for
 * by going over all dims until nothing changes: a product with one unknown factor gives it. The first assignment
 * and alternative without a contradiction holds. */

#include "form.h"

#define TENSORS_MAX 250

struct matcher {
	const struct form *form;
	const struct rule_tensor *tensor;
	uint32_t operands, tensors;
	bool in_place;
	uint8_t slot[TENSORS_MAX];               /* of each tensor */
	int space;                               /* dims that ".." stands for, < 0: unknown */
	int batch;                               /* dims that "..." stands for */
	int64_t extent[FORM_FACTORS][DIMS_MAX];  /* of a factor, per dim of space; < 0: unknown */
	uint32_t factor[FORM_FACTORS][DIMS_MAX]; /* in the binding, NONE: not yet */
	int64_t batch_extent[DIMS_MAX];          /* from the right */
	uint32_t batch_factor[DIMS_MAX];
};

/* One dim of a tensor: what the slot says of it. */
struct place {
	const struct form_dim *dim;
	int at; /* which of the dims of "..", or of "..." from the right */
};

/* Lays a slot's dims over a tensor of so many dims; false when it can't have it. */
static bool bind_lay_out(const struct matcher *matcher, const struct form_slot *slot, int dims, struct place *place)
{
	int fixed = 0, optional = 0, spaces = 0;
	bool batch = false;
	FOR_INT(i, slot->count) {
		const struct form_dim *dim = &slot->dim[i];
		bool many = dim->kind == DIM_BATCH || dim->kind == DIM_ANY;
		batch |= many;
		spaces += dim->space;
		fixed += !many && !dim->space && !dim->optional;
		optional += dim->optional && !many;
	}
	fixed += spaces * matcher->space;
	int spare = dims - fixed;
	if (spare < 0 || (!batch && spare > optional) || dims > DIMS_MAX)
		return false;
	int skip = batch || spare > optional ? 0 : optional - spare, at = 0;
	FOR_INT(i, slot->count) {
		const struct form_dim *dim = &slot->dim[i];
		if (dim->kind == DIM_BATCH || dim->kind == DIM_ANY) {
			for (int b = spare; b-- > 0;)
				place[at++] = (struct place) { dim, b };
		} else if (dim->space) {
			FOR_INT(s, matcher->space)
				place[at++] = (struct place) { dim, s };
		} else if (dim->optional && skip > 0) {
			skip--;
		} else {
			place[at++] = (struct place) { dim, 0 };
		}
	}
	return at == dims;
}

/* How many dims ".." stands for, from the first tensor that shows it. */
static void find_space(struct matcher *matcher)
{
	matcher->space = 0;
	FOR(t, matcher->tensors) {
		const struct form_slot *slot = &matcher->form->slot[matcher->slot[t]];
		int fixed = 0, spaces = 0;
		bool batch = false;
		FOR_INT(i, slot->count) {
			batch |= slot->dim[i].kind == DIM_BATCH || slot->dim[i].kind == DIM_ANY;
			spaces += slot->dim[i].space;
			fixed += !slot->dim[i].space;
		}
		if (spaces == 0 || batch || matcher->tensor[t].dims < fixed)
			continue;
		matcher->space = (matcher->tensor[t].dims - fixed) / spaces;
		return;
	}
}

/* How many dims "..." stands for in a result whose dims aren't known: the largest of the operands'. */
static int bind_dims_of(const struct matcher *matcher, uint32_t tensor)
{
	if (matcher->tensor[tensor].dims >= 0)
		return matcher->tensor[tensor].dims;
	const struct form_slot *slot = &matcher->form->slot[matcher->slot[tensor]];
	int dims = 0;
	FOR_INT(i, slot->count)
		dims += slot->dim[i].kind == DIM_BATCH ? matcher->batch
			: slot->dim[i].kind == DIM_ANY ? 0
			: slot->dim[i].space ? matcher->space
			: 1;
	return dims;
}

/* A result has every dim of "..." that it shows in full. */
static bool results_cover_batch(const struct matcher *matcher)
{
	FOR_FROM(t, matcher->operands, matcher->tensors) {
		struct place place[DIMS_MAX];
		if (!matcher->tensor[t].shape)
			continue;
		bind_lay_out(matcher, &matcher->form->slot[matcher->slot[t]], matcher->tensor[t].dims, place);
		FOR_INT(i, matcher->tensor[t].dims)
			if (place[i].dim->kind == DIM_BATCH && matcher->tensor[t].shape[i] != matcher->batch_extent[place[i].at])
				return false;
	}
	return true;
}

static bool measure_batch(struct matcher *matcher)
{
	matcher->batch = 0;
	FOR_INT(i, DIMS_MAX)
		matcher->batch_extent[i] = 1;
	FOR(t, matcher->tensors) {
		struct place place[DIMS_MAX];
		int dims = bind_dims_of(matcher, t);
		if (!bind_lay_out(matcher, &matcher->form->slot[matcher->slot[t]], dims, place))
			return false;
		FOR_INT(i, dims) {
			if (place[i].dim->kind != DIM_BATCH)
				continue;
			int64_t *extent = &matcher->batch_extent[place[i].at];
			int64_t size = matcher->tensor[t].shape ? matcher->tensor[t].shape[i] : 1;
			if (place[i].at >= matcher->batch)
				matcher->batch = place[i].at + 1;
			if (*extent == 1)
				*extent = size;
			else if (size != 1 && size != *extent)
				return false;
		}
	}
	return results_cover_batch(matcher);
}

static int space_index(const struct matcher *matcher, uint8_t factor, const struct place *place)
{
	return matcher->form->factor[factor].space ? place->at : 0;
}

/* Uses one dim's extent. Returns 1 if it taught something, 0 if not, -1 if it contradicts. */
static int bind_learn(struct matcher *matcher, const struct place *place, int64_t size)
{
	const struct form_dim *dim = place->dim;
	if (dim->kind == DIM_BATCH || dim->kind == DIM_ANY)
		return 0;
	if (dim->kind == DIM_ONE)
		return size == 1 ? 0 : -1;
	int64_t known = 1;
	int unknown = 0;
	int64_t *hole = NULL;
	FOR_INT(i, dim->count) {
		int64_t *extent = &matcher->extent[dim->factor[i]][space_index(matcher, dim->factor[i], place)];
		if (*extent < 0) {
			unknown++;
			hole = hole ? hole : extent;
		} else {
			known *= *extent;
		}
	}
	if (unknown == 0)
		return known == size || (dim->optional && size == 1) ? 0 : -1;
	if (unknown > 1 || (dim->optional && size == 1))
		return 0;
	if (known == 0 ? size != 0 : size % known != 0)
		return -1;
	*hole = known == 0 ? 0 : size / known;
	return 1;
}

/* Solves for all extents. Where two factors of a product stay unknown, the outermost is 1 (one group). */
static bool bind_solve(struct matcher *matcher)
{
	FOR_INT(guess, 2) {
		for (bool changed = true; changed;) {
			changed = false;
			FOR(t, matcher->tensors) {
				struct place place[DIMS_MAX];
				if (!matcher->tensor[t].shape && matcher->tensor[t].dims != 0)
					continue;
				bind_lay_out(matcher, &matcher->form->slot[matcher->slot[t]], matcher->tensor[t].dims, place);
				FOR_INT(i, matcher->tensor[t].dims) {
					int learned = bind_learn(matcher, &place[i], matcher->tensor[t].shape[i]);
					if (learned < 0)
						return false;
					changed |= learned > 0;
				}
			}
		}
		for (int i = 0; i < matcher->form->slots && guess == 0; i++)
			FOR_INT(d, matcher->form->slot[i].count) {
				const struct form_dim *dim = &matcher->form->slot[i].dim[d];
				if (dim->kind == DIM_PRODUCT && dim->count > 1 && matcher->extent[dim->factor[0]][0] < 0)
					matcher->extent[dim->factor[0]][0] = 1;
			}
	}
	return true;
}

static bool bind_fits(struct matcher *matcher)
{
	find_space(matcher);
	if (!measure_batch(matcher))
		return false;
	memset(matcher->extent, -1, sizeof matcher->extent);
	return bind_solve(matcher);
}

/* Fills slots [first, end) with count tensors from `tensor` on; bits of mask say which optional slots are used,
 * the earliest slot's bit the highest. False when the count doesn't come out. */
static bool assign(
	struct matcher *matcher, int first, int end, uint32_t tensor, uint32_t count, uint32_t mask, int optional)
{
	uint32_t plain = 0;
	int seen = 0, repeats = 0;
	for (int i = first; i < end; i++) {
		const struct form_slot *slot = &matcher->form->slot[i];
		bool used = !slot->optional || mask >> (optional - 1 - seen) & 1;
		seen += slot->optional;
		repeats += slot->repeated && used;
		plain += used && !slot->repeated;
	}
	if (plain > count || (repeats == 0 && plain != count) || repeats > 1 || (repeats == 1 && plain == count))
		return false;
	seen = 0;
	for (int i = first; i < end; i++) {
		const struct form_slot *slot = &matcher->form->slot[i];
		bool used = !slot->optional || mask >> (optional - 1 - seen) & 1;
		seen += slot->optional;
		for (uint32_t n = !used ? 0 : slot->repeated ? count - plain : 1; n > 0; n--)
			matcher->slot[tensor++] = (uint8_t)i;
	}
	return true;
}

static int count_optional(const struct form *form, int first, int end)
{
	int count = 0;
	for (int i = first; i < end; i++)
		count += form->slot[i].optional;
	return count;
}

static bool bind_match(struct matcher *matcher)
{
	const struct form *form = matcher->form;
	int in = count_optional(form, 0, form->operands), out = count_optional(form, form->operands, form->slots);
	FOR_DOWN(operands, 1u << in) {
		if (!assign(matcher, 0, form->operands, 0, matcher->operands, operands, in))
			continue;
		FOR_DOWN(results, 1u << out)
			if (assign(matcher, form->operands, form->slots, matcher->operands, matcher->tensors - matcher->operands,
					results, out) &&
				bind_fits(matcher))
				return true;
	}
	return false;
}

/* ---- writing the binding ---- */

static bool emit_product(struct matcher *matcher, struct binding *binding, uint32_t at, const struct place *place)
{
	const struct form_dim *dim = place->dim;
	uint32_t appended = 0;
	int64_t size = 1;
	FOR_INT(i, dim->count)
		size *= matcher->extent[dim->factor[i]][space_index(matcher, dim->factor[i], place)];
	if (binding->dim[at].size < 0)
		binding->dim[at].size = size;
	if (binding->dim[at].size == 1 && size != 1)
		return binding_append(binding, at, binding_new_factor(binding, 1, FACTOR_UNIT));
	FOR_INT(i, dim->count) {
		int s = space_index(matcher, dim->factor[i], place);
		int64_t extent = matcher->extent[dim->factor[i]][s];
		bool last = i == dim->count - 1;
		if (extent == 1 && dim->count > 1 && !(last && appended == 0))
			continue;
		uint32_t *factor = &matcher->factor[dim->factor[i]][s];
		if (*factor == NONE)
			*factor = binding_new_factor(binding, extent, matcher->form->factor[dim->factor[i]].marks);
		if (!binding_append(binding, at, *factor))
			return false;
		appended++;
	}
	return true;
}

/* A dim of "...": shared where extents are equal and not 1. An extent of 1 among several operands may be the
 * result's factor or a broadcast: that is left open (LINK_BROADCAST). */
static bool emit_batch(
	struct matcher *matcher, struct binding *binding, uint32_t tensor, uint32_t at, int position, uint32_t sharers)
{
	uint32_t *shared = &matcher->batch_factor[position];
	int64_t extent = matcher->batch_extent[position];
	if (binding->dim[at].size < 0)
		binding->dim[at].size = extent;
	if (*shared == NONE)
		*shared = binding_new_factor(binding, extent, matcher->form->batch_marks);
	if (*shared == NONE)
		return false;
	bool operand = tensor < matcher->operands && !(tensor == 0 && matcher->in_place);
	if (binding->dim[at].size != extent)
		return binding_append(binding, at, binding_new_factor(binding, 1, FACTOR_UNIT));
	if (extent != 1 || !operand || sharers == 1)
		return binding_append(binding, at, *shared);
	uint32_t own = binding_new_factor(binding, 1, matcher->form->batch_marks);
	return binding_append(binding, at, own) && binding_link(binding, LINK_BROADCAST, own, *shared);
}

static bool emit_windows(const struct matcher *matcher, struct binding *binding)
{
	FOR_INT(i, matcher->form->factors) {
		uint8_t over = matcher->form->factor[i].over;
		for (int s = 0; s < DIMS_MAX && over != FORM_FACTORS; s++) {
			uint32_t from = matcher->factor[i][s], to = matcher->factor[over][s];
			if (from != NONE && to != NONE && !binding_link(binding, LINK_WINDOW, from, to))
				return false;
		}
	}
	return true;
}

static bool emit(struct matcher *matcher, struct binding *binding)
{
	uint32_t sharers[DIMS_MAX] = { 0 };
	struct place place[DIMS_MAX];
	memset(matcher->factor, -1, sizeof matcher->factor);
	memset(matcher->batch_factor, -1, sizeof matcher->batch_factor);
	FOR(t, matcher->operands) {
		bind_lay_out(matcher, &matcher->form->slot[matcher->slot[t]], matcher->tensor[t].dims, place);
		FOR_INT(i, matcher->tensor[t].dims)
			sharers[place[i].at] += place[i].dim->kind == DIM_BATCH;
	}
	FOR(t, matcher->tensors) {
		int dims = bind_dims_of(matcher, t);
		if (!binding_tensor(binding, t, dims, matcher->tensor[t].shape))
			return false;
		if (matcher->form->slot[matcher->slot[t]].addend && t < 64)
			binding->addends |= UINT64_C(1) << t;
		bind_lay_out(matcher, &matcher->form->slot[matcher->slot[t]], dims, place);
		FOR_INT(i, dims) {
			uint32_t at = binding->dim_start[t] + (uint32_t)i;
			bool fine;
			if (place[i].dim->kind == DIM_BATCH) {
				fine = emit_batch(matcher, binding, t, at, place[i].at, sharers[place[i].at]);
			} else if (place[i].dim->kind == DIM_ANY) {
				fine = binding_append(binding, at, binding_new_factor(binding, binding->dim[at].size, FACTOR_FORBIDDEN));
			} else if (place[i].dim->kind == DIM_ONE) {
				binding->dim[at].size = 1;
				fine = binding_append(binding, at, binding_new_factor(binding, 1, FACTOR_UNIT));
			} else {
				fine = emit_product(matcher, binding, at, &place[i]);
			}
			if (!fine)
				return false;
		}
	}
	return emit_windows(matcher, binding);
}

/* A result's extent that no operand determines is an attribute of the op. */
static bool results_known(const struct matcher *matcher)
{
	FOR_FROM(t, matcher->operands, matcher->tensors) {
		struct place place[DIMS_MAX];
		int dims = bind_dims_of(matcher, t);
		const struct form_slot *slot = &matcher->form->slot[matcher->slot[t]];
		if (slot->count > 0 && slot->dim[0].kind == DIM_ANY && !matcher->tensor[t].shape)
			return false;
		bind_lay_out(matcher, slot, dims, place);
		FOR_INT(i, dims)
			for (int f = 0; place[i].dim->kind == DIM_PRODUCT && f < place[i].dim->count; f++)
				if (matcher->extent[place[i].dim->factor[f]][space_index(matcher, place[i].dim->factor[f], &place[i])] < 0)
					return false;
	}
	return true;
}

static bool has_windows(const struct form *form)
{
	FOR_INT(f, form->factors)
		if (form->factor[f].over != FORM_FACTORS)
			return true;
	return false;
}

/* Of a convolution and a transposed one, the alternative that a captured op's arguments rule out; NULL: they don't say.
 * As many channels on both sides fit both. The argument is the first word behind strides, padding and dilation. */
static const struct form *ruled_out(const struct parsed_rule *parsed, const struct arguments *arguments)
{
	const struct form *other = parsed->form->next;
	if (!other || other->next || !has_windows(parsed->form) || !has_windows(other))
		return NULL;
	FOR_FROM(item, 6, 8) {
		const struct argument *value = arguments_item(arguments, item);
		if (value && (value->kind == ARGUMENT_TRUE || value->kind == ARGUMENT_FALSE))
			return value->kind == ARGUMENT_TRUE ? parsed->form : other;
	}
	return NULL;
}

static enum status bind_einsum(
	const struct parsed_rule *parsed, struct matcher *matcher, struct binding *binding, struct error *error)
{
	const struct form *wrong = ruled_out(parsed, binding->arguments);
	for (const struct form *form = parsed->form; form; form = form->next) {
		matcher->form = form;
		if (form == wrong || !bind_match(matcher))
			continue;
		if (!results_known(matcher))
			return refuse(error, "%s: an attribute gives the shape of a result: operands don't tell it",
				parsed->rule.type);
		return emit(matcher, binding) ? OK : NO_MEMORY;
	}
	return refuse(error, "%s: the rule \"%s\" doesn't fit the shapes", parsed->rule.type, parsed->rule.factors);
}

enum status rule_bind(const struct rule *rule, const struct rule_tensor *tensor, uint32_t operands, uint32_t results,
	bool in_place, struct binding *binding, struct error *error)
{
	const struct parsed_rule *parsed = (const struct parsed_rule *)rule;
	uint32_t tensors = operands + results;
	NEED(binding_begin(binding, operands, tensors));
	if (parsed->structure == EINSUM) {
		if (tensors > TENSORS_MAX)
			return refuse(error, "%s: too many operands", rule->type);
		struct matcher matcher = { .tensor = tensor, .operands = operands, .tensors = tensors, .in_place = in_place };
		return bind_einsum(parsed, &matcher, binding, error);
	}
	FOR(t, tensors) {
		if (tensor[t].dims < 0)
			return refuse(error, "%s: an attribute gives the shape of a result: operands don't tell it", rule->type);
		NEED(binding_tensor(binding, t, tensor[t].dims, tensor[t].shape));
	}
	enum status status = bind_structure(binding, parsed->structure);
	return status == BAD_INPUT
		? fail(error, status, "%s: the rule \"%s\" doesn't fit the shapes", rule->type, rule->factors)
		: status;
}
