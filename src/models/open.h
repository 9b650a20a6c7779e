/* open.h: opens a graph for a command: a file's, or a built-in model's step. */
#pragma once

#include "hugging_face.h"

/* The model that a name means; it must stay where it is. Close its file. */
struct named_model {
	const char *name; /* the built-in one's, or a config.json's type; NULL: the name is a file's that is no model's */
	struct model_config preset, config; /* its own sizes, and with those behind the name */
	struct hugging_face file;
};

/* A Hugging Face model's config.json or its folder, or where no file has that name the built-in model that has it ("_"
 * is "-"); with other sizes behind it: gpt2:layers=2. eager_loss: as model_config_default() has it. BAD_INPUT: neither
 * file nor model, or sizes that it can't have; otherwise as hugging_face_open(). */
enum status model_open(const char *name, bool eager_loss, struct named_model *model, struct error *error);
/* Reads a graph, or makes the step of a model that a name means. Otherwise as graph_open(). */
struct graph *open_graph(const char *path, const struct read_options *options, struct error *error);
/* Whether it makes the step by a model's name or config.json, which takes sizes behind it. */
bool open_is_model(const char *path);
/* The same with warnings printed; NULL after complaining, *exit_code set. */
struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code);
