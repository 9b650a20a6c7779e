/* least_squares.h: a few positive factors fitted to measurements of positive quantities.
 *
 * Least squares of logarithms by Gauss-Newton steps with halving (Nocedal and Wright, Numerical Optimization,
 * section 10.3), each factor weakly drawn to 1. Rows that lie far off count less (Huber's weights, Huber 1964), so that
 * one wrong measurement doesn't decide. */
#pragma once

#include "solver/base/base.h"

#define FIT_FACTORS 8

struct fit_row {
	double measured;
	double fitted;              /* with the factors of all rows */
	double left_out;            /* with the factors of all rows but this one */
	bool outlier;               /* off by more than 10 % and by more than four times what the rows are off by */
};

struct fit {
	struct fit_row *row;
	uint32_t rows, factors;
	/* What a row comes to under factors; positive. */
	double (*predict)(void *context, uint32_t row, const double *factor);
	void *context;
	double factor[FIT_FACTORS];     /* found; 1 where the rows don't tell */
	double deviation[FIT_FACTORS];  /* standard deviation of its logarithm; of a factor that isn't told nothing */
	bool told[FIT_FACTORS];         /* false: changing it hardly changes a row, or others make up for it */
};

/* rows >= 1, factors <= FIT_FACTORS. OK or NO_MEMORY. Some 10 (factors + 1) rows + 3 rows^2 predictions. Deterministic.
 */
enum status fit_rows(struct fit *fit);
