/* replay.c: a choice of states played out along an order. */

#include "search.h"

#define NEAR 6     /* readers so many ops apart share what was written anew for the first */
#define BLOCK 256  /* states that are compared at once */
#define LONGEST 12 /* a sequence of more than so many times the step's ops is given up */

enum status recompute_replay_new(const struct recompute_step *step, struct recompute_replay *replay)
{
	struct arena *arena = &replay->arena;
	*replay = (struct recompute_replay){ .step = step };
	bool fine = ROOMS(arena, step->ops, replay->profile, replay->when, replay->past.mark) &&
		ROOMS(arena, step->storages, replay->needed, replay->out, replay->past.state) &&
		ROOM(arena, replay->cell, 4 * (size_t)step->storages + step->ops);
	if (fine) {
		replay->current = replay->cell;
		replay->version = replay->current + step->storages;
		replay->late = replay->version + step->storages;
		replay->loose = replay->late + step->storages;
		replay->seed = replay->loose + step->storages;
	}
	FOR_WHILE(s, step->storages, fine)
		if (step->graph->storage[s].live_out)
			replay->out[replay->outs++] = s;
	return fine ? OK : NO_MEMORY;
}

void recompute_replay_free(struct recompute_replay *replay)
{
	mem_free(replay->run);
	mem_free(replay->at);
	mem_free(replay->stays);
	mem_free(replay->instance);
	mem_free(replay->stack);
	mem_free(replay->born);
	mem_free(replay->died);
	mem_free(replay->past.change);
	arena_free(&replay->arena);
}

struct play {
	struct recompute_replay *replay;
	const struct recompute_step *step;
	const struct recompute_base *base;
	const uint8_t *state; /* RECOMPUTE_KEEP for all that can't be dropped */
	bool all;             /* every op is in the sequence */
	uint32_t position;    /* in the base order */
	uint32_t active;      /* of the ops that are played */
};

static bool anew(const struct play *play, uint32_t storage)
{
	return play->state[storage] != RECOMPUTE_KEEP;
}

static uint32_t writers_of(const struct play *play, uint32_t storage)
{
	return csr_length(&play->step->writers, storage);
}

/* ---- what can be taken back ---- */

static void note_change(struct recompute_replay *replay, uint32_t cell, uint32_t was)
{
	struct recompute_past *past = &replay->past;
	if (past->order == 0)
		return;
	if (past->changes == past->room &&
		!GROWN(past->change, past->room, past->changes + 1)) {
		replay->failed = true;
		return;
	}
	past->change[past->changes++] = (struct recompute_change){ cell, was };
}

static void set_cell(struct recompute_replay *replay, uint32_t *cell, uint32_t value)
{
	if (*cell == value)
		return;
	note_change(replay, (uint32_t)(cell - replay->cell), *cell);
	*cell = value;
}

static uint32_t cells_of(const struct recompute_step *step)
{
	return 4 * step->storages + step->ops;
}

/* NONE: there is none. */
static void use_instance(struct recompute_replay *replay, uint32_t number, uint32_t now)
{
	if (number == NONE)
		return;
	if (replay->instance[number].last < replay->past.since)
		note_change(replay, cells_of(replay->step) + number, replay->instance[number].last);
	replay->instance[number].last = now;
}

static void take_back(struct recompute_replay *replay, const struct recompute_mark *mark)
{
	struct recompute_past *past = &replay->past;
	uint32_t cells = cells_of(replay->step);
	while (past->changes > mark->changes) {
		struct recompute_change change = past->change[--past->changes];
		*(change.cell < cells ? &replay->cell[change.cell] : &replay->instance[change.cell - cells].last) = change.was;
	}
	replay->length = mark->length;
	replay->looses = mark->looses;
	replay->instances = mark->instances;
	replay->extra = mark->extra;
	replay->copied = mark->copied;
}

/* ---- running an op ---- */

static uint32_t new_instance(struct recompute_replay *replay, int64_t bytes, uint32_t first, uint32_t last)
{
	if (replay->failed ||
		!GROWN(replay->instance, replay->instance_room, replay->instances + 1)) {
		replay->failed = true;
		return NONE;
	}
	replay->instance[replay->instances] = (struct recompute_instance){ bytes, first, last };
	return (uint32_t)replay->instances++;
}

/* Everything that the op reads must hold what it held when the op ran first. */
static void recompute_replay_check_again(struct play *play, uint32_t op)
{
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	FOR_ROW(i, &step->reads, op) {
		uint32_t storage = step->reads.item[i];
		replay->valid &= (anew(play, storage) ? replay->version[storage] : writers_of(play, storage)) ==
			step->read_version[i];
	}
	FOR_ITEMS(item, &step->steady, op)
		replay->valid &= play->base->overwritten[item] >= play->position;
	FOR_ITEMS(change, &step->changes, op)
		replay->valid &= anew(play, change);
}

