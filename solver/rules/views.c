/* views.c: factors of the structural rules (@reshape, @slice, ...), inferred from shapes, and of permutations,
 * reductions and @move from arguments where they are told.
 *
 * Extents of 1 need care: at batch 1 they may carry the batch. Wherever one appears or vanishes it is kept as a
 * factor of a neighbouring dim, so that a graph captured at batch 1 can be scaled to any other. */

#include "form.h"

/* The dims of one tensor of a binding. */
struct side { uint32_t start, dims; };

static struct side views_side_of(const struct binding *binding, uint32_t tensor)
{
	return (struct side) { binding->dim_start[tensor], binding_dims(binding, tensor) };
}

static int64_t size_at(const struct binding *binding, struct side side, uint32_t i)
{
	return binding->dim[side.start + i].size;
}

static int64_t views_elements(const struct binding *binding, struct side side)
{
	int64_t product = 1;
	FOR(i, side.dims)
		product *= size_at(binding, side, i);
	return product;
}

/* A factor of its own for a dim. Returns it, or NONE when out of memory. */
static uint32_t own(struct binding *binding, uint32_t dim, uint8_t marks)
{
	uint32_t factor = binding_new_factor(binding, binding->dim[dim].size, marks);
	return binding_append(binding, dim, factor) ? factor : NONE;
}

/* Two dims of equal extent carry one new factor. */
static bool views_share(struct binding *binding, uint32_t a, uint32_t b)
{
	uint32_t factor = own(binding, a, 0);
	return factor != NONE && binding_append(binding, b, factor);
}

/* Tensors that a structural rule doesn't look at: every dim on its own. */
static bool loose(struct binding *binding, uint32_t tensor)
{
	FOR_SPAN(dim, binding->dim_start, tensor)
		if (binding->dim[dim].count == 0 && own(binding, dim, 0) == NONE)
			return false;
	return true;
}

static enum status views_done(bool fine)
{
	return fine ? OK : NO_MEMORY;
}

/* ---- reshape ---- */

#define DIM_FACTORS (2 * DIMS_MAX)

/* The factors of one dim, while they are found in any order. */
struct factor_list { uint32_t count, factor[DIM_FACTORS]; };

struct reshape {
	struct binding *binding;
	struct side side[2]; /* operand, result */
	struct factor_list list[2][DIMS_MAX];
	uint32_t at[2];   /* the next dim */
	uint32_t last[2]; /* the last dim of an extent above 1 so far, or NONE */
};

static bool views_list_add(struct factor_list *list, uint32_t factor)
{
	if (factor == NONE || list->count == DIM_FACTORS)
		return false;
	list->factor[list->count++] = factor;
	return true;
}

static bool ended(const struct reshape *reshape, int s)
{
	return reshape->at[s] == reshape->side[s].dims;
}

static int64_t views_here(const struct reshape *reshape, int s)
{
	return size_at(reshape->binding, reshape->side[s], reshape->at[s]);
}

static bool share_here(struct reshape *reshape, int64_t size)
{
	uint32_t factor = binding_new_factor(reshape->binding, size, 0);
	return views_list_add(&reshape->list[0][reshape->at[0]], factor) &&
		views_list_add(&reshape->list[1][reshape->at[1]], factor);
}

/* The dim of side s that takes in an extent of 1 which stands alone on the other side: the next one, but not the
 * last dim (the features) if there is one before it. NONE when the side has no dims to offer. */
static uint32_t host(const struct reshape *reshape, int s)
{
	bool features = reshape->at[s] + 1 == reshape->side[s].dims;
	if (ended(reshape, s) || (features && reshape->last[s] != NONE))
		return reshape->last[s];
	return reshape->at[s];
}

