/* wire.c: fields of protocol buffers. */
#include "wire.h"

#include "solver/base/base.h"

static bool broken(struct wire *wire)
{
	wire->broken = true;
	wire->at = wire->end;
	return false;
}

bool wire_integer(struct wire *wire, uint64_t *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		unsigned char byte = *wire->at++;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return broken(wire);
}

static bool fixed(struct wire *wire, size_t bytes, uint64_t *value)
{
	*value = 0;
	if (wire_size(*wire) < bytes)
		return broken(wire);
	FOR_SIZE(i, bytes)
		*value |= (uint64_t)*wire->at++ << (8 * i);
	return true;
}

bool wire_next(struct wire *wire, struct wire_field *field)
{
	uint64_t tag;
	*field = (struct wire_field){ 0 };
	if (wire->at >= wire->end || !wire_integer(wire, &tag))
		return false;
	field->type = (int)(tag & 7);
	if (tag >> 3 == 0 || tag >> 3 > 1u << 29)
		return broken(wire);
	field->number = (uint32_t)(tag >> 3);
	switch (field->type) {
	case 0:
		return wire_integer(wire, &field->value);
	case 1:
		return fixed(wire, 8, &field->value);
	case 5:
		return fixed(wire, 4, &field->value);
	case 2:
		if (!wire_integer(wire, &field->value) || field->value > wire_size(*wire))
			return broken(wire);
		field->body = (struct wire){ wire->at, wire->at + field->value, false };
		wire->at += field->value;
		return true;
	default:
		return broken(wire);
	}
}

bool wire_integers(const struct wire_field *field, int64_t **list, size_t *count, size_t *room, size_t most)
{
	struct wire body = field->body;
	uint64_t value = field->value;
	bool more = field->type != 2 || (body.at < body.end && wire_integer(&body, &value));
	while (more) {
		if (*count >= most || !mem_reserve(list, room, *count + 1, sizeof **list))
			return false;
		(*list)[(*count)++] = (int64_t)value;
		more = field->type == 2 && body.at < body.end && wire_integer(&body, &value);
	}
	return true;
}
