/* places.c: where the data of weights that lie in other files are said to lie. */

#include "shapes.h"

/* ".." as a part of a path, or one from the root. */
static bool leads_out(struct wire path)
{
	const unsigned char *at = path.at;
	bool root = at < path.end && (*at == '/' || *at == '\\'), drive = wire_size(path) > 1 && at[1] == ':';
	for (bool begins = true; at < path.end && !root && !drive; at++) {
		bool dots = begins && path.end - at >= 2 && at[0] == '.' && at[1] == '.' &&
			(path.end - at == 2 || at[2] == '/' || at[2] == '\\');
		if (dots)
			return true;
		begins = *at == '/' || *at == '\\';
	}
	return root || drive;
}

static bool spells(struct wire text, const char *word)
{
	return text.at && wire_size(text) == strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

/* Bytes from 0 to 2^60, in digits. */
static bool is_place(struct wire text)
{
	uint64_t value = 0;
	bool fine = text.at < text.end;
	for (; text.at < text.end && fine; text.at++) {
		fine = *text.at >= '0' && *text.at <= '9' && value <= BYTES_MAX / 10;
		value = value * 10 + (uint64_t)(*text.at - '0');
	}
	return fine && value <= BYTES_MAX;
}

const char *onnx_place_wrong(struct wire tensor)
{
	struct wire_field field, part;
	while (wire_next(&tensor, &field)) {
		struct wire key = { 0 }, value = { 0 };
		while (field.number == 13 && field.type == 2 && wire_next(&field.body, &part))
			if (part.type == 2 && (part.number == 1 || part.number == 2))
				*(part.number == 1 ? &key : &value) = part.body;
		bool location = spells(key, "location");
		if (location && (!value.at || wire_size(value) == 0 || memchr(value.at, '\0', wire_size(value))))
			return "is said to be in a file without a name";
		if (location && leads_out(value))
			return "is said to be outside of the model's folder";
		if ((spells(key, "offset") || spells(key, "length")) && !is_place(value))
			return "has an offset or a length that is not a number of bytes";
	}
	return NULL;
}
