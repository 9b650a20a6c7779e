/* ranking.c: configurations in the order in which they are shown. */

#include "solver/base/sort.h"
#include "config_search.h"
#include "src/decide/decide.h"

#define CUTS_HASHED 1024

struct cut {
	uint32_t leader, first, more;  /* entries: the fastest, the place of the next; of the same hash another one, or 0 */
};

/* What fits by time, then memory; what doesn't by memory, then time. */
static int64_t ranked_by(const struct config_entry *entry, bool first)
{
	return entry->fits == first ? entry->result.time : entry->result.worst.total;
}

static bool is_ranked(const struct config_entry *a, const struct config_entry *b)
{
	int64_t left = ranked_by(a, true), right = ranked_by(b, true);
	if (left == right) {
		left = ranked_by(a, false);
		right = ranked_by(b, false);
	}
	return left < right || (left == right && memcmp(&a->config, &b->config, sizeof a->config) <= 0);
}

/* Where each of the entries goes: rank [count]. Equal ones by their choices, one by one: they are few. */
static enum status find_ranks(struct config_entry *const *entry, uint32_t count, struct keyed *rank)
{
	FOR(i, count)
		rank[i] = (struct keyed) { ranked_by(entry[i], false), i, 0 };
	NEED(sort_keyed(rank, count));
	FOR(i, count)
		rank[i].key = ranked_by(entry[rank[i].item], true);
	NEED(sort_keyed(rank, count));
	FOR(i, count) {
		struct keyed moved = rank[i];
		uint32_t at = i;
		for (; at > 0 && rank[at - 1].key == moved.key && !is_ranked(entry[rank[at - 1].item], entry[moved.item]); at--)
			rank[at] = rank[at - 1];
		rank[at] = moved;
	}
	return OK;
}

/* The places that entries have when ranked. Mostly they are ranked but for a few. */
static enum status rank_entries(struct config_entry *const *entry, uint32_t count, struct keyed *rank)
{
	uint32_t sorted = 1;
	while (sorted < count && is_ranked(entry[sorted - 1], entry[sorted]))
		sorted++;
	if (sorted < count)
		return find_ranks(entry, count, rank);
	FOR(i, count)
		rank[i].item = i;
	return OK;
}

/* Each entry to its place, around each cycle of moves. */
static void move_entries(struct config_entry **entry, uint32_t count, struct keyed *rank)
{
	FOR(i, count) {
		if (rank[i].item == NONE || rank[i].item == i)
			continue;
		struct config_entry *first = entry[i];
		for (uint32_t to = i; to != NONE;) {
			uint32_t from = rank[to].item;
			rank[to].item = NONE;
			entry[to] = from == i ? first : entry[from];
			to = from == i ? NONE : from;
		}
	}
}

bool config_same_cut(const struct config *a, const struct config *b)
{
	return a->tp == b->tp && a->pp == b->pp && a->ep == b->ep;
}

/* Who wants another way to train on a cluster wants another way to cut the model first: each has dozens of variants
 * (schedules, ZeRO stages, microbatches, cp for dp) within a percent of each other. Of entries that fit, by time, the
 * first of each cut come first: in their ranks, so that entries move once. O(fitting). */
static enum status find_leaders(struct config_list *list, struct keyed *rank)
{
	HELD struct cut *MAKE(cut, list->fitting + (size_t)1);
	uint32_t slots[CUTS_HASHED] = { 0 };
	NEED(cut);
	list->leading = 0;
	FOR(i, list->fitting) {
		struct config_entry *entry = list->entry[rank[i].item];
		const struct config *config = &entry->config;
		uint32_t *set = &slots[((config->tp * 61 + config->ep) * 61 + config->pp) % CUTS_HASHED];
		while (*set && !config_same_cut(&list->entry[cut[*set].leader]->config, config))
			set = &cut[*set].more;
		entry->leads = *set == 0;
		entry->variants = 0;
		if (entry->leads)
			cut[*set = ++list->leading].leader = rank[i].item;
		else
			list->entry[cut[*set].leader]->variants++;
		rank[i].key = *set;
		rank[i].more = entry->leads;
	}
	for (uint32_t i = list->fitting, at = i; i-- > 0;)
		if (!rank[i].more) {
			rank[--at] = rank[i];
			list->entry[rank[at].item]->next = cut[rank[at].key].first;
			cut[rank[at].key].first = at;
		}
	FOR(set, list->leading) {
		rank[set].item = cut[set + 1].leader;
		list->entry[rank[set].item]->next = cut[set + 1].first;
	}
	return OK;
}

