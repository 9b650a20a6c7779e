/* sort.c: orders of buffers by contention, lifetime, area and the like. */
#include "model.h"

#define KEYS 3

struct entry { double key[KEYS]; uint32_t buffer; };

COMPARATOR(compare_entries, struct entry, COMPARE(b->key[0], a->key[0], COMPARE(b->key[1], a->key[1], COMPARE(
	b->key[2], a->key[2], COMPARE(a->buffer, b->buffer, 0)))))

/* The largest load between the first and the last section of every buffer, by a sparse table. */
static enum status contention(const struct layout_model *model, double *value)
{
	uint32_t sections = model->sections;
	HELD int64_t *MAKE(level, sections);
	HELD uint32_t *MAKE(power, model->n);
	NEED(level && power);
	FOR(b, model->n)
		while (2u << power[b] <= model->last[b] - model->first[b])
			power[b]++;
	COPY(level, model->load, sections);
	/* level[s] is the maximum of sections s .. s + 2^p - 1; the buffers whose width calls for p are read off. */
	FOR_WHILE(p, 32, 1u << p <= sections) {
		FOR(b, model->n) {
			if (power[b] != p)
				continue;
			int64_t left = level[model->first[b]], right = level[model->last[b] - (1u << p)];
			value[b] = (double)LARGER(left, right);
		}
		for (uint32_t s = 0; s + (2u << p) <= sections; s++)
			if (level[s + (1u << p)] > level[s])
				level[s] = level[s + (1u << p)];
	}
	return OK;
}

/* Overlapping buffers of each, counted as all but those that end before it or start after it; gaps are ignored. */
static enum status overlaps(const struct layout_model *model, double *value)
{
	HELD uint32_t *MAKE(started, (size_t)model->sections + 1);
	HELD uint32_t *MAKE(ended, (size_t)model->sections + 1);
	NEED(started && ended);
	FOR(b, model->n) {
		started[model->first[b]]++;
		ended[model->last[b]]++;
	}
	for (uint32_t s = 1; s <= model->sections; s++) {
		started[s] += started[s - 1];
		ended[s] += ended[s - 1];
	}
	FOR(b, model->n)
		value[b] = (double)(started[model->last[b] - 1] - ended[model->first[b]] - 1);
	return OK;
}

static double simple_key(const struct layout_model *model, char key, uint32_t b)
{
	double sections = (double)(model->last[b] - model->first[b]);
	double width = (double)model->width[b];
	switch (key) {
	case 'W': return width;
	case 'A': return width * (double)model->size[b];
	case 'Z': return (double)model->size[b];
	case 'C': return sections;
	case 'L': return (double)model->first[b];
	case 'E': return -(double)model->first[b];
	default:  return 0;
	}
}

enum status layout_sort(const struct layout_model *model, const char *keys, uint32_t *order)
{
	HELD struct entry *MAKE(entry, model->n);
	HELD double *MAKE(value, model->n);
	NEED(entry && value);
	for (int i = 0; i < KEYS && keys[i]; i++) {
		if (keys[i] == 'T')
			TRY(contention(model, value));
		else if (keys[i] == 'O')
			TRY(overlaps(model, value));
		else
			FOR(b, model->n)
				value[b] = simple_key(model, keys[i], b);
		FOR(b, model->n)
			entry[b].key[i] = value[b];
	}
	FOR(b, model->n)
		entry[b].buffer = b;
	SORT(entry, model->n, compare_entries);
	FOR(i, model->n)
		order[i] = entry[i].buffer;
	return OK;
}
