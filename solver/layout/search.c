/* search.c: depth-first search over canonical layouts.
 *
 * Every layout can be pushed down until each buffer rests on the ground, on a pinned buffer or on another one. So it
 * can be built by placing buffers in order of offset, ties by turn, each at the lowest place that the ones below
 * leave: its `low`. A node of the search chooses which buffer comes next. After Moffitt, "MiniMalloc: a lightweight
 * memory allocator for hardware-accelerated machine learning" (ASPLOS 2023), whose rules are: canonical order,
 * dominance, section floors, monotone floor, hatless, dynamic decomposition. Ours besides:
 *
 *   pending   a buffer whose low lies before the last placed one can never be placed there; some neighbour that is
 *             still to come must lift it, the lowest possible top of one is a better low for the floors
 *   cut       a candidate above capacity - largest remaining total of a section is not even tried
 *   twins     of equal buffers with equal lives the first comes first
 *   table     what has failed once, the same set with the same lows, fails again
 *   fill      in a section whose spare room is less than any step up from its floor somebody must stand on the
 *             floor: where such a floor is the lowest place, only those who can are tried
 *
 * Pinned buffers are obstacles that lows step over. The stack is explicit; all state is undone from trails. */
#include "search.h"

enum verdict { RUNNING, SOLVED, FAILED };

/* ---- state ---- */

static void layout_search_note(struct layout_search *search, struct trails *trails, uint32_t index, int64_t value)
{
	if (!GROWN(trails->trail, trails->room, trails->count + 1)) {
		search->no_memory = true;
		return;
	}
	trails->trail[trails->count++] = (struct trail){ index, value };
}

static void undo(struct trails *trails, size_t mark, int64_t *value)
{
	while (trails->count > mark) {
		const struct trail *trail = &trails->trail[--trails->count];
		value[trail->index] = trail->value;
	}
}

/* The lowest place at or above `offset` that the buffer's alignment and the pinned buffers leave it. */
static int64_t step_over(const struct layout_search *search, uint32_t b, int64_t offset)
{
	const struct layout_model *model = search->model;
	const uint32_t *pins = search->obstacles.item;
	uint32_t low = search->obstacles.start[b], end = search->obstacles.start[b + 1], high = end;
	offset = align_up(offset, model->alignment[b]);
	/* Bottoms and tops ascend: the first one that ends above. */
	BISECT(low, high, middle, model->fixed[pins[middle]] + model->size[pins[middle]] <= offset);
	for (; low < end && model->fixed[pins[low]] < offset + model->size[b]; low++)
		if (offset < model->fixed[pins[low]] + model->size[pins[low]])
			offset = align_up(model->fixed[pins[low]] + model->size[pins[low]], model->alignment[b]);
	return offset;
}

/* Free bytes of a section above a floor. */
static int64_t layout_search_room_above(const struct layout_search *search, uint32_t section, int64_t floor)
{
	const struct layout_model *model = search->model;
	int64_t room = search->capacity - floor;
	if (model->pins == 0)
		return room;
	FOR_ITEMS(pin, &search->pinned, section) {
		int64_t bottom = LARGER(model->fixed[pin], floor);
		if (model->fixed[pin] + model->size[pin] > bottom)
			room -= model->fixed[pin] + model->size[pin] - bottom;
	}
	return room;
}

/* Raises the section's floor; false when what is unplaced does not fit above. */
static bool raise_floor(struct layout_search *search, uint32_t section, int64_t floor)
{
	if (floor <= search->floor[section])
		return true;
	layout_search_note(search, &search->floors, section, search->floor[section]);
	search->floor[section] = floor;
	return layout_search_room_above(search, section, floor) >= search->total[section];
}

static void layout_search_reset(struct layout_search *search)
{
	const struct layout_model *model = search->model;
	CLEAR(search->total, model->sections);
	CLEAR(search->floor, model->sections);
	CLEAR(search->crossing, model->sections);
	FOR(b, model->n) {
		search->placed[b] = false;
		search->low[b] = 0;
		if (!is_free(search, b))
			continue;
		search->low[b] = step_over(search, b, 0);
		FOR_SPAN(k, model->span_start, b)
			FOR_FROM(s, model->span[k].first, model->span[k].last)
				search->total[s] += model->size[b];
		for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
			search->crossing[s]++;
	}
	search->depth = 0;
	search->list_count = search->cut_count = 0;
	search->lows.count = search->floors.count = 0;
	search->nodes = 0;
}