static uint64_t recompute_replay_make(struct play *play, uint32_t op, bool again)
{
	uint64_t bits = 0;
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	FOR_ROW(i, &step->makes, op) {
		uint32_t storage = step->makes.item[i];
		if (step->outer[storage] || (again && storage == step->mask[op]))
			continue;
		uint32_t instance = new_instance(replay, step->bytes[storage], replay->length, replay->length);
		bool stays = !again || (anew(play, storage) && replay->version[storage] == 0);
		if (stays)
			set_cell(replay, &replay->current[storage], instance);
		if (!again || !stays)
			continue;
		set_cell(replay, &replay->version[storage], 1);
		bits |= UINT64_C(1) << (i - step->makes.start[op]);
		if (play->state[storage] >= RECOMPUTE_LATE)
			set_cell(replay, &replay->loose[replay->looses++], storage);
	}
	FOR_ITEMS(change, &step->changes, op)
		set_cell(replay, &replay->version[change], replay->version[change] + again);
	return bits;
}

/* A random op that runs again reads the state that was saved before it ran first. */
static void use_seed(struct recompute_replay *replay, uint32_t op)
{
	if (!replay->step->random[op])
		return;
	if (replay->seed[op] == NONE)
		set_cell(replay, &replay->seed[op],
			new_instance(
				replay, align_up(RECOMPUTE_STATE_BYTES, replay->step->alignment), replay->when[op], replay->length));
	use_instance(replay, replay->seed[op], replay->length);
}

/* Something after the pass, or that runs again, touches it. */
static void note_late(struct play *play, uint32_t storage)
{
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	if (replay->late[storage])
		return;
	set_cell(replay, &replay->late[storage], true);
	if (step->copies && !step->copied_late[storage] && !anew(play, storage))
		replay->copied += step->copies[storage];
}

/* Dropout that is computed again from its mask. */
static void use_mask(struct play *play, uint32_t op)
{
	struct recompute_replay *replay = play->replay;
	uint32_t mask = play->step->mask[op];
	if (mask == NONE)
		return;
	use_instance(replay, replay->current[mask], replay->length);
	note_late(play, mask);
}

static void recompute_replay_run(struct play *play, uint32_t op, bool again)
{
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	uint32_t now = replay->length;
	replay->failed = replay->failed || !GROWN(replay->run, replay->run_room, now + 1u)
		|| !GROWN(replay->at, replay->at_room, now + 1u)
		|| !GROWN(replay->stays, replay->stays_room, now + 1u);
	if (replay->failed)
		return;
	FOR_ITEMS(storage, &step->inner, op) {
		if (replay->current[storage] == NONE) /* there from the start */
			set_cell(replay, &replay->current[storage], new_instance(replay, step->bytes[storage], 0, now));
		use_instance(replay, replay->current[storage], now);
		if ((again || !step->forward[op]) && !step->view[op])
			note_late(play, storage);
	}
	if (again) {
		recompute_replay_check_again(play, op);
		use_seed(replay, op);
		use_mask(play, op);
		replay->extra += step->time[op];
	} else {
		replay->when[op] = now;
	}
	replay->stays[now] = recompute_replay_make(play, op, again);
	if (step->brings[op] != NONE)
		set_cell(replay, &replay->current[step->brings[op]], replay->current[step->brought[op]]);
	replay->run[now] = 2 * op + again;
	replay->at[now] = play->position;
	replay->length++;
}

/* ---- what must run again first ---- */

static uint32_t recompute_replay_push(
	struct recompute_replay *replay, uint32_t depth, uint32_t storage, uint32_t version)
{
	if (replay->failed || !GROWN(replay->stack, replay->stack_room, depth + 1u)) {
		replay->failed = true;
		return depth;
	}
	replay->stack[depth] = (struct recompute_want){ storage, version };
	return depth + 1;
}

/* Pushes what the op reads and isn't there. A view after the pass names what is read right behind it. */
static uint32_t push_reads(struct play *play, uint32_t op, uint32_t depth)
{
	const struct recompute_step *step = play->step;
	if (step->view[op]) {
		FOR_ITEMS(storage, &step->inner, op)
			if (anew(play, storage) && play->replay->version[storage] < writers_of(play, storage))
				depth = recompute_replay_push(play->replay, depth, storage, writers_of(play, storage));
		return depth;
	}
	for (uint32_t i = step->reads.start[op + 1]; i-- > step->reads.start[op];) {
		uint32_t storage = step->reads.item[i];
		if (anew(play, storage) && play->replay->version[storage] > step->read_version[i])
			set_cell(play->replay, &play->replay->version[storage],
				0); /* what it held earlier is gone: all its writers again */
		if (anew(play, storage) && play->replay->version[storage] < step->read_version[i])
			depth = recompute_replay_push(play->replay, depth, storage, step->read_version[i]);
	}
	return depth;
}

