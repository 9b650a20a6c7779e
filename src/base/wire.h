/* wire.h: walks over the fields of a protocol buffer in memory. It copies nothing and never reads past its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message, or the rest of one. broken: what it holds is no protocol buffer; it is at its end then. */
struct wire { const unsigned char *at, *end; bool broken; };

struct wire_field {
	uint32_t number;
	int type;         /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
	uint64_t value;   /* of types 0, 1 and 5 */
	struct wire body; /* of type 2 */
};

static inline struct wire wire_of(const void *data, size_t size)
{
	const unsigned char *at = data;
	return (struct wire){ at, at + size, false };
}
static inline size_t wire_size(struct wire wire)
{
	return (size_t)(wire.end - wire.at);
}

/* The next field; false at the end, and where it is broken. O(1). */
bool wire_next(struct wire *wire, struct wire_field *field);
/* The next integer of a repeated field, packed or not: *at is the body of a packed one, or a field's value once. */
bool wire_integer(struct wire *packed, uint64_t *value);
/* All integers of a field, packed or not, appended to a growing list. False when out of memory, or more than most of
 * them. */
bool wire_integers(const struct wire_field *field, int64_t **list, size_t *count, size_t *room, size_t most);
