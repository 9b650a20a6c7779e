/* profiles.c: what is reached of the peaks, by architecture and software. One profile is the only place that knows it.
 */

#include "profiles.h"
#include "src/base/words.h"

#define M INT64_C(1000000)
#define G INT64_C(1000000000)
#define ON(id) (UINT64_C(1) << DEVICE_##id)
#define TOLD(id) (1u << REACH_##id)
#define MATRIX { { { 50 * M, 87 }, { 1 * G, 433 }, { 16 * G, 736 }, { 128 * G, 823 } } }
#define VECTOR { { { 50 * M, 100 }, { 500 * M, 300 }, { 4 * G, 700 }, { 16 * G, 950 } } }
#define TRAFFIC { { { 128000, 300 }, { 2 * M, 600 }, { 20 * M, 750 }, { 100 * M, 900 } } }

static const struct profile profile_A100 = { MATRIX, VECTOR, TRAFFIC, 430, 857, 1000, 1000, 782, 1000, 1000, 2000, 37,
	"A100", ARCHITECTURE_AMPERE, SOFTWARE_MEGATRON_LM, ON(A100_40) | ON(A100_80), TOLD(MATRIX) | TOLD(NEAR),
	"curves by size after Calculon's A100 (Isaev et al., SC 2023), scaled to the eight steps of table 5 of Korthikanti "
	"et al. (arXiv 2205.05198)" };
/* The launch is what 70B's layers on 8 devices tell, whose ops are small: its software's, since the processor that
 * launches kernels of that size is behind. Steps of A100s and H100s don't tell theirs: 10 us fit them as well as 2. */
static const struct profile profile_B200 = {
	{ { { 8 * G, 150 }, { 48 * G, 500 }, { 256 * G, 440 }, { 1024 * G, 435 } } }, VECTOR, TRAFFIC, 667, 857, 1000, 1000,
	450, 1000, 1000, 20000, 52, "B200", ARCHITECTURE_BLACKWELL, SOFTWARE_MEGATRON_LM, ON(B200_180),
	TOLD(MATRIX) | TOLD(TRAFFIC) | TOLD(NEAR) | TOLD(LAUNCH),
	"SimuMax's measured products, collectives and launches, scaled to steps of Llama 3 on eight B200, four "
	"microbatches, nothing overlapped (MooreThreads/SimuMax, release 1.2)"
};
/* The same chip with NVIDIA's software, fitted from the B200's figures: these steps tell products, attention and shared
 * sequences. They don't tell the launch, which is the B200's. */
static const struct profile profile_GB200 = {
	{ { { 8 * G, 204 }, { 48 * G, 680 }, { 256 * G, 598 }, { 1024 * G, 592 } } }, VECTOR, TRAFFIC, 667, 857, 510, 620,
	450, 1000, 1000, 20000, 36, "GB200", ARCHITECTURE_BLACKWELL, SOFTWARE_MEGATRON_BRIDGE, ON(GB200_186),
	TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(PIECES) | TOLD(NARROW),
	"seven of NVIDIA's published steps with 8-bit products (NeMo 25.04, Megatron Bridge 25.09 to 26.02)"
};
/* Fitted to steps with 8-bit products and collectives of tensor parallelism that 75 % hide, and to steps without
 * either. The steps don't tell attention, links and eager kernels: attention at 0.85 of large products is what its
 * makers report, eager kernels and links are guesses that the fit held. */
static const struct profile profile_H100 = { { { { 50 * M, 88 }, { 1 * G, 438 }, { 16 * G, 744 }, { 128 * G, 831 } } },
	VECTOR, TRAFFIC, 500, 857, 850, 828, 2020, 2800, 858, 2000, 50, "H100", ARCHITECTURE_HOPPER,
	SOFTWARE_MEGATRON_BRIDGE, ON(H100_80), TOLD(MATRIX) | TOLD(PIECES) | TOLD(NARROW) | TOLD(TRAFFIC),
	"ten of NVIDIA's published steps with 8-bit products (NeMo 24.12, Megatron Bridge 25.11) and three of Llama 3 405B "
	"in bf16 (arXiv 2407.21783)" };
/* Fused and eager kernels, 16- and 8-bit products, and shared sequences are told apart; links between nodes are not. */
static const struct profile profile_H100_TITAN_500W = {
	{ { { 50 * M, 49 }, { 1 * G, 243 }, { 16 * G, 412 }, { 128 * G, 485 } } }, VECTOR, TRAFFIC, 943, 857, 523, 744,
	1000, 1750, 791, 2000, 46, "H100", ARCHITECTURE_HOPPER, SOFTWARE_TORCHTITAN, ON(H100_96),
	TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(PIECES) | TOLD(NARROW) | TOLD(EAGER),
	"the 18 steps of torchtitan's benchmarks of December 2024 (PyTorch FSDP2; 500 W)"
};
/* The same at 700 W, fitted from the figures at 500 W, with links as the H100 has them: these steps tell products,
 * eager kernels and links; attention is that of 500 W. */
