/* schedules_bench.c: pipeline schedules as they are played, beside the published formulas: equal F, B and W, no
 * communication.
 *
 * F, B and W are the times of a stage's forward pass, its gradients of inputs and its gradients of weights; a stage is
 * all that a rank holds. The formulas are those of Zero Bubble's and DualPipe's authors
 * (github.com/sail-sg/zero-bubble, github.com/deepseek-ai/DualPipe; what V-Half and V-Min hold by the table of
 * huggingface.co/spaces/sail/pipeline-parallelism-with-controllable-memory), of Narayanan et al. (arXiv 2104.04473)
 * and Korthikanti et al. (arXiv 2205.05198). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "solver/pipeline/pipeline.h"

enum { UNIT = 12, CHUNKS = 2 };   /* a pass of a stage; of several pieces each takes its share */

struct played { double step, bound, idle, held; };

static struct played play(enum schedule schedule, uint32_t p, uint32_t v, uint32_t m)
{
	int64_t *time = mem_alloc(4 * (size_t)p * v, sizeof *time);
	struct pipeline pipeline = { .schedule = schedule,
		.ranks = p,
		.chunks = v,
		.microbatches = m,
		.forward = time,
		.backward = time + p * v,
		.weight = time + 2 * (size_t)p * v,
		.send = time + 3 * (size_t)p * v };
	struct pipeline_plan plan;
	struct error error = { 0 };
	uint32_t held = 0;
	for (uint32_t k = 0; k < p * v; k++) {
		time[k] = UNIT / v;
		time[p * v + k] = 2 * UNIT / v;
		time[2 * p * v + k] = UNIT / v;
	}
	if (pipeline_run(&pipeline, &plan, &error) != OK) {
		fprintf(stderr, "%s: %s\n", schedule_names[schedule], error.text);
		exit(1);
	}
	for (uint32_t r = 0; r < p; r++)
		held = plan.in_flight[r] > held ? plan.in_flight[r] : held;
	struct played played = { (double)plan.time / UNIT,
		(double)pipeline_bound(&pipeline, schedule_folded(schedule)) / UNIT, (double)pipeline_idle(&plan, p) / UNIT,
		(double)held / v };
	pipeline_free(&plan);
	mem_free(time);
	return played;
}

/* What the authors say: the time that a rank idles, in passes of a stage, and the most stages' activations that a rank
 * holds. */
static struct played formula(enum schedule schedule, double p, double m)
{
	switch (schedule) {
	case SCHEDULE_GPIPE: return (struct played){ .idle = 3 * (p - 1), .held = m };
	case SCHEDULE_1F1B: return (struct played){ .idle = 3 * (p - 1), .held = p };
	case SCHEDULE_INTERLEAVED: return (struct played){ .idle = 3 * (p - 1) / CHUNKS, .held = p + (p - 1) / CHUNKS };
	case SCHEDULE_ZB1P: return (struct played){ .idle = p - 1, .held = p };
	case SCHEDULE_ZB2P: return (struct played){ .idle = 0, .held = 2 * p - 1 };
	case SCHEDULE_ZBV: return (struct played){ .idle = 0, .held = p };
	case SCHEDULE_V_HALF: return (struct played){ .idle = 3 * (p - 1) / 2, .held = floor((p + 2) / 2) };
	case SCHEDULE_V_MIN: return (struct played){ .idle = 2 * (p - 1), .held = floor((p + 4) / 3) };
	default:
		return (struct played){ .idle = p - 1,
			.held = p + 0.5 };    /* stages are halves of a rank's there: (PP / 2 - 1)(F&B + B - 3 W), PP + 1 */
	}
}

int main(void)
{
	static const uint32_t sizes[][2] = { { 4, 8 }, { 8, 16 }, { 8, 64 }, { 16, 64 } };
	printf("| schedule | p | m | step | bound | idle | formula | held | formula "
		   "|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			uint32_t p = sizes[i][0], m = sizes[i][1],
					 v = schedule == SCHEDULE_INTERLEAVED || schedule_folded((enum schedule)schedule) ? CHUNKS : 1;
			struct played is = play((enum schedule)schedule, p, v, m), said = formula((enum schedule)schedule, p, m);
			printf("| %s | %u | %u | %g | %g | %g | %g | %g | %.3g |\n", schedule_names[schedule], p, m, is.step,
				is.bound, is.idle, said.idle, is.held, said.held);
		}
	return 0;
}
