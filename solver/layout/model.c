/* model.c: from buffers to sections and units. */
#include "model.h"
#include "solver/base/sort.h"

static struct piece whole_piece(const struct buffers *buffers, uint32_t i)
{
	return (struct piece){ buffers->lower[i], buffers->upper[i] };
}

static uint32_t piece_count(const struct buffers *buffers, uint32_t i)
{
	uint32_t pieces = buffers->piece_start ? buffers->piece_start[i + 1] - buffers->piece_start[i] : 0;
	return pieces ? pieces : 1;
}

static struct piece piece_at(const struct buffers *buffers, uint32_t i, uint32_t number)
{
	bool listed = buffers->piece_start && buffers->piece_start[i + 1] > buffers->piece_start[i];
	return listed ? buffers->piece[buffers->piece_start[i] + number] : whole_piece(buffers, i);
}

static enum status check_buffer(const struct buffers *buffers, uint32_t i, struct error *error)
{
	if (buffers->size[i] < 0 || buffers->size[i] > BYTES_MAX)
		return refuse(error, "buffer %u: size %lld is negative or too large", i, (long long)buffers->size[i]);
	if (buffers->lower[i] >= buffers->upper[i])
		return refuse(error, "buffer %u: its life is empty", i);
	if (buffers->alignment && (buffers->alignment[i] < 1 || buffers->alignment[i] > BYTES_MAX))
		return refuse(error, "buffer %u: alignment %lld", i, (long long)buffers->alignment[i]);
	if (buffers->fixed && buffers->fixed[i] > BYTES_MAX)
		return refuse(error, "buffer %u: its fixed offset is too large", i);
	FOR_WHILE(k, piece_count(buffers, i), buffers->size[i] > 0) {
		struct piece piece = piece_at(buffers, i, k);
		if (piece.lower < (k ? piece_at(buffers, i, k - 1).upper : buffers->lower[i]) || piece.upper > buffers->upper[i]
			|| piece.lower >= piece.upper)
			return refuse(error, "buffer %u: piece %u is empty, outside its life or not behind the one before",
				i, k);
	}
	return OK;
}

static enum status layout_model_check_buffers(const struct buffers *buffers, int64_t alignment, struct error *error)
{
	if (alignment < 1 || alignment > BYTES_MAX)
		return refuse(error, "alignment %lld", (long long)alignment);
	int64_t sum = 0;
	FOR(i, buffers->n) {
		TRY(check_buffer(buffers, i, error));
		int64_t step = buffers->alignment && buffers->alignment[i] > alignment ? buffers->alignment[i] : alignment;
		sum += align_up(buffers->size[i], alignment) + (step - 1);
		if (sum > BYTES_MAX)
			return refuse(error, "the buffers' sizes add up to too much");
	}
	return OK;
}

static enum status layout_model_allocate(struct layout_model *model, uint32_t n, uint32_t spans)
{
	struct arena *arena = &model->arena;
	model->n = n;
	NEED(ROOMS(arena, n, model->first, model->last, model->size, model->width, model->alignment, model->fixed,
		model->origin) && ROOM(arena, model->span_start, (size_t)n + 1) && ROOM(arena, model->span, spans));
	return OK;
}

/* Copies what has a size; spans hold no sections yet. */
static enum status layout_model_fill(
	const struct buffers *buffers, int64_t alignment, struct layout_model *model, struct error *error)
{
	uint32_t spans = 0;
	for (uint32_t i = 0, b = 0; i < buffers->n; i++) {
		if (buffers->size[i] == 0)
			continue;
		model->origin[b] = i;
		model->size[b] = align_up(buffers->size[i], alignment);
		model->width[b] = buffers->upper[i] - buffers->lower[i];
		model->alignment[b] = common_multiple(buffers->alignment ? buffers->alignment[i] : 1, alignment);
		model->fixed[b] = buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] : -1;
		if (model->fixed[b] > 0 && model->fixed[b] % model->alignment[b])
			return fail(error, INFEASIBLE, "buffer %u: its fixed offset %lld is not a multiple of its alignment %lld", i,
				    (long long)model->fixed[b], (long long)model->alignment[b]);
		model->span_start[++b] = spans += piece_count(buffers, i);
	}
	return OK;
}

