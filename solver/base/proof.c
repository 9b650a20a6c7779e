/* proof.c: the names of quantities. */
#include "proof.h"

#define X(id, name) name,
const char *const quantity_names[QUANTITY_COUNT] = { QUANTITIES(X) };
#undef X
