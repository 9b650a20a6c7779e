/* argument_members.h: members of an op's record that say what it is called with. */
#pragma once

#include "record.h"
#include "solver/graph/graph.h"

/* Reads `args`, `kwargs` and `result` (tidemark(5)). *arguments is in the arena, as its numbers are; other texts are
 * the record's. NULL where none of them is there, or one is more than a writer can take: then they stay members that we
 * don't know. */
enum status record_arguments(struct arena *arena, const struct value *record, const struct arguments **arguments);
