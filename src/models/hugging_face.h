/* hugging_face.h: the config.json of a Hugging Face model, as a configuration of a built-in family. */
#pragma once

#include "models.h"

struct hugging_face {
	const char *name;           /* the model_type, a constant, or lent by type */
	struct model_config config; /* one sample; seq is what the model can take, at most HUGGING_FACE_SEQ */
	int64_t seq_most;           /* the longest sequence that is the same model, or 0: any */
	const char *seq_key;        /* the key that says so */
	bool unknown;               /* no built-in family has its type: the sizes are what the file says, or 0 */
	char type[64], path[4096];  /* of a file that a reader in Python builds */
	char notes[1500];           /* what is built differently and which keys nobody understood, a line each */
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

/* hugging_face_types: the table of Hugging Face's model types: their keys, what these mean here, and transformers'
 * defaults. */

/* A key that is missing, or null: an error; what follows from other sizes; as it was (another name of the key said it).
 */
enum { HF_REQUIRED = -1, HF_FOLLOWS = 0, HF_KEEP = -2 };

/* normal: where the key is missing; null: what JSON's null stands for, HF_REQUIRED where it is an error. */
struct hf_size {
	const char *key;
	size_t field; /* of struct model_config */
	int64_t normal, null;
};

/* true or false; a cap is a number, and null where there is none. */
struct hf_switch {
	const char *key;
	size_t field;
	bool normal, cap;
};

/* What a key must be where it is there, in the words of the reader. A dot leads into an object. */
struct hf_setting {
	const char *key, *value;
};

struct hf_type {
	const char *name, *architecture;
	struct model_config base;
	bool tied; /* where the file doesn't say */
	const char *activation, *activation_normal;
	const char *positions, *window;
	int64_t positions_normal, window_normal;
	int64_t more_positions; /* that the table of positions has above what the file says */
	bool window_asked;      /* the window counts only where use_sliding_window is true */
	bool heads_fill; /* all heads side by side must be as wide as the model: the library's last product takes no other
						width */
	double rotary_normal; /* the part of a head with positions where the file doesn't say; 0: always all of it */
	const struct hf_size *sizes;
	const struct hf_switch *switches;
	const struct hf_setting *settings;
	const char *dropouts[4];
	bool dropped;        /* where the file doesn't say */
	const char *inner;   /* the object that has all this, NULL: the file itself */
	const char *assumed; /* what is built differently, a line each; NULL */
};

/* Up to one without a name. */
extern const struct hf_type hf_types[];

/* Whether a key is known to change neither tensors nor ops: tokens, caches, initialisation, bases of positions, numbers
 * in norms. */
bool hf_harmless(const char *key);