/* At a place where both sides have seen the same number of elements: pairs the extents of 1 that follow. */
static bool take_ones(struct reshape *reshape)
{
	while (!ended(reshape, 0) && !ended(reshape, 1) && views_here(reshape, 0) == 1 && views_here(reshape, 1) == 1) {
		if (!share_here(reshape, 1))
			return false;
		reshape->at[0]++;
		reshape->at[1]++;
	}
	FOR_INT(s, 2)
		while (!ended(reshape, s) && views_here(reshape, s) == 1) {
			uint32_t to = host(reshape, !s);
			uint32_t factor = binding_new_factor(reshape->binding, 1, to == NONE ? FACTOR_UNIT : 0);
			if (!views_list_add(&reshape->list[s][reshape->at[s]], factor))
				return false;
			if (to != NONE && !views_list_add(&reshape->list[!s][to], factor))
				return false;
			reshape->at[s]++;
		}
	return true;
}

/* Extents that share no common refinement (6 x 4 as 8 x 3): every dim of the group on its own, never sharded. */
static bool take_unrelated(struct reshape *reshape, int64_t left, int64_t right)
{
	int64_t product[2] = { left, right };
	FOR_INT(s, 2)
		if (!views_list_add(
				&reshape->list[s][reshape->at[s]], binding_new_factor(reshape->binding, product[s], FACTOR_FORBIDDEN)))
			return false;
	while (product[0] != product[1]) {
		int s = product[0] < product[1] ? 0 : 1;
		reshape->at[s]++;
		product[s] *= views_here(reshape, s);
		if (!views_list_add(&reshape->list[s][reshape->at[s]],
				binding_new_factor(reshape->binding, views_here(reshape, s), FACTOR_FORBIDDEN)))
			return false;
	}
	return true;
}

/* The shortest run of dims with equal products on both sides, as its common refinement. */
static bool take_group(struct reshape *reshape)
{
	int64_t rest[2] = { views_here(reshape, 0), views_here(reshape, 1) };
	while (rest[0] != rest[1]) {
		int small = rest[0] < rest[1] ? 0 : 1;
		if (rest[!small] % rest[small] != 0) {
			if (!take_unrelated(reshape, rest[0], rest[1]))
				return false;
			rest[0] = rest[1] = 0;
			break;
		}
		if (!share_here(reshape, rest[small]))
			return false;
		rest[!small] /= rest[small];
		reshape->at[small]++;
		rest[small] = views_here(reshape, small);
	}
	if (rest[0] > 0 && !share_here(reshape, rest[0]))
		return false;
	FOR_INT(s, 2)
		reshape->last[s] = reshape->at[s]++;
	return true;
}

static enum status bind_reshape(struct binding *binding)
{
	struct reshape reshape = { .binding = binding,
		.side = { views_side_of(binding, 0), views_side_of(binding, binding->operands) },
		.last = { NONE, NONE } };
	int64_t count = views_elements(binding, reshape.side[0]);
	if (count != views_elements(binding, reshape.side[1]))
		return BAD_INPUT;
	bool fine = true;
	while (count > 0 && fine && (!ended(&reshape, 0) || !ended(&reshape, 1))) {
		fine = take_ones(&reshape);
		if (fine && !ended(&reshape, 0))
			fine = take_group(&reshape);
	}
	FOR_INT(s, 2)
		FOR(i, reshape.side[s].dims)
			FOR_WHILE(f, reshape.list[s][i].count, fine)
				fine = binding_append(binding, reshape.side[s].start + i, reshape.list[s][i].factor[f]);
	FOR_WHILE(t, binding->tensors, fine)
		fine = loose(binding, t);
	return views_done(fine);
}

/* ---- permute ---- */

static uint32_t count_differences(const struct binding *binding, struct side in, struct side out, uint32_t place[2])
{
	uint32_t count = 0;
	FOR(i, in.dims)
		if (size_at(binding, in, i) != size_at(binding, out, i)) {
			if (count < 2)
				place[count] = i;
			count++;
		}
	return count;
}

