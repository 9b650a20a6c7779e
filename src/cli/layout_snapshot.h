/* layout_snapshot.h: what `tidemark layout` says of a PyTorch memory snapshot. */
#ifndef TIDEMARK_CLI_LAYOUT_SNAPSHOT_H
#define TIDEMARK_CLI_LAYOUT_SNAPSHOT_H

#include <jansson.h>

#include "solver/layout/layout.h"
#include "src/read/snapshot.h"

/* The facts as members of a JSON object; NULL when out of memory. */
json_t *snapshot_json(const struct snapshot_facts *facts, int64_t arena);
/* Some lines: what the trace had, what the plan needs, what fragmentation cost. bound: no layout needs less. */
void snapshot_print(const struct snapshot_facts *facts, int64_t alignment, const struct layout *layout, FILE *stream);

#endif
