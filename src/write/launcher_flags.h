/* launcher_flags.h: the flags that ask a launcher for a plan's sharding. */
#pragma once

#include "src/scenario/scenario.h"
#include "solver/cost/placement.h"

#define LAUNCHERS(X) X(MEGATRON, "megatron") X(DEEPSPEED, "deepspeed") X(FSDP, "fsdp")
#define X(id, name) LAUNCHER_##id,
enum launcher { LAUNCHERS(X) LAUNCHER_COUNT };
#undef X
extern const char *const launcher_names[LAUNCHER_COUNT];

struct launcher_flags { bool possible; char text[500]; };

/* Flags (Megatron-LM), configuration (DeepSpeed, JSON) or arguments (PyTorch FSDP) that ask for a plan's sharding: what
 * lies where decides, not the scenario's knobs, which say the rest (pipeline, batch, recomputation). Launchers can do
 * what experts write by hand, and not all of that. Compares with up to 8 such shardings: O(8 * size of the graph). */
void launcher_flags_find(const struct units *units, const struct sharding *sharding, const struct scenario *scenario,
	struct launcher_flags flags[LAUNCHER_COUNT]);