/* ---- inference ---- */

/* The lowest that anything unplaced of a section can start; pending buffers by what lifts them. Stops at the first that
 * can start on the floor. */
static int64_t lowest_start(const struct layout_search *search, uint32_t section, bool pending)
{
	int64_t lowest = INT64_MAX, floor = search->floor[section];
	FOR_ITEMS(b, &search->members, section) {
		if (search->placed[b])
			continue;
		int64_t low = pending && search->pending[b] == search->clock ? search->lifted[b] : search->low[b];
		if (low <= floor)
			return low;
		if (low < lowest)
			lowest = low;
	}
	return lowest;
}

/* Raises the floors of all sections of a buffer to the lowest start there; each section once per clock. */
static bool raise_floors(struct layout_search *search, uint32_t b, uint32_t stamp, bool pending)
{
	const struct layout_model *model = search->model;
	FOR_SPAN(k, model->span_start, b) {
		FOR_FROM(s, model->span[k].first, model->span[k].last) {
			if (search->stamp[s] == stamp)
				continue;
			search->stamp[s] = stamp;
			if (pending && search->lifted[b] <= search->floor[s])
				continue;
			search->work += csr_length(&search->members, s);
			int64_t lowest = lowest_start(search, s, pending);
			if (lowest != INT64_MAX && !raise_floor(search, s, lowest))
				return false;
		}
	}
	return true;
}

/* The lowest place to which some neighbour that is still to come, at `offset` or above, lifts the buffer; -1: none can.
 * Neighbours are listed by size: once their size alone reaches as high, the rest cannot be lower. */
static int64_t lowest_lift(const struct layout_search *search, uint32_t b, int64_t offset)
{
	int64_t lowest = INT64_MAX;
	FOR_ITEMS(c, &search->neighbours, b) {
		if (offset + search->model->size[c] >= lowest)
			break;
		if (search->placed[c])
			continue;
		int64_t top = LARGER(search->low[c], offset) + search->model->size[c];
		if (top < lowest)
			lowest = top;
	}
	return lowest == INT64_MAX ? -1 : step_over(search, b, lowest);
}

/* Buffers whose low lies before the last placed one wait for somebody to lift them. False: a dead end. */
static bool infer_pending(struct layout_search *search, const struct frame *frame, int64_t offset, uint32_t turn)
{
	const struct entry *list = search->list + frame->list;
	bool any = false;
	FOR(i, frame->count) {
		uint32_t b = list[i].buffer;
		if (search->placed[b] || search->low[b] > offset || (search->low[b] == offset && list[i].turn >= turn))
			continue;
		search->work += csr_length(&search->neighbours, b);
		int64_t lift = lowest_lift(search, b, offset);
		if (lift < 0 || lift + search->model->size[b] > search->capacity)
			return false;
		search->lifted[b] = lift;
		search->pending[b] = search->clock;
		any = true;
	}
	if (!any)
		return true;
	uint32_t stamp = search->clock + 1;
	FOR(i, frame->count)
		if (search->pending[list[i].buffer] == search->clock && !raise_floors(search, list[i].buffer, stamp, true))
			return false;
	return true;
}

/* Whoever is placed from here on at the frame's offset has at least this turn. A filler may come before others of lower
 * turn: which of those at one offset come first makes no difference. */
static uint32_t turn_behind(const struct frame *frame)
{
	if (frame->fill == NONE)
		return frame->turn;
	return frame->start_offset == frame->offset ? frame->start_turn : 0;
}

