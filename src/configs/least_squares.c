/* least_squares.c: Gauss-Newton on logarithms. */
#include <math.h>
#include <stdlib.h>

#include "calibrate.h"

#define PULL 1e-4  /* weight of a factor's squared logarithm */
#define STEPS 12
#define STEPS_LEFT_OUT 3
#define DIFFERENCE 0.04  /* of a logarithm: predictions are rounded */
#define NOISE 0.005  /* no fit is trusted better */
#define HARDLY 0.01  /* a row's logarithm by a factor's: below it the row doesn't tell */
#define VAGUE 0.35  /* a larger deviation is none */
#define LIMIT 2.3  /* factors stay between 1/10 and 10 */

struct fitting {
	struct fit *fit;
	double *slope;  /* [rows * factors] of a row's logarithm by the factors' */
	double *off, *weight, *sorted;  /* [rows] logarithm of prediction by measurement */
	double x[FIT_FACTORS];  /* logarithms of the factors */
};

static double off_by(const struct fitting *fitting, uint32_t row, const double *x)
{
	double factor[FIT_FACTORS];
	for (uint32_t f = 0; f < fitting->fit->factors; f++)
		factor[f] = exp(x[f]);
	return log(fitting->fit->predict(fitting->fit->context, row, factor) / fitting->fit->row[row].measured);
}

static double least_squares_loss(struct fitting *fitting, const double *x, uint32_t left_out)
{
	double sum = 0;
	for (uint32_t i = 0; i < fitting->fit->rows; i++) {
		fitting->off[i] = i == left_out ? 0 : off_by(fitting, i, x);
		sum += fitting->weight[i] * fitting->off[i] * fitting->off[i];
	}
	for (uint32_t f = 0; f < fitting->fit->factors; f++)
		sum += PULL * x[f] * x[f];
	return sum;
}

static void find_slopes(struct fitting *fitting)
{
	const struct fit *fit = fitting->fit;
	for (uint32_t f = 0; f < fit->factors; f++)
		for (uint32_t i = 0; i < fit->rows; i++) {
			double x[FIT_FACTORS], up;
			memcpy(x, fitting->x, sizeof x);
			x[f] += DIFFERENCE;
			up = off_by(fitting, i, x);
			x[f] -= 2 * DIFFERENCE;
			fitting->slope[i * fit->factors + f] = (up - off_by(fitting, i, x)) / (2 * DIFFERENCE);
		}
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

/* What rows are typically off by: the median, as a standard deviation. */
static double typical(struct fitting *fitting)
{
	uint32_t rows = fitting->fit->rows;
	for (uint32_t i = 0; i < rows; i++)
		fitting->sorted[i] = fabs(fitting->off[i]);
	qsort(fitting->sorted, rows, sizeof *fitting->sorted, by_size);
	return 1.4826 * fitting->sorted[rows / 2];
}

static void least_squares_weigh(struct fitting *fitting)
{
	double trusted = fmax(0.02, 1.345 * typical(fitting));
	for (uint32_t i = 0; i < fitting->fit->rows; i++)
		fitting->weight[i] = fitting->fit->rows < 4 ? 1 : fmin(1, trusted / fmax(1e-9, fabs(fitting->off[i])));
}

/* Solves a x = b for told factors by elimination with pivots; b becomes x. The matrix is positive definite. */
static void least_squares_solve(const bool *told, uint32_t n, double a[FIT_FACTORS][FIT_FACTORS], double *b)
{
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; told[k] && i < n; i++) {
			double share = i == k || !told[i] ? 0 : a[i][k] / a[k][k];
			for (uint32_t j = 0; j < n && share != 0; j++)
				a[i][j] -= share * a[k][j];
			b[i] -= share * b[k];
		}
	for (uint32_t k = 0; k < n; k++)
		b[k] = told[k] ? b[k] / a[k][k] : 0;
}

static void normal_matrix(const struct fitting *fitting, uint32_t left_out, double a[FIT_FACTORS][FIT_FACTORS])
{
	const struct fit *fit = fitting->fit;
	for (uint32_t f = 0; f < fit->factors; f++)
		for (uint32_t g = 0; g < fit->factors; g++) {
			a[f][g] = f == g ? PULL : 0;
			for (uint32_t i = 0; i < fit->rows; i++)
				a[f][g] += i == left_out
					? 0
					: fitting->weight[i] * fitting->slope[i * fit->factors + f] * fitting->slope[i * fit->factors + g];
		}
}

