/* play.c: see play.h. The rules are those of solver/cost: unit_overlap.c holds every time against theirs. */

#include "play.h"

bool play_can(const struct graph *graph)
{
	bool can = true;
	FOR_WHILE(op, graph->ops, can)
		can = graph->op[op].added != ADDED_OFFLOAD && graph->op[op].added != ADDED_OFFLOAD_WAIT &&
			graph->op[op].added != ADDED_FETCH && graph->op[op].added != ADDED_FETCH_BUFFER;
	return can;
}

/* ---- what doesn't depend on the order ---- */

static uint32_t count_nodes(const struct play *play)
{
	const struct step_costs *costs = play->request->costs;
	uint32_t nodes = play->line->count;
	FOR(i, play->line->count)
		FOR(a, costs->axes)
			nodes += costs->inside[(size_t)play->line->op[i] * costs->axes + a] > 0;
	return nodes;
}

static enum status play_make_room(struct play *play)
{
	uint32_t ops = play->line->count;
	struct arena *arena = &play->arena;
	play->nodes = count_nodes(play);
	FOR(a, play->request->costs->axes)
		NEED(ROOM(arena, play->heap[a + 1], play->nodes));
	NEED(ROOMS(arena, play->nodes, play->tail, play->of, play->layer, play->needs, play->missing, play->ended,
		play->release, play->use, play->gather) && ROOMS(arena, play->nodes, play->first_released,
		play->next_released, play->stream, play->time, play->key) &&
		ROOMS(arena, ops, play->gap, play->computes, play->sends, play->early));
	return OK;
}

/* Nodes with their times. False where memory is out. */
static bool play_describe(struct play *play, struct arena *scratch)
{
	const struct graph *graph = play->request->graph;
	const struct step_costs *costs = play->request->costs;
	const struct problem *problem = play->request->problem;
	uint32_t node = play->line->count;
	bool *MAKE_IN(scratch, early, graph->ops);
	FOR_WHILE(p, graph->ops, early) {
		uint32_t op = problem->program[p];
		early[op] = !(costs->stream[op] == 0 && costs->time[op] > 0) && graph_operands(graph, op) > 0;
		FOR_ITEMS(before, &graph->pred, op)
			early[op] &= early[before];
	}
	FOR_WHILE(i, play->line->count, early) {
		uint32_t op = play->line->op[i];
		play->of[i] = play->tail[i] = i;
		play->stream[i] = (uint8_t)costs->stream[op];
		play->time[i] = costs->time[op];
		play->layer[i] = costs->layer[op];
		play->computes[i] = costs->stream[op] == 0 && costs->time[op] > 0;
		play->sends[i] = costs->stream[op] > 0 && costs->time[op] > 0;
		play->early[i] = early[op];
		play->computed += play->computes[i] ? costs->time[op] : 0;
		FOR(a, costs->axes)
			if (costs->inside[(size_t)op * costs->axes + a] > 0) {
				play->of[node] = i;
				play->stream[node] = (uint8_t)(1 + a);
				play->time[node] = costs->inside[(size_t)op * costs->axes + a];
				play->tail[i] = node++;
			}
	}
	return early;
}

static enum status play_connect(struct play *play, struct arena *scratch)
{
	const struct graph *graph = play->request->graph;
	const struct lineup *line = play->line;
	uint32_t pairs = 0, most = graph->pred.start[graph->ops] + play->nodes;
	uint32_t *row, *item;
	NEED(ROOMS(scratch, most, row, item));
	FOR(i, line->count)
		FOR_ITEMS(before, &graph->pred, line->op[i]) {
			uint32_t other = line->at[before];
			if (other == NONE)
				continue;
			row[pairs] = other;
			item[pairs++] = i;
		}
	TRY(csr_of_pairs(&play->arena, line->count, pairs, row, item, &play->data));
	csr_unique(&play->data, line->count);
	pairs = 0;
	FOR(i, line->count)
		FOR_ITEMS(each, &play->data, i) {
			row[pairs] = play->tail[i];
			item[pairs++] = each;
		}
	FOR_FROM(node, line->count, play->nodes) {
		row[pairs] = node > line->count && play->of[node - 1] == play->of[node] ? node - 1 : play->of[node];
		item[pairs++] = node;
	}
	FOR(i, pairs)
		play->needs[item[i]]++;
	return csr_of_pairs(&play->arena, play->nodes, pairs, row, item, &play->succ);
}

enum status play_new(const struct overlap_request *request, const struct lineup *line, struct play *play)
{
	OWN(arena) scratch = { 0 };
	*play = (struct play) { .request = request, .line = line };
	TRY(play_make_room(play));
	NEED(play_describe(play, &scratch));
	return play_connect(play, &scratch);
}

void play_free(struct play *play)
{
	arena_free(&play->arena);
}

/* ---- what does ---- */

