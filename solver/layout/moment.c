/* moment.c: what is alive at one moment may need more than its sum.
 *
 * Offsets are multiples of the alignments' common divisor, so all but the topmost buffer of a stack take up multiples
 * of it. Pinned buffers leave holes: into one goes at most the largest sum of sizes that it holds (subset sums), the
 * rest lies above the highest pin. That several holes may count one buffer makes the bound lower, not wrong. */
#include "steps.h"

#define SUMS_MOST 65536    /* sums, in units of their common divisor */
#define GRAIN_MOST (INT64_C(1) << 31) /* what is aligned to more is a mistake, and sums would overflow */
#define WORK_MOST UINT64_C(20000000) /* looks at buffers */

struct moment {
	const struct layout_model *model;
	uint32_t *free, *pinned;   /* [n] buffers alive, the pinned ones by offset */
	uint32_t free_count, pinned_count;
	int64_t *size;             /* [n] of the free ones, in grains, rounded up */
	int64_t grain;             /* all their offsets are multiples of it */
	uint64_t sums[SUMS_MOST / 64 + 1];
};

static void moment_list_alive(struct moment *moment, uint32_t section)
{
	const struct layout_model *model = moment->model;
	moment->free_count = moment->pinned_count = 0;
	moment->grain = 0;
	FOR(b, model->n) {
		bool alive = false;
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1] && !alive; k++)
			alive = model->span[k].first <= section && section < model->span[k].last;
		if (!alive)
			continue;
		if (model->fixed[b] < 0) {
			moment->free[moment->free_count++] = b;
			moment->grain = common_divisor(model->alignment[b], moment->grain);
			continue;
		}
		uint32_t i = moment->pinned_count++;
		for (; i > 0 && model->fixed[moment->pinned[i - 1]] > model->fixed[b]; i--)
			moment->pinned[i] = moment->pinned[i - 1];
		moment->pinned[i] = b;
	}
	FOR(i, moment->free_count)
		moment->size[i] = (model->size[moment->free[i]] + moment->grain - 1) / moment->grain;
}

/* The largest sum of sizes that a hole of so many grains holds, or a little more where that takes too long. */
static int64_t largest_sum(struct moment *moment, int64_t hole)
{
	int64_t divisor = 0, all = 0;
	FOR(i, moment->free_count) {
		if (moment->size[i] > hole)
			continue;
		divisor = common_divisor(moment->size[i], divisor);
		all += moment->size[i];
	}
	if (all <= hole || divisor == 0 || hole / divisor >= SUMS_MOST)
		return SMALLER(all, hole);
	uint32_t words = (uint32_t)(hole / divisor / 64 + 1);
	CLEAR(moment->sums, words);
	moment->sums[0] = 1;
	FOR(i, moment->free_count) {
		if (moment->size[i] > hole)
			continue;
		uint32_t shift = (uint32_t)(moment->size[i] / divisor), far = shift / 64, near = shift % 64;
		for (uint32_t w = words; w-- > far;)
			moment->sums[w] |= moment->sums[w - far] << near | (near && w > far ? moment->sums[w - far - 1] >> (64 - near) : 0);
	}
	for (int64_t sum = hole / divisor; sum > 0; sum--)
		if (moment->sums[sum / 64] >> sum % 64 & 1)
			return sum * divisor;
	return 0;
}

/* No layout is lower, by what is alive in the section. */
static int64_t section_bound(struct moment *moment, uint32_t section)
{
	const struct layout_model *model = moment->model;
	moment_list_alive(moment, section);
	int64_t rest = 0, saving = 0, top = 0;
	if (moment->grain > GRAIN_MOST)
		return 0;
	FOR(i, moment->free_count) {
		int64_t tail = moment->size[i] * moment->grain - model->size[moment->free[i]];
		rest += moment->size[i];
		saving = LARGER(tail, saving);
	}
	FOR_WHILE(i, moment->pinned_count, rest > 0) {
		uint32_t pin = moment->pinned[i];
		int64_t bottom = align_up(top, moment->grain);
		if (model->fixed[pin] > bottom)
			rest -= largest_sum(moment, (model->fixed[pin] - bottom + moment->grain - 1) / moment->grain);
		if (model->fixed[pin] + model->size[pin] > top)
			top = model->fixed[pin] + model->size[pin];
	}
	return rest > 0 ? align_up(top, moment->grain) + rest * moment->grain - saving : 0;
}

struct full { int64_t load; uint32_t section; };

COMPARATOR(compare_full, struct full, COMPARE(b->load, a->load, COMPARE(a->section, b->section, 0)))

enum status layout_moment_bound(const struct layout_model *model, int64_t *bound, uint32_t *section)
{
	*bound = 0;
	if (!model->pins && !model->aligned)
		return OK;
	HELD struct moment *MAKE(moment, 1);
	HELD struct full *MAKE(full, model->sections);
	HELD uint32_t *MAKE(lists, (size_t)model->n * 2);
	HELD int64_t *MAKE(size, model->n);
	NEED(moment && full && lists && size);
	*moment = (struct moment){ .model = model, .free = lists, .pinned = lists + model->n, .size = size };
	FOR(s, model->sections)
		full[s] = (struct full){ model->load[s], s };
	SORT(full, model->sections, compare_full);
	uint64_t work = 0;
	FOR_WHILE(i, model->sections, (i == 0 || work < WORK_MOST)) {
		int64_t height = section_bound(moment, full[i].section);
		work += model->n;
		if (height > *bound) {
			*bound = height;
			*section = full[i].section;
		}
	}
	return OK;
}