/* Places the frame's candidate; false when that is a dead end. Undone by unplace() either way. */
static bool layout_search_place(struct layout_search *search, struct frame *frame, const struct entry *entry)
{
	const struct layout_model *model = search->model;
	uint32_t b = entry->buffer;
	int64_t offset = search->low[b], top = offset + model->size[b];
	bool fits = true;
	frame->placed = b;
	frame->hat = false;
	frame->lows = search->lows.count;
	frame->floors = search->floors.count;
	search->placed[b] = true;
	search->solution[b] = offset;
	search->clock += 2;
	search->work += csr_length(&search->neighbours, b);
	FOR_ITEMS(c, &search->neighbours, b) {
		if (search->placed[c])
			continue;
		frame->hat = true;
		if (search->low[c] >= top)
			continue;
		layout_search_note(search, &search->lows, c, search->low[c]);
		search->low[c] = step_over(search, c, top);
		fits &= search->low[c] + model->size[c] <= search->capacity;
	}
	FOR_SPAN(k, model->span_start, b) {
		FOR_FROM(s, model->span[k].first, model->span[k].last) {
			search->total[s] -= model->size[b];
			layout_search_note(search, &search->floors, s, search->floor[s]);
			search->floor[s] = top;
		}
	}
	for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
		search->crossing[s]--;
	if (search->no_memory)
		return false;
	if (search->rules & LAYOUT_RULE_FLOORS)
		for (size_t i = frame->lows; i < search->lows.count && fits; i++)
			fits = raise_floors(search, search->lows.trail[i].index, search->clock, false);
	if (fits && search->rules & LAYOUT_RULE_PENDING)
		fits = infer_pending(search, frame, offset, turn_behind(frame));
	return fits;
}

static void unplace(struct layout_search *search, struct frame *frame)
{
	const struct layout_model *model = search->model;
	uint32_t b = frame->placed;
	undo(&search->floors, frame->floors, search->floor);
	undo(&search->lows, frame->lows, search->low);
	FOR_SPAN(k, model->span_start, b)
		FOR_FROM(s, model->span[k].first, model->span[k].last)
			search->total[s] += model->size[b];
	for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
		search->crossing[s]++;
	search->placed[b] = false;
	frame->placed = NONE;
}

/* ---- parts ---- */

COMPARATOR(compare_keys, struct sort_key, COMPARE(b->key[0], a->key[0], COMPARE(b->key[1], a->key[1], COMPARE(
	b->key[2], a->key[2], COMPARE(a->buffer, b->buffer, 0)))))

/* See layout_sort(), but of what is unplaced. */
static double key_value(const struct layout_search *search, char key, uint32_t b)
{
	const struct layout_model *model = search->model;
	double width = (double)model->width[b];
	int64_t most = 0;
	switch (key) {
	case 'T':
		FOR_FROM(s, model->first[b], model->last[b])
			if (search->total[s] > most)
				most = search->total[s];
		return (double)most;
	case 'W': return width;
	case 'A': return width * (double)model->size[b];
	case 'Z': return (double)model->size[b];
	case 'C': return (double)(model->last[b] - model->first[b]);
	case 'O': return (double)csr_length(&search->neighbours, b);
	default:  return 0;
	}
}

static bool list_room(struct layout_search *search, size_t more)
{
	search->no_memory |= !GROWN(search->list, search->list_room, search->list_count + more);
	return !search->no_memory;
}

/* Lists the unplaced buffers of sections [first, last), in order, as a new part; the frame is still to be opened. */
static void new_part(
	struct layout_search *search, const struct frame *parent, uint32_t first, uint32_t last, struct frame *frame)
{
	const struct layout_model *model = search->model;
	uint32_t n = 0;
	int keys = (int)strlen(search->keys);
	FOR(i, parent->count) {
		uint32_t b = search->list[parent->list + i].buffer;
		if (search->placed[b] || model->first[b] >= last || model->last[b] <= first)
			continue;
		struct sort_key *sort = &search->sort[n++];
		sort->buffer = b;
		FOR_INT(k, 3)
			sort->key[k] = k < keys ? key_value(search, search->keys[k], b) : 0;
	}
	SORT(search->sort, n, compare_keys);
	*frame = (struct frame){ .first = first,
		.last = last,
		.list = search->list_count,
		.count = n,
		.part = ++search->parts_opened,
		.placed = NONE };
	if (!list_room(search, n))
		return;
	FOR(i, n)
		search->list[search->list_count++] = (struct entry){ search->sort[i].buffer, i };
	search->work += 8 * n;
}