/* All extents stay where they are, so two equal ones were exchanged: the innermost such pair. */
static bool find_equal_pair(const struct binding *binding, struct side in, uint32_t place[2])
{
	for (uint32_t j = in.dims; j-- > 1;)
		FOR_DOWN(i, j)
			if (size_at(binding, in, i) == size_at(binding, in, j) && size_at(binding, in, i) > 1) {
				place[0] = i;
				place[1] = j;
				return true;
			}
	return false;
}

/* from[i]: the operand's dim that becomes the result's dim i. */
static bool find_permutation(struct binding *binding, struct side in, struct side out, uint32_t *from)
{
	uint32_t place[2], differences = count_differences(binding, in, out, place);
	FOR(i, in.dims)
		from[i] = i;
	if (differences == 2 || (differences == 0 && find_equal_pair(binding, in, place))) {
		from[place[0]] = place[1];
		from[place[1]] = place[0];
		binding->ambiguous = differences == 0;
		return size_at(binding, in, place[0]) == size_at(binding, out, place[1])
			&& size_at(binding, in, place[1]) == size_at(binding, out, place[0]);
	}
	bool taken[DIMS_MAX] = { false };
	FOR_WHILE(i, out.dims, differences > 0) {
		uint32_t candidates = 0;
		FOR_DOWN(j, in.dims)
			if (!taken[j] && size_at(binding, in, j) == size_at(binding, out, i)) {
				from[i] = j;
				candidates++;
			}
		if (candidates == 0)
			return false;
		binding->ambiguous |= candidates > 1;
		taken[from[i]] = true;
	}
	return true;
}

/* The dim that a value says, counted from the end if it is negative; NONE where it is none of so many. */
static uint32_t value_dim(const struct argument *value, uint32_t dims)
{
	int64_t number;
	if (!argument_integer(value, &number))
		return NONE;
	number += number < 0 ? dims : 0;
	return number >= 0 && number < dims ? (uint32_t)number : NONE;
}

/* The permutation that a captured op's arguments say (man 5 tidemark): the dims in their new order as a list, or two
 * dims that change places. False where they don't, or don't fit the shapes. */
static bool read_permutation(const struct binding *binding, struct side in, struct side out, uint32_t *from)
{
	const struct argument *first = arguments_item(binding->arguments, 0), *second = arguments_item(binding->arguments, 1);
	bool list = second && second->kind == ARGUMENT_LIST, seen[DIMS_MAX] = { false };
	if (!first || first->kind != ARGUMENT_TENSOR || (list && second->within != in.dims))
		return false;
	FOR(i, in.dims)
		from[i] = list ? value_dim(second + 1 + i, in.dims) : i;
	if (!list) {
		uint32_t one = value_dim(second, in.dims), other = value_dim(arguments_item(binding->arguments, 2), in.dims);
		if (one == NONE || other == NONE)
			return false;
		from[one] = other;
		from[other] = one;
	}
	FOR(i, in.dims) {
		if (from[i] == NONE || seen[from[i]] || size_at(binding, in, from[i]) != size_at(binding, out, i))
			return false;
		seen[from[i]] = true;
	}
	return true;
}

static enum status bind_permute(struct binding *binding)
{
	struct side in = views_side_of(binding, 0), out = views_side_of(binding, binding->operands);
	uint32_t from[DIMS_MAX];
	if (in.dims != out.dims || in.dims > DIMS_MAX ||
		(!read_permutation(binding, in, out, from) && !find_permutation(binding, in, out, from)))
		return BAD_INPUT;
	FOR(i, out.dims)
		NEED(views_share(binding, in.start + from[i], out.start + i));
	return OK;
}

/* The dims that a captured op's item-th argument names, as a number or a list. False where it names none. */
static bool views_read_dims(const struct binding *binding, uint32_t item, uint32_t dims, bool *named)
{
	const struct argument *value = arguments_item(binding->arguments, item);
	bool list = value && value->kind == ARGUMENT_LIST;
	uint32_t count = list ? value->within : 1;
	CLEAR(named, DIMS_MAX);
	FOR(i, count) {
		uint32_t dim = value && dims <= DIMS_MAX ? value_dim(value + list + i, dims) : NONE;
		if (dim == NONE)
			return false;
		named[dim] = true;
	}
	return count > 0;
}

