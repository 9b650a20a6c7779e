/* model_steps.h: training steps of built-in models in sizes for tests. */
#pragma once

#include <criterion/criterion.h>

#include "src/models/models.h"

/* A built-in model's configuration with those sizes that are not 0. */
static inline struct model_config sized_model(const char *name, struct model_config sizes)
{
	struct model_config config = model_find(name)->config;
#define X(field, least, most, help) if (sizes.field) config.field = sizes.field;
	MODEL_SIZES(X)
#undef X
	return config;
}

static inline struct graph *step_of_config(const char *name, struct model_config config, struct model_training training)
{
	struct error error = { 0 };
	struct graph *step = model_step(name, &config, &training, &error);
	cr_assert_not_null(step, "%s: %s", name, error.text);
	return step;
}

/* The step of a model of those sizes with Adam. */
static inline struct graph *step_of_sizes(const char *name, struct model_config sizes)
{
	return step_of_config(name, sized_model(name, sizes), (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}