static void layout_model_describe(struct layout_model *model)
{
	FOR(b, model->n) {
		model->pins += model->fixed[b] >= 0;
		model->aligned |= model->alignment[b] > 1;
		model->gapped |= model->span_start[b + 1] - model->span_start[b] > 1;
		model->first[b] = UINT32_MAX;
		FOR_SPAN(k, model->span_start, b) {
			const struct span *span = &model->span[k];
			if (span->first < model->first[b])
				model->first[b] = span->first;
			if (span->last > model->last[b])
				model->last[b] = span->last;
		}
	}
}

/* Adds up the load of the sections, by differences at the spans' ends. */
static enum status add_loads(struct layout_model *model)
{
	NEED(ROOM(&model->arena, model->load, (size_t)model->sections + 1));
	FOR(b, model->n)
		FOR_SPAN(k, model->span_start, b) {
			model->load[model->span[k].first] += model->size[b];
			model->load[model->span[k].last] -= model->size[b];
		}
	FOR(s, model->sections) {
		if (s > 0)
			model->load[s] += model->load[s - 1];
		if (model->load[s] > model->max_load) {
			model->max_load = model->load[s];
			model->max_section = s;
		}
	}
	return OK;
}

/* A section ends where a piece ends after one has started. Events: spans, by the steps at which they start (more is 1)
 * or end. */
static void cut_sections(struct layout_model *model, const struct keyed *event, uint32_t events)
{
	uint32_t section = 0;
	bool started = false;
	for (uint32_t i = 0; i < events;) {
		int64_t step = event[i].key;
		bool starts = false, ends = false;
		uint32_t j = i;
		for (; j < events && event[j].key == step; j++) {
			starts |= event[j].more;
			ends |= !event[j].more;
		}
		if (ends && started) {
			section++;
			started = false;
		}
		for (; i < j; i++)
			*(event[i].more ? &model->span[event[i].item].first : &model->span[event[i].item].last) = section;
		if (starts) {
			started = true;
			model->time[section] = step;
		}
	}
	model->sections = section;
}

static enum status find_sections(const struct buffers *buffers, struct layout_model *model)
{
	uint32_t spans = model->span_start[model->n];
	struct keyed *MAKE(event, (size_t)spans * 2);
	ROOM(&model->arena, model->time, (size_t)spans + 1);
	for (uint32_t b = 0, events = 0; event && b < model->n; b++) {
		FOR_SPAN(k, model->span_start, b) {
			struct piece piece = piece_at(buffers, model->origin[b], k - model->span_start[b]);
			event[events++] = (struct keyed){ piece.lower, k, 1 };
			event[events++] = (struct keyed){ piece.upper, k, 0 };
		}
	}
	bool fine = event && model->time && sort_keyed(event, (size_t)spans * 2);
	if (fine)
		cut_sections(model, event, spans * 2);
	mem_free(event);
	return fine ? OK : NO_MEMORY;
}

/* The largest unit in which every size and pin is whole and in which alignments are whole or void. */
static int64_t find_unit(const struct layout_model *model)
{
	int64_t unit = 0;
	FOR(b, model->n) {
		unit = common_divisor(model->size[b], unit);
		if (model->fixed[b] > 0)
			unit = common_divisor(model->fixed[b], unit);
	}
	for (int64_t before = 0; before != unit;) {
		before = unit;
		FOR(b, model->n)
			if (unit % model->alignment[b])
				unit = common_divisor(unit, model->alignment[b]);
	}
	return unit ? unit : 1;
}

