/* attributes.h: the node attributes that we know, and their values. */
#pragma once

#include <graphviz/cgraph.h>

#include "solver/graph/graph.h"

#define ATTRIBUTES(X) \
	X(KIND, "kind") X(BYTES, "bytes") X(DIMS, "dims") X(DTYPE, "dtype") X(ALIAS_OF, "alias_of") X(NAME, "name") X(EXTRA, \
		"extra") \
	X(OP, "op") X(PHASE, "phase") X(MODULE, "module") X(FLOPS, "flops") X(WORKSPACE, "workspace") X(STEP, "step") \
	X(INPLACE, "inplace") X(PERSISTENT, "persistent") X(LABEL, "label")
#define X(id, name) ATTRIBUTE_##id,
enum attribute { ATTRIBUTES(X) ATTRIBUTE_COUNT };
#undef X

struct attributes {
	Agsym_t *symbol[ATTRIBUTE_COUNT]; /* NULL where no node has it */
	Agsym_t **foreign;                /* neither ours nor Graphviz's: kept as unknown keys */
	uint32_t foreigns;
};

enum status attributes_find(Agraph_t *dot, struct arena *arena, struct attributes *attributes);
/* The attribute of ours that differs from a name in one letter, more or less; NULL where there is none. */
const char *attribute_meant(const char *name);
/* The value as it is there, or NULL where the node has none. */
const char *attribute_of(const struct attributes *attributes, Agnode_t *node, enum attribute attribute);

/* "4194304", "4MiB", "1.5 GiB": whole bytes of 0 or more. False for anything else. */
bool parse_bytes(const char *text, int64_t *bytes);
bool parse_integer(const char *text, int64_t *value);
/* "32,128,768" or "scalar" into shape; false for anything else. */
bool parse_dims(const char *text, int64_t shape[DIMS_MAX], uint8_t *dims);
/* Records of the native format: each has keys of its own, any other is unknown there. */
enum record_kind { RECORD_GRAPH, RECORD_TENSOR, RECORD_OP };

/* The unknown keys of a node as JSON members: its `extra`, then its foreign attributes. *extra is NULL
 * where there are none. BAD_INPUT when `extra` doesn't hold JSON members or holds a key of such a record. */
enum status unknown_keys(const struct attributes *attributes, Agnode_t *node, enum record_kind record,
	struct arena *arena, char **extra, struct error *error);
/* Checks the text of an `extra`. */
enum status check_extra(const char *extra, enum record_kind record, struct error *error);
