/* device_fit.h: a device's figures from measured ops and collectives.
 *
 * One after the other: the launch from the smallest ops; memory traffic from copies, casts and fused kernels; other ops
 * by it; matrix products by the format that takes most of their time, other formats and attention by them; links from
 * collectives within a node and across nodes. A curve is first moved as a whole, by the median of its ops, then point
 * by point (fit.h). What too few ops tell stays the base preset's. */
#pragma once

#include "least_squares.h"
#include "op_samples.h"
#include "src/scenario/own_device.h"

struct figure_fit {
	bool told;
	uint32_t shapes, count;      /* that it rests on; count: ops or collectives */
	double off, left_out; /* median error of its shapes, and of those left out of the fit; left_out < 0: not fitted
							 point by point */
};

struct device_fit {
	enum device base;
	struct device_preset preset;     /* fitted */
	struct figure_fit figure[FIGURE_COUNT];
};

/* The preset that a device's own name means: "NVIDIA H100 80GB HBM3" with its bytes of memory (0: not known).
 * DEVICE_NONE: none. */
enum device device_called(const char *name, int64_t memory);
/* OK or NO_MEMORY. memory: of the device, 0: the preset's. O(shapes^2) at most, of the 300 that take most time. */
enum status device_fit_find(struct device_fit *fit, enum device base, int64_t memory, const struct samples *samples);
/* For people: what every figure was and is, on how many ops it rests, which stay; each line behind a prefix. */
void device_fit_print(const struct device_fit *fit, const struct samples *samples, const char *prefix, FILE *file);
/* The preset's file: that as comments, then the figures. title: how it came about. */
void device_fit_save(
	const struct device_fit *fit, const struct samples *samples, const char *title, const char *name, FILE *file);
