/* software_table.h: the table of software whose measured steps say what is reached of a device's peaks: one row is the
 * only place that knows a name.
 *
 * What is reached belongs to a chip and to the software that runs on it: the same H100 takes a third longer with FSDP2
 * and torchao's 8-bit products than with Transformer Engine's. What each reaches is fitted once for an architecture, as
 * shares of the peaks (src/scenario/profiles.c), and carried over by the data sheets' peaks to other chips of that
 * architecture. */
#pragma once

/* X(id, name, help) */
#define SOFTWARES(X) \
	X(GIVEN, "given", "the software that the device's preset is fitted to") \
	X(MEGATRON_LM, "megatron-lm", "Megatron-LM, kernel by kernel (A100s, 2022; B200s, 2025)") \
	X(MEGATRON_BRIDGE, "megatron-bridge", "NVIDIA's recipes: Megatron Core with Transformer Engine and its 8-bit " \
		"products (NeMo, Megatron Bridge); --overhead inside=75% where tp_comm_overlap is set") \
	X(TORCHTITAN, "torchtitan", "PyTorch with FSDP2, layers compiled and torchao's 8-bit products; --overhead " \
		"inside=75% with async tensor parallelism") \
	X(LLM_FOUNDRY, "llm-foundry", "MosaicML's LLM Foundry of 2023: FSDP of PyTorch 1.13, flash attention in Triton") \
	X(MAXTEXT, "maxtext", "MaxText: JAX and XLA, flash attention in Pallas")
#define X(id, ...) SOFTWARE_##id,
enum software { SOFTWARES(X) SOFTWARE_COUNT };
#undef X

/* For the knob's words. */
#define SOFTWARE_WORD(id, name, help) name "|"

/* Of which design a chip is: what one of them reaches of its peaks is carried over to the others. */
#define ARCHITECTURES(X) \
	X(VOLTA, "Volta") X(AMPERE, "Ampere") X(GA102, "Ampere (GA102)") X(ADA, "Ada") X(HOPPER, "Hopper") X(BLACKWELL, \
		"Blackwell") X(BLACKWELL_ULTRA, "Blackwell Ultra") X(CDNA, "CDNA") X(CDNA2, "CDNA 2") X(CDNA3, "CDNA 3") \
	X(TPU_V5P, "TPU v5p") X(TPU_V6E, "TPU v6e") X(PROCESSOR, "processors")
#define X(id, name) ARCHITECTURE_##id,
enum architecture { ARCHITECTURES(X) ARCHITECTURE_COUNT };
#undef X
