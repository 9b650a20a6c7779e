/* wheel.c: squeaky wheel optimisation of the order of a dive (Joslin, Clements: "Squeaky Wheel Optimization",
 * J. Artificial Intelligence Research 10, 1999).
 *
 * Every turn dives, blames the buffers that stick out of the height wanted, moves them forward in the order, by more
 * the further they stick out, and dives again. After some turns without a better layout it goes on from the best order
 * seen; the moves are random, so that another way leads on from there. */
#include "steps.h"

#define IDLE_MOST 10        /* turns without a better layout */

/* How far what sticks out moves forward, at most, as a part of the whole order; one after another, as turns stay idle.
 */
static const double pushes[] = { 0.05, 0.015, 0.15, 0.005, 0.5 };
#define PUSHES (COUNT_OF(pushes))

struct placed { double place; uint32_t buffer; };

struct wheel {
	const struct layout_model *model;
	bool critical;
	int64_t enough;
	struct placed *placed, *best; /* [n] the order: places ascending */
	uint32_t *order;
	int64_t *trial;
	uint64_t random;
	uint32_t restarts;
};

COMPARATOR(compare_placed, struct placed, COMPARE(a->place, b->place, COMPARE(a->buffer, b->buffer, 0)))

static enum status wheel_set_up(struct wheel *wheel, const uint32_t *order)
{
	uint32_t n = wheel->model->n;
	MAKE(wheel->placed, n);
	MAKE(wheel->best, n);
	MAKE(wheel->order, n);
	MAKE(wheel->trial, n);
	NEED(wheel->placed && wheel->best && wheel->order && wheel->trial);
	FOR(i, n)
		wheel->best[i] = (struct placed){ (double)i / n, order[i] };
	return OK;
}

static void wheel_tear_down(struct wheel *wheel)
{
	mem_free(wheel->placed);
	mem_free(wheel->best);
	mem_free(wheel->order);
	mem_free(wheel->trial);
}

/* Moves what sticks out of the layout forward. */
static void push_forward(struct wheel *wheel, const int64_t *offset)
{
	const struct layout_model *model = wheel->model;
	FOR(i, model->n) {
		struct placed *placed = &wheel->placed[i];
		int64_t excess = offset[placed->buffer] + model->size[placed->buffer] - wheel->enough;
		placed->place = (double)i / model->n;
		if (excess > 0)
			placed->place -= pushes[wheel->restarts % PUSHES] * random_part(&wheel->random) *
				(1 + (double)excess / (double)wheel->enough);
	}
	SORT(wheel->placed, model->n, compare_placed);
	FOR(i, model->n)
		wheel->order[i] = wheel->placed[i].buffer;
}

/* One more dive; keeps its layout and order where they are better. */
static enum status wheel_turn(
	struct wheel *wheel, int64_t *offset, int64_t *height, bool *better, struct control *control)
{
	const struct layout_model *model = wheel->model;
	int64_t reached;
	enum status status = layout_dive(model, wheel->order, wheel->critical, INT64_MAX, wheel->trial, &reached, control);
	*better = status == OK && reached < *height;
	if (*better) {
		COPY(offset, wheel->trial, model->n);
		COPY(wheel->best, wheel->placed, model->n);
		*height = reached;
	}
	if (status == OK && control_spend(control, model->n))
		status = control_status(control);
	return status;
}

enum status layout_wheel(const struct layout_model *model, const uint32_t *order, bool critical, int64_t enough,
	uint64_t effort, uint64_t seed, int64_t *offset, int64_t *height, struct control *control)
{
	struct wheel wheel = { .model = model, .critical = critical, .enough = enough, .random = seed };
	struct control own = control_part(control, effort);
	enum status status = wheel_set_up(&wheel, order);
	const int64_t *last = offset;
	for (int idle = IDLE_MOST; status == OK && *height > enough; idle++) {
		bool better;
		if (idle == IDLE_MOST) {
			COPY(wheel.placed, wheel.best, model->n);
			last = offset;
			idle = 0;
			wheel.restarts++;
		}
		push_forward(&wheel, last);
		status = wheel_turn(&wheel, offset, height, &better, &own);
		last = wheel.trial;
		if (better)
			idle = -1;
	}
	control_spend(control, own.ticks);
	wheel_tear_down(&wheel);
	return status == LIMIT ? control_status(control) : status;
}
