/* factor_roles.h: the last step of factors_find(). */
#pragma once

#include "factors.h"

/* Gives factors other than batch and sequence their roles. OK or NO_MEMORY. Nearly linear. */
enum status factor_roles_find(const struct graph *graph, const struct rules *rules, struct factors *factors);