static const struct profile profile_H100_TITAN = {
	{ { { 50 * M, 56 }, { 1 * G, 280 }, { 16 * G, 475 }, { 128 * G, 559 } } }, VECTOR, TRAFFIC, 305, 857, 523, 744,
	1000, 1830, 911, 2000, 46, "H100 and H200", ARCHITECTURE_HOPPER, SOFTWARE_TORCHTITAN, ON(H100_80) | ON(H200_141),
	TOLD(MATRIX) | TOLD(NARROW) | TOLD(EAGER) | TOLD(NEAR),
	"three published steps of Llama 3 8B on 32 H100s (AWS, 2024) and two on 32 and 64 H200s (Trainy, June 2025), at "
	"700 W; attention as at 500 W (torchtitan's benchmarks of December 2024)"
};
/* Uncompiled steps: what fused ones reach of it isn't told. Links are at the data sheet's, above which these steps
 * would have them. */
static const struct profile profile_A100_TITAN = {
	{ { { 50 * M, 70 }, { 1 * G, 348 }, { 16 * G, 591 }, { 128 * G, 661 } } }, VECTOR, TRAFFIC, 1000, 1000, 850, 1000,
	782, 1640, 1000, 2000, 46, "A100", ARCHITECTURE_AMPERE, SOFTWARE_TORCHTITAN, ON(A100_40) | ON(A100_80),
	TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(EAGER),
	"six published steps of Llama 2 and 3 on 64 A100s, not compiled (torchtitan, docs/performance.md of May 2024)"
};
/* MPT's steps tell products, attention, other ops' traffic and links within nodes. */
static const struct profile profile_H100_FOUNDRY = {
	{ { { 50 * M, 61 }, { 1 * G, 302 }, { 16 * G, 513 }, { 128 * G, 573 } } }, VECTOR, TRAFFIC, 505, 857, 327, 828,
	1598, 2800, 858, 2000, 63, "H100", ARCHITECTURE_HOPPER, SOFTWARE_LLM_FOUNDRY, ON(H100_80),
	TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(TRAFFIC) | TOLD(NEAR),
	"32 published steps of MPT (mosaicml/llm-foundry, scripts/train/benchmarking, 2023)"
};
/* From the GB200's figures: these steps tell products of 8 bits, others and attention from the two models, and that
 * pieces of a sequence cost nothing. */
static const struct profile profile_B200_BRIDGE = {
	{ { { 8 * G, 195 }, { 48 * G, 651 }, { 256 * G, 572 }, { 1024 * G, 566 } } }, VECTOR, TRAFFIC, 667, 857, 510, 1000,
	450, 1000, 1152, 20000, 35, "B200", ARCHITECTURE_BLACKWELL, SOFTWARE_MEGATRON_BRIDGE, ON(B200_180),
	TOLD(MATRIX) | TOLD(PIECES) | TOLD(NARROW),
	"eight of NVIDIA's published steps of two models with 8-bit products (Megatron Bridge 25.09 and 25.11); the rest "
	"as fitted to GB200"
};
/* From the GB200's figures, which these steps are 12 to 27 % shorter than: the data sheets' peaks of 8 and 16 bits are
 * the GB200's, but not the power. */
static const struct profile profile_GB300 = {
	{ { { 8 * G, 289 }, { 48 * G, 965 }, { 256 * G, 849 }, { 1024 * G, 840 } } }, VECTOR, TRAFFIC, 667, 857, 341, 942,
	450, 1000, 1000, 20000, 34, "GB300", ARCHITECTURE_BLACKWELL_ULTRA, SOFTWARE_MEGATRON_BRIDGE, ON(GB300_279),
	TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(PIECES),
	"twelve of NVIDIA's published steps of four models with 8-bit products (Megatron Bridge 25.11 to 26.06); the rest "
	"as fitted to GB200"
};
/* From the A100's curves. These steps shard parameters and nothing else; they tell products, attention and links within
 * a slice. */
static const struct profile profile_V6E = { { { { 50 * M, 75 }, { 1 * G, 371 }, { 16 * G, 631 }, { 128 * G, 705 } } },
	VECTOR, TRAFFIC, 360, 857, 435, 1000, 782, 1000, 1000, 2000, 43, "TPU v6e", ARCHITECTURE_TPU_V6E, SOFTWARE_MAXTEXT,
	ON(TPU_V6E_32), TOLD(MATRIX) | TOLD(ATTENTION) | TOLD(NEAR),
	"13 published steps of MaxText on 8 to 512 of them (AI-Hypercomputer/tpu-recipes, training/trillium); what they "
	"keep in the host's memory is taken to run again" };
