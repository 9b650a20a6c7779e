/* devices.h: device presets, and the axes of a mesh of them. */
#pragma once

#include "device_table.h"
#include "software_table.h"
#include "solver/cost/machine.h"

struct device_preset {
	const char *name;
	const char *source;             /* of the peaks */
	/* How far apart the errors of two estimates are, in thousandths of their times: the root of the mean square of the
	 * errors of the software's steps on the chip, times the root of 2 (tests/bench/hardware). 0: none was measured. */
	uint32_t apart;
	struct machine machine;         /* links as reached */
	struct link near_sheet, far_sheet, host_sheet;  /* the data sheet's */
	int64_t matrix_sheet[FORMAT_COUNT];             /* 0: no unit for that format */
	const char *host_source;
	uint32_t channels;              /* of a communicator */
	int64_t context;                /* bytes beside all tensors: the driver's, loaded kernels */
	int64_t group_buffers;          /* bytes of buffers for each group of devices that a device talks with */
	int64_t node;                   /* devices that share the fast links of one node */
	int64_t host_memory;            /* bytes of it that a device may fill; 0: any */
	uint16_t eager_kernels;         /* ops other than matrix products run as a kernel each, not fused */
};
/* DEVICE_NONE is an a100-80gb of any memory. What a software reaches of its peaks: profiles.h. */
struct device_preset device_preset(enum device device);
struct device_preset device_preset_with(enum device device, enum software software);

/* After a peak or the power has changed: what the power sustains. */
void device_settle(struct device_preset *preset);

/* "80 GiB  312 TFLOP/s bf16  2039 GB/s  links 300 and 25 GB/s"; sources: with where the figures come from. Returns
 * text. */
char *device_text(enum device device, bool sources, char *text, size_t size);
/* Adds an axis of that size inside those that are there (none of size 1). A node holds as many of its members as fit
 * beside the devices of all axes that will be inside it. */
void mesh_add_axis(struct mesh *mesh, const char *name, uint32_t size, uint32_t inside, uint32_t devices_per_node,
	const struct machine *machine);
