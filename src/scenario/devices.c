/* devices.c: device presets. */
#include <stdio.h>

#include "devices.h"
#include "profiles.h"

/* ---- presets ---- */

#define RATE(value, unit) ((int64_t)((value) * (unit)))
#define MACHINE(gib, traffic_peak, f64, f32, f16, bf16, f8, vector_peak, near_peak, near_hop, far_peak, far_hop) { \
	.memory = INT64_C(gib) << 30, .memory_rate = RATE(traffic_peak, 1e9), .vector_rate = RATE(vector_peak, 1e12), \
	.matrix_rate = { RATE(f64, 1e12), RATE(f32, 1e12), RATE(f16, 1e12), RATE(bf16, 1e12), RATE(f8, 1e12) }, \
	.near = { INT64_C(near_hop) * 1000, RATE(near_peak, 1e9) }, .far = { INT64_C(far_hop) * 1000, RATE(far_peak, 1e9) } }
#define X(id, word, gib, traffic, f64, f32, f16, bf16, f8, vector, near, near_hop, far, far_hop, context, channels, \
	architecture, profile, text) \
	[DEVICE_##id] = { word, text, MACHINE(gib, traffic, f64, f32, f16, bf16, f8, vector, near, near_hop, far, far_hop), \
		context, channels },
static const struct row {
	const char *name, *source;
	struct machine machine;
	uint32_t context, channels;
} rows[DEVICE_COUNT] = { DEVICES(X) };
#undef X

/* To the host, one direction: PCI Express of the device's generation with 16 lanes; a processor's memory is its own. */
static const struct host_link {
	struct link sheet;
	uint32_t reached;       /* thousandths */
	const char *source;
} host_links[] = {
	{ { 5000000, RATE(15.75, 1e9) }, 800, "PCI Express 3, 16 lanes, less a fifth for packets and set-up" },
	{ { 5000000, RATE(31.5, 1e9) }, 800, "PCI Express 4, 16 lanes, less a fifth for packets and set-up" },
	{ { 5000000, RATE(63, 1e9) }, 800, "PCI Express 5, 16 lanes, less a fifth for packets and set-up" },
	{ { 2000000, RATE(225, 1e9) }, 800,
		"NVLink-C2C, 900 GB/s both ways for two devices, less a fifth for packets and set-up" },
	{ { 0, 0 }, 1000, "a processor's memory is its own: nothing is copied" },
};

static const struct host_link *host_link(enum device device)
{
	switch (device) {
	case DEVICE_V100_16: case DEVICE_V100_32: return &host_links[0];
	case DEVICE_H100_PCIE: case DEVICE_H100_80: case DEVICE_H100_96: case DEVICE_H800_80: case DEVICE_H20_96:
	case DEVICE_H200_141: case DEVICE_B200_180: case DEVICE_MI300X_192: case DEVICE_MI325X_256: return &host_links[2];
	case DEVICE_GB200_186: case DEVICE_GB300_279: return &host_links[3];
	case DEVICE_CPU: return &host_links[4];
	default: return &host_links[1];
	}
}

/* Of a ring's channel: the buffers of three protocols that a device receives into, and what it sends with, in pages of
 * 2 MiB: 10 and 2 MiB as logged on H100 (NVIDIA/nccl issue 1685). Sends to all peers at once (all-to-all) take more. */
#define CHANNEL_BYTES (INT64_C(12) << 20)

/* What has no unit of its own is computed in the next wider format: 8 bits in 16, bf16 as PyTorch does without such
 * units, in f32. */
static void fill_rates(int64_t rate[FORMAT_COUNT])
{
	int64_t half = rate[FORMAT_BF16] > 0 ? rate[FORMAT_BF16] : rate[FORMAT_F16];
	if (rate[FORMAT_BF16] == 0)
		rate[FORMAT_BF16] = rate[FORMAT_F32];
	if (rate[FORMAT_F8] == 0)
		rate[FORMAT_F8] = half;
}

struct device_preset device_preset(enum device device)
{
	return device_preset_with(device, SOFTWARE_GIVEN);
}

struct device_preset device_preset_with(enum device device, enum software software)
{
	const struct row *row = &rows[device == DEVICE_NONE ? DEVICE_A100_80 : device];
	const struct reached reached = profile_find(device, software);
	const struct profile *profile = reached.profile;
	struct device_preset preset = { .name = device == DEVICE_NONE ? "none" : row->name,
		.source = row->source,
		.apart = reached.basis == BASIS_FITTED ? profile->apart : 0,
		.machine = row->machine };
	fill_rates(preset.machine.matrix_rate);
	preset.machine.matrix = profile->matrix;
	preset.machine.vector = profile->vector;
	preset.machine.traffic = profile->traffic;
	preset.machine.attention = profile->attention;
	preset.machine.pieces = profile->pieces;
	preset.machine.fused = profile->fused;
	preset.machine.eager = profile->eager;
	preset.machine.narrow = profile->narrow;
	preset.machine.dispatch = 1000;
	preset.machine.launch = profile->launch * INT64_C(1000);
	const struct host_link *host = host_link(device);
	preset.host_sheet = preset.machine.host = host->sheet;
	preset.machine.host.rate = host->sheet.rate / 1000 * host->reached;
	preset.host_source = host->source;
	memcpy(preset.matrix_sheet, row->machine.matrix_rate, sizeof preset.matrix_sheet);
	preset.near_sheet = row->machine.near;
	preset.far_sheet = row->machine.far;
	preset.channels = row->channels;
	preset.machine.near.rate = preset.machine.near.rate / 1000 * profile->near_share;
	preset.machine.far.rate = preset.machine.far.rate / 1000 * profile->far_share;
	preset.context = (int64_t)row->context << 20;
	preset.group_buffers = row->channels * CHANNEL_BYTES;
	if (device == DEVICE_NONE) {
		preset.machine.memory = -1;
		preset.machine.fused = 1000;   /* every op is a kernel of its own */
		preset.context = preset.group_buffers = 0;
		preset.apart = 0;
	}
	return preset;
}

char *device_text(enum device device, bool sources, char *text, size_t size)
{
	const struct machine *peak = &rows[device == DEVICE_NONE ? DEVICE_A100_80 : device].machine;
	char memory[32];
	snprintf(memory, sizeof memory, device == DEVICE_NONE ? "any memory" : "%lld GiB", (long long)(peak->memory >> 30));
	bool bf16 = peak->matrix_rate[FORMAT_BF16] > 0;
	int used = snprintf(text, size, "%s  %.4g TFLOP/s %s  %.4g GB/s  links %.4g and %.4g GB/s", memory,
		(double)peak->matrix_rate[bf16 ? FORMAT_BF16 : FORMAT_F16] / 1e12, bf16 ? "bf16" : "fp16 (no bf16)",
		(double)peak->memory_rate / 1e9, (double)peak->near.rate / 1e9, (double)peak->far.rate / 1e9);
	if (sources && used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used, ". %s", rows[device == DEVICE_NONE ? DEVICE_A100_80 : device].source);
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
	axis->dispatch = strcmp(name, "ep") == 0 && machine->dispatch < 1000 ? machine->dispatch : 0;
	snprintf(axis->name, sizeof axis->name, "%s", name);
}