static enum status rank_list(struct config_list *list, bool leaders)
{
	int64_t least = INT64_MAX;
	list->fitting = 0;
	FOR(i, list->entries) {
		struct config_entry *entry = list->entry[i];
		entry->leads = false;
		if (!entry->fits)
			continue;
		list->entry[i] = list->entry[list->fitting];
		list->entry[list->fitting++] = entry;
	}
	HELD struct keyed *MAKE(rank, list->fitting + (size_t)1);
	NEED(rank);
	TRY(rank_entries(list->entry, list->fitting, rank));
	FOR(i, list->fitting) {
		struct config_entry *entry = list->entry[rank[i].item];
		entry->front = entry->result.worst.total < least;
		least = entry->front ? entry->result.worst.total : least;
	}
	if (leaders)
		TRY(find_leaders(list, rank));
	move_entries(list->entry, list->fitting, rank);
	return OK;
}

enum status config_rank_by_time(struct config_list *list)
{
	return rank_list(list, false);
}

enum status config_rank_fitting(struct config_list *list)
{
	return rank_list(list, true);
}

enum status config_rank(struct config_list *list)
{
	TRY(config_rank_fitting(list));
	struct config_entry **others = list->entry + list->fitting;
	uint32_t count = list->entries - list->fitting;
	HELD struct keyed *MAKE(rank, (size_t)count + 1);
	NEED(rank);
	TRY(rank_entries(others, count, rank));
	move_entries(others, count, rank);
	return OK;
}

uint32_t config_next_by_time(const struct config_list *list, uint32_t begin, uint32_t at[2])
{
	uint32_t leader = begin + at[0], variant = LARGER(begin, list->leading) + at[1];
	bool leaders = leader < list->leading, variants = variant < list->fitting;
	if (!leaders && !variants)
		return NONE;
	if (leaders && (!variants || list->entry[leader]->result.time <= list->entry[variant]->result.time)) {
		at[0]++;
		return leader;
	}
	at[1]++;
	return variant;
}

bool config_pass_lead(struct config_list *list, uint32_t number, int64_t cap)
{
	struct config_entry *leader = list->entry[number], *next = NULL;
	double most = (double)leader->result.worst.total;
	if (cap >= 0 && leader->planned.known && leader->planned.needs > cap)
		most *= (double)cap / (double)leader->planned.needs;
	for (uint32_t i = leader->next; i && leader->leads; i = list->entry[i]->next) {
		struct config_entry *entry = list->entry[i];
		if (!entry->planned.tried && (double)entry->result.worst.total <= most &&
			(!next || entry->result.time < next->result.time))
			next = entry;
	}
	if (!next)
		return false;
	next->leads = true;
	next->variants = leader->variants;
	leader->leads = false;
	leader->variants = 0;
	struct config_entry swapped = *leader;
	*leader = *next;
	*next = swapped;
	next->next = leader->next;
	leader->next = swapped.next;
	return true;
}

uint32_t config_token_shares(const struct config_list *list, uint32_t number, uint32_t most, uint32_t *share)
{
	const struct config *leader = &list->entry[number]->config;
	uint32_t count = 0;
	for (uint32_t i = list->entry[number]->next; i && count < most; i = list->entry[i]->next) {
		const struct config *config = &list->entry[i]->config;
		bool known = config->cp == leader->cp;
		FOR(k, count)
			known |= list->entry[share[k]]->config.cp == config->cp;
		if (!known)
			share[count++] = i;
	}
	return count;
}