static void layout_model_divide(struct layout_model *model, int64_t unit)
{
	FOR(b, model->n) {
		model->size[b] /= unit;
		model->alignment[b] = unit % model->alignment[b] ? model->alignment[b] / unit : 1;
		if (model->fixed[b] > 0)
			model->fixed[b] /= unit;
	}
	model->unit *= unit;
}

enum status layout_model_build(
	const struct buffers *buffers, int64_t alignment, struct layout_model *model, struct error *error)
{
	*model = (struct layout_model){ .unit = 1 };
	TRY(layout_model_check_buffers(buffers, alignment, error));
	uint32_t n = 0, spans = 0;
	FOR(i, buffers->n) {
		n += buffers->size[i] > 0;
		spans += buffers->size[i] > 0 ? piece_count(buffers, i) : 0;
	}
	enum status status = layout_model_allocate(model, n, spans);
	THEN(status, layout_model_fill(buffers, alignment, model, error));
	THEN(status, find_sections(buffers, model));
	if (status == OK) {
		layout_model_divide(model, find_unit(model));
		layout_model_describe(model);
		status = add_loads(model);
	}
	if (status != OK)
		layout_model_free(model);
	return status;
}

/* Copies what is left of a buffer's pieces within sections [first, last). Returns how many. */
static uint32_t clip_spans(
	const struct layout_model *whole, uint32_t b, uint32_t first, uint32_t last, struct span *clipped)
{
	uint32_t count = 0;
	FOR_SPAN(k, whole->span_start, b) {
		struct span span = whole->span[k];
		if (span.last <= first || span.first >= last)
			continue;
		span.first = span.first > first ? span.first - first : 0;
		span.last = SMALLER(span.last, last) - first;
		clipped[count++] = span;
	}
	return count;
}

enum status layout_model_clip(const struct layout_model *whole, const uint32_t *buffer, uint32_t n, uint32_t first,
	uint32_t last, const int64_t *pin, struct layout_model *part)
{
	*part = (struct layout_model){ .unit = whole->unit, .sections = last - first };
	uint32_t spans = 0;
	FOR(i, n)
		spans += whole->span_start[buffer[i] + 1] - whole->span_start[buffer[i]];
	if (!ROOM(&part->arena, part->time, last - first) || layout_model_allocate(part, n, spans) != OK) {
		layout_model_free(part);
		return NO_MEMORY;
	}
	COPY(part->time, whole->time + first, (last - first));
	spans = 0;
	FOR(i, n) {
		uint32_t b = buffer[i];
		bool whole_life = whole->first[b] >= first && whole->last[b] <= last;
		part->origin[i] = b;
		part->size[i] = whole->size[b];
		part->alignment[i] = whole->alignment[b];
		part->fixed[i] = pin ? pin[b] : whole->fixed[b];
		spans += clip_spans(whole, b, first, last, part->span + spans);
		part->span_start[i + 1] = spans;
		part->width[i] = whole_life
			? whole->width[b]
			: part->time[part->span[spans - 1].last - 1] - part->time[part->span[part->span_start[i]].first] + 1;
	}
	layout_model_divide(part, find_unit(part));
	layout_model_describe(part);
	if (add_loads(part) != OK) {
		layout_model_free(part);
		return NO_MEMORY;
	}
	return OK;
}

enum status layout_model_part(const struct layout_model *whole, const uint32_t *buffer, uint32_t n, uint32_t first,
	uint32_t last, struct layout_model *part)
{
	return layout_model_clip(whole, buffer, n, first, last, NULL, part);
}

void layout_model_free(struct layout_model *model)
{
	arena_free(&model->arena);
	*model = (struct layout_model){ .unit = 1 };
}

int64_t layout_model_height(const struct layout_model *model, const int64_t *offset)
{
	int64_t height = 0;
	FOR(b, model->n)
		if (offset[b] + model->size[b] > height)
			height = offset[b] + model->size[b];
	return height;
}
