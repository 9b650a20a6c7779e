/* holders.c: what holds memory, in groups of what is alike. */

#include "view.h"

static void holders_forget(struct holders *holders)
{
	mem_free(holders->group);
	holders->group = NULL;
}

void holders_free(struct holders *holders)
{
	holders_forget(holders);
	order_explainer_free(holders->explainer);
	holders->explainer = NULL;
}

char *holder_pattern(const char *module, char *text, size_t size)
{
	size_t used = 0;
	for (const char *at = module; *at && used + 1 < size; at++) {
		bool part = at == module || at[-1] == '.', digits = part && strspn(at, "0123456789") > 0;
		size_t length = digits ? strspn(at, "0123456789") : 0;
		if (digits && (at[length] == '.' || at[length] == '\0')) {
			text[used++] = '*';
			at += length - 1;
		} else
			text[used++] = *at;
	}
	text[used] = '\0';
	return text;
}

const struct op *holder_maker(const struct plan *plan, uint32_t storage)
{
	uint32_t writer = plan->graph->tensor[plan->graph->storage[storage].root].writer;
	return writer < plan->graph->ops ? &plan->graph->op[writer] : NULL;
}

const char *holder_operator(const char *type, char text[40])
{
	const char *dot = strchr(type, '.'), *word = dot && strchr(dot + 1, '.') ? dot + 1 : type;
	word += strspn(word, "_");
	word += text_begins(word, "native_") ? 7 : 0;
	snprintf(text, 40, "%.*s", (int)strcspn(word, "."), word);
	return text;
}

char *holder_text(const struct plan *plan, const struct holder *holder, char *text, size_t size)
{
	const struct op *maker = holder_maker(plan, holder->first);
	char type[40];
	const char *name = storage_name(plan, holder->first);
	if (holder->reason == ALIVE_PERSISTENT || holder->count == 1)
		snprintf(text, size, "%s", holder->count == 1 ? name : kind_names[plan->graph->storage[holder->first].kind]);
	else
		snprintf(text, size, "%u x %s", holder->count, maker ? holder_operator(maker->type, type) : name);
	return text;
}

/* bytes: that tell apart, or 0. */
static uint64_t holder_alike(const struct plan *plan, uint32_t storage, enum alive_reason reason, int64_t bytes)
{
	const struct op *maker = holder_maker(plan, storage);
	char module[200];
	uint64_t hash = hash_join(plan->graph->storage[storage].kind, reason == ALIVE_USED ? ALIVE_PRODUCED : reason);
	if (reason == ALIVE_PERSISTENT)
		return hash;
	hash = hash_join(hash, (uint64_t)bytes);
	return !maker ? hash
		: hash_join(hash_join(hash, text_hash(maker->type)),
			text_hash(holder_pattern(maker->module, module, sizeof module)));
}

COMPARATOR(holders_by_alike, struct holder, COMPARE(a->alike, b->alike, COMPARE(a->first, b->first, 0)))

COMPARATOR(holders_by_bytes, struct holder, COMPARE(b->bytes, a->bytes, COMPARE(a->first, b->first, 0)))

static void holders_join(struct holders *holders)
{
	struct holder *group = holders->group;
	uint32_t groups = 0;
	qsort(group, holders->tensors, sizeof *group, holders_by_alike);
	FOR(i, holders->tensors)
		if (groups > 0 && group[groups - 1].alike == group[i].alike) {
			group[groups - 1].count++;
			group[groups - 1].bytes += group[i].bytes;
			FOR_INT(change, CHANGES)
				group[groups - 1].of[change] += group[i].of[change];
		} else
			group[groups++] = group[i];
	holders->groups = groups;
	qsort(group, groups, sizeof *group, holders_by_bytes);
}

bool holders_find(struct holders *holders, const struct plan *plan, uint32_t from, uint32_t to, bool reasons)
{
	uint32_t storages = plan->graph->storages;
	if (holders->group && holders->serial == plan->serial && holders->from == from && holders->to == to)
		return true;
	if (holders->serial != plan->serial)
		holders_free(holders);
	holders_forget(holders);
	*holders = (struct holders){ .serial = plan->serial, .from = from, .to = to, .explainer = holders->explainer };
	HELD uint32_t *MAKE(there, storages + 1);
	HELD enum alive_reason *MAKE(reason, storages + 1);
	MAKE(holders->group, storages + 1);
	if (!there || !reason || !holders->group) {
		holders_forget(holders);
		return false;
	}
	FOR(i, storages)
		if (plan->laid_out->first[i] <= to && plan->laid_out->first[i] != NONE && plan->laid_out->last[i] >= from)
			there[holders->tensors++] = i;
	if (reasons && from == to)
		plan_reasons(plan, from, there, holders->tensors, &holders->explainer, reason);
	FOR(i, holders->tensors) {
		struct holder *group = &holders->group[i];
		if (!reasons || from != to)
			reason[i] = plan->graph->storage[there[i]].persistent ? ALIVE_PERSISTENT : ALIVE_USED;
		*group = (struct holder){ holder_alike(plan, there[i], reason[i], plan->laid_out->bytes[there[i]]), there[i], 1,
			plan->laid_out->bytes[there[i]], .reason = reason[i] };
		view_span_add(plan, there[i], from, to, group->of);
	}
	holders_join(holders);
	return true;
}

static int holders_by_change(const void *left, const void *right)
{
	const struct holder_change *a = left, *b = right;
	int64_t one = a->bytes < 0 ? -a->bytes : a->bytes, other = b->bytes < 0 ? -b->bytes : b->bytes;
	return one != other ? (one > other ? -1 : 1) : a->alike < b->alike ? -1 : a->alike > b->alike;
}

uint32_t holders_compare(
	const struct holders holders[2], const struct plan *const plan[2], struct holder_change change[CHANGES_MOST])
{
	uint32_t changes = 0;
	FOR_INT(side, 2)
		FOR(i, holders[side].groups) {
			const struct holder *group = &holders[side].group[i];
			uint64_t alike = holder_alike(plan[side], group->first, group->reason, 0);
			uint32_t at = 0;
			while (at < changes && change[at].alike != alike)
				at++;
			if (at == CHANGES_MOST)
				continue;
			if (at == changes)
				change[changes++] = (struct holder_change){ alike, 0, group, plan[side] };
			change[at].bytes += side ? group->bytes : -group->bytes;
		}
	qsort(change, changes, sizeof *change, holders_by_change);
	return changes;
}
