/* random_buffers.h: random buffers with everything that may be special about them. */
#pragma once

#include "solver/layout/layout.h"

#define MOST 64

struct sample {
	struct buffers buffers;
	int64_t lower[MOST], upper[MOST], size[MOST], alignment[MOST], fixed[MOST];
	uint32_t piece_start[MOST + 1];
	struct piece piece[MOST * 3];
};

static inline int64_t below(uint64_t *seed, int64_t limit)
{
	return (int64_t)(random_next(seed) % (uint64_t)limit);
}

enum { PLAIN = 0, ALIGNED = 1, PINNED = 2, GAPPED = 4 };

/* One to three pieces with gaps between them. */
static inline void cut_pieces(struct sample *sample, uint32_t i, uint64_t *seed)
{
	uint32_t *count = &sample->piece_start[i + 1];
	*count = sample->piece_start[i];
	int64_t step = sample->lower[i], upper = sample->upper[i];
	if (below(seed, 2))
		return;
	while (step < upper && *count - sample->piece_start[i] < 3) {
		struct piece piece = { step, step + 1 + below(seed, upper - step) };
		sample->piece[(*count)++] = piece;
		step = piece.upper + below(seed, 3);
	}
}

static inline void draw(struct sample *sample, uint32_t n, int64_t steps, int64_t sizes, int kind, uint64_t *seed)
{
	memset(sample, 0, sizeof *sample);
	sample->buffers = (struct buffers){ n, sample->lower, sample->upper, sample->size, NULL, NULL, NULL, NULL, NULL,
		NULL };
	for (uint32_t i = 0; i < n; i++) {
		sample->lower[i] = below(seed, steps);
		sample->upper[i] = sample->lower[i] + 1 + below(seed, steps - sample->lower[i]);
		sample->size[i] = 1 + below(seed, sizes);
		sample->alignment[i] = INT64_C(1) << below(seed, 3);
		sample->fixed[i] = below(seed, 4) ? -1 : below(seed, sizes) / sample->alignment[i] * sample->alignment[i];
		if (!(kind & ALIGNED) && sample->fixed[i] >= 0)
			sample->fixed[i] = below(seed, 2 * sizes);
		cut_pieces(sample, i, seed);
	}
	if (kind & ALIGNED)
		sample->buffers.alignment = sample->alignment;
	if (kind & PINNED)
		sample->buffers.fixed = sample->fixed;
	if (kind & GAPPED) {
		sample->buffers.piece_start = sample->piece_start;
		sample->buffers.piece = sample->piece;
	}
}