/* The one dim that an argument names, or NONE. */
static uint32_t named_dim(const struct binding *binding, uint32_t item, uint32_t dims)
{
	bool named[DIMS_MAX];
	uint32_t found = NONE;
	if (!views_read_dims(binding, item, dims, named))
		return NONE;
	FOR(d, dims)
		if (named[d])
			found = found == NONE ? d : dims;
	return found == dims ? NONE : found;
}

/* Elements that move along the dims that an argument names; along any where none is named. */
static enum status bind_move(struct binding *binding, uint32_t item)
{
	struct side in = views_side_of(binding, 0), out = views_side_of(binding, binding->operands);
	bool named[DIMS_MAX], told = views_read_dims(binding, item, in.dims, named);
	if (in.dims != out.dims)
		return BAD_INPUT;
	FOR(i, in.dims) {
		if (size_at(binding, in, i) != size_at(binding, out, i))
			return BAD_INPUT;
		uint32_t factor = own(binding, in.start + i, !told || named[i] ? FACTOR_WHOLE : 0);
		NEED(factor != NONE && binding_append(binding, out.start + i, factor));
	}
	return OK;
}

/* ---- broadcast, cut, join ---- */

static enum status bind_expand(struct binding *binding)
{
	struct side in = views_side_of(binding, 0), out = views_side_of(binding, binding->operands);
	if (in.dims > out.dims)
		return BAD_INPUT;
	uint32_t lead = out.dims - in.dims;
	bool fine = true;
	FOR_WHILE(i, out.dims, fine) {
		uint32_t to = out.start + i, from = in.start + i - lead;
		if (i < lead) {
			fine = own(binding, to, binding->dim[to].size == 1 ? FACTOR_OPEN : 0) != NONE;
		} else if (binding->dim[from].size != binding->dim[to].size) {
			fine = own(binding, from, binding->dim[from].size == 1 ? FACTOR_UNIT : FACTOR_WHOLE) != NONE &&
				own(binding, to, 0) != NONE;
		} else if (binding->dim[from].size > 1) {
			fine = views_share(binding, from, to);
		} else {
			uint32_t a = own(binding, from, 0), b = a == NONE ? NONE : own(binding, to, 0);
			fine = b != NONE && binding_link(binding, LINK_BROADCAST, a, b);
		}
	}
	for (uint32_t t = 1; t < binding->operands && fine; t++)
		fine = loose(binding, t);
	return views_done(fine);
}

/* part's dims equal whole's or are cut from them; with either, each may be cut from the other (padding by negative
 * widths cuts). */
static enum status bind_cut(struct binding *binding, uint32_t whole, uint32_t part, bool either)
{
	struct side from = views_side_of(binding, whole), to = views_side_of(binding, part);
	if (from.dims != to.dims)
		return BAD_INPUT;
	bool fine = true;
	FOR_WHILE(i, from.dims, fine) {
		if (size_at(binding, from, i) == size_at(binding, to, i)) {
			fine = views_share(binding, from.start + i, to.start + i);
		} else if (size_at(binding, from, i) < size_at(binding, to, i) && !either) {
			return BAD_INPUT;
		} else {
			uint32_t a = own(binding, from.start + i, FACTOR_WHOLE),
					 b = a == NONE ? NONE : own(binding, to.start + i, FACTOR_WHOLE);
			bool grows = size_at(binding, from, i) < size_at(binding, to, i);
			fine = b != NONE && binding_link(binding, LINK_CUT, grows ? b : a, grows ? a : b);
		}
	}
	FOR_WHILE(t, binding->tensors, fine)
		fine = loose(binding, t);
	return views_done(fine);
}

/* The dim of `large` that `small` lacks: one of that extent if there is one (wanted >= 0), else the innermost; NONE:
 * none fits. */
