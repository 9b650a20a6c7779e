/* ranking.h: configurations in the order in which they are shown. */
#pragma once

#include "config_search.h"

/* The model is cut alike (tp, pp, ep): the copies that dp and cp make of what is left differ in how they share the
 * tokens out. */
bool config_same_cut(const struct config *a, const struct config *b);
/* All that fit by time, then memory, none of them leading; then the others by memory. Marks the front. O(entries log
 * entries). */
void config_rank_by_time(struct config_list *list);
/* The same, the fastest of each way to cut the model (tp, pp, ep) before its variants, as config_search() ranks. OK or
 * NO_MEMORY. */
enum status config_rank(struct config_list *list);
/* The plan of entry number doesn't fit the cap: the fastest variant of its cut that should, by how far plan and
 * estimate of this one are apart, takes its place and leads them. The entry becomes a variant and lies no longer by
 * time. False where it leads nothing or has no such variant. O(fitting). */
bool config_pass_lead(struct config_list *list, uint32_t number, int64_t cap);
/* Of the fitting entries from number begin on the next one by time; *at, zeros at first, keeps the place. NONE: all
 * were returned. */
uint32_t config_next_by_time(const struct config_list *list, uint32_t begin, uint32_t at[2]);
/* Of the cut of a leading entry the fastest entry of every other way to share the tokens out (dp, cp), by time, into
 * share[most]; how many. O(fitting). */
uint32_t config_token_shares(const struct config_list *list, uint32_t number, uint32_t most, uint32_t *share);
/* It was planned, or tried to be, and doesn't fit. */
bool config_failed(const struct config_entry *entry);
/* Leading entries that estimates can't tell apart: the number of the first one from begin on that takes more than so
 * many thousandths longer than entry begin, or is known not to fit. error 0: that isn't known, and none is said to be
 * as fast as another: begin. */
uint32_t config_tie_end(const struct config_list *list, uint32_t begin, uint32_t error);
/* Leading entries by their estimates, those that are known not to fit last; of a tie those whose plans fit first, by
 * the time of these, but that of the fastest within 0.1 % the one with the least memory leads. O(leading^2). */
void config_order_rows(struct config_list *list, uint32_t error);
