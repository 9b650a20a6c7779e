/* profiles.h: what software reaches of any chip's peaks, and what its measured steps on a chip take of that. */
#pragma once

#include "device_table.h"
#include "software_table.h"
#include "solver/cost/machine.h"

/* The figures that steps tell or don't: CASTS, those to 8 bits; TRAFFIC, of fused ops. */
enum reach { REACH_MATRIX, REACH_ATTENTION, REACH_PIECES, REACH_NARROW, REACH_TRAFFIC, REACH_EAGER, REACH_CASTS,
	REACH_NEAR, REACH_FAR, REACH_LAUNCH, REACH_COUNT };

struct profile {
	const char *name;               /* the software's own; "given" has another one's */
	uint16_t matrix, attention, pieces, narrow, fused, eager, casts;
	uint16_t launch, ramp;          /* nanoseconds */
	uint16_t dispatcher;            /* of multiprocessors */
	bool eager_loss;                /* op by op, on logits in fp32 */
	uint32_t told;                  /* bits of enum reach: what its steps tell; the rest is assumed */
};
const struct profile *profile_of(enum software software);

struct measured {
	enum software software;
	uint64_t on;                    /* bits of enum device: the presets whose chips these are */
	uint16_t factor, deviation;     /* thousandths of the profile's times that they take, give or take */
	uint16_t apart;                 /* device_preset.apart */
	const char *source;
};
/* NULL where none were. SOFTWARE_GIVEN: those of the software that it is as. DEVICE_NONE is an a100-80gb. */
const struct measured *profile_measured(enum device device, enum software software);

/* How far, in thousandths, times on a device are from those of steps, one standard deviation: where a chip's steps were
 * measured theirs, with the factor where that isn't counted; else what chips that weren't are off by. */
uint32_t profile_deviation(enum device device, enum software software);

const char *software_name(enum software software);
/* What a device's figures rest on: "measured steps of megatron-bridge on this chip: x1.05 +- 7 %, ...". Returns
 * text. */
char *profile_text(enum device device, enum software software, char *text, size_t size);