static uint32_t find_dropped(struct binding *binding, struct side large, struct side small, int64_t wanted)
{
	uint32_t dropped = NONE;
	FOR_WHILE(d, large.dims, large.dims == small.dims + 1) {
		bool fits = wanted < 0 || size_at(binding, large, d) == wanted;
		FOR(i, small.dims)
			fits &= size_at(binding, small, i) == size_at(binding, large, i + (i >= d));
		binding->ambiguous |= fits && dropped != NONE;
		if (fits)
			dropped = d;
	}
	return dropped;
}

/* Tensors [first, end) are `large` without one dim. With `all` they are all its parts along that dim. */
static enum status bind_drop(struct binding *binding, uint32_t large, uint32_t first, uint32_t end, bool all)
{
	struct side whole = views_side_of(binding, large);
	uint32_t dropped = NONE;
	if (all)
		dropped = find_dropped(binding, whole, views_side_of(binding, first), end - first);
	if (dropped == NONE && (!all || end == first + 1)) /* a tensor stacked with itself is listed once */
		dropped = find_dropped(binding, whole, views_side_of(binding, first), -1);
	if (dropped == NONE)
		return BAD_INPUT;
	FOR_FROM(t, first + 1, end)
		for (uint32_t i = 0; i + 1 < whole.dims || binding_dims(binding, t) + 1 != whole.dims; i++)
			if (binding_dims(binding, t) + 1 != whole.dims ||
				size_at(binding, views_side_of(binding, t), i) != size_at(binding, whole, i + (i >= dropped)))
				return BAD_INPUT;
	bool fine = own(binding, whole.start + dropped, all ? FACTOR_FORBIDDEN : FACTOR_WHOLE) != NONE;
	for (uint32_t i = 0; i + 1 < whole.dims && fine; i++) {
		uint32_t factor = own(binding, whole.start + i + (i >= dropped), 0);
		fine = factor != NONE;
		for (uint32_t t = first; t < end && fine; t++)
			fine = binding_append(binding, binding->dim_start[t] + i, factor);
	}
	return views_done(fine);
}

/* What PyTorch joins to anything: a list of no elements, such as a cache that is empty yet. */
static bool joins_anything(const struct binding *binding, struct side part)
{
	return part.dims == 1 && size_at(binding, part, 0) == 0;
}

/* The dim along which the parts [first, end) add up to the whole while all other extents agree; NONE: there is none.
 * *times: how often the whole repeats them (graphs list an operand once, even if it is joined with itself; of
 * results there is always one for each part). */
static uint32_t views_find_joint(
	const struct binding *binding, struct side whole, uint32_t told, uint32_t first, uint32_t end, int64_t *times)
{
	for (uint32_t n = told == NONE ? 1 : 0; n <= whole.dims; n++) {
		uint32_t d = n == 0 ? told : n - 1; /* equal extents, or a part that is all of it, don't tell the dim */
		int64_t sum = 0;
		bool fits = true;
		for (uint32_t t = first; t < end && fits; t++) {
			struct side part = views_side_of(binding, t);
			if (whole.dims > 1 && joins_anything(binding, part))
				continue;
			fits = part.dims == whole.dims;
			FOR_WHILE(i, whole.dims, fits)
				fits = i == d || size_at(binding, part, i) == size_at(binding, whole, i);
			sum += fits ? size_at(binding, part, d) : 0;
		}
		*times = fits && sum > 0 ? size_at(binding, whole, d) / sum : 0;
		if (fits &&
			(sum == size_at(binding, whole, d) ||
				(*times > 1 && first < binding->operands && *times * sum == size_at(binding, whole, d))))
			return d;
	}
	return NONE;
}

