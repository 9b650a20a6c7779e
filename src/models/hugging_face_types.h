/* hugging_face_types.h: the table of Hugging Face's model types: their keys, what these mean here, and transformers'
 * defaults. */
#pragma once

#include "models.h"

/* A key that is missing, or null: an error; what follows from other sizes; as it was (another name of the key said it).
 */
enum { HF_REQUIRED = -1, HF_FOLLOWS = 0, HF_KEEP = -2 };

/* normal: where the key is missing; null: what JSON's null stands for, HF_REQUIRED where it is an error. */
struct hf_size {
	const char *key;
	size_t field;           /* of struct model_config */
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
	bool tied;                  /* where the file doesn't say */
	const char *activation, *activation_normal;
	const char *positions, *window;
	int64_t positions_normal, window_normal;
	int64_t more_positions;     /* that the table of positions has above what the file says */
	bool window_asked;          /* the window counts only where use_sliding_window is true */
	bool heads_fill; /* all heads side by side must be as wide as the model: the library's last product takes no other
						width */
	double rotary_normal;       /* the part of a head with positions where the file doesn't say; 0: always all of it */
	const struct hf_size *sizes;
	const struct hf_switch *switches;
	const struct hf_setting *settings;
	const char *dropouts[4];
	bool dropped;               /* where the file doesn't say */
	const char *inner;          /* the object that has all this, NULL: the file itself */
	const char *assumed;        /* what is built differently, a line each; NULL */
};

/* Up to one without a name. */
extern const struct hf_type hf_types[];

/* Whether a key is known to change neither tensors nor ops: tokens, caches, initialisation, bases of positions, numbers
 * in norms. */
bool hf_harmless(const char *key);
