/* proof.c: the names of quantities. */
#include "proof.h"

#define X(id, name, time) name,
const char *const quantity_names[QUANTITY_COUNT] = { QUANTITIES(X) };
#undef X
#define X(id, name, time) time,
const bool quantity_is_time[QUANTITY_COUNT] = { QUANTITIES(X) };
#undef X
