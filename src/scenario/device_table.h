/* device_table.h: the table of device presets: one row is the only place that knows a device. */
#pragma once

/* X(id, name, memory GiB, memory GB/s, dense peak TFLOP/s of f64, f32, f16, bf16 and f8 matrix products (f32 without
 * TF32; 0: the device has no unit for that format, so that it is computed in the next wider one), vector TFLOP/s,
 * watts of the board (0: not published), link GB/s within a node (one direction, all links of a device), link GB/s
 * per device between nodes, MiB of a context, channels of a communicator, link to the host (devices.c), source)
 * Vendors' figures; GB of device memory are GiB on data sheets. Between nodes: the usual server's network divided by
 * its devices.
 *
 * Context: what the driver and the kernels that were loaded take beside all tensors. V100: 300 to 400 MB
 * (pytorch/pytorch issue 20532); others: 543 MiB a process in NVIDIA's container 21.11 (issue 81257). The maintainers
 * say about 400 MB where kernels are loaded as they are needed (issue 109888), and a training step needs many. AMD's
 * and the devices of which nothing was found count as the A100 does. Channels: NCCL runs two for each link that its
 * search finds (NVIDIA/nccl issue 1041), at most 32; over PCI Express two (nccl-tests issue 228). */
#define DEVICES(X) \
	X(V100_16, "v100-16gb", 16, 900, 7.8, 15.7, 125, 0, 0, 15.7, 300, 150, 6.25, 400, 12, 3, \
		"NVIDIA V100 data sheet (SXM2: NVLink 300 GB/s both ways); DGX-1: 4 x 100 Gb/s for 8") \
	X(V100_32, "v100-32gb", 32, 900, 7.8, 15.7, 125, 0, 0, 15.7, 300, 150, 6.25, 400, 12, 3, \
		"NVIDIA V100 data sheet (SXM2: NVLink 300 GB/s both ways); DGX-1: 4 x 100 Gb/s for 8") \
	X(A100_40, "a100-40gb", 40, 1555, 19.5, 19.5, 312, 312, 0, 78, 400, 300, 25, 544, 24, 4, \
		"NVIDIA A100 data sheet (SXM4: NVLink 600 GB/s both ways); DGX A100: 8 x 200 Gb/s for 8") \
	X(A100_80, "a100-80gb", 80, 2039, 19.5, 19.5, 312, 312, 0, 78, 400, 300, 25, 544, 24, 4, \
		"NVIDIA A100 data sheet (SXM4: NVLink 600 GB/s both ways); DGX A100: 8 x 200 Gb/s for 8") \
	X(H100_PCIE, "h100-pcie-80gb", 80, 2000, 51, 51, 756, 756, 1513, 102, 350, 300, 50, 544, 24, 5, \
		"NVIDIA H100 PCIe product brief (NVLink bridge 600 GB/s both ways); 400 Gb/s per device") \
	X(H100_80, "h100-80gb", 80, 3350, 66.9, 66.9, 989.4, 989.4, 1978.9, 133.8, 700, 450, 50, 544, 32, 5, \
		"NVIDIA H100 data sheet (SXM5, dense; NVLink 900 GB/s both ways); DGX H100: 8 x 400 Gb/s for 8") \
	X(H100_96, "h100-96gb", 96, 2400, 66.9, 66.9, 989.4, 989.4, 1978.9, 133.8, 500, 450, 50, 544, 32, 5, \
		"NVIDIA H100 SXM5 with 96 GB of HBM2e at 2.4 TB/s and a power limit of 500 W, peaks as at 700 W " \
		"(pytorch/torchtitan, benchmarks of December 2024); 8 x 400 Gb/s for 8") \
	X(H800_80, "h800-80gb", 80, 3350, 1, 66.9, 989.4, 989.4, 1978.9, 133.8, 700, 200, 50, 544, 16, 5, \
		"NVIDIA H800 data sheet (SXM5, dense; NVLink 400 GB/s both ways, f64 1 TFLOP/s); 8 x 400 Gb/s for 8") \
	X(H20_96, "h20-96gb", 96, 4000, 1, 44, 148, 148, 296, 44, 400, 450, 50, 544, 32, 5, \
		"NVIDIA H20 data sheet (dense; NVLink 900 GB/s both ways); 8 x 400 Gb/s for 8") \
	X(GB200_186, "gb200-186gb", 186, 8000, 40, 80, 2500, 2500, 5000, 160, 1200, 900, 50, 544, 32, 6, \
		"NVIDIA GB200 NVL72 data sheet, one of 72 (dense; NVLink 1.8 TB/s both ways: set devices_per_node=72); " \
		"400 Gb/s per device") \
	X(GB300_279, "gb300-279gb", 279, 8000, 1.3, 80, 2500, 2500, 5000, 160, 1400, 900, 100, 544, 32, 6, \
		"NVIDIA GB300 NVL72 data sheet, one of 72 (dense; NVLink 1.8 TB/s both ways: set devices_per_node=72); " \
		"800 Gb/s per device") \
	X(H200_141, "h200-141gb", 141, 4800, 66.9, 66.9, 989.4, 989.4, 1978.9, 133.8, 700, 450, 50, 544, 32, 5, \
		"NVIDIA H200 data sheet (SXM, dense; NVLink 900 GB/s both ways); 8 x 400 Gb/s for 8") \
	X(B200_180, "b200-180gb", 180, 8000, 37, 75, 2250, 2250, 4500, 150, 1000, 900, 50, 544, 32, 5, \
		"NVIDIA HGX B200 data sheet (dense; NVLink 1.8 TB/s both ways); DGX B200: 8 x 400 Gb/s for 8") \
	X(A10_24, "a10-24gb", 24, 600, 0.5, 31.2, 125, 125, 0, 31.2, 150, 32, 12.5, 544, 2, 4, \
		"NVIDIA A10 data sheet (PCIe 4 x16); 100 Gb/s per device") \
	X(L40S_48, "l40s-48gb", 48, 864, 1.4, 91.6, 362, 362, 733, 91.6, 350, 32, 12.5, 544, 2, 4, \
		"NVIDIA L40S data sheet (dense; PCIe 4 x16); 100 Gb/s per device") \
	X(A6000_48, "a6000-48gb", 48, 768, 0.6, 38.7, 154.8, 154.8, 0, 38.7, 300, 56.25, 12.5, 544, 8, 4, \
		"NVIDIA RTX A6000 data sheet (dense; NVLink bridge 112.5 GB/s both ways); 100 Gb/s per device") \
	X(RTX4090_24, "rtx4090-24gb", 24, 1008, 1.3, 82.6, 165.2, 165.2, 330.3, 82.6, 450, 32, 3.125, 544, 2, 4, \
		"NVIDIA Ada GPU architecture paper (f32 accumulation, dense; PCIe 4 x16); 25 Gb/s per device") \
	X(MI100_32, "mi100-32gb", 32, 1228.8, 11.5, 46.1, 184.6, 92.3, 0, 23.1, 300, 138, 12.5, 544, 6, 4, \
		"AMD Instinct MI100 data sheet (3 links of 92 GB/s both ways); 100 Gb/s per device") \
	X(MI250X_64, "mi250x-64gb", 64, 1638.4, 47.9, 47.9, 191.5, 191.5, 0, 23.9, 280, 200, 12.5, 544, 8, 4, \
		"AMD Instinct MI250X data sheet: one of the two dies, which are devices to frameworks; 4 x 200 Gb/s for 8") \
	X(MI300X_192, "mi300x-192gb", 192, 5300, 163.4, 163.4, 1307.4, 1307.4, 2614.9, 163.4, 750, 448, 50, 544, 14, 5, \
		"AMD Instinct MI300X data sheet (dense; 7 links of 128 GB/s both ways); 8 x 400 Gb/s for 8") \
	X(MI325X_256, "mi325x-256gb", 256, 6000, 163.4, 163.4, 1307.4, 1307.4, 2614.9, 163.4, 1000, 448, 50, 544, 14, 5, \
		"AMD Instinct MI325X data sheet (dense; 7 links of 128 GB/s both ways); 8 x 400 Gb/s for 8") \
	X(TPU_V5P_95, "tpu-v5p-95gb", 95, 2765, 14.3, 14.3, 459, 459, 0, 14.3, 0, 600, 6.25, 544, 0, 4, \
		"Google Cloud TPU v5p documentation (ICI 1,200 GB/s both ways: set devices_per_node to the slice; 50 Gb/s " \
		"per device between slices); f32 and vectors are not on the sheet, 1/32 of bf16 is assumed") \
	X(TPU_V6E_32, "tpu-v6e-32gb", 32, 1600, 28.7, 28.7, 918, 918, 0, 28.7, 0, 400, 12.5, 544, 0, 4, \
		"Google Cloud TPU v6e documentation (ICI 3,200 Gb/s: set devices_per_node to the slice; 4 x 200 Gb/s for " \
		"8 between slices); f32 and vectors are not on the sheet, 1/32 of bf16 is assumed") \
	X(CPU, "cpu", 256, 307, 3.6, 7.2, 229, 229, 0, 7.2, 350, 48, 12.5, 0, 0, 0, \
		"Intel Xeon Platinum 8480+ at 2 GHz, AVX-512 and AMX; 8 channels of DDR5-4800; 3 UPI links")
#define X(id, ...) DEVICE_##id,
enum device { DEVICE_NONE, DEVICES(X) DEVICE_COUNT };
#undef X

/* For the knob's words. */
#define DEVICE_WORD(id, name, ...) name "|"
