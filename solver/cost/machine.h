/* machine.h: what a device can do, and how long an op takes on it.
 *
 * A roofline: an op takes the longer of its arithmetic and its memory traffic, each at a share of the peak, and never
 * less than a launch; a product beside its FLOPs a ramp. Traffic by size as in Calculon (Isaev et al., SC 2023, section
 * 4), but interpolated.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     mesh          the grid of devices; times of collectives
 *     machine       what a device can do; the time of an op
 *     op_time       the time of a device's share of an op
 *     placement     how tensors lie on a mesh
 *     reshard       the cheapest way from one placement to another
 *     reshard_memo  the same, found once for tensors that are alike
 *     step_time     a step on streams, computation beside collectives
 *     step_model    from a device's graph to what its streams do
 *     step_check    checks a played step start by start */
#pragma once

#include "mesh.h"
#include "solver/rules/rules.h"

#define EFFICIENCY_POINTS 4

/* Thousandths of a peak that ops of a size reach: size ascending, linear in the size's logarithm between points,
 * constant beyond. */
struct efficiency { struct { int64_t size; uint16_t share; } point[EFFICIENCY_POINTS]; };

/* Number formats with a peak of their own. */
enum machine_format { FORMAT_F64, FORMAT_F32, FORMAT_F16, FORMAT_BF16, FORMAT_F8, FORMAT_COUNT };

struct machine {
	int64_t memory;                  /* bytes of a device; < 0: any */
	int64_t memory_rate;             /* bytes per second */
	int64_t matrix_rate[FORMAT_COUNT]; /* FLOP per second of matrix products with operands of a format, dense */
	int64_t vector_rate;             /* of all other ops */
	int64_t launch;                  /* picoseconds: no op takes less */
	int64_t ramp;                    /* picoseconds that a product takes beside its FLOPs */
	int64_t power;                   /* watts; 0: as many as the peaks take */
	uint16_t matrix;                 /* thousandths of the peak that large products reach */
	uint16_t sustained[FORMAT_COUNT]; /* thousandths of a peak that the board's power leaves; 0: all */
	struct efficiency vector;        /* of FLOPs, by the op's FLOPs */
	struct efficiency traffic;       /* of memory_rate, by bytes moved */
	uint16_t attention;              /* thousandths of that which attention in one kernel reaches; 0: all */
	uint16_t pieces; /* thousandths of that again where devices share a sequence: kernels on pieces, whose results are
						merged; 0: all */
	uint16_t fused, eager; /* thousandths of the traffic of other ops that fused kernels leave, and eager ones have */
	bool joins_updates; /* a parameter's update is one kernel, as in compiled and fused optimizers: else what each of
						   its ops moves counts */
	uint16_t narrow;                 /* thousandths of that share which products of 8-bit operands reach */
	uint16_t casts;                  /* thousandths of what casts to 8 bits read and write that they move; 0: all */
	uint16_t measured;               /* thousandths of these times that measured steps take */
	struct link near, far;           /* as reached, within a node and between nodes */
	uint16_t dispatcher;             /* thousandths of the multiprocessors that DeepEP takes; 0: all-to-alls */
	struct link host;                /* to the memory of the node's processors, one direction */
};

/* What an op's time is set by: what would have to be faster for it to be shorter. */
enum machine_limit {
	LIMIT_PRODUCTS,       /* arithmetic of matrix units */
	LIMIT_ARITHMETIC,     /* any other */
	LIMIT_TRAFFIC,        /* the device's memory */
	LIMIT_LAUNCH,         /* the op is shorter than a launch takes */
	LIMIT_COUNT
};

/* Share of the peak, in thousandths, at a size. */
uint32_t efficiency_at(const struct efficiency *efficiency, int64_t size);
/* Picoseconds of an op, and what sets them; an op without FLOPs and traffic (a view) takes none. parts: of grouped
 * products, a kernel each, side by side, how many: each reaches what one of its size does by itself; else 1. At most
 * COLLECTIVE_TIME_MAX. O(1). */
int64_t machine_time(const struct machine *machine, bool matrix, enum machine_format format, int64_t flops,
	int64_t parts, int64_t bytes, enum machine_limit *limit);
/* True for ops that run on matrix units. */
bool machine_is_matrix(const struct rule *rule);
/* The format of an op's arithmetic: of its floating-point operand with the most elements, so that small statistics
 * don't count. */
enum machine_format machine_format_of(const struct graph *graph, uint32_t op);

/* The time of a copy to the host's memory or back. */
int64_t machine_host_time(const struct machine *machine, int64_t bytes);
