/* profiles.h: what software reaches of a chip's peaks, fitted to its measured steps. */
#pragma once

#include "device_table.h"
#include "software_table.h"
#include "solver/cost/machine.h"

/* The figures that steps tell or don't. X(id, name) */
#define REACHES(X) \
	X(MATRIX, "products") X(ATTENTION, "attention in one kernel") X(PIECES, \
		"attention where devices share a sequence") X(NARROW, "8-bit products") X(TRAFFIC, "traffic of other ops") \
	X(EAGER, "eager kernels") X(NEAR, "links within nodes") X(FAR, "links between nodes") X(LAUNCH, "the launch")
#define X(id, name) REACH_##id,
enum reach { REACHES(X) REACH_COUNT };
#undef X

struct profile {
	struct efficiency matrix, vector, traffic;
	uint16_t near_share, far_share, attention, pieces, fused, eager, narrow;
	uint16_t launch;                /* nanoseconds */
	uint16_t apart;                 /* device_preset.apart */
	const char *chip;               /* what people call the chip that was measured */
	enum architecture architecture; /* of that chip */
	enum software software;         /* SOFTWARE_GIVEN: nothing was measured */
	uint64_t on;                    /* bits of enum device: the presets whose chips were measured */
	uint32_t told;                  /* bits of enum reach: what the steps tell; the rest is another profile's or assumed */
	const char *source;
};

/* How a preset comes by its profile. */
enum profile_basis {
	BASIS_FITTED,       /* to steps on this chip */
	BASIS_CARRIED,      /* to steps on another chip of its architecture */
	BASIS_ELSEWHERE     /* to none of these: another architecture's, or a guess */
};

struct reached {
	const struct profile *profile;
	enum profile_basis basis;
	bool missing; /* the software that was asked for was measured on no chip of the architecture: it is the preset's own
					 profile */
};

/* The profile of a preset with a software, SOFTWARE_GIVEN for the preset's own. DEVICE_NONE is an a100-80gb. */
struct reached profile_find(enum device device, enum software software);
/* Whether any software but its preset's own changes what is counted on the device. */
bool profile_has_others(enum device device);
const char *architecture_name(enum device device);
const char *software_name(enum software software);
/* Where the shares come from: "not fitted: no measurements, as fitted to A100", or the steps they were fitted to.
 * Returns text. */
char *profile_text(enum device device, enum software software, char *text, size_t size);