/* One step from x, whose residuals are in off[]; halved until the loss falls. False where it doesn't. */
static bool least_squares_step(struct fitting *fitting, double *x, uint32_t left_out)
{
	const struct fit *fit = fitting->fit;
	double a[FIT_FACTORS][FIT_FACTORS], down[FIT_FACTORS], before = 0;
	normal_matrix(fitting, left_out, a);
	for (uint32_t f = 0; f < fit->factors; f++) {
		down[f] = PULL * x[f];
		before += PULL * x[f] * x[f];
		for (uint32_t i = 0; i < fit->rows; i++)
			down[f] += i == left_out ? 0 : fitting->weight[i] * fitting->slope[i * fit->factors + f] * fitting->off[i];
	}
	for (uint32_t i = 0; i < fit->rows; i++)
		before += i == left_out ? 0 : fitting->weight[i] * fitting->off[i] * fitting->off[i];
	least_squares_solve(fit->told, fit->factors, a, down);
	for (double share = 1; share > 0.1; share /= 2) {
		double next[FIT_FACTORS];
		for (uint32_t f = 0; f < fit->factors; f++)
			next[f] = fmax(-LIMIT, fmin(LIMIT, x[f] - share * down[f]));
		if (least_squares_loss(fitting, next, left_out) < before * (1 - 1e-9)) {
			memcpy(x, next, fit->factors * sizeof *x);
			return true;
		}
	}
	least_squares_loss(fitting, x, left_out);
	return false;
}

static void least_squares_descend(struct fitting *fitting)
{
	least_squares_loss(fitting, fitting->x, NONE);
	bool moved = true;
	for (int i = 0; i < STEPS && moved; i++) {
		find_slopes(fitting);
		least_squares_weigh(fitting);
		moved = least_squares_step(fitting, fitting->x, NONE);
	}
	find_slopes(fitting);
}

/* Standard deviations of the factors; the one that is told least is given up, if the rows hardly depend on it or it is
 * vague. */
static bool least_squares_judge(struct fitting *fitting)
{
	struct fit *fit = fitting->fit;
	double noise = 0, worst = 0, weights = 0;
	uint32_t told = 0, least = NONE;
	for (uint32_t i = 0; i < fit->rows; i++) {
		noise += fitting->weight[i] * fitting->off[i] * fitting->off[i];
		weights += fitting->weight[i];
	}
	for (uint32_t f = 0; f < fit->factors; f++)
		told += fit->told[f];
	noise = fmax(NOISE * NOISE, noise / fmax(1, weights - told));
	for (uint32_t f = 0; f < fit->factors; f++) {
		double a[FIT_FACTORS][FIT_FACTORS], unit[FIT_FACTORS] = { 0 }, most = 0;
		for (uint32_t i = 0; i < fit->rows; i++)
			most = fmax(most, fabs(fitting->slope[i * fit->factors + f]));
		normal_matrix(fitting, NONE, a);
		unit[f] = 1;
		least_squares_solve(fit->told, fit->factors, a, unit);
		fit->deviation[f] = sqrt(noise * fmax(0, unit[f]));
		double doubt = most < HARDLY ? 1e9 : fit->deviation[f];
		if (fit->told[f] && doubt > VAGUE && doubt > worst) {
			worst = doubt;
			least = f;
		}
	}
	if (least == NONE)
		return true;
	fit->told[least] = false;
	memset(fitting->x, 0, sizeof fitting->x);
	return false;
}

/* From the fit of all rows, with its slopes: a row changes little. */
static void least_squares_leave_out(struct fitting *fitting)
{
	struct fit *fit = fitting->fit;
	for (uint32_t i = 0; i < fit->rows; i++) {
		double x[FIT_FACTORS];
		memcpy(x, fitting->x, sizeof x);
		least_squares_loss(fitting, x, i);
		for (int n = 0; n < STEPS_LEFT_OUT && fit->rows > 1 && least_squares_step(fitting, x, i); n++)
			;
		fit->row[i].left_out = exp(off_by(fitting, i, x)) * fit->row[i].measured;
	}
}

enum status fit_rows(struct fit *fit)
{
	OWN(arena) arena = { 0 };
	struct fitting fitting = { .fit = fit };
	bool fine = ROOM(&arena, fitting.slope, (size_t)fit->rows * fit->factors) && ROOM(&arena, fitting.off, fit->rows) &&
		ROOM(&arena, fitting.weight, fit->rows) && ROOM(&arena, fitting.sorted, fit->rows);
	for (uint32_t f = 0; f < fit->factors; f++)
		fit->told[f] = true;
	for (bool done = !fine; !done;) {
		for (uint32_t i = 0; i < fit->rows; i++)
			fitting.weight[i] = 1;
		least_squares_descend(&fitting);
		done = least_squares_judge(&fitting);
	}
	for (uint32_t f = 0; f < fit->factors; f++)
		fit->factor[f] = exp(fitting.x[f]);
	double usual = fine ? typical(&fitting) : 0;
	for (uint32_t i = 0; i < fit->rows && fine; i++) {
		fit->row[i].fitted = exp(fitting.off[i]) * fit->row[i].measured;
		fit->row[i].outlier = fit->rows >= 4 && fabs(fitting.off[i]) > fmax(0.1, 4 * usual);
	}
	if (fine)
		least_squares_leave_out(&fitting);
	return fine ? OK : NO_MEMORY;
}