/* Places and first uses of collectives, and the op that computes before each. */
static void play_find_uses(struct play *play)
{
	const struct lineup *line = play->line;
	uint32_t before = NONE;
	FOR_DOWN(p, line->count) {
		uint32_t i = line->order[p];
		play->use[i] = play->computes[i] ? p : NONE;
		if (!play->computes[i])
			FOR_ITEMS(item, &play->data, i) {
				uint32_t use = play->use[item];
				play->use[i] = SMALLER(use, play->use[i]);
			}
	}
	play->gathers = 0;
	FOR(p, line->count) {
		uint32_t i = line->order[p];
		play->release[i] = play->sends[i] ? before : NONE;
		play->first_released[i] = NONE;
		before = play->computes[i] ? i : before;
		if (play->sends[i] && play->early[i] && play->use[i] != NONE) {
			uint32_t at = play->gathers++;
			for (; at > 0 && play->use[play->gather[at - 1]] > play->use[i]; at--)
				play->gather[at] = play->gather[at - 1];
			play->gather[at] = i;
		}
	}
}

/* Parameters are gathered some layers ahead. */
static void play_run_ahead(struct play *play)
{
	const struct lineup *line = play->line;
	uint32_t prefetch = play->request->costs->prefetch, layers = 0, first = NONE, layer = NONE, begins[PREFETCH_MOST + 1];
	FOR_WHILE(g, play->gathers, prefetch > 0) {
		uint32_t i = play->gather[g], use = play->use[i], of = play->layer[line->order[use]];
		if (first == NONE || (use != first && (of == NONE || of != layer))) {
			begins[layers++ % (PREFETCH_MOST + 1)] = first = use;
			layer = of;
		}
		if (layers <= prefetch || play->release[i] == NONE)
			continue;
		uint32_t before = begins[(layers - 1 - prefetch) % (PREFETCH_MOST + 1)];
		if (before <= line->place[play->release[i]])
			play->release[i] = line->order[before];
	}
}

static void play_put(struct play *play, uint32_t stream, uint32_t node)
{
	uint32_t *heap = play->heap[stream], at = play->waiting[stream]++;
	for (; at > 0 && play->key[heap[(at - 1) / 2]] > play->key[node]; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = node;
}

static uint32_t play_take(struct play *play, uint32_t stream)
{
	uint32_t *heap = play->heap[stream], top = heap[0], count = --play->waiting[stream], moved = heap[count], at = 0;
	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && play->key[heap[child + 1]] < play->key[heap[child]];
		if (play->key[moved] <= play->key[heap[child]])
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
	return top;
}

/* ---- the step ---- */

static void play_may_begin(struct play *play, uint32_t node, uint32_t *ends)
{
	if (play->time[node] == 0)
		play->ended[(*ends)++] = node;
	else if (play->stream[node] > 0)
		play_put(play, play->stream[node], node);
}

static uint32_t begin_play(struct play *play)
{
	uint32_t ends = 0;
	play_find_uses(play);
	play_run_ahead(play);
	COPY(play->missing, play->needs, play->nodes);
	FOR(node, play->nodes) {
		uint32_t i = play->of[node], release = node == i ? play->release[i] : NONE;
		play->key[node] = (uint64_t)play->use[i] << 32 | play->line->place[i];
		if (release == NONE)
			continue;
		play->missing[node]++;
		play->next_released[node] = play->first_released[release];
		play->first_released[release] = node;
	}
	memset(play->waiting, 0, sizeof play->waiting);
	FOR(node, play->nodes)
		if (play->missing[node] == 0)
			play_may_begin(play, node, &ends);
	return ends;
}

static void release_from(struct play *play, uint32_t i, uint32_t *ends)
{
	for (uint32_t node = play->first_released[i]; node != NONE; node = play->next_released[node])
		if (--play->missing[node] == 0)
			play_may_begin(play, node, ends);
}

int64_t play_step(struct play *play, int64_t most)
{
	const struct lineup *line = play->line;
	uint32_t streams = 1 + play->request->costs->axes, next = 0, at[STREAMS_MAX], ends = begin_play(play);
	int64_t now = 0, left = play->computed, end[STREAMS_MAX], free = 0;
	memset(at, 0xff, sizeof at);
	for (;;) {
		while (ends > 0) {
			uint32_t node = play->ended[--ends];
			FOR_ITEMS(after, &play->succ, node)
				if (--play->missing[after] == 0)
					play_may_begin(play, after, &ends);
		}
		while (next < line->count && !play->computes[line->order[next]])
			next++;
		if (at[0] == NONE && next < line->count && play->missing[line->order[next]] == 0) {
			uint32_t i = at[0] = line->order[next++];
			if (now + left > most)
				return INT64_MAX;
			play->gap[i] = now - free;
			end[0] = free = now + play->time[i];
			left -= play->time[i];
			release_from(play, i, &ends);
		}
		FOR_FROM(s, 1, streams)
			if (at[s] == NONE && play->waiting[s] > 0) {
				at[s] = play_take(play, s);
				end[s] = now + play->time[at[s]];
			}
		int64_t soonest = INT64_MAX;
		FOR(s, streams)
			soonest = at[s] != NONE ? smaller_of(end[s], soonest) : soonest;
		if (soonest == INT64_MAX)
			return now;
		now = soonest;
		FOR(s, streams)
			if (at[s] != NONE && end[s] == now) {
				play->ended[ends++] = at[s];
				at[s] = NONE;
			}
	}
}
