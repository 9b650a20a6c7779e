/* device_members.c: members of records that only device graphs have. What isn't as Tidemark writes it stays among the
 * unknown keys. */

#include "record.h"

void keys_add(struct keys *keys, const char *key)
{
	keys->key[keys->count++] = key;
}

/* The number that a member holds, if it is one from least to most. */
static bool device_members_whole_number(
	const struct value *record, const char *key, int64_t least, int64_t most, int64_t *number)
{
	const struct value *value = value_member(record, key);
	*number = value_integer(value);
	return value_is(value, VALUE_INTEGER) && *number >= least && *number <= most;
}

/* "R", "P", "S(1)", "S(1:3)": just what axis_place_text() writes. */
static bool read_place(const char *text, struct axis_place *place)
{
	int dim = 0;
	long long blocks = 1;
	if (!text)
		return false;
	if (strcmp(text, "R") == 0 || strcmp(text, "P") == 0)
		dim = *text == 'R' ? PLACE_WHOLE : PLACE_PARTIAL;
	else if (sscanf(text, "S(%3d:%18lld)", &dim, &blocks) < 1 || dim < 0 || dim >= DIMS_MAX)
		return false;
	*place = (struct axis_place){ (int8_t)dim, blocks };
	return strcmp(axis_place_text(*place, TEXT(40)), text) == 0;
}

bool record_places(const struct value *list, struct axis_places *places)
{
	uint32_t axes = value_items(list, VALUE_LIST);
	bool fine = axes > 0 && axes <= MESH_AXES;
	*places = (struct axis_places){ 0 };
	for EACH_INSIDE(place, fine ? list : NULL)
		fine = read_place(value_text(place), &places->on[places->axes++]) && fine;
	if (!fine)
		places->axes = 0;
	return fine;
}

void record_collective(
	const struct value *record, enum collective_kind kind, struct collective *said, struct keys *known)
{
	const char *axis = value_text(value_member(record, "axis"));
	const char *end = kind == COLLECTIVE_SEND ? "to" : kind == COLLECTIVE_RECEIVE ? "from" : "rank";
	int64_t number;
	if (axis && *axis && strlen(axis) < sizeof said->axis) {
		memcpy(said->axis, axis, strlen(axis) + 1);
		keys_add(known, "axis");
	}
	if (device_members_whole_number(record, "size", 1, UINT32_MAX, &number)) {
		said->size = (uint32_t)number;
		keys_add(known, "size");
	}
	if (device_members_whole_number(record, "group", 0, NONE - 1, &number)) {
		said->group = (uint32_t)number;
		keys_add(known, "group");
	}
	if (device_members_whole_number(record, "moved", 0, INT64_MAX, &said->moved))
		keys_add(known, "moved");
	else
		said->moved = -1;
	if (record_places(value_member(record, "from"), &said->from))
		keys_add(known, "from");
	if (record_places(value_member(record, "to"), &said->to))
		keys_add(known, "to");
	if (device_members_whole_number(record, end, 0, NONE - 1, &number)) {
		said->rank = (uint32_t)number;
		keys_add(known, end);
	}
}

/* The op that "NAME.again" or "NAME.again2" runs again; NULL where the name doesn't tell, or memory runs out. */
static const char *original(struct arena *names, const char *name)
{
	static const char ending[] = ".again";
	size_t length = strlen(name);
	while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	size_t tail = sizeof ending - 1;
	if (length <= tail || memcmp(name + length - tail, ending, tail) != 0)
		return NULL;
	return arena_text(names, name, length - tail);
}

void record_origin(struct arena *names, const struct value *record, struct op *op, struct keys *known)
{
	int64_t number;
	op->recomputed = value_is(value_member(record, "recomputed"), VALUE_TRUE);
	if (op->recomputed) {
		op->of = original(names, op->name);
		keys_add(known, "recomputed");
	}
	if (device_members_whole_number(record, "in_flight", 1, UINT32_MAX, &number)) {
		op->in_flight = (uint32_t)number;
		keys_add(known, "in_flight");
	}
}

/* A size of the step, or null where it has none. */
static int64_t device_members_read_size(const struct value *record, const char *key, struct keys *known)
{
	int64_t number = -1;
	if (!value_is(value_member(record, key), VALUE_NULL) &&
		!device_members_whole_number(record, key, 1, INT64_MAX, &number))
		return 0;
	keys_add(known, key);
	return number;
}

/* The grid: axes with their sizes, and the device. */
static void read_grid(const struct value *record, struct about *about, struct keys *known)
{
	const struct value *grid = value_member(record, "mesh");
	int64_t number;
	bool fine = value_items(grid, VALUE_OBJECT) > 0 && grid->items <= MESH_AXES &&
		device_members_whole_number(record, "rank", 0, NONE - 1, &number);
	if (!fine)
		return;
	about->device = (uint32_t)number;
	for EACH_INSIDE(size, grid) {
		const char *name = size->key;
		fine = fine && *name && strlen(name) < sizeof about->axis[0].name &&
			strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name) && value_integer(size) > 0 &&
			value_integer(size) <= UINT32_MAX;
		if (fine) {
			memcpy(about->axis[about->axes].name, name, strlen(name) + 1);
			about->axis[about->axes++].size = (uint32_t)value_integer(size);
		}
	}
	about->axes = fine ? about->axes : 0;
	if (fine) {
		keys_add(known, "mesh");
		keys_add(known, "rank");
	}
}

