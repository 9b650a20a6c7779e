/* devices.c: device presets. */
#include <math.h>

#include "devices.h"
#include "profiles.h"
#include "src/base/words.h"

/* ---- presets ---- */

/* Of collectives' links, whatever the chip, as fitted to all measured steps: picoseconds of a hop, thousandths of the
 * data sheet's rates. */
#define NEAR_HOP INT64_C(3400000)
#define FAR_HOP INT64_C(5100000)
#define NEAR_SHARE 578
#define FAR_SHARE 867
#define RATE(value, unit) ((int64_t)((value) * (unit)))
#define MACHINE(gib, traffic, f64, f32, f16, bf16, f8, vector, watts, near_peak, far_peak) { \
	.memory = INT64_C(gib) << 30, .memory_rate = RATE(traffic, 1e9), .vector_rate = RATE(vector, 1e12), \
	.matrix_rate = { RATE(f64, 1e12), RATE(f32, 1e12), RATE(f16, 1e12), RATE(bf16, 1e12), RATE(f8, 1e12) }, \
	.power = watts, .near = { NEAR_HOP, RATE(near_peak, 1e9) }, .far = { FAR_HOP, RATE(far_peak, 1e9) } }
#define X(id, word, gib, traffic, f64, f32, f16, bf16, f8, vector, watts, near, far, context, channels, host, text) \
	[DEVICE_##id] = { word, text, MACHINE(gib, traffic, f64, f32, f16, bf16, f8, vector, watts, near, far), context, \
		channels, host },
static const struct row {
	const char *name, *source;
	struct machine machine;
	uint32_t context, channels, host;
} rows[DEVICE_COUNT] = { DEVICES(X) };
#undef X

/* Shares that ops reach by their size, after Calculon's A100 (Isaev et al., SC 2023). */
static const struct efficiency vector = { { { 50000000, 100 }, { 500000000, 300 }, { 4000000000, 700 },
							{ 16000000000, 950 } } },
							   traffic = { { { 128000, 300 }, { 2000000, 600 }, { 20000000, 750 }, { 100000000, 900 } } };

/* To the host, one direction: PCI Express of the device's generation with 16 lanes; a processor's memory is its own. */
static const struct host_link {
	struct link sheet;
	uint32_t reached;       /* thousandths */
	const char *source;
} host_links[] = {
	{ { 0, 0 }, 1000, "a processor's memory is its own: nothing is copied" },
	[3] = { { 5000000, RATE(15.75, 1e9) }, 800, "PCI Express 3, 16 lanes, less a fifth for packets and set-up" },
	{ { 5000000, RATE(31.5, 1e9) }, 800, "PCI Express 4, 16 lanes, less a fifth for packets and set-up" },
	{ { 5000000, RATE(63, 1e9) }, 800, "PCI Express 5, 16 lanes, less a fifth for packets and set-up" },
	{ { 2000000, RATE(225, 1e9) }, 800,
		"NVLink-C2C, 900 GB/s both ways for two devices, less a fifth for packets and set-up" },
};

/* Of a ring's channel: the buffers of three protocols that a device receives into, and what it sends with, in pages of
 * 2 MiB: 10 and 2 MiB as logged on H100 (NVIDIA/nccl issue 1685). Sends to all peers at once (all-to-all) take more. */
#define CHANNEL_BYTES (INT64_C(12) << 20)

/* What has no unit of its own is computed in the next wider format: 8 bits in 16, bf16 as PyTorch does without such
 * units, in f32. */
static void fill_rates(int64_t rate[FORMAT_COUNT])
{
	int64_t half = rate[rate[FORMAT_BF16] > rate[FORMAT_F16] ? FORMAT_BF16 : FORMAT_F16];
	if (rate[FORMAT_BF16] == 0)
		rate[FORMAT_BF16] = rate[FORMAT_F32];
	if (rate[FORMAT_F8] == 0)
		rate[FORMAT_F8] = half;
}

/* What the board's power leaves of a peak, in thousandths: a TFLOP/s of 16 bits takes a watt, of 8 bits half of it, and
 * how the clock goes down with what is missing is fitted to all measured steps. Products of more bits aren't told. */
#define POWER_EXPONENT .45

static uint16_t devices_sustained(const struct device_preset *preset, enum machine_format format)
{
	const int64_t *sheet = preset->matrix_sheet;
	if (format == FORMAT_F8 && sheet[format] == 0)
		format = sheet[FORMAT_BF16] > sheet[FORMAT_F16] ? FORMAT_BF16 : FORMAT_F16;
	double watts = (double)sheet[format] / (format == FORMAT_F8 ? 2e12 : 1e12);
	bool limits = preset->machine.power > 0 && format >= FORMAT_F16 && watts > (double)preset->machine.power;
	return limits ? (uint16_t)lround(1000 * pow((double)preset->machine.power / watts, POWER_EXPONENT)) : 1000;
}

