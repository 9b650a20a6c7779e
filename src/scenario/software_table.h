/* software_table.h: the table of software: one row is the only place that knows a name, and what the software reaches
 * of any chip's peaks.
 *
 * It is fitted to the steps of all chips that it was measured on (tests/bench/software_fit) and multiplies a chip's
 * data sheet. What is left is one factor of the software and the chip (profiles.c), which is said apart. */
#pragma once

/* X(id, name, help, matrix, attention, pieces, narrow, fused, eager, casts (thousandths, see struct machine), ns of a
 * launch, ns of a ramp, thousandths of multiprocessors that its dispatcher takes, whether the loss of a model that
 * `search` builds is op by op, on logits in fp32, what its steps tell (enum reach)) */
#define DEEPEP_HELD 152      /* 20 of 132 (DeepSeek-V3, arXiv 2412.19437, section 3.2.2) */
#define SOFTWARES(X) \
	X(GIVEN, "given", "by data sheets alone, with megatron-bridge's efficiencies: so that chips compare", \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, 0) \
	X(MEGATRON_LM, "megatron-lm", "Megatron-LM, kernel by kernel (A100s, 2022; B200s, 2025)", \
		802, 1075, 819, 944, 860, 1394, 1466, 6750, 15800, 0, false, TELLS(MATRIX) | TELLS(ATTENTION) | TELLS(PIECES)) \
	X(MEGATRON_BRIDGE, "megatron-bridge", "NVIDIA's recipes: Megatron Core with Transformer Engine and its 8-bit " \
		"products (NeMo, Megatron Bridge); --overhead inside=75% where tp_comm_overlap is set", \
		903, 586, 979, 944, 1000, 1394, 1466, 4000, 15800, DEEPEP_HELD, false, \
		TELLS(MATRIX) | TELLS(ATTENTION) | TELLS(CASTS)) \
	X(TORCHTITAN, "torchtitan", "PyTorch with FSDP2, layers compiled and torchao's 8-bit products, the loss op " \
		"by op (search's MODEL:eager_loss=0: compiled); --overhead inside=75% with async tensor parallelism", \
		591, 537, 767, 832, 541, 1394, 1257, 4000, 15800, 0, true, \
		TELLS(MATRIX) | TELLS(ATTENTION) | TELLS(PIECES) | TELLS(NARROW) | TELLS(EAGER)) \
	X(LLM_FOUNDRY, "llm-foundry", "MosaicML's LLM Foundry of 2023: FSDP of PyTorch 1.13, flash attention in Triton", \
		832, 349, 850, 950, 915, 1394, 1466, 4000, 15800, 0, false, TELLS(MATRIX) | TELLS(ATTENTION) | TELLS(TRAFFIC)) \
	X(MAXTEXT, "maxtext", "MaxText: JAX and XLA, flash attention in Pallas", \
		754, 1265, 850, 950, 705, 1394, 1466, 4000, 15800, 0, false, TELLS(MATRIX))
#define X(id, ...) SOFTWARE_##id,
enum software { SOFTWARES(X) SOFTWARE_COUNT };
#undef X

/* For the knob's words. */
#define SOFTWARE_WORD(id, name, ...) name "|"
