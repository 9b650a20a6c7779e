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
	X(MATRIX, "matrix", CURVE, machine.matrix, "shares of the peak that matrix products reach, by their FLOPs: " \
		"1G:43%,16G:74%") \
	X(TRAFFIC, "traffic", CURVE, machine.traffic, "shares of memory_bandwidth that ops reach, by the bytes that they " \
		"move") \
	X(ATTENTION, "attention", SHARE, machine.attention, "what attention in one kernel reaches of what a product of its " \
		"FLOPs does") \
	X(PIECES, "pieces", SHARE, machine.pieces, "and of that where devices share a sequence") \
	X(NARROW, "narrow", SHARE, machine.narrow, "what products of 8 bits reach of the curve matrix") \
	X(FUSED, "fused", SHARE, machine.fused, "traffic of ops other than products where a compiler fuses them, of what " \
		"they read and write") \
	X(EAGER, "eager", SHARE, machine.eager, "and where each is a kernel") \
	X(LAUNCH, "launch", TIME, machine.launch, "no op takes less") \
	X(NEAR, "intra_bandwidth", RATE, machine.near.rate, "as collectives reach it, between devices of a node") \
	X(NEAR_HOP, "intra_latency", TIME, machine.near.latency, "of a hop") \
	X(FAR, "inter_bandwidth", RATE, machine.far.rate, "as collectives reach it, per device between nodes") \
	X(FAR_HOP, "inter_latency", TIME, machine.far.latency, "of a hop") \
	X(HOST, "host_bandwidth", RATE, machine.host.rate, "to the memory of the node's processors, each way") \
	X(DISPATCH, "dispatch", SHARE, machine.dispatch, "of what all-to-alls of tokens to experts (ep) send between " \
		"nodes, what is left where each token goes to a node once and from there to its experts (DeepEP, HybridEP): with " \
		"k experts of a token on n nodes n (1 - (1 - 1/n)^k) of k copies; 100%: every copy by itself") \
	X(CONTEXT, "context", BYTES, context, "memory beside all tensors: the driver's, loaded kernels") \
	X(BUFFERS, "group_buffers", BYTES, group_buffers, "memory of buffers for each group that a device talks with")
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

/* The preset of a scenario's device, with the figures of its own. Its name is the scenario's text. */
struct device_preset scenario_preset(const struct scenario *scenario);
/* The value of a figure of its own, as figure_text() writes it; NULL where the preset's counts. */
const char *scenario_figure(const struct scenario *scenario, enum figure_id figure);
/* What the device is called. */
const char *scenario_device_name(const struct scenario *scenario);
/* A number that changes with the figures; 0 where none is the user's. */
uint64_t scenario_figures_hash(const struct scenario *scenario);
/* What a device of the scenario can do: its preset with the knob software and the figures of its own; memory from the
 * knob, else the preset's, less reserve. */
void scenario_machine(const struct scenario *scenario, struct machine *machine);
/* Bytes of a device that are not for the plan: the knob reserve, else the preset's context, or 0 where memory is set to
 * less than 4 GiB; a larger one without a device has an A100's. */
int64_t scenario_reserve(const struct scenario *scenario);
/* Bytes of buffers for every group of devices that a device talks with, likewise. */
int64_t scenario_group_buffers(const struct scenario *scenario);
