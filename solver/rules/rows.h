/* rows.h: rows of the tables of rules. Of types that are alike, "aten.sin cos", then the columns from the factors on;
 * what stands last and is none is left out. */
#pragma once

#include "rules.h"

#define RULE(types, ...) { .type = types, __VA_ARGS__ }
#define KERNEL(types, ...) RULE(types, COST_ELEMENT, __VA_ARGS__) /* goes over what it is given */
#define PRODUCT(types, ...) RULE(types, COST_CONTRACTION, __VA_ARGS__)
#define VIEW(types, factors, traits) RULE(types, COST_NONE, factors, "0", "", traits)
#define MOVE(types, factors, traits) KERNEL(types, factors, "*", "", traits) /* to a new buffer, nothing saved */
#define ANY "...* -> ...*" /* elementwise, any number of operands */
