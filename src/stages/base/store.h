/* store.h: results by fingerprint, bounded in bytes, least recently used out first.
 *
 * One store serves whole stages and the solvers' sub-problems alike. A key is a fingerprint of everything
 * that a result depends on, so a hit is as good as solving again: nothing depends on an earlier plan.
 * A store belongs to one thread at a time. */
#pragma once

#include "src/scenario/scenario.h"

struct key { uint64_t half[2]; };

/* A key starts from a text that names what it is a key of; then everything that matters is added. */
struct key key_of(const char *what);
void key_add(struct key *key, uint64_t value);
void key_add_key(struct key *key, const struct key *other);
void key_add_bytes(struct key *key, const void *bytes, size_t size);
/* Values of knobs that are in any of these keys (BY_...), with BY_MACHINE the device's own figures. */
void key_add_knobs(struct key *key, const struct scenario *scenario, unsigned by);
/* All knobs and pins, and the files that pins name. */
void key_add_scenario(struct key *key, const struct scenario *scenario);
/* One pin, and its schedule's file, unless the pin holds it. */
void key_add_pin(struct key *key, const struct pin *pin);
/* A file's content: it may change while results of it are kept. A pipe can be read once alone, by its reader: its name
 * stands for it. */
void key_add_file(struct key *key, const char *path);

struct store;

/* Without a limit until store_begin(). NULL when out of memory. */
struct store *store_new(void);
void store_free(struct store *store);
DROP(store, store_free)
/* A run begins: what is above limit, in bytes, goes at once. Nothing is kept once *cancel is set (NULL: never), as it
 * may have been cut short. */
void store_begin(struct store *store, size_t limit, const atomic_bool *cancel);
size_t store_bytes(const struct store *store);

/* What was kept since store_mark() and is larger than so many bytes goes: nobody will ask for it. O(entries). */
uint64_t store_mark(const struct store *store);
void store_forget(struct store *store, uint64_t mark, size_t above);

/* The value, which the store keeps owning (until the next store_keep), or NULL. O(1). */
void *store_find(struct store *store, const struct key *key);
/* Takes over value: release(value) is called when it has to go, at once where it is larger than the limit
 * or memory is out. bytes: what the value occupies. An older value of the key is replaced.
 * True when the store has it, until the next call; false when it is released already. */
bool store_keep(struct store *store, const struct key *key, void *value, size_t bytes, void (*release)(void *value));

/* Blobs, for the solvers' callbacks: copies in and out. */
size_t store_find_blob(struct store *store, const uint64_t key[2], void *data, size_t bytes);
void store_keep_blob(struct store *store, const uint64_t key[2], const void *data, size_t bytes);
