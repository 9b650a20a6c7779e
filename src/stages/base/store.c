/* store.c: results by fingerprint, least recently used out first. */
#include <sys/stat.h>

#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "store.h"

/* A store that can't grow just forgets: out of memory must not end the program. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) mem_alloc(1, size)
#define uthash_free(block, size) mem_free(block)
#include <uthash.h>

struct entry {
	struct key key;
	void *value;
	size_t bytes;
	uint64_t number;
	void (*release)(void *);
	struct entry *newer, *older;
	UT_hash_handle hh;
};

struct store {
	struct entry *table;
	struct entry *newest, *oldest;
	size_t bytes, limit;
	uint64_t kept;          /* so far */
	const atomic_bool *cancel;
};

struct blob { size_t bytes; unsigned char data[]; };

struct key key_of(const char *what)
{
	struct key key = { { UINT64_C(0x7469646d), UINT64_C(0x61726b31) } };
	key_add_bytes(&key, what, strlen(what));
	return key;
}

void key_add(struct key *key, uint64_t value)
{
	key->half[0] = hash_join(key->half[0], value);
	key->half[1] = hash_join(key->half[1] ^ UINT64_C(0xa5a5a5a5a5a5a5a5), value);
}

void key_add_knobs(struct key *key, const struct scenario *scenario, unsigned by)
{
	FOR_INT(knob, KNOB_COUNT)
		if (knobs[knob].by & by)
			key_add(key, (uint64_t)scenario->value[knob]);
	if (by & BY_MACHINE)
		key_add(key, scenario_figures_hash(scenario));
}

void key_add_scenario(struct key *key, const struct scenario *scenario)
{
	FOR_INT(knob, KNOB_COUNT)
		key_add(key, (uint64_t)scenario->value[knob]);
	FOR(i, scenario->pins)
		key_add_pin(key, &scenario->pin[i]);
}

void key_add_file(struct key *key, const char *path)
{
	struct stat state;
	bool regular = stat(path, &state) == 0 && S_ISREG(state.st_mode);
	FILE *file = regular ? fopen(path, "rb") : NULL;
	uint64_t hash = regular;
	for (int c; file && (c = getc(file)) != EOF;)
		hash = hash_join(hash, (uint64_t)c);
	for (const char *at = path; !regular && *at; at++)
		hash = hash_join(hash, (uint64_t)*at);
	if (file)
		fclose(file);
	key_add(key, hash);
}

void key_add_pin(struct key *key, const struct pin *pin)
{
	key_add(key, pin->kind);
	key_add(key, (uint64_t)pin->number);
	key_add_bytes(key, pin->a, strlen(pin->a));
	key_add_bytes(key, pin->b, pin->b ? strlen(pin->b) : 0);
	if (pin->kind == PIN_SCHEDULE && !pin->b)
		key_add_file(key, pin->a);
}

void key_add_key(struct key *key, const struct key *other)
{
	key_add(key, other->half[0]);
	key_add(key, other->half[1]);
}

void key_add_bytes(struct key *key, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	key_add(key, size);
	for (; size; ) {
		uint64_t word = 0;
		size_t take = SMALLER(size, sizeof word);
		memcpy(&word, at, take);
		key_add(key, word);
		at += take;
		size -= take;
	}
}

struct store *store_new(void)
{
	struct store *MAKE(store, 1);
	if (store)
		store->limit = SIZE_MAX;
	return store;
}

static void unlink_entry(struct store *store, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &store->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &store->oldest) = entry->newer;
}

static void link_newest(struct store *store, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = store->newest;
	*(store->newest ? &store->newest->newer : &store->oldest) = entry;
	store->newest = entry;
}

static void stages_store_drop(struct store *store, struct entry *entry)
{
	HASH_DEL(store->table, entry);
	unlink_entry(store, entry);
	store->bytes -= entry->bytes;
	entry->release(entry->value);
	mem_free(entry);
}

void store_free(struct store *store)
{
	if (!store)
		return;
	while (store->oldest)
		stages_store_drop(store, store->oldest);
	mem_free(store);
}

void store_begin(struct store *store, size_t limit, const atomic_bool *cancel)
{
	store->cancel = cancel;
	store->limit = limit;
	while (store->oldest && store->bytes > limit)
		stages_store_drop(store, store->oldest);
}

size_t store_bytes(const struct store *store)
{
	return store->bytes;
}

uint64_t store_mark(const struct store *store)
{
	return store->kept;
}

void store_forget(struct store *store, uint64_t mark, size_t above)
{
	for (struct entry *entry = store->newest, *older; entry; entry = older) {
		older = entry->older;
		if (entry->number >= mark && entry->bytes > above)
			stages_store_drop(store, entry);
	}
}

void *store_find(struct store *store, const struct key *key)
{
	struct entry *entry;
	HASH_FIND(hh, store->table, key, sizeof *key, entry);
	if (!entry)
		return NULL;
	unlink_entry(store, entry);
	link_newest(store, entry);
	return entry->value;
}

bool store_keep(struct store *store, const struct key *key, void *value, size_t bytes, void (*release)(void *))
{
	struct entry *entry;
	HASH_FIND(hh, store->table, key, sizeof *key, entry);
	if (entry)
		stages_store_drop(store, entry);
	bytes += sizeof *entry;
	bool whole = !store->cancel || !atomic_load_explicit(store->cancel, memory_order_relaxed);
	entry = whole && bytes <= store->limit ? mem_alloc(1, sizeof *entry) : NULL;
	if (!entry) {
		release(value);
		return false;
	}
	*entry = (struct entry){ .key = *key, .value = value, .bytes = bytes, .number = store->kept++, .release = release };
	HASH_ADD(hh, store->table, key, sizeof *key, entry);
	if (!entry->hh.tbl) {
		release(value);
		mem_free(entry);
		return false;
	}
	link_newest(store, entry);
	store->bytes += bytes;
	while (store->bytes > store->limit)
		stages_store_drop(store, store->oldest);
	return true;
}

size_t store_find_blob(struct store *store, const uint64_t key[2], void *data, size_t bytes)
{
	struct key wanted = { { key[0], key[1] } };
	struct blob *blob = store_find(store, &wanted);
	if (!blob)
		return 0;
	if (bytes > blob->bytes)
		bytes = blob->bytes;
	memcpy(data, blob->data, bytes);
	return bytes;
}

void store_keep_blob(struct store *store, const uint64_t key[2], const void *data, size_t bytes)
{
	struct key kept = { { key[0], key[1] } };
	struct blob *blob = mem_alloc(1, sizeof *blob + bytes);
	if (!blob)
		return;
	blob->bytes = bytes;
	memcpy(blob->data, data, bytes);
	store_keep(store, &kept, blob, sizeof *blob + bytes, mem_free);
}