static bool layout_search_add_cut(struct layout_search *search, struct frame *frame, uint32_t section)
{
	if (!GROWN(search->cut, search->cut_room, search->cut_count + 1)) {
		search->no_memory = true;
		return false;
	}
	search->cut[search->cut_count++] = section;
	frame->parts++;
	return true;
}

/* Notes where the frame's part falls apart between sections first and last now that nothing unplaced crosses. */
static bool find_cuts(struct layout_search *search, struct frame *frame, uint32_t first, uint32_t last)
{
	frame->cut = search->cut_count;
	frame->parts = frame->next_part = 0;
	for (uint32_t s = first; s + 1 < last && search->rules & LAYOUT_RULE_PARTS; s++)
		if (search->crossing[s] == 0 && !layout_search_add_cut(search, frame, s + 1))
			return false;
	return layout_search_add_cut(search, frame, frame->last);
}

/* ---- nodes ---- */

static struct failure *layout_search_table_slot(struct layout_search *search, const struct set_key *key)
{
	return &search->table[key->half[0] & (search->table_size - 1)];
}

static void layout_search_add_to_key(struct set_key *key, uint32_t b, int64_t low)
{
	uint64_t hash = hash_join(b, (uint64_t)low);
	key->half[0] += hash;
	key->half[1] += hash_mix(hash ^ (uint64_t)low ^ (uint64_t)b << 48);
}

static bool known_failure(struct layout_search *search, const struct frame *frame)
{
	const struct failure *failure = layout_search_table_slot(search, &frame->key);
	if (!(search->rules & LAYOUT_RULE_TABLE) || memcmp(&failure->key, &frame->key, sizeof frame->key))
		return false;
	return failure->offset < frame->offset || (failure->offset == 0 && failure->turn == 0)
		|| (failure->offset == frame->offset && failure->part == frame->part && failure->turn <= frame->turn);
}

/* Drops placed buffers from the frame's list once they are the larger half. */
static bool layout_search_shorten(struct layout_search *search, struct frame *frame, uint32_t unplaced)
{
	if (unplaced * 2 > frame->count)
		return true;
	if (!list_room(search, unplaced))
		return false;
	const struct entry *from = search->list + frame->list;
	size_t start = search->list_count;
	FOR(i, frame->count)
		if (!search->placed[from[i].buffer])
			search->list[search->list_count++] = from[i];
	frame->list = start;
	frame->count = unplaced;
	return true;
}

/* How many can stand on the section's floor; none of those left out by the frame. Sets *step to the least step up from
 * there. */
static uint32_t count_fillers(
	const struct layout_search *search, const struct frame *frame, uint32_t section, int64_t smallest, int64_t *step)
{
	int64_t floor = search->floor[section];
	uint32_t count = 0;
	*step = smallest;
	FOR_ITEMS(b, &search->members, section) {
		if (search->placed[b])
			continue;
		if (search->low[b] > floor) {
			if (search->low[b] - floor < *step)
				*step = search->low[b] - floor;
		} else if (floor > frame->offset || search->turn[b] >= frame->turn) {
			count++;
		}
	}
	return count;
}

/* Finds the section of the first candidate whose floor is the lowest place and that the fewest buffers can and one must
 * fill. */
static void find_fill(struct layout_search *search, struct frame *frame)
{
	const struct layout_model *model = search->model;
	const struct entry *list = search->list + frame->list;
	int64_t lowest = INT64_MAX, smallest = INT64_MAX, step;
	uint32_t fewest = UINT32_MAX, first = NONE;
	FOR(i, frame->count) {
		uint32_t b = list[i].buffer;
		if (search->placed[b])
			continue;
		if (model->size[b] < smallest)
			smallest = model->size[b];
		bool left_out = search->low[b] < frame->offset || (search->low[b] == frame->offset && list[i].turn < frame->turn);
		if (!left_out && search->low[b] < lowest) {
			lowest = search->low[b];
			first = b;
		}
	}
	if (first == NONE)
		return;
	FOR_FROM(s, model->first[first], model->last[first]) {
		/* Over a pinned buffer a step up may cost no room. */
		if (search->floor[s] != lowest || !search->total[s] || csr_length(&search->pinned, s))
			continue;
		int64_t spare = layout_search_room_above(search, s, lowest) - search->total[s];
		if (spare >= smallest)
			continue;
		search->work += csr_length(&search->members, s);
		uint32_t fillers = count_fillers(search, frame, s, smallest, &step);
		if (spare < step && fillers < fewest) {
			fewest = fillers;
			frame->fill = s;
		}
	}
}

