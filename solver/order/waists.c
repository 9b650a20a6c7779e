/* waists.c: finds memory-insensitive ops in one pass over a topological order.
 *
 * An op is comparable with all others exactly when every op before it has a successor not behind it, and every op
 * behind it a predecessor not before it. */
#include "job.h"

void order_find_waists(const struct order_model *model, const uint32_t *path, uint32_t count, const uint32_t *place,
	uint32_t *lowest, bool *waist)
{
	lowest[count] = UINT32_MAX;
	FOR_DOWN(i, count) {
		uint32_t behind = 0;
		FOR_ROW(j, &model->pred, path[i]) {
			uint32_t pred = model->pred.item[j];
			if (order_on_path(path, count, place, pred) && place[pred] + 1 > behind)
				behind = place[pred] + 1;
		}
		lowest[i] = SMALLER(behind, lowest[i + 1]);
	}
	uint32_t farthest = 0;     /* over ops so far, of their first successor's position */
	FOR(i, count) {
		waist[i] = farthest <= i && lowest[i + 1] > i;
		uint32_t first = UINT32_MAX;
		FOR_ROW(j, &model->succ, path[i]) {
			uint32_t succ = model->succ.item[j];
			if (order_on_path(path, count, place, succ) && place[succ] < first)
				first = place[succ];
		}
		farthest = LARGER(first, farthest);
	}
}
