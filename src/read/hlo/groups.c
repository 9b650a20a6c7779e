/* groups.c: replica groups as lists of devices, as an iota of devices, and as axes of a mesh: what XLA writes differs
 * from version to version. */
#include "hlo.h"

#define AXES_MOST 64

struct axes { uint64_t size[AXES_MOST]; uint32_t count; };

static struct hlo_groups hlo_groups_of(uint64_t size, uint64_t devices)
{
	return (struct hlo_groups){ size < NONE ? (uint32_t)size : 0, devices < NONE ? (uint32_t)devices : 0 };
}

/* A product that stays below 2^32; above, nobody says. */
static uint64_t hlo_groups_times(uint64_t a, uint64_t b)
{
	return a && b > NONE / a ? NONE : a * b;
}

static uint64_t all_of(const struct axes *axes)
{
	uint64_t devices = axes->count > 0;
	FOR(i, axes->count)
		devices = hlo_groups_times(devices, axes->size[i]);
	return devices;
}

static void hlo_groups_add_axis(struct axes *axes, uint64_t size)
{
	if (axes->count < AXES_MOST)
		axes->size[axes->count++] = SMALLER(size, NONE);
}

bool hlo_next_number(const char **at, const char *end, uint64_t *number)
{
	while (*at < end && (**at < '0' || **at > '9'))
		++*at;
	if (*at == end)
		return false;
	for (*number = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
		*number = *number < NONE ? *number * 10 + (uint64_t)(**at - '0') : NONE;
	return true;
}

static const char *find_character(const char *at, const char *end, char c)
{
	const char *found = memchr(at, c, (size_t)(end - at));
	return found ? found : end;
}

/* An axis by its name in quotes; NONE where the mesh lacks it. */
static uint32_t hlo_groups_axis_named(const char *at, const char *end, struct span name)
{
	for (uint32_t i = 0; at < end && i < AXES_MOST; i++) {
		const char *from = find_character(at, end, '\''), *to = from < end ? find_character(from + 1, end, '\'') : end;
		if (to < end && (size_t)(to - from - 1) == scan_length(name) && memcmp(from + 1, name.at, scan_length(name)) == 0)
			return i;
		at = to < end ? to + 1 : end;
	}
	return NONE;
}

/* mesh['a'=4,'b'=2] ... {'b', 'a':(1)2}: the part of an axis follows it as (size before)size. */
static struct hlo_groups hlo_groups_mesh_text(const char *at, const char *end)
{
	struct axes axes = { .count = 0 };
	const char *mesh = at, *close = find_character(at, end, ']'), *open = find_character(close, end, '{'),
			   *last = find_character(open, end, '}');
	uint64_t size = 1, number;
	uint32_t named = 0;
	for (const char *from = find_character(at, close, '='); from < close && hlo_next_number(&from, close, &number);
		from = find_character(from, close, '='))
		hlo_groups_add_axis(&axes, number);
	for (at = open; at < last && named < AXES_MOST; named++) {
		const char *from = find_character(at, last, '\''), *to = from < last ? find_character(from + 1, last, '\'') : last;
		if (to == last)
			break;
		uint32_t axis = hlo_groups_axis_named(mesh, close, (struct span){ from + 1, to });
		const char *comma = find_character(to, last, ','), *part = find_character(to, comma, ')');
		number = axis < axes.count ? axes.size[axis] : 1;
		if (part < comma)
			hlo_next_number(&part, comma, &number);
		size = hlo_groups_times(size, number);
		at = comma;
	}
	return last < end ? hlo_groups_of(size, all_of(&axes)) : (struct hlo_groups){ 0 };
}

struct hlo_groups hlo_groups_text(struct span value, const char *end)
{
	uint64_t size = 0, number, devices = 0;
	const char *at = value.at;
	if (scan_length(value) > 5 && memcmp(at, "mesh[", 5) == 0)
		return hlo_groups_mesh_text(at, find_character(at, end, '\n'));
	if (scan_length(value) > 1 && *at == '[') {
		const char *close = find_character(at, value.end, ']');
		uint64_t groups;
		return hlo_next_number(&at, close, &groups) && hlo_next_number(&at, close, &size)
			? hlo_groups_of(size, hlo_groups_times(groups, size))
			: (struct hlo_groups){ 0 };
	}
	/* The devices of the first group, and the largest of all. */
	const char *first = value.at < value.end ? find_character(value.at, value.end, '}') : value.end;
	for (; hlo_next_number(&at, value.end, &number); devices = LARGER(number + 1, devices))
		size += at <= first;
	return hlo_groups_of(size, devices);
}
