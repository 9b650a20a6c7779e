/* device_members.h: members of records that only device graphs have: placements, collectives, what ops come from,
 * meshes and pipelines. */
#pragma once

#include "record.h"
#include "solver/graph/graph.h"

/* Keys of a record that have a place in the graph: those of every record, and others of this one. */
#define KEYS 24
struct keys {
	const char *key[KEYS];
	uint32_t count;
};
void keys_add(struct keys *keys, const char *key);

/* Each reads what is as Tidemark writes it, and adds its keys to those that are known. Texts are the record's or in the
 * arena. */
bool record_places(const struct value *list, struct axis_places *places);
void record_collective(
	const struct value *record, enum collective_kind kind, struct collective *said, struct keys *known);
void record_origin(struct arena *names, const struct value *record, struct op *op, struct keys *known);
void record_about(struct arena *names, const struct value *record, struct about *about, struct keys *known);
