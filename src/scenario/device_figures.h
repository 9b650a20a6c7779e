/* device_figures.h: everything that is counted with of a device, beside what its data sheet says and why the two
 * differ, for people. */
#pragma once

#include "scenario.h"

#define DEVICE_FIGURES 24

/* What a figure that no data sheet has rests on. */
enum figure_basis {
	FIGURE_PLAIN,           /* the data sheet, or a knob */
	FIGURE_FITTED,          /* to steps of the software on this chip */
	FIGURE_CARRIED,         /* to its steps on another chip of the architecture */
	FIGURE_ASSUMED,         /* those steps don't tell it, or there are none */
	FIGURE_YOURS,           /* the user's own */
	FIGURE_BASES
};

struct device_figure {
	const char *name;       /* "link within a node" */
	const char *set;        /* "intra_bandwidth", the name that sets it */
	enum figure_basis basis;
	char sheet[24];         /* "300 GB/s", "" where no data sheet has it */
	char counted[40];       /* "129 GB/s", "27 to 257 TFLOP/s" */
	char why[260];          /* "43 % of the data sheet's", "the knob intra_bandwidth" */
};

/* The figures of a scenario's device: its preset, and the knobs that override it. Returns how many; at most
 * DEVICE_FIGURES. */
int device_figures(const struct scenario *scenario, struct device_figure *figure);
/* Where the data sheet's figures come from, and what was measured; of a device of the user's own, which figures are. */
const char *device_sheet_source(enum device device);
char *device_reached_text(const struct scenario *scenario, char *text, size_t size);
/* No device is named: times are an a100-80gb's. */
bool device_is_assumed(const struct scenario *scenario);
#define DEVICE_ASSUMED "as on an a100-80gb (no device is set)"
/* The software whose steps the figures rest on. */
const char *device_software(const struct scenario *scenario);
/* profile_deviation() of a scenario's times; 0 where that isn't known, as with figures of one's own. And " +- 8 %", or
 * nothing. Returns text. */
uint32_t device_deviation(const struct scenario *scenario);
char *device_deviation_text(const struct scenario *scenario, char text[16]);
/* The same, and whose times they are where no device is named: what follows a time. Returns text. */
#define DEVICE_CLOCK_TEXT 64
char *device_clock_text(const struct scenario *scenario, char text[DEVICE_CLOCK_TEXT]);
/* How far apart, in thousandths, the errors of two estimates are on the scenario's device: device_preset.apart; 0 where
 * that isn't known, as with figures of one's own. */
uint32_t device_errors_apart(const struct scenario *scenario);
