/* launch.h: configurations of launchers: TOML of torchtitan, JSON of DeepSpeed, YAML of accelerate, NeMo and Megatron
 * Bridge, arguments of Megatron-LM. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

#define LAUNCHERS(X) \
	X(torchtitan, "torchtitan") X(deepspeed, "DeepSpeed") X(accelerate, "accelerate") X(megatron, "Megatron-LM")
#define X(id, name) LAUNCHER_##id,
enum launcher { LAUNCHERS(X) LAUNCHER_COUNT };
#undef X
extern const char *const launcher_names[LAUNCHER_COUNT];

/* What their keys say, as launch_keys.py names it. */
#define LAUNCH_SLOTS(X) \
	X(devices) X(nodes) X(per_node) X(kind) X(replicate) X(shard) X(tp) X(pp) X(cp) X(ep) X(sp) X(zero) X(schedule) \
	X(chunks) X(chunk_layers) X(layers) X(batch) X(local) X(micro) X(piece) X(accumulation) X(precision) \
	X(dtype) X(recompute) X(method) X(what) X(every) X(share) X(version) X(offload) X(loss_chunks) X(note) \
	X(reshard_after_forward) X(reduce_dtype) X(seq) X(optimizer) X(moments) X(float8) X(kernels)
#define X(id) LAUNCH_##id,
enum launch_slot { LAUNCH_SLOTS(X) LAUNCH_SLOT_COUNT };
#undef X

struct launch_line { bool note; struct error said; };

struct launch {
	enum launcher launcher;
	char value[LAUNCH_SLOT_COUNT][200]; /* to write: "": not said */
	struct launch_line *line;           /* "tp=8", and what to tell people */
	uint32_t lines;
	size_t room;
};

/* Reads a file, plain or gz, "-" for standard input, told by its content: settings of knobs and notes. A file of knobs,
 * one a line, gives its lines. devices: how many there are where the file doesn't say; 1: nobody knows. BAD_INPUT with
 * the line; LIMIT where the readers in Python are missing. Drop it with launch_drop(), after an error, too. O(bytes *
 * keys). */
enum status launch_read(struct launch *launch, const char *path, int64_t devices, struct error *error);
static inline void launch_drop(struct launch *launch)
{
	mem_free(launch->line);
}

/* Writes what is in the slots as the launcher's file. BAD_INPUT: it has no word for one of them. */
enum status launch_write(const struct launch *launch, FILE *stream, struct error *error);
