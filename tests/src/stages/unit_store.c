/* unit_store.c: the bounded store: what was used last stays, nothing leaks, memory may run out. */
#include "src/stages/base/store.h"
#include "tests/common/support.h"

static struct key number(uint64_t n)
{
	struct key key = key_of("test");
	key_add(&key, n);
	return key;
}

static void keep(struct store *store, uint64_t n, size_t bytes)
{
	struct key key = number(n);
	store_keep(store, &key, mem_alloc(1, 8), bytes, mem_free);
}

static bool has(struct store *store, uint64_t n)
{
	struct key key = number(n);
	return store_find(store, &key) != NULL;
}

Test(store, the_least_recently_used_goes_first)
{
	OWN(store) *store = store_new();
	store_begin(store, 10000, NULL);
	for (uint64_t i = 0; i < 4; i++)
		keep(store, i, 2000);
	cr_assert(has(store, 0));
	keep(store, 4, 2000);
	cr_assert(has(store, 0) && !has(store, 1) && has(store, 4));
	keep(store, 5, 20000);
	cr_assert(!has(store, 5), "larger than the limit: not kept");
	cr_assert(has(store, 4), "and nothing was thrown away for it");
	store_begin(store, 0, NULL);
	cr_assert_eq(store_bytes(store), 0);
}

Test(store, what_a_lost_candidate_left_goes_but_for_what_is_small)
{
	OWN(store) *store = store_new();
	store_begin(store, 100000, NULL);
	keep(store, 1, 5000);
	uint64_t mark = store_mark(store);
	keep(store, 2, 5000);
	keep(store, 3, 100);
	cr_assert(has(store, 1));    /* used again: the newest, but kept before */
	store_forget(store, mark, 1000);
	cr_assert(has(store, 1) && !has(store, 2) && has(store, 3));
}

Test(store, nothing_is_kept_of_a_run_that_was_cut_short)
{
	OWN(store) *store = store_new();
	atomic_bool cancel = false;
	store_begin(store, 10000, &cancel);
	keep(store, 1, 100);
	atomic_store(&cancel, true);
	keep(store, 2, 100);
	store_keep_blob(store, (uint64_t[2]){ 3, 3 }, "seven..", 8);
	cr_assert(has(store, 1) && !has(store, 2));
	cr_assert_eq(store_find_blob(store, (uint64_t[2]){ 3, 3 }, &(char[8]){ 0 }, 8), 0);
	store_begin(store, 10000, NULL);
	keep(store, 2, 100);
	cr_assert(has(store, 2));
}

Test(store, blobs_are_copied)
{
	OWN(store) *store = store_new();
	uint64_t key[2] = { 1, 2 }, other[2] = { 1, 3 };
	char back[8];
	store_keep_blob(store, key, "seven..", 8);
	cr_assert_eq(store_find_blob(store, key, back, sizeof back), 8);
	cr_assert_str_eq(back, "seven..");
	cr_assert_eq(store_find_blob(store, other, back, sizeof back), 0);
	store_keep_blob(store, key, "six...", 7);
	cr_assert_eq(store_find_blob(store, key, back, sizeof back), 7);
}

Test(store, out_of_memory_forgets_but_does_not_break)
{
	uint64_t random = test_seed();
	for (long allowed = 0; allowed < 60; allowed++) {
		struct store *store = store_new();
		store_begin(store, 5000, NULL);
		memory_allow(allowed);
		for (int i = 0; i < 40; i++)
			store_keep_blob(store, (uint64_t[2]){ random_next(&random) % 16, 0 }, &i, sizeof i);
		memory_allow(-1);
		for (uint64_t i = 0; i < 16; i++) {
			int back;
			size_t got = store_find_blob(store, (uint64_t[2]){ i, 0 }, &back, sizeof back);
			cr_assert(got == 0 || (got == sizeof back && back >= 0 && back < 40));
		}
		store_free(store);
		cr_assert_eq(memory_blocks(), 0);
	}
}