/* Dropped storages that ops after the pass need, directly or through ops that run again. */
static void find_needed(struct play *play)
{
	const struct recompute_step *step = play->step;
	bool *needed = play->replay->needed;
	FOR(s, step->storages)
		needed[s] = step->saved[s] && anew(play, s);
	FOR_DOWN(op, step->ops) {
		bool again = false;
		if (!step->forward[op] || step->view[op])
			continue;
		FOR_ITEMS(make, &step->makes, op)
			again |= needed[make];
		FOR_ITEMS(change, &step->changes, op)
			again |= needed[change];
		FOR_ITEMS(read, &step->reads, op)
			needed[read] |= again && anew(play, read);
	}
	play->replay->sought = true;
	play->replay->past.sought = play->active;
}

/* Pushes the results of ops that read what the op is about to overwrite and that will be wanted. */
static uint32_t push_before(struct play *play, uint32_t op, uint32_t depth)
{
	const struct recompute_step *step = play->step;
	FOR_ITEMS(reader, &step->before, op) {
		FOR_ITEMS(storage, &step->makes, reader) {
			if (!play->replay->sought)
				find_needed(play);
			bool now = play->state[storage] < RECOMPUTE_AGAIN; /* what is written for every reader will be, with what it reads */
			if (anew(play, storage) && now && play->replay->needed[storage] && play->replay->version[storage] == 0)
				depth = recompute_replay_push(play->replay, depth, storage, 1);
		}
	}
	return depth;
}

static void recompute_replay_bring_back(struct play *play, uint32_t reader)
{
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	uint32_t depth = push_reads(play, reader, 0), deepest = step->ops + step->storages;
	while (depth > 0 && !replay->failed) {
		struct recompute_want want = replay->stack[depth - 1];
		if (replay->version[want.storage] >= want.version) {
			depth--;
			continue;
		}
		uint32_t op = csr_at(&step->writers, want.storage, replay->version[want.storage]);
		uint32_t more = push_reads(play, op, depth);
		if (more == depth && replay->version[want.storage] > 0)
			more = push_before(play, op, depth);
		uint32_t version = replay->version[want.storage];
		if (more == depth)
			recompute_replay_run(play, op, true);
		/* An op that wants itself, or makes no progress, is of a choice that nobody can play. */
		if (more > deepest || replay->length > LONGEST * step->ops ||
			(more == depth && replay->version[want.storage] == version)) {
			replay->valid = false;
			return;
		}
		depth = more;
	}
}

/* What is written for every reader goes after this one, unless the next is near. */
static void forget_loose(struct play *play)
{
	struct recompute_replay *replay = play->replay;
	uint32_t kept = 0;
	FOR(i, replay->looses) {
		uint32_t storage = replay->loose[i], next = NONE;
		FOR_ITEMS(item, &play->base->read_at, storage)
			if (item > play->position) {
				next = item;
				break;
			}
		uint32_t near = play->state[storage] == RECOMPUTE_EACH ? 0
			: play->state[storage] == RECOMPUTE_AGAIN          ? NEAR
															   : play->base->window;
		if (next != NONE && next - play->position <= near)
			set_cell(replay, &replay->loose[kept++], storage);
		else if (replay->version[storage] == 1 || replay->version[storage] == writers_of(play, storage))
			set_cell(replay, &replay->version[storage], 0);
	}
	replay->looses = kept;
}

/* ---- the whole ---- */

static void note_bytes(struct recompute_replay *replay, uint32_t position, int64_t bytes)
{
	if (bytes > replay->profile[position])
		replay->profile[position] = bytes;
	if (bytes > replay->peak) {
		replay->peak = bytes;
		replay->peak_position = position;
	}
}