/* Looks at a new frame: nothing left, hopeless, or to be searched. */
static enum verdict open_frame(struct layout_search *search, struct frame *frame)
{
	const struct layout_model *model = search->model;
	const struct entry *list = search->list + frame->list;
	uint32_t unplaced = 0;
	int64_t most = 0;
	search->nodes++;
	search->work += frame->count + (frame->last - frame->first);
	frame->key = (struct set_key){ { search->salt, ~search->salt } };
	frame->start_offset = frame->offset;
	frame->start_turn = frame->turn;
	frame->fill = NONE;
	frame->hole = INT64_MAX;
	FOR(i, frame->count) {
		uint32_t b = list[i].buffer;
		if (search->placed[b])
			continue;
		unplaced++;
		search->turn[b] = list[i].turn;
		if (search->low[b] + model->size[b] < frame->hole)
			frame->hole = search->low[b] + model->size[b];
		layout_search_add_to_key(&frame->key, b, search->low[b]);
	}
	if (!(search->rules & LAYOUT_RULE_DOMINANCE))
		frame->hole = INT64_MAX;
	if (unplaced == 0)
		return SOLVED;
	if (known_failure(search, frame))
		return FAILED;
	FOR_FROM(s, frame->first, frame->last) {
		if (search->total[s] > most)
			most = search->total[s];
		if (search->total[s] && layout_search_room_above(search, s, search->floor[s]) < search->total[s])
			return FAILED;
	}
	frame->highest = search->capacity - most;
	if (search->rules & LAYOUT_RULE_FILL)
		find_fill(search, frame);
	return layout_search_shorten(search, frame, unplaced) ? RUNNING : FAILED;
}

static void remember_failure(struct layout_search *search, const struct frame *frame)
{
	if (search->rules & LAYOUT_RULE_TABLE)
		*layout_search_table_slot(
			search, &frame->key) = (struct failure){ frame->key, frame->start_offset, frame->part, frame->start_turn };
}

static bool fills(const struct layout_search *search, const struct frame *frame, uint32_t b)
{
	const struct layout_model *model = search->model;
	if (search->low[b] != search->floor[frame->fill])
		return false;
	FOR_SPAN(k, model->span_start, b)
		if (model->span[k].first <= frame->fill && frame->fill < model->span[k].last)
			return true;
	return false;
}

/* The next candidate in order of (low, turn); false when there is none. */
static bool next_candidate(struct layout_search *search, struct frame *frame, struct entry *candidate)
{
	const struct entry *list = search->list + frame->list;
	int64_t best = INT64_MAX, limit = SMALLER(frame->highest, frame->hole - 1);
	FOR(i, frame->count) {
		uint32_t b = list[i].buffer;
		int64_t low = search->low[b];
		if (low >= best || search->placed[b] || low > limit || low < frame->offset ||
			(low == frame->offset && list[i].turn < frame->turn))
			continue;
		if (frame->fill != NONE && !fills(search, frame, b))
			continue;
		uint32_t twin = search->twin[b];
		if (twin != NONE && !search->placed[twin] && search->rules & LAYOUT_RULE_TWINS)
			continue;
		best = low;
		*candidate = list[i];
	}
	search->work += frame->count / 2;
	return best != INT64_MAX;
}

