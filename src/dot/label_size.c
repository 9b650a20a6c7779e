/* label_size.c: the size that another tool's drawing tells in a node's label.
 *
 * XLA: f32[8,128]{1,0}; TVM: Tensor[(8, 128), float32]; FX: |dtype=torch.float32|shape=(8, 128)|stride=...; Keras:
 * Output shape: (None, 10), or input: | output: | [(None, 3)] | [(None, 10)]; torchviz: weight (8, 128). What a label
 * says of strides, or of what an op saved, has other words before it. */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "read.h"

#define MARKS " ([=:"

/* A label without tags, escapes and a record's fields. */
static void label_plain(char *text, bool tags)
{
	char *to = text;
	bool tag = false;
	for (char now; (now = *text); text++) {
		tag |= tags && now == '<';
		if (now == '\\' && text[1])
			text++, now = '\n';
		*to++ = (char)(tag || strchr("{}|", now) ? ' ' : now);
		tag &= now != '>';
	}
	*to = '\0';
}

/* Bits of an element where a word like float32, bf16 or pred begins, 0: none does; *end is behind it. A letter alone,
 * as in s8, may be a name. */
static int64_t label_bits(const char *at, const char **end)
{
	static const char *const kinds[] = { "f", "s", "u", "c", "i", "fp", "bf", "float", "bfloat", "int", "uint",
		"complex" };
	int letters = 0, kind = -1;
	while (isalpha((unsigned char)at[letters]))
		letters++;
	char *behind;
	long bits = strtol(at + letters, &behind, 10);
	*end = behind;
	if (letters == 4 && *behind != '_' && (strncasecmp(at, "pred", 4) == 0 || strncasecmp(at, "bool", 4) == 0))
		return 8;
	FOR_INT(i, (int)COUNT_OF(kinds))
		if ((int)strlen(kinds[i]) == letters && strncasecmp(kinds[i], at, (size_t)letters) == 0)
			kind = i;
	bool known = bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
	return kind >= 0 && known && (letters > 1 || *behind == '[') ? bits : 0;
}

/* Elements of the list of sizes that begins there, "(8, 128)", "[None]", or "[]" if it may be empty; -1: none does.
 * *end is behind it. */
static int64_t label_elements(const char *at, const char **end, bool empty, bool *unknown)
{
	int64_t elements = 1;
	if (!strchr("([", *at))
		return -1;
	for (at++; *at && !strchr(")]", *at); at += strspn(at, ", "), empty = true) {
		char *behind;
		long extent = strtol(at, &behind, 10);
		if (strncmp(at, "None", 4) == 0)
			behind += 4, extent = 1, *unknown = true;
		if (behind == at || !strchr(",)] ", *behind) || extent < 0 ||
			__builtin_mul_overflow(elements, (int64_t)extent, &elements))
			return -1;
		at = behind;
	}
	*end = at + strspn(at, ")] ");
	return *at && empty ? elements : -1;
}

/* Whether a list there is the result's: behind "shape" or "Tensor", or the last words of the label behind a name. */
static bool label_announced(const char *label, const char *at, bool last)
{
	const char *mark = at;
	while (mark > label && strchr(MARKS, mark[-1]))
		mark--;
	size_t length = (size_t)(mark - label);
	if (length >= 10 && strncmp(mark - 10, "torch.Size", 10) == 0)
		return label_announced(label, mark - 10, last);
	if (length >= 6 && strncmp(mark - 6, "Tensor", 6) == 0)
		return true;
	if (length >= 5 && strncasecmp(mark - 5, "shape", 5) == 0)
		return length < 11 || strncasecmp(mark - 11, "input", 5) != 0;
	return last && strcspn(mark, "=:") >= (size_t)(at - mark);
}

bool label_size(char *label, bool tags, struct label_size *size)
{
	int64_t bits = 0, elements = -1, width;
	const char *end, *next = label;
	label_plain(label, tags);
	*size = (struct label_size){ 0 };
	for (bool whole = false; *next && !whole; next++) {
		const char *at = next;
		bool begins = at == label || !isalnum((unsigned char)at[-1]), unknown = false;
		if (begins && (width = label_bits(at, &end)) > 0) {
			whole = *end == '[';
			bits = whole || !bits ? width : bits;
			at = end;
		}
		int64_t count = label_elements(at, &end, whole, &unknown);
		if (count >= 0 && (whole || label_announced(label, at, !*end)))
			elements = count, size->unknown = unknown;
		whole &= count >= 0;
	}
	size->assumed = bits == 0;
	return elements >= 0 && !__builtin_mul_overflow(elements, bits ? bits : 32, &size->bytes) &&
		(size->bytes = (size->bytes + 7) / 8) <= BYTES_MAX;
}