static enum status bind_join(struct binding *binding, uint32_t whole, uint32_t first, uint32_t end, uint32_t item)
{
	struct side all = views_side_of(binding, whole);
	int64_t times;
	uint32_t joint = views_find_joint(binding, all, named_dim(binding, item, all.dims), first, end, &times);
	if (joint == NONE)
		return BAD_INPUT;
	FOR(i, all.dims) {
		uint32_t factor = own(binding, all.start + i, i == joint ? FACTOR_WHOLE : 0);
		NEED(factor != NONE);
		FOR_FROM(t, first, end) {
			uint32_t dim = binding->dim_start[t] + i;
			if (all.dims > 1 && joins_anything(binding, views_side_of(binding, t))) {
				if (i == 0 && own(binding, dim, FACTOR_WHOLE) == NONE)
					return NO_MEMORY;
				continue;
			}
			uint32_t part = i == joint ? own(binding, dim, FACTOR_WHOLE) : factor;
			if (part == NONE || (i != joint && !binding_append(binding, dim, part)))
				return NO_MEMORY;
			for (int64_t n = 0; i == joint && (n < times || n == 0); n++)
				NEED(binding_link(binding, LINK_JOIN, part, factor));
		}
	}
	return OK;
}

/* ---- reductions and tables ---- */

/* A reduction that keeps every extent was over dims of extent 1: trailing ones (pooling), else the first. */
static uint32_t hidden_reduction(const struct binding *binding, struct side in)
{
	uint32_t first = in.dims;
	while (first > 0 && size_at(binding, in, first - 1) == 1)
		first--;
	if (first < in.dims)
		return first > 0 ? first : in.dims - 1;
	for (first = 0; first < in.dims && size_at(binding, in, first) != 1;)
		first++;
	return first;
}

/* The dims that an argument names, if they lead from one shape to the other. */
static bool told_reduction(const struct binding *binding, struct side in, struct side out, uint32_t item, bool *reduced)
{
	uint32_t at = 0;
	if (!views_read_dims(binding, item, in.dims, reduced))
		return false;
	FOR(i, in.dims) {
		if (reduced[i] && in.dims != out.dims)
			continue;
		if (at >= out.dims || size_at(binding, out, at) != (reduced[i] ? 1 : size_at(binding, in, i)))
			return false;
		at++;
	}
	return at == out.dims;
}

/* The same from shapes, where dims of extent 1 stay. */
static bool guess_kept(struct binding *binding, struct side in, struct side out, bool *reduced)
{
	bool shrinks = false;
	FOR(i, in.dims)
		shrinks |= size_at(binding, in, i) != size_at(binding, out, i);
	uint32_t hidden = shrinks ? in.dims : hidden_reduction(binding, in);
	bool trailing = hidden < in.dims && size_at(binding, in, in.dims - 1) == 1;
	binding->ambiguous |= !shrinks;
	FOR(i, in.dims) {
		reduced[i] = size_at(binding, in, i) != size_at(binding, out, i) || i == hidden || (trailing && i > hidden);
		if (reduced[i] && size_at(binding, out, i) != 1)
			return false;
	}
	return true;
}

/* Dims that vanish: what stays is looked for from the innermost dim outwards. */
static bool guess_dropped(const struct binding *binding, struct side in, struct side out, bool *reduced)
{
	uint32_t left = out.dims;
	FOR_DOWN(i, in.dims) {
		reduced[i] = left == 0 || size_at(binding, in, i) != size_at(binding, out, left - 1);
		left -= !reduced[i];
	}
	return left == 0;
}

static bool write_reduction(struct binding *binding, struct side in, struct side out, const bool *reduced, uint8_t mark)
{
	bool kept = in.dims == out.dims, fine = true;
	for (uint32_t i = 0, at = 0; i < in.dims && fine; i++) {
		if (!reduced[i])
			fine = views_share(binding, in.start + i, out.start + at);
		else
			fine = own(binding, in.start + i, mark) != NONE && (!kept || own(binding, out.start + at, FACTOR_UNIT) != NONE);
		at += kept || !reduced[i];
	}
	return fine;
}

