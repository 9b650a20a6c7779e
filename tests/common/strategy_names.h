/* strategy_names.h: what strategies are called in messages. */
#pragma once

#include "solver/shard/find.h"

#define X(id, name, help) name,
static const char *const strategy_names[STRATEGY_COUNT] = { SHARD_STRATEGIES(X) };
#undef X
