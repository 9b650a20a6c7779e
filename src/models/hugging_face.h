/* hugging_face.h: the config.json of a Hugging Face model, as a configuration of a built-in family. */
#pragma once

#include "models.h"

struct hugging_face {
	const char *name;              /* the model_type, a constant */
	struct model_config config;    /* one sample; seq is what the model can take, at most HUGGING_FACE_SEQ */
	int64_t seq_most;              /* the longest sequence that is the same model, or 0: any */
	const char *seq_key;           /* the key that says so */
	char notes[1500];              /* what is built differently and which keys nobody understood, a line each */
};

#define HUGGING_FACE_SEQ 8192

/* Whether a path is a folder, or a regular file of one JSON object with a "model_type": what hugging_face_open() is
 * for. */
bool hugging_face_is(const char *path);
/* Reads a config.json, or the one in a folder; keys that it lacks have transformers' defaults. The model has the
 * parameters of the library's class for pre-training (LlamaForCausalLM, BertForMaskedLM, ...), tied ones once, and
 * those of modules that predict further tokens. BAD_INPUT, with the key, for a family or a setting that the built-in
 * models don't have, for sizes out of range and for what isn't JSON; NO_MEMORY. O(bytes), at most 16 MiB. */
enum status hugging_face_open(const char *path, struct hugging_face *model, struct error *error);
/* The same from a text. */
enum status hugging_face_read(const char *text, size_t size, struct hugging_face *model, struct error *error);
/* The configuration with its notes, which lie in the model: it has to stay. */
struct model_config hugging_face_config(const struct hugging_face *model);
/* BAD_INPUT where a sequence of that length would need another model: more learned positions. */
enum status hugging_face_fits(const struct hugging_face *model, int64_t seq, struct error *error);
