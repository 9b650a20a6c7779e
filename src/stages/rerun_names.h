/* rerun_names.h: what recompute=ops names: types of ops, modules, and the words of RERUN_WORDS. */
#pragma once

#include "solver/rules/rules.h"
#include "solver/step/recompute.h"

/* Marks in drop [storages] what isn't kept where an op's type, a module or one of the words is named so. Structure and
 * parts of module paths tell: experts are in a module "experts", latent attention has kv_b_proj (or Megatron's
 * linear_kv_up_proj). Nothing where the step has no such thing. OK or NO_MEMORY. O(graph). */
enum status rerun_named(const struct graph *graph, const struct rules *rules, const struct activations *activations,
	const char *name, bool *drop);
