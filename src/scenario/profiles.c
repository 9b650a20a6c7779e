/* profiles.c: measured steps of software on chips. */

#include "profiles.h"
#include "src/base/words.h"

#define ON(id) (UINT64_C(1) << DEVICE_##id)
/* What a software's steps tell; of links within nodes all do. */
#define TELLS(id) (1u << REACH_##id)
#define DEVIATION_UNMEASURED 150  /* of chips that were left out of the fit: 2 to 20 % */
#define SOFTWARE_AS_GIVEN SOFTWARE_MEGATRON_BRIDGE     /* which most chips were measured with */

const struct profile *profile_of(enum software software)
{
#define PROFILE(name, help, matrix, attention, pieces, narrow, fused, eager, casts, launch, ramp, dispatcher, loss, \
	told) { name, matrix, attention, pieces, narrow, fused, eager, casts, launch, ramp, dispatcher, loss, \
	(told) | TELLS(NEAR) }
#define X(id, ...) [SOFTWARE_##id] = PROFILE(__VA_ARGS__),
	static const struct profile profiles[SOFTWARE_COUNT] = { SOFTWARES(X) };
#undef X
	return &profiles[software == SOFTWARE_GIVEN ? SOFTWARE_AS_GIVEN : software];
}

static const struct measured measured[] = {
	{ SOFTWARE_MEGATRON_LM, ON(A100_40) | ON(A100_80), 1036, 94, 45,
		"the eight steps of table 5 of Korthikanti et al. (arXiv 2205.05198)" },
	{ SOFTWARE_MEGATRON_LM, ON(B200_180), 1214, 90, 47,
		"43 steps on eight, nothing overlapped (MooreThreads/SimuMax, release 1.2)" },
	{ SOFTWARE_MEGATRON_BRIDGE, ON(H100_80), 991, 53, 69,
		"ten of NVIDIA's published steps (NeMo 24.12, Megatron Bridge 25.11) and three of Llama 3 405B (arXiv 2407.21783)" },
	{ SOFTWARE_MEGATRON_BRIDGE, ON(GB200_186), 1024, 75, 52,
		"seven of NVIDIA's published steps (NeMo 25.04, Megatron Bridge 25.09 to 26.02)" },
	{ SOFTWARE_MEGATRON_BRIDGE, ON(GB300_279), 869, 64, 51,
		"twelve of NVIDIA's published steps (Megatron Bridge 25.11 to 26.06)" },
	{ SOFTWARE_MEGATRON_BRIDGE, ON(B200_180), 960, 76, 36,
		"eight of NVIDIA's published steps (Megatron Bridge 25.09 and 25.11)" },
	{ SOFTWARE_TORCHTITAN, ON(A100_40) | ON(A100_80), 889, 96, 54,
		"six published steps of Llama 2 and 3 on 64, not compiled (docs/performance.md of May 2024)" },
	{ SOFTWARE_TORCHTITAN, ON(H100_96), 946, 94, 49, "the 18 steps of its benchmarks of December 2024 (500 W)" },
	{ SOFTWARE_TORCHTITAN, ON(H100_80), 997, 86, 49, "three published steps of Llama 3 8B on 32 (AWS, 2024)" },
	{ SOFTWARE_TORCHTITAN, ON(H200_141), 910, 95, 49,
		"two published steps of Llama 3 8B on 32 and 64 (Trainy, June 2025)" },
	{ SOFTWARE_LLM_FOUNDRY, ON(H100_80), 1303, 52, 85,
		"32 published steps of MPT (mosaicml/llm-foundry, scripts/train/benchmarking, 2023)" },
	{ SOFTWARE_MAXTEXT, ON(TPU_V6E_32), 1264, 131, 55,
		"13 published steps on 8 to 512 (AI-Hypercomputer/tpu-recipes, training/trillium); what they keep in the host's "
		"memory is taken to be recomputed" },
	{ SOFTWARE_MAXTEXT, ON(TPU_V5P_95), 932, 128, 64,
		"ten published steps on 64 to 1,024 (AI-Hypercomputer/maxtext, configs/tpu/v5p and tiering; tpu-recipes)" },
};

const struct measured *profile_measured(enum device device, enum software software)
{
	if (software == SOFTWARE_GIVEN)
		software = SOFTWARE_AS_GIVEN;
	FOR(i, COUNT_OF(measured))
		if (measured[i].software == software &&
			(measured[i].on >> (device == DEVICE_NONE ? DEVICE_A100_80 : device) & 1))
			return &measured[i];
	return NULL;
}

uint32_t profile_deviation(enum device device, enum software software)
{
	const struct measured *steps = profile_measured(device, software);
	int uncounted = steps && software == SOFTWARE_GIVEN ? abs(steps->factor - 1000) : 0;
	return steps ? steps->deviation + (uint32_t)uncounted : DEVIATION_UNMEASURED;
}

const char *software_name(enum software software)
{
	return profile_of(software)->name;
}

char *profile_text(enum device device, enum software software, char *text, size_t size)
{
	const struct measured *steps = profile_measured(device, software);
	struct words words = { text, size, 0 };
	const char *name = software_name(software);
	*text = '\0';
	if (software == SOFTWARE_GIVEN)
		words_add(&words, "the data sheet alone, with %s's efficiencies; ", name);
	if (steps)
		words_add(&words, "measured steps of %s on this chip: x%.2f +- %.0f %%%s; %s", name, steps->factor / 1e3,
			steps->deviation / 10., software == SOFTWARE_GIVEN ? ", not counted" : "", steps->source);
	else
		words_add(&words, "no measured steps of %s on this chip: give or take %d %%", name, DEVIATION_UNMEASURED / 10);
	return text;
}