/* Puts the top frame's next part on the stack and opens it; SOLVED when there was none left. */
static enum verdict push_part(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1], *child = frame + 1;
	if (frame->next_part == frame->parts)
		return SOLVED;
	size_t mark = search->list_count;
	if (frame->parts == 1 && frame->placed != NONE) {
		*child = (struct frame){ .first = frame->first, .last = frame->last, .list = frame->list, .count = frame->count,
					 .part = frame->part, .offset = frame->offset, .turn = turn_behind(frame), .placed = NONE };
	} else {
		uint32_t first = frame->next_part ? search->cut[frame->cut + frame->next_part - 1] : frame->first;
		new_part(search, frame, first, search->cut[frame->cut + frame->next_part], child);
	}
	child->mark = mark;
	frame->next_part++;
	search->depth++;
	return open_frame(search, child);
}

/* Gives up the top frame's candidate; the next ones come behind it. */
static enum verdict give_up_candidate(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1];
	search->cut_count = frame->cut;
	unplace(search, frame);
	frame->turn++;
	return frame->hat || !(search->rules & LAYOUT_RULE_HATLESS) ? RUNNING : FAILED;
}

/* Tries the top frame's next candidate. The verdict is on what is then the top frame. */
static enum verdict layout_search_advance(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1];
	struct entry candidate = { NONE, 0 };
	if (!next_candidate(search, frame, &candidate))
		return FAILED;
	frame->offset = search->low[candidate.buffer];
	frame->turn = candidate.turn;
	frame->cut = search->cut_count;
	bool fits = layout_search_place(search, frame, &candidate);
	if (fits && find_cuts(search, frame, search->model->first[candidate.buffer], search->model->last[candidate.buffer]))
		return push_part(search);
	return give_up_candidate(search);
}

/* ---- the search ---- */

static enum verdict layout_search_start(struct layout_search *search)
{
	struct frame *root = &search->frame[0];
	layout_search_reset(search);
	*root = (struct frame){ .last = search->model->sections, .placed = NONE };
	if (!list_room(search, search->model->n))
		return FAILED;
	FOR(b, search->model->n)
		if (is_free(search, b))
			search->list[search->list_count++] = (struct entry){ b, 0 };
	root->count = (uint32_t)search->list_count;
	search->depth = 1;
	return find_cuts(search, root, 0, root->last) ? push_part(search) : FAILED;
}

/* Takes the top frame, whose fate is known, off the stack. Returns the verdict on the one below. */
static enum verdict layout_search_pop(struct layout_search *search, enum verdict verdict)
{
	struct frame *frame = &search->frame[search->depth - 1];
	if (verdict == FAILED) {
		remember_failure(search, frame);
	} else if (frame->placed != NONE) {
		search->cut_count = frame->cut;
		unplace(search, frame);
	}
	search->list_count = frame->mark;
	search->depth--;
	return verdict == SOLVED ? push_part(search) : search->depth == 1 ? FAILED : give_up_candidate(search);
}

static void copy_solution(const struct layout_search *search, int64_t *offset)
{
	FOR(b, search->model->n)
		offset[b] = is_free(search, b) ? search->solution[b] : search->model->fixed[b];
}

#define WORK_BETWEEN_CHECKS 100000

enum status layout_search_run(struct layout_search *search, int64_t capacity, const char *keys, unsigned rules,
	uint64_t nodes, int64_t *offset, struct control *control)
{
	search->capacity = capacity;
	search->keys = keys;
	search->rules = rules;
	search->salt = hash_mix((uint64_t)capacity);
	search->no_memory = false;
	search->work = search->unpaid;
	search->unpaid = 0;
	FOR(b, search->model->n)
		if (!is_free(search, b) && search->model->fixed[b] + search->model->size[b] > capacity)
			return INFEASIBLE;
	enum verdict verdict = layout_search_start(search);
	while (search->depth > 1 || verdict == SOLVED) {
		if (search->depth == 1) {
			copy_solution(search, offset);
			break;
		}
		verdict = verdict == RUNNING ? layout_search_advance(search) : layout_search_pop(search, verdict);
		NEED(!search->no_memory);
		if (search->work >= WORK_BETWEEN_CHECKS) {
			bool stop = control_spend(control, search->work);
			search->work = 0;
			if (stop)
				return LIMIT;
		}
		if (nodes && search->nodes >= nodes && verdict != SOLVED)
			return LIMIT;
	}
	control_spend(control, search->work);
	return verdict == SOLVED ? OK : INFEASIBLE;
}
