/* hugging_face.h: the config.json of a Hugging Face model, which a reader in Python (src/read/python/families.py)
 * builds. */
#pragma once

#include "models.h"
#include "src/read/read_options.h"

struct hugging_face {
	char name[64], path[4096];  /* its type; the file */
	struct model_config config; /* its sizes, one sample; seq is what the model can take, at most 8192; from: this */
	int64_t apart;              /* so many first layers differ from those behind them, which are all alike */
	char notes[1500];           /* what is built differently and which keys nobody understood, a line each */
	struct read_options asked;  /* of the last graph that was built: a search asks for it again and again */
	struct graph *last;
};

/* Whether a path is a regular file of JSON with a "model_type", or a folder with such a config.json. O(1). */
bool hugging_face_is(const char *path);
/* Reads a config.json, or the one in a folder; keys that it lacks have transformers' defaults. The model has the
 * parameters of the library's class for pre-training (LlamaForCausalLM, BertForMaskedLM, ...), tied ones once, and
 * those of modules that predict further tokens. It must stay where it is: its configuration refers to it. BAD_INPUT,
 * with the key, for a type or a setting that isn't known, for sizes out of range and for what isn't JSON; LIMIT without
 * Python; NO_MEMORY. O(bytes), at most 16 MiB. Close it in any case; one of zeros is closed. */
enum status hugging_face_open(const char *path, struct hugging_face *model, struct error *error);
void hugging_face_close(struct hugging_face *model);
/* A new reference to the forward graph of such a configuration, in which sizes and kernels may have been changed. NULL
 * with *error. */
struct graph *hugging_face_build(const struct model_config *config, struct error *error);