static bool read_opaque(struct arena *names, const struct value *list, struct about *about)
{
	uint32_t count = value_items(list, VALUE_LIST), found = 0;
	const char **type = count ? arena_alloc(names, count, sizeof *type) : NULL;
	for EACH_INSIDE(item, type ? list : NULL)
		found += (type[found] = value_text(item)) != NULL;
	bool fine = count && found == count;
	about->opaque = fine ? type : NULL;
	about->opaques = fine ? count : 0;
	return fine;
}

/* The lines of a list of texts, joined; NULL where it is no list, or has line ends in it. */
static const char *read_lines(struct arena *names, const struct value *list)
{
	size_t size = 1, used = 0;
	if (!value_is(list, VALUE_LIST))
		return NULL;
	for EACH_INSIDE(item, list) {
		const char *text = value_text(item);
		if (!text || !*text || strchr(text, '\n') || strlen(text) >= 1000)
			return NULL;
		size += strlen(text) + 1;
	}
	char *lines = arena_alloc(names, size, 1);
	if (lines)
		*lines = '\0';
	for EACH_INSIDE(item, lines ? list : NULL)
		used += (size_t)snprintf(lines + used, size - used, "%s%s", used ? "\n" : "", value_text(item));
	return lines;
}

/* What a reader of ours said of the graph that it read: all of it as Tidemark writes it, or none. */
static void read_intake(struct arena *names, const struct value *record, struct intake *intake, struct keys *known)
{
	static const char *const members[] = { "format", "version", "inferred", "missing", "derived", "assumed", "advice",
		"peak", "peak_by", "grows", "segments", "caching_allocator", "expandable_segments" };
	const struct value *read = value_member(record, "read");
	int64_t inferred = 0, missing = 0;
	size_t found = 0;
	FOR(i, COUNT_OF(members))
		found += value_member(read, members[i]) != NULL;
	bool fine = value_is(read, VALUE_OBJECT) && found == read->items;
	struct intake got = { .said = true, .derived = value_member(read, "derived") != NULL };
	fine = fine && (got.format = value_text(value_member(read, "format"))) != NULL;
	FOR_INT(i, 5) {
		const char *key = (const char *const[]){ "version", "advice", "peak_by", "segments", "grows" }[i];
		const char **text = (const char **[]){
			&got.version, &got.advice, &got.peak_by, &got.segments, &got.grows }[i];
		const struct value *value = value_member(read, key);
		*text = value_text(value);
		fine = fine && (!value || *text);
	}
	const struct { const char *key; int64_t most, *to; } numbers[] = { { "inferred", NONE - 1, &inferred },
		{ "missing", NONE - 1, &missing }, { "peak", BYTES_MAX, &got.peak },
		{ "caching_allocator", BYTES_MAX, &got.caching[0] }, { "expandable_segments", BYTES_MAX, &got.caching[1] } };
	FOR(i, COUNT_OF(numbers))
		fine = fine && (!value_member(read, numbers[i].key) ||
			device_members_whole_number(read, numbers[i].key, 1, numbers[i].most, numbers[i].to));
	fine = fine && (got.caching[0] > 0) == (got.caching[1] > 0) &&
		(!got.derived || value_is(value_member(read, "derived"), VALUE_TRUE)) &&
		(!value_member(read, "assumed") || (got.assumed = read_lines(names, value_member(read, "assumed"))) != NULL);
	if (!fine)
		return;
	got.inferred = (uint32_t)inferred;
	got.missing = (uint32_t)missing;
	*intake = got;
	keys_add(known, "read");
}

/* Texts are the record's. */
void record_about(struct arena *names, const struct value *record, struct about *about, struct keys *known)
{
	const struct value *pipeline = value_member(record, "pipeline");
	int64_t ranks, rank;
	about->batch = device_members_read_size(record, "batch", known);
	about->sequence = device_members_read_size(record, "seq", known);
	if ((about->teaches = value_text(value_member(record, "teaches"))))
		keys_add(known, "teaches");
	if ((about->asks = value_text(value_member(record, "asks"))))
		keys_add(known, "asks");
	if ((about->synthesised = value_text(value_member(record, "synthesised"))))
		keys_add(known, "synthesised");
	if ((about->one_sample = value_text(value_member(record, "one_sample"))))
		keys_add(known, "one_sample");
	int64_t nodes = device_members_read_size(record, "router_nodes", known);
	about->router_nodes = nodes > 0 && nodes <= UINT16_MAX ? (uint32_t)nodes : 0;
	if (read_opaque(names, value_member(record, "opaque_ops"), about))
		keys_add(known, "opaque_ops");
	read_grid(record, about, known);
	read_intake(names, record, &about->intake, known);
	if (value_items(pipeline, VALUE_OBJECT) == 2 &&
		device_members_whole_number(pipeline, "ranks", 1, NONE - 1, &ranks) &&
		device_members_whole_number(pipeline, "rank", 0, NONE - 1, &rank)) {
		about->ranks = (uint32_t)ranks;
		about->rank = (uint32_t)rank;
		keys_add(known, "pipeline");
	}
}