static enum status bind_reduce(struct binding *binding, uint8_t mark, uint32_t item)
{
	struct side in = views_side_of(binding, 0), out = views_side_of(binding, binding->operands);
	bool reduced[DIMS_MAX];
	if (in.dims < out.dims || in.dims > DIMS_MAX)
		return BAD_INPUT;
	bool kept = in.dims == out.dims && in.dims > 0;
	if (!told_reduction(binding, in, out, item, reduced) &&
		!(kept ? guess_kept(binding, in, out, reduced) : guess_dropped(binding, in, out, reduced)))
		return BAD_INPUT;
	bool fine = write_reduction(binding, in, out, reduced, mark);
	for (uint32_t t = binding->operands + 1; t < binding->tensors && fine; t++) {
		bool like = binding_dims(binding, t) == out.dims;
		FOR_WHILE(i, out.dims, like && fine)
			fine = binding_same(binding, binding->dim_start[t] + i, out.start + i);
		fine = fine && loose(binding, t);
	}
	for (uint32_t t = 1; t < binding->operands && fine; t++)
		fine = loose(binding, t);
	return views_done(fine);
}

static bool gather_fits(
	const struct binding *binding, struct side data, struct side index, struct side out, uint32_t axis)
{
	FOR(i, out.dims) {
		int64_t size = i < axis ? size_at(binding, data, i) : i < axis + index.dims ? size_at(binding, index, i - axis)
			: size_at(binding, data, i - index.dims + 1);
		if (size_at(binding, out, i) != size)
			return false;
	}
	return true;
}

static enum status bind_gather(struct binding *binding)
{
	if (binding->operands < 2)
		return BAD_INPUT;
	struct side data = views_side_of(binding, 0), index = views_side_of(binding, 1),
				out = views_side_of(binding, binding->operands);
	if (data.dims + index.dims != out.dims + 1)
		return BAD_INPUT;
	uint32_t axis = 0;
	while (axis < data.dims && !gather_fits(binding, data, index, out, axis))
		axis++;
	if (axis == data.dims)
		return BAD_INPUT;
	bool fine = own(binding, data.start + axis, FACTOR_WHOLE) != NONE;
	FOR_WHILE(i, out.dims, fine) {
		uint32_t from = i < axis ? data.start + i
			: i < axis + index.dims ? index.start + i - axis
			: data.start + i - index.dims + 1;
		fine = views_share(binding, from, out.start + i);
	}
	return views_done(fine);
}

/* ---- all ---- */

enum status bind_structure(struct binding *binding, enum structure structure)
{
	uint32_t operands = binding->operands, tensors = binding->tensors;
	bool nullary = structure == SOURCE || structure == OPAQUE;
	if (!nullary && (operands == 0 || operands == tensors))
		return BAD_INPUT;
	switch (structure) {
	case RESHAPE: return bind_reshape(binding);
	case PERMUTE: return bind_permute(binding);
	case EXPAND: return bind_expand(binding);
	case SLICE: return bind_cut(binding, 0, operands, false);
	case PAD: return bind_cut(binding, operands, 0, true);
	case SELECT: return bind_drop(binding, 0, operands, operands + 1, false);
	case PLACE: return bind_drop(binding, operands, 0, 1, false);
	case UNBIND: return bind_drop(binding, 0, operands, tensors, true);
	case STACK: return bind_drop(binding, operands, 0, operands, true);
	case SPLIT: return bind_join(binding, 0, operands, tensors, 2);
	case CAT: return bind_join(binding, operands, 0, operands, 1);
	case REDUCE_SUM: return bind_reduce(binding, FACTOR_REDUCED, 1);
	case REDUCE_WHOLE: return bind_reduce(binding, FACTOR_WHOLE, 1);
	case REDUCE_WHOLE_2: return bind_reduce(binding, FACTOR_WHOLE, 2);
	case MOVE_1: return bind_move(binding, 1);
	case MOVE_2: return bind_move(binding, 2);
	case GATHER: return bind_gather(binding);
	default: break;
	}
	FOR(t, tensors)
		NEED(loose(binding, t));
	return OK;
}