bool config_failed(const struct config_entry *entry)
{
	return entry->planned.tried && !(entry->planned.known && entry->planned.fits);
}

uint32_t config_tie_end(const struct config_list *list, uint32_t begin, uint32_t error)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = begin; i < list->leading && !config_failed(list->entry[i]);
		i++)   /* plans have changed the order within a tie */
		least = SMALLER(list->entry[i]->result.time, least);
	uint32_t end = begin;
	while (error > 0 && end < list->leading && !config_failed(list->entry[end]) &&
		list->entry[end]->result.time - least <= least / 1000 * error)
		end++;
	return end;
}

static bool ranking_by_estimate(const struct config_entry *a, const struct config_entry *b)
{
	bool left = config_failed(a), right = config_failed(b);
	return left != right ? right : a->result.time < b->result.time;
}

static bool by_plan(const struct config_entry *a, const struct config_entry *b)
{
	return a->planned.known && (!b->planned.known || a->planned.time < b->planned.time);
}

/* By insertion: nearly sorted; equal ones stay as they are. */
static void sort_entries(struct config_entry **entry, uint32_t count,
	bool (*before)(const struct config_entry *, const struct config_entry *))
{
	FOR_FROM(i, 1, count) {
		struct config_entry *moved = entry[i];
		uint32_t at = i;
		for (; at > 0 && before(moved, entry[at - 1]); at--)
			entry[at] = entry[at - 1];
		entry[at] = moved;
	}
}

static int64_t time_of(const struct config_entry *entry)
{
	return entry->planned.known ? entry->planned.time : entry->result.time;
}

static int64_t memory_of(const struct config_entry *entry)
{
	return entry->planned.known ? entry->planned.needs : entry->result.worst.total;
}

/* Of rows as fast as the first within 0.1 %, the one of the least memory leads. */
static void lead_with_least(struct config_entry **entry, uint32_t count)
{
	uint32_t least = 0;
	FOR_FROM(i, 1, count)
		if (entry[i]->planned.known == entry[0]->planned.known && is_as_fast(time_of(entry[i]), time_of(entry[0])) &&
			memory_of(entry[i]) < memory_of(entry[least]))
			least = i;
	struct config_entry *leader = entry[least];
	memmove(entry + 1, entry, least * sizeof *entry);
	*entry = leader;
}

void config_order_rows(struct config_list *list, uint32_t error)
{
	sort_entries(list->entry, list->leading, ranking_by_estimate);
	error = error > 0 ? error : 1;
	for (uint32_t begin = 0, end; (end = config_tie_end(list, begin, error)) > begin; begin = end) {
		sort_entries(list->entry + begin, end - begin, by_plan);
		lead_with_least(list->entry + begin, end - begin);
	}
}

uint32_t config_want_leading(const struct config_list *list, uint32_t most, uint32_t each, bool *wanted)
{
	uint32_t count = 0, leading = SMALLER(list->leading, most);
	FOR(lead, leading) {
		if (list->entry[lead]->played)
			continue;
		uint32_t i = lead, found = 0;
		do
			if (!list->entry[i]->played) {
				wanted[i] = true;
				found++;
				count++;
			}
		while ((i = list->entry[i]->next) && found < each);
	}
	return count;
}

/* ---- lists ---- */

enum status config_list_copy(struct config_list *to, const struct config_list *from)
{
	struct config_entry *entry;
	*to = *from;
	to->arena = (struct arena) { 0 };
	MAKE(to->entry, from->entries);
	if (!to->entry || !ROOM(&to->arena, entry, from->entries)) {
		config_list_free(to);
		return NO_MEMORY;
	}
	FOR(i, from->entries)
		*(to->entry[i] = &entry[i]) = *from->entry[i];
	return OK;
}

void config_list_free(struct config_list *list)
{
	mem_free(list->entry);
	arena_free(&list->arena);
	*list = (struct config_list) { 0 };
}
