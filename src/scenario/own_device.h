/* own_device.h: a device of the user's own: a preset, and figures that stand in place of some of its.
 *
 * In a scenario each figure is a pin, "figure NAME VALUE", so that plan files and sessions hold all that they were made
 * with. In a file, which `python -m tidemark_torch calibrate` writes and device=@FILE reads, each is a line
 * NAME=VALUE, beside base=PRESET. */
#pragma once

#include "devices.h"
#include "scenario.h"

/* X(id, name in files, type, where in struct device_preset, help). Types: see own_device.c. */
#define FIGURES(X) \
	X(NAME, "name", NAME, name, "what the device is called") \
	X(MEMORY, "memory", BYTES, machine.memory, "the whole memory of a device") \
	X(TRAFFIC_PEAK, "memory_bandwidth", RATE, machine.memory_rate, "what shares of traffic are of") \
	X(FP64, "fp64", FLOPS, machine.matrix_rate[FORMAT_F64], "peak of matrix products of 64 bits") \
	X(FP32, "fp32", FLOPS, machine.matrix_rate[FORMAT_F32], "of fp32") \
	X(FP16, "fp16", FLOPS, machine.matrix_rate[FORMAT_F16], "of fp16") \
	X(BF16, "bf16", FLOPS, machine.matrix_rate[FORMAT_BF16], "of bf16") \
	X(FP8, "fp8", FLOPS, machine.matrix_rate[FORMAT_F8], "of 8 bits") \
	X(VECTOR_PEAK, "vector", FLOPS, machine.vector_rate, "peak of other arithmetic") \
	X(POWER, "power", POWER, machine.power, "board power: what it sustains of peaks of 16 and 8 bits") \
	X(MATRIX, "matrix", SHARE, machine.matrix, "share of the peak that large matrix products reach, where the power " \
		"sustains it") \
	X(RAMP, "ramp", TIME, machine.ramp, "what a matrix product takes beside its FLOPs at that rate") \
	X(TRAFFIC, "traffic", CURVE, machine.traffic, "shares of memory_bandwidth that ops reach, by the bytes that they " \
		"move: 2M:60%,100M:90%") \
	X(ATTENTION, "attention", SHARE, machine.attention, "what attention in one kernel reaches of what a product of its " \
		"FLOPs does") \
	X(PIECES, "pieces", SHARE, machine.pieces, "and of that where devices share a sequence") \
	X(NARROW, "narrow", SHARE, machine.narrow, "what products of 8 bits reach of the share matrix") \
	X(CASTS, "casts", SHARE, machine.casts, "traffic of casts to 8 bits, of what they read and write") \
	X(FUSED, "fused", SHARE, machine.fused, "traffic of ops other than products where a compiler fuses them, of what " \
		"they read and write") \
	X(EAGER, "eager", SHARE, machine.eager, "and where each is a kernel") \
	X(LAUNCH, "launch", TIME, machine.launch, "no op takes less") \
	X(NEAR, "intra_bandwidth", RATE, machine.near.rate, "as collectives reach it, between devices of a node") \
	X(NEAR_HOP, "intra_latency", TIME, machine.near.latency, "of a hop") \
	X(FAR, "inter_bandwidth", RATE, machine.far.rate, "as collectives reach it, per device between nodes") \
	X(FAR_HOP, "inter_latency", TIME, machine.far.latency, "of a hop") \
	X(HOST, "host_bandwidth", RATE, machine.host.rate, "to the memory of the node's processors, each way") \
	X(DISPATCHER, "dispatcher", DISPATCHER, machine.dispatcher, "of tokens to experts (ep) on other nodes: alltoall " \
		"sends every copy by itself; deepep a token once to a node, and takes 20 of 132 multiprocessors") \
	X(MEASURED, "measured", SHARE, machine.measured, "what measured steps of the software on this chip take of these " \
		"times") \
	X(CONTEXT, "context", BYTES, context, "memory beside all tensors: the driver's, loaded kernels") \
	X(BUFFERS, "group_buffers", BYTES, group_buffers, "memory of buffers for each group that a device talks with") \
	X(NODE, "devices_per_node", COUNT, node, "devices that share the fast links of one node") \
	X(HOST_MEMORY, "host_memory", BYTES, host_memory, "of the node's processors, that a device may fill, with " \
		"offload=on and in searches with --offload; 0: any") \
	X(KERNELS, "kernels", KERNELS, eager_kernels, "how ops other than matrix products run: compiled, as a compiler " \
		"fuses them, or eager, one kernel each, with the traffic that is eager")
#define X(id, ...) FIGURE_##id,
enum figure_id { FIGURES(X) FIGURE_COUNT };
#undef X

/* The figure of that name, or FIGURE_COUNT. */
enum figure_id figure_find(const char *name);
const char *figure_name(enum figure_id figure);
const char *figure_help(enum figure_id figure);
/* Sets a preset's figure from a text. BAD_INPUT with what was expected. FIGURE_NAME isn't set: its text must live as
 * long as the preset. */
enum status figure_parse(enum figure_id figure, const char *value, struct device_preset *preset, struct error *error);
/* The preset's figure as figure_parse() reads it: what is printed, read and printed again is the same. Returns text. */
char *figure_text(enum figure_id figure, const struct device_preset *preset, char *text, size_t size);

/* Works out device and machine of a scenario, after a knob or pin of them has changed. */
void scenario_resolve(struct scenario *scenario);
/* The value of a figure of its own, as figure_text() writes it; NULL where the preset's counts. */
const char *scenario_figure(const struct scenario *scenario, enum figure_id figure);
/* A number that changes with the figures; 0 where none is the user's. */
uint64_t scenario_figures_hash(const struct scenario *scenario);
/* What a device of the scenario can do, without the factor of measured steps. */
struct machine scenario_plain_machine(const struct scenario *scenario);
/* Bytes of a device that are not for the plan: the knob reserve, else the preset's context, or 0 where memory is set to
 * less than 4 GiB; a larger one without a device has an A100's. */
int64_t scenario_reserve(const struct scenario *scenario);
/* Bytes of buffers for every group of devices that a device talks with, likewise. */
int64_t scenario_group_buffers(const struct scenario *scenario);