static enum status recompute_replay_measure(struct play *play)
{
	struct recompute_replay *replay = play->replay;
	const struct recompute_step *step = play->step;
	const struct recompute_base *base = play->base;
	uint32_t length = replay->length, active = 0;
	if (!GROWN(replay->born, replay->born_room, length + 2u)
		|| !GROWN(replay->died, replay->died_room, length + 2u))
		return NO_MEMORY;
	CLEAR(replay->born, (length + 2u));
	CLEAR(replay->died, (length + 2u));
	CLEAR(replay->profile, step->ops);
	FOR_SIZE(i, replay->instances) {
		replay->born[replay->instance[i].first] += replay->instance[i].bytes;
		replay->died[replay->instance[i].last + 1] += replay->instance[i].bytes;
	}
	int64_t copies = step->copied + replay->copied, live = step->persistent;
	uint32_t flush = copies > 0 ? base->position[step->flush] : step->ops;
	replay->peak = length ? -1 : live;
	FOR(i, length) {
		uint32_t at = replay->at[i], op = replay->run[i] / 2;
		bool again = replay->run[i] & 1;
		live += replay->born[i] - replay->died[i];
		int64_t held = at <= flush ? copies : 0;
		note_bytes(replay, at, live + held + (again ? base->outer_before[at] + step->workspace[op] : base->outer[at]));
		if (again || play->all)
			continue;
		if (base->gap[active] > 0)
			note_bytes(replay, base->gap_at[active],
				live - replay->died[i + 1] + base->gap[active] + (base->gap_at[active] <= flush ? copies : 0));
		active++;
	}
	return OK;
}

static void recompute_replay_reset(struct recompute_replay *replay)
{
	const struct recompute_step *step = replay->step;
	replay->extra = replay->copied = 0;
	replay->length = replay->looses = 0;
	replay->instances = 0;
	replay->past.order = 0;
	replay->past.changes = 0;
	FILL_NONE(replay->current, step->storages);
	CLEAR(replay->version, step->storages);
	FILL_NONE(replay->seed, step->ops);
	if (step->copies)
		CLEAR(replay->late, step->storages);
}

/* The first position at which a state other than the last play's is asked for. */
static uint32_t first_asked(
	const struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state)
{
	const uint8_t *last = replay->past.state;
	uint32_t storages = replay->step->storages, first = NONE;
	for (uint32_t from = 0, to; from < storages; from = to) {
		to = SMALLER(from + BLOCK, storages);
		if (memcmp(last + from, state + from, to - from) == 0)
			continue;
		FOR_FROM(s, from, to)
			if (last[s] != state[s] && base->asked[s] < first)
				first = base->asked[s];
	}
	return first;
}

/* The active op from which on the last play has to be played anew, as it was before it. */
static uint32_t go_back(struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state)
{
	struct recompute_past *past = &replay->past;
	uint32_t first = first_asked(replay, base, state), low = past->turn, high = SMALLER(past->end, past->sought);
	BISECT(low, high, middle, base->active[middle] < first);
	take_back(replay, &past->mark[low]);
	return low;
}

/* Marks the place before an active op, from the first one after the pass on. */
static void mark_place(struct recompute_replay *replay, const struct recompute_base *base, uint32_t active)
{
	struct recompute_past *past = &replay->past;
	if (past->order == 0) {
		past->order = base->fingerprint;
		past->turn = active;
	}
	past->end = active;
	past->since = replay->length;
	past->mark[active] = (struct recompute_mark){
		replay->length, replay->looses, replay->instances, past->changes, replay->extra,
		replay->copied };
}

static enum status play_states(
	struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state, bool all)
{
	const struct recompute_step *step = replay->step;
	struct recompute_past *past = &replay->past;
	struct play play = { replay, step, base, state, all, 0, 0 };
	uint32_t count = all ? step->ops : base->actives, begin = 0;
	if (!all && past->order == base->fingerprint)
		begin = go_back(replay, base, state);
	else
		recompute_replay_reset(replay);
	replay->valid = true;
	replay->failed = replay->sought = false;
	replay->peak_position = 0;
	past->sought = NONE;
	for (uint32_t i = begin; i < count && replay->valid && !replay->failed; i++) {
		play.active = i;
		play.position = all ? i : base->active[i];
		uint32_t op = base->order[play.position];
		if (!all && (past->order != 0 || !step->forward[op]))
			mark_place(replay, base, i);
		if (!step->forward[op])
			recompute_replay_bring_back(&play, op);
		recompute_replay_run(&play, op, false);
		if (replay->looses > 0 && !step->forward[op] && !step->view[op])
			forget_loose(&play);
	}
	replay->ticks += replay->length + replay->instances;
	if (replay->length > 0)
		FOR(i, replay->outs) /* what runs behind the sequence's last op has it too */
			use_instance(replay, replay->current[replay->out[i]], replay->length);
	memcpy(past->state, state, step->storages);
	if (replay->failed)
		past->order = 0;
	return replay->failed ? NO_MEMORY : recompute_replay_measure(&play);
}

enum status recompute_play(struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state)
{
	return play_states(replay, base, state, false);
}

enum status recompute_play_all(struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state)
{
	return play_states(replay, base, state, true);
}