/* These steps tell products alone, and that the A100's curve fits them. */
static const struct profile profile_V5P = { MATRIX, VECTOR, TRAFFIC, 430, 857, 1000, 1000, 782, 1000, 1000, 2000, 64,
	"TPU v5p", ARCHITECTURE_TPU_V5P, SOFTWARE_MAXTEXT, ON(TPU_V5P_95), TOLD(MATRIX),
	"ten published steps of MaxText on 64 to 1,024 of them (AI-Hypercomputer/maxtext, configs/tpu/v5p and tiering; "
	"tpu-recipes)" };
static const struct profile profile_CPU = { { { { 50 * M, 500 }, { 1 * G, 600 }, { 16 * G, 700 }, { 128 * G, 700 } } },
	{ { { 1 * M, 700 }, { 50 * M, 700 }, { 1 * G, 700 }, { 16 * G, 700 } } },
	{ { { 128000, 700 }, { 2 * M, 700 }, { 20 * M, 700 }, { 100 * M, 700 } } }, 700, 900, 1000, 1000, 1000, 1000, 1000,
	1000, 0, "processor", ARCHITECTURE_PROCESSOR, SOFTWARE_GIVEN, 0, 0,
	"not fitted: no measurements, 70 % of the peaks" };

/* Of those that have the software and the architecture the first is carried over to chips that weren't measured. */
static const struct profile *const profiles[] = { &profile_A100, &profile_A100_TITAN, &profile_B200, &profile_GB200,
	&profile_GB300, &profile_B200_BRIDGE, &profile_H100, &profile_H100_TITAN, &profile_H100_TITAN_500W,
	&profile_H100_FOUNDRY, &profile_V5P, &profile_V6E };
#define PROFILES (int)(sizeof profiles / sizeof *profiles)

#define X(id, word, gib, traffic, f64, f32, f16, bf16, f8, vector, near, near_hop, far, far_hop, context, channels, \
	architecture, profile, text) \
	[DEVICE_##id] = { ARCHITECTURE_##architecture, &profile_##profile },
static const struct own {
	enum architecture architecture;
	const struct profile *profile;
} own[DEVICE_COUNT] = { DEVICES(X) };
#undef X

static enum device known(enum device device)
{
	return device == DEVICE_NONE ? DEVICE_A100_80 : device;
}

static struct reached based(enum device device, const struct profile *profile)
{
	enum profile_basis basis = profile->on >> device & 1 ? BASIS_FITTED
		: profile->on && profile->architecture == own[device].architecture ? BASIS_CARRIED
		: BASIS_ELSEWHERE;
	return (struct reached){ .profile = profile, .basis = basis };
}

struct reached profile_find(enum device device, enum software software)
{
	const struct profile *found = NULL;
	device = known(device);
	for (int i = 0; i < PROFILES && software != SOFTWARE_GIVEN; i++) {
		const struct profile *profile = profiles[i];
		if (profile->software != software || profile->architecture != own[device].architecture)
			continue;
		if (!found || (profile->on >> device & 1))
			found = profile;
	}
	struct reached reached = based(device, found ? found : own[device].profile);
	reached.missing = software != SOFTWARE_GIVEN && !found;
	return reached;
}

bool profile_has_others(enum device device)
{
	device = known(device);
	for (int i = SOFTWARE_GIVEN + 1; i < SOFTWARE_COUNT; i++)
		if (profile_find(device, (enum software)i).profile != own[device].profile)
			return true;
	return false;
}

const char *architecture_name(enum device device)
{
	static const char *const names[] = {
#define X(id, name) name,
		ARCHITECTURES(X)
#undef X
	};
	return names[own[known(device)].architecture];
}

const char *software_name(enum software software)
{
	static const char *const names[] = {
#define X(id, name, help) name,
		SOFTWARES(X)
#undef X
	};
	return names[software];
}

static void add_own(struct words *words, const struct reached *reached)
{
	const struct profile *profile = reached->profile;
	if (reached->basis == BASIS_FITTED || profile->on == 0)
		words_add(words, "%s", profile->source);
	else
		words_add(words, "not fitted: no measurements, as fitted to %s%s", profile->chip,
			reached->basis == BASIS_CARRIED ? ", the same chip" : "");
}

char *profile_text(enum device device, enum software software, char *text, size_t size)
{
	struct reached reached = profile_find(device, software);
	struct words words = { text, size, 0 };
	*text = '\0';
	if (reached.missing)
		words_add(&words, "not fitted: %s wasn't measured on %s; the preset's own: ", software_name(software),
			architecture_name(device));
	if (reached.missing || software == SOFTWARE_GIVEN)
		add_own(&words, &reached);
	else
		words_add(&words, "%s, %s%s: %s", software_name(software),
			reached.basis == BASIS_FITTED ? "fitted to " : "carried over from ", reached.profile->chip,
			reached.profile->source);
	return text;
}