void device_settle(struct device_preset *preset)
{
	FOR_INT(f, FORMAT_COUNT)
		preset->machine.sustained[f] = devices_sustained(preset, (enum machine_format)f);
}

struct device_preset device_preset(enum device device)
{
	return device_preset_with(device, SOFTWARE_GIVEN);
}

static void devices_take_profile(struct machine *machine, const struct profile *profile)
{
	machine->matrix = profile->matrix;
	machine->vector = vector;
	machine->traffic = traffic;
	machine->attention = profile->attention;
	machine->pieces = profile->pieces;
	machine->fused = profile->fused;
	machine->eager = profile->eager;
	machine->narrow = profile->narrow;
	machine->casts = profile->casts;
	machine->launch = profile->launch * 1000;
	machine->ramp = profile->ramp * 1000;
	machine->dispatcher = profile->dispatcher;
}

struct device_preset device_preset_with(enum device device, enum software software)
{
	const struct row *row = &rows[device == DEVICE_NONE ? DEVICE_A100_80 : device];
	const struct measured *steps = profile_measured(device, software);
	struct device_preset preset = { .name = device == DEVICE_NONE ? "none" : row->name,
		.source = row->source,
		.apart = steps ? steps->apart : 0,
		.machine = row->machine };
	fill_rates(preset.machine.matrix_rate);
	devices_take_profile(&preset.machine, profile_of(software));
	preset.machine.measured = steps && software != SOFTWARE_GIVEN ? steps->factor : 1000;
	const struct host_link *host = &host_links[row->host];
	preset.host_sheet = preset.machine.host = host->sheet;
	preset.machine.host.rate = host->sheet.rate / 1000 * host->reached;
	preset.host_source = host->source;
	memcpy(preset.matrix_sheet, row->machine.matrix_rate, sizeof preset.matrix_sheet);
	preset.near_sheet = row->machine.near;
	preset.far_sheet = row->machine.far;
	preset.channels = row->channels;
	preset.machine.near.rate = preset.machine.near.rate / 1000 * NEAR_SHARE;
	preset.machine.far.rate = preset.machine.far.rate / 1000 * FAR_SHARE;
	preset.node = 8;
	preset.context = (int64_t)row->context << 20;
	preset.group_buffers = row->channels * CHANNEL_BYTES;
	if (device == DEVICE_NONE) {
		preset.machine.memory = -1;
		preset.machine.fused = 1000;   /* every op is a kernel of its own */
		preset.context = preset.group_buffers = 0;
		preset.apart = 0;
	}
	device_settle(&preset);
	return preset;
}

char *device_text(enum device device, bool sources, char *text, size_t size)
{
	const struct machine *peak = &rows[device == DEVICE_NONE ? DEVICE_A100_80 : device].machine;
	char memory[32];
	PRINT_TO(memory, device == DEVICE_NONE ? "any memory" : "%lld GiB", (long long)(peak->memory >> 30));
	bool bf16 = peak->matrix_rate[FORMAT_BF16] > 0;
	struct words words = { text, size, 0 };
	words_add(&words, "%s  %.4g TFLOP/s %s  %.4g GB/s  links %.4g and %.4g GB/s", memory,
		(double)peak->matrix_rate[bf16 ? FORMAT_BF16 : FORMAT_F16] / 1e12, bf16 ? "bf16" : "fp16 (no bf16)",
		(double)peak->memory_rate / 1e9, (double)peak->near.rate / 1e9, (double)peak->far.rate / 1e9);
	if (sources)
		words_add(&words, ". %s", rows[device == DEVICE_NONE ? DEVICE_A100_80 : device].source);
	return text;
}

void mesh_add_axis(struct mesh *mesh, const char *name, uint32_t size, uint32_t inside, uint32_t devices_per_node,
	const struct machine *machine)
{
	uint32_t near = 1;
	if (size < 2 || mesh->axes == MESH_AXES)
		return;
	for (uint32_t i = 2; i <= size && (uint64_t)i * inside <= devices_per_node; i++)
		if (size % i == 0)
			near = i;
	struct mesh_axis *axis = &mesh->axis[mesh->axes++];
	*axis = (struct mesh_axis) { .size = size, .near_size = near, .near = machine->near, .far = machine->far };
	axis->held = text_is(name, "ep") ? machine->dispatcher : 0;
	PRINT_TO(axis->name, "%s", name);
}
