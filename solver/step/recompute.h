/* recompute.h: computing activations again in the backward pass instead of keeping them; offloading them. */
#pragma once

#include "solver/rules/rules.h"

/* In the order of the knob's words. What comes after PRODUCTS is solver/fit's. */
#define RECOMPUTES(X) \
	X(NONE, "none", "all that is saved is kept") \
	X(SELECTIVE, "selective", "attention scores are recomputed (Korthikanti et al. 2022)") \
	X(FULL, "full", "each layer is recomputed from its inputs") \
	X(PRODUCTS, "products", "each layer is recomputed except attention in one kernel and every other product with a " \
		"weight (torchtitan's selective checkpointing)") \
	X(AUTO, "auto", "the least time that was found for the memory cap") \
	X(SQRT, "sqrt", "groups of layers are recomputed, the square root of their number (Chen et al. 2016)") \
	X(LAYERS, "layers:2", "groups of that many layers are recomputed from their inputs") \
	X(OPS, "ops", "ops of given types or modules are recomputed: recompute=ops:aten.gelu+aten.native_layer_norm, or of " \
		"Megatron's recompute_modules, below: ops:mla_up_proj+moe_act+layernorm") \
	X(KNAPSACK, "knapsack:50%", "PyTorch's activation_memory_budget: a share of the saved bytes, by its partitioner") \
	X(EVERY, "every:2", "every N-th layer is recomputed from its inputs (torchtitan's selective " \
		"checkpointing by layers)")
#define X(id, name, help) RECOMPUTE_##id,
enum recompute { RECOMPUTES(X) RECOMPUTE_COUNT };
#undef X
extern const char *const recompute_names[RECOMPUTE_COUNT];

/* What a step's activations are to the backward pass. */
struct activations {
	uint32_t layers;         /* repeated parts of the model, by module path */
	const char **layer_name; /* [layers] "h.3" */
	uint32_t *layer;         /* [ops] the layer of a forward op, NONE outside of layers and for other ops */
	bool *saved;             /* [storages] written by the forward pass and read after it */
	bool *anchor;            /* [storages] of the forward pass: crosses layers, or belongs to none */
	bool *held; /* [storages] kept though no later op reads it, by recompute_choose(): what runs again begins there */
	bool *attention; /* [storages] scores of an attention: between two products around a softmax */
	bool *kept_product; /* [ops] attention in one kernel, and of each layer's products with a weight the first, third,
						   ... */
	int64_t *flops; /* [ops] of forward ops; 0 where nothing is known */
	struct arena arena;
};

/* Of groups of so many layers, the one that an op is of; NONE. */
static inline uint32_t activations_group(const struct activations *activations, uint32_t op, uint32_t every)
{
	return activations->layer[op] == NONE ? NONE : activations->layer[op] / every;
}

/* Layers are told by the first numbered part of a module path ("h.3", "encoder.layers.encoder_layer_3", "layer1.0").
 * O(graph). Free with activations_free(). */
enum status activations_find(const struct graph *step, const struct rules *rules, struct activations *activations,
	struct error *error);
void activations_free(struct activations *activations);
#define activations_drop activations_free

/* True for a module path that names a layer, so told. */
bool module_in_layer(const char *module);
/* The length of the part of a module path that names its layer: the first component that ends in a number, and
 * plain numbers right behind it: "h.3", "layer1.0", "encoder.layers.encoder_layer_3". 0: none. O(length). */
size_t module_layer_length(const char *module);

struct recompute_options {
	enum recompute mode;     /* recompute_choose(): up to PRODUCTS */
	int64_t number;          /* of LAYERS and KNAPSACK: layers in a group, percent; of EVERY: which layers */
	const char *const *type; /* of OPS: types of ops that run again */
	uint32_t types;
	const uint32_t *layer; /* more layers to recompute in full */
	uint32_t layers;
	const uint32_t *resident; /* tensors whose storage is never dropped */
	uint32_t residents;
	const uint32_t *offload; /* tensors whose storage waits in host memory between the passes */
	uint32_t offloads;
};

/* Chooses what to drop, into drop [storages]: SELECTIVE all attention scores, FULL everything in the layers but what
 * crosses between them, PRODUCTS the same less what kept products give, which is held; with the layers of the options
 * and without their residents. */
void recompute_choose(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options, bool *drop);

/* What dropping costs and saves: FLOPs of the forward ops that run again, and bytes of saved storages that are not
 * kept. What can't be run again is left out of both. O(graph). */
struct recompute_cost { int64_t flops, bytes; };
/* cost: the whole; by_layer [layers]: the parts of the layers, or NULL. */
enum status recompute_cost(const struct graph *step, const struct activations *activations, const bool *drop,
	struct recompute_cost *cost, struct recompute_cost *by_layer, struct error *error);

/* The step in which dropped storages are computed again: right before its first reader in the backward pass, each
 * dropped storage is written anew by copies of its forward ops (in place where they are), and of what these need in
 * turn down to storages that are kept. Later readers share it. Copies are called NAME.again, have phase
 * backward and are recomputed. Offloaded storages are copied out after their last forward reader
 * (tidemark.offload, its result has their shape but takes no device memory) and back before the first reader after it
 * (tidemark.fetch), also of copies; views of what came back are made by copies of their ops. drop may be NULL. What
 * can't be run again is kept. NULL with *status and *error. O(graph). */
struct graph *recompute_apply(const struct graph *step, const struct activations *activations, const bool *drop,
	const uint32_t *offload, uint32_t offloads, struct error *error);

/* A storage that waits in the host, with time for the copies: before op `gone` the memory is let go of
 * (tidemark.offload_wait), before op `back` there is memory again and the way back begins (tidemark.fetch_buffer,
 * tidemark.fetch). Ops that compute, in program order: gone behind the storage's last reader of the forward pass, back
 * not behind its first one after it. */
struct offload_window { uint32_t storage, gone, back; };

/* The step with storages in the host. The copy out may begin when the storage's last writer of the pass has run.
 * Control edges hold what lets go, and the memory to come back to, where the window says. NULL with *error. O(graph).
 */
struct graph *offload_apply(const struct graph *step, const struct activations *activations,
	const struct offload_window *window, uint32_t windows, struct error *error);

#define HOST_STATE_BYTES (1 << 16) /* smaller states stay on the device */

/* The step with its optimizer state in the host's memory: each parameter's comes (tidemark.fetch) while those before
 * are updated, and goes back (tidemark.offload, tidemark.offload_wait) while the next are, so that some five are on the
 * device. What stands for it in the host keeps its name, takes no bytes and is replaced by what goes back.
 * order: [ops] in which the step's ops then run, valid. State of `room` bytes at the most, in the order of the
 * storages, which only updates touch and which isn't replaced; what is below HOST_STATE_BYTES stays. *states, *bytes:
 * what moved; the step itself, where nothing does. A new reference, or NULL with *error. O(graph log states). */
struct graph *offload_states(
	struct graph *step, const uint32_t *order, int64_t room, uint32_t *states, int64_t *bytes, struct error *error);
