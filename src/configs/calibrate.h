/* calibrate.h: a machine's constants fitted to measured steps. */
#pragma once

#include "model_source.h"

/* least_squares: a few positive factors fitted to measurements of positive quantities.
 *
 * Least squares of logarithms by Gauss-Newton steps with halving (Nocedal and Wright, Numerical Optimization,
 * section 10.3), each factor weakly drawn to 1. Rows that lie far off count less (Huber's weights, Huber 1964), so that
 * one wrong measurement doesn't decide. */

#define FIT_FACTORS 8

struct fit_row {
	double measured;
	double fitted;  /* with the factors of all rows */
	double left_out;  /* with the factors of all rows but this one */
	bool outlier;  /* off by more than 10 % and by more than four times what the rows are off by */
};

struct fit {
	struct fit_row *row;
	uint32_t rows, factors;
	/* What a row comes to under factors; positive. */
	double (*predict)(void *context, uint32_t row, const double *factor);
	void *context;
	double factor[FIT_FACTORS];  /* found; 1 where the rows don't tell */
	double deviation[FIT_FACTORS];  /* standard deviation of its logarithm; of a factor that isn't told nothing */
	bool told[FIT_FACTORS];  /* false: changing it hardly changes a row, or others make up for it */
};

/* rows >= 1, factors <= FIT_FACTORS. OK or NO_MEMORY. Some 10 (factors + 1) rows + 3 rows^2 predictions. Deterministic.
 */
enum status fit_rows(struct fit *fit);

/* Factors on the machine's constants: shares of the matrix peak, traffic of other ops, links within and between nodes.
 */
#define CALIBRATED(X) \
	X(MATRIX, "matrix efficiency") \
	X(ATTENTION, "attention") X(PIECES, "of a shared sequence") X(NARROW, "8-bit operands") \
		X(TRAFFIC, "traffic of other ops") X(EAGER, "of eager kernels") X(NEAR, "links within nodes") \
			X(FAR, "links between nodes")
#define X(id, name) CALIBRATED_##id,
enum calibrated { CALIBRATED(X) CALIBRATED_COUNT };
#undef X

struct measurement {
	struct scenario scenario;   /* that the search runs with, and what the row says of the step */
	bool float8;
	uint32_t hidden;  /* percent of collectives inside layers */
	struct model_source source;
	struct config_case *opened;
	char model[160];
	enum device device;  /* the row's own; DEVICE_NONE: the scenario's */
	uint32_t node;  /* devices of a node; 0: as the scenario says */
	uint32_t devices;
	struct config config;
	double seconds;  /* measured */
};

struct calibration {
	struct measurement *row;
	uint32_t rows;
	struct fit fit;  /* factors by enum calibrated, rows in order */
	struct fit_row *fitted;  /* [rows] */
	struct machine machine;  /* fitted */
};

/* Reads a CSV with a header. Columns: devices, seconds, and model, batch, microbatch, dp, tp, pp, cp, ep, sp, zero,
 * chunks, schedule, recompute, float8, hidden, device, devices_per_node; others are ignored. Rows of several presets
 * are fitted together: the factors are on each one's own constants. Defaults: the model given, 1, none; dp what is left
 * of devices, batch one microbatch for each. BAD_INPUT with the line. Free it in any case. */
enum status calibration_read(const char *path, const char *model, const struct scenario *scenario,
	struct calibration *calibration, struct error *error);
/* Fits the constants, see fit_rows(); *machine becomes the fitted one. */
enum status calibration_fit(
	struct calibration *calibration, struct machine *machine, const struct overheads *overheads, struct error *error);
/* Constants with how well they are told, and every row with its error, fitted and left out. */
void calibration_print(const struct calibration *calibration, FILE *file);
/* What the rows tell as knobs, one a line, for --set @FILE. scenario: what the machine came from. */
void calibration_save(const struct calibration *calibration, const struct scenario *scenario, FILE *file);
void calibration_free(struct calibration *calibration);
