/* forged_step.h: the steps whose plans are changed. */
#pragma once

#include "src/models/models.h"
#include "src/read/input.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* A sample by its file's name, a small model by its own; gpt1 is the smallest, for what is searched long. */
static inline struct graph *graph_of(const char *name)
{
	struct error error = { 0 };
	if (strchr(name, '.')) {
		char path[200];
		snprintf(path, sizeof path, "samples/%s", name);
		struct graph *graph = graph_open(path, NULL, &error);
		cr_assert_not_null(graph, "%s", error.text);
		return graph;
	}
	bool small = strcmp(name, "gpt1") == 0;
	name = small ? "gpt" : name;
	struct model_config config = sized_model(name,
		(struct model_config){ .layers = small ? 1 : 2,
			.hidden = small ? 48 : 96,
			.batch = 8,
			.seq = small ? 32 : 128,
			.heads = 12,
			.vocab = small ? 128 : 512 });
	config.kv_heads = config.kv_heads ? 6 : 0;
	return step_of_config(name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}
