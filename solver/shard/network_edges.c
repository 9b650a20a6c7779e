/* network_edges.c: what lies between the nodes: tensors on their way from where they are written to where they are
 * read. */

#include "network_build.h"

/* ---- edges ---- */

static uint32_t network_edges_choices_of(const struct building *building, uint32_t node)
{
	return building->network->chain.first[node + 1] - building->network->chain.first[node];
}

/* Appends an edge with room for its table. */
static enum status network_edges_add_edge(struct building *building, struct chain_edge edge)
{
	struct shard_chain *chain = &building->network->chain;
	size_t cells = (size_t)network_edges_choices_of(building, edge.from) * network_edges_choices_of(building, edge.to);
	NEED(GROWN(chain->edge, building->edge_room, chain->edges + 1));
	NEED(GROWN(chain->pair, building->pair_room, chain->pairs + cells));
	edge.table = chain->pairs;
	memset(chain->pair + chain->pairs, 0, cells * sizeof *chain->pair);
	chain->pairs += cells;
	chain->edge[chain->edges++] = edge;
	return OK;
}

static uint32_t network_edges_copies_of(const struct building *building, uint32_t node)
{
	uint32_t segment = building->network->chain.segment[node];
	return segment == NONE ? 1 : building->network->chain.copies[segment];
}

static bool end_where(uint32_t segment, uint32_t copies, uint32_t low, uint32_t high, bool all, uint8_t *where)
{
	*where = segment == NONE ? CHAIN_ONLY : all ? CHAIN_EVERY : low == 0 ? CHAIN_FIRST : CHAIN_LAST;
	return segment == NONE || all || (low == high && (low == 0 || low == copies - 1));
}

/* The first and the last copy, or the only one. */
static bool reading_ends(uint32_t copies, uint32_t low, uint32_t high)
{
	return copies == 1 || (low == 0 && high == copies - 1);
}

/* One copy of a layer on the one side with all copies on the other, or with its first and last (*pair). */
static bool reading_across(const struct shard_chain *chain, uint32_t writer, uint32_t from, uint32_t to,
	const struct reading *reading, struct chain_edge *edge, bool *pair)
{
	bool all_from = reading->count == from && from > 1 && reading->from_high - reading->from_low == from - 1;
	bool all_to = reading->count == to && to > 1 && reading->to_high - reading->to_low == to - 1;
	if (all_from && all_to)     /* with a count of 2: two segments of two layers each, pairwise */
		return false;
	*pair = reading->count == 2 && !all_from && !all_to && (from == 1 || to == 1);
	if (*pair)
		return reading_ends(from, reading->from_low, reading->from_high)
			&& reading_ends(to, reading->to_low, reading->to_high);
	return (reading->count == 1 || all_from || all_to)
		&& end_where(chain->segment[writer], from, reading->from_low, reading->from_high, all_from, &edge->from_where)
		&& end_where(chain->segment[reading->node], to, reading->to_low, reading->to_high, all_to, &edge->to_where);
}

/* Which copies a reading is of. False where that can't be said. Both ends, of the first and the last copy alone: *pair.
 */
static bool reading_where(const struct building *building, uint32_t writer, const struct reading *reading,
	struct chain_edge *edge, bool *pair)
{
	const struct shard_chain *chain = &building->network->chain;
	uint32_t from = network_edges_copies_of(building, writer), to = network_edges_copies_of(building, reading->node);
	*pair = false;
	edge->step = false;
	if (reading->delta != DELTA_NONE) {
		uint32_t away = (uint32_t)(reading->delta < 0 ? -reading->delta : reading->delta);
		bool every = away <= 1 && reading->count == from - away;
		edge->step = away == 1;
		return end_where(chain->segment[writer], from, reading->from_low, reading->from_high, every, &edge->from_where)
			&& end_where(chain->segment[reading->node], from, reading->to_low, reading->to_high, every, &edge->to_where)
			&& (every || reading->delta == 0);
	}
	return reading_across(chain, writer, from, to, reading, edge, pair);
}

/* Adds the edges of a reading from a node beside (or equal to) the writer; fill writes their first table. */
static enum status network_edges_connect(struct building *building, uint32_t writer, uint32_t node,
	const struct reading *reading,
	void (*fill)(struct building *, const struct reading *, const struct chain_edge *, bool))
{
	struct chain_edge edge = { .from = node, .to = reading->node };
	bool pair, turned = reading->delta == -1;
	if (!reading_where(building, writer, reading, &edge, &pair))
		return fail(building->error, LIMIT, "%s is read by some copies of a layer only",
			building->graph->tensor[reading->tensor].name);
	if (turned) {
		edge.from = reading->node;
		edge.to = node;
	}
	FOR_INT(i, (pair ? 2 : 1)) {
		if (pair) {
			uint8_t where = i == 0 ? CHAIN_FIRST : CHAIN_LAST;
			edge.from_where = building->network->chain.segment[node] == NONE ? CHAIN_ONLY : where;
			edge.to_where = building->network->chain.segment[reading->node] == NONE ? CHAIN_ONLY : where;
		}
		NEED(network_edges_add_edge(building, edge) == OK);
		fill(building, reading, &building->network->chain.edge[building->network->chain.edges - 1], turned);
	}
	return OK;
}

/* The cheapest resharding: picoseconds, SHARD_FORBIDDEN where there is none, and of them those over each axis; axes
 * that it gathers over. */
struct distance { int64_t time, on[MESH_AXES]; uint8_t gathers; };

static struct distance distance_find(
	struct building *building, uint32_t tensor, struct placement from, struct placement to, bool for_update)
{
	const struct network_options *options = building->options;
	const struct reshard *reshard;
	struct distance distance = { 0 };
	if (placement_equal(from, to))
		return distance;
	enum status status = reshard_memo_find(building->memo, tensor, from, to, &reshard);
	building->failed |= status == NO_MEMORY;
	if (status != OK)
		return (struct distance) { .time = SHARD_FORBIDDEN };
	FOR(i, reshard->moves)
		distance.gathers |= (uint8_t)((reshard->move[i].collective == COLLECTIVE_ALL_GATHER) << reshard->move[i].axis);
	distance.time = sharding_share(
		reshard, options->microbatches, for_update, options->base ? options->base->each_axes : 0, distance.on);
	return distance;
}

/* What the mixture counts of a resharding for a phase, or for the update alone. */
static int64_t weigh_for(
	const struct building *building, bool hides, const struct distance *distance, enum phase phase, bool for_update)
{
	const struct network_options *options = building->options;
	enum hiding hiding = sharding_hiding(phase == PHASE_FORWARD, for_update, options->microbatches);
	int64_t sum = 0;
	if (distance->time >= SHARD_FORBIDDEN)
		return SHARD_FORBIDDEN;
	FOR(a, building->mesh->axes)
		sum += hides ? sharding_weigh_hidden(distance->on[a], a, hiding, options->exposed, &options->mixture)
			: sharding_weigh_waited(distance->on[a], a, (uint8_t)phase, options->microbatches, &options->mixture);
	return sum;
}

static int64_t network_edges_weigh(const struct building *building, uint32_t tensor, const struct distance *distance,
	enum phase phase, bool for_update)
{
	return weigh_for(building,
		sharding_hides(building->graph, tensor, &building->units->readers, building->options->clock.late_casts),
		distance, phase, for_update);
}

struct place {
	struct placement at;
	uint32_t counted;                /* the last reading that was counted here, plus 1 */
	uint8_t readers[PHASE_COUNT];    /* that may need it; two for one that stands for several or must be counted */
	bool late, view;                 /* the backward pass reads it; by way of a view of the forward pass */
};
struct places { struct place *place; size_t room; uint32_t count; };

/* Copies by gathering are made anew in each phase: passing tensors always, parameters on the axes that say so. */
static bool per_phase(const struct building *building, uint32_t tensor, uint8_t gathers)
{
	const struct graph *graph = building->graph;
	bool persistent = graph_home(graph, tensor)->persistent;
	return gathers & (persistent ? building->options->base ? building->options->base->regather_axes : 0 : 0xff);
}

/* What the needs of a reader's choices take from a place where the tensor is. */
struct source {
	struct placement at;
	uint32_t need;                   /* which is this place; NONE */
	int64_t *cost;                   /* [needs] */
	bool *barred;                    /* [needs] not from here alone */
};

/* What the choices of a reader need of a tensor: each place once. */
struct wants {
	const struct reading *reading;
	struct placement *need;
	uint32_t needs;
	uint32_t *start, *item;          /* choice -> needs */
	struct placement *left;          /* [choices] where the op leaves the tensor, written anew */
	int64_t *cost;                   /* [needs] what each takes from the writer's choice at hand */
	bool *early;                     /* [needs] the forward pass may have made a copy there that no one counts */
	struct source *source;           /* of the writer's choices so far */
	uint32_t sources;
	size_t source_room;
	struct arena arena;
	enum phase phase;
	bool hides, held;
};

/* True where a copy for a reader of the backward pass may be one that the forward pass made, and no one counts it. */
static bool uncounted(struct building *building, const struct wants *wants, uint32_t i, struct placement from)
{
	if (!wants->early[i])
		return false;
	return !per_phase(building, wants->reading->tensor,
		distance_find(building, wants->reading->tensor, from, wants->need[i], false).gathers);
}

/* A place that the forward pass may need, too. */
static bool is_early(const struct building *building, const struct reading *reading, struct placement need)
{
	if (!building->options->strict || !building->needs || !building->reaches[reading->op])
		return false;
	FOR(i, building->needs->count)
		if (placement_equal(building->needs->place[i].at, need) && building->needs->place[i].readers[PHASE_FORWARD] > 0)
			return true;
	return false;
}

static void wants_end(struct wants *wants)
{
	mem_free(wants->need);
	mem_free(wants->start);
	mem_free(wants->item);
	mem_free(wants->left);
	mem_free(wants->cost);
	mem_free(wants->early);
	mem_free(wants->source);
	arena_free(&wants->arena);
}

/* Adds a place to those that the choice at hand needs, unless it is there. */
static void network_edges_want(struct wants *wants, uint32_t choice, struct placement need)
{
	uint32_t i = 0, j = wants->start[choice];
	while (i < wants->needs && !placement_equal(wants->need[i], need))
		i++;
	if (i == wants->needs)
		wants->need[wants->needs++] = need;
	while (j < wants->start[choice + 1] && wants->item[j] != i)
		j++;
	if (j == wants->start[choice + 1])
		wants->item[wants->start[choice + 1]++] = i;
}

static bool wants_begin(const struct building *building, const struct reading *reading, struct wants *wants)
{
	const struct network *network = building->network;
	const struct graph *graph = building->graph;
	uint32_t columns = network_edges_choices_of(building, reading->node), reads = graph_operands(graph, reading->op);
	size_t most = (size_t)columns * reads;
	uint8_t phase = graph->op[reading->op].phase;
	*wants = (struct wants){ .reading = reading,
		.need = mem_alloc(most, sizeof *wants->need),
		.start = mem_alloc(columns + (size_t)1, sizeof *wants->start),
		.item = mem_alloc(most, sizeof *wants->item),
		.left = mem_alloc(columns, sizeof *wants->left),
		.cost = mem_alloc(most, sizeof *wants->cost),
		.early = mem_alloc(most, sizeof *wants->early),
		.hides = sharding_hides(graph, reading->tensor, &building->units->readers, building->options->clock.late_casts),
		.phase = (enum phase)phase };
	if (!wants->need || !wants->start || !wants->item || !wants->left || !wants->cost || !wants->early)
		return false;
	/* A view that both passes read: its copy must be one that is counted. */
	wants->held = !building->options->plain && phase == PHASE_FORWARD && building->reaches[reading->op];
	FOR(j, columns) {
		struct split split = network->choice[network->chain.first[reading->node] + j].split;
		uint32_t k = 0;
		wants->start[j + 1] = wants->start[j];
		FOR_ITEMS(item, &graph->reads, reading->op) {
			if (item == reading->tensor)
				network_edges_want(wants, j, split_place(building->units, reading->op, split, k));
			k++;
		}
		if (reading->left != NONE)
			wants->left[j] = split_place(building->units, reading->op, split, reading->left);
	}
	FOR(i, wants->needs)
		wants->early[i] = is_early(building, reading, wants->need[i]);
	return true;
}

/* A place's source, found once. NULL when out of memory. */
static const struct source *source_at(struct building *building, struct wants *wants, struct placement at)
{
	FOR_DOWN(i, wants->sources)
		if (placement_equal(wants->source[i].at, at))
			return &wants->source[i];
	struct source source = { at, NONE, arena_alloc(&wants->arena, wants->needs, sizeof *source.cost),
		arena_alloc(&wants->arena, wants->needs, sizeof *source.barred) };
	if (!source.cost || !source.barred ||
		!GROWN(wants->source, wants->source_room, wants->sources + (size_t)1))
		return NULL;
	FOR(i, wants->needs) {
		if (placement_equal(wants->need[i], at)) {
			source.need = i;
			continue;
		}
		struct distance distance = distance_find(
			building, wants->reading->tensor, at, wants->need[i], wants->phase == PHASE_UPDATE);
		source.cost[i] = weigh_for(building, wants->hides, &distance, wants->phase, wants->phase == PHASE_UPDATE);
		source.barred[i] = wants->held || uncounted(building, wants, i, at);
	}
	wants->source[wants->sources] = source;
	return &wants->source[wants->sources++];
}

/* What each place that is needed takes from where the tensor is written, or from a second copy: one resharding. False:
 * out of memory. */
static bool network_edges_find_costs(
	struct building *building, struct wants *wants, struct placement placement, const struct placement *second)
{
	const struct source *from = source_at(building, wants, placement);
	if (!from)
		return false;
	struct source written = *from;
	const struct source *other = second ? source_at(building, wants, *second) : NULL;
	if (second && !other)
		return false;
	FOR(i, wants->needs) {
		int64_t cost = other && other->cost[i] < written.cost[i] ? other->cost[i] : written.cost[i];
		wants->cost[i] = written.barred[i] && !(other && other->need == i) ? SHARD_FORBIDDEN : cost;
	}
	return true;
}

/* What it costs a reader to get a tensor with one of its choices, and to bring it back where it leaves it. */
static int64_t need_cost(
	struct building *building, const struct wants *wants, uint32_t choice, struct placement placement)
{
	int64_t cost = 0;
	FOR_SPAN(i, wants->start, choice) {
		if (wants->cost[wants->item[i]] >= SHARD_FORBIDDEN)
			return SHARD_FORBIDDEN;
		cost += wants->cost[wants->item[i]];
	}
	if (wants->reading->left == NONE)
		return cost;
	int64_t back = distance_find(
		building, wants->reading->tensor, wants->left[choice], placement, wants->phase == PHASE_UPDATE)
					   .time;
	return back >= SHARD_FORBIDDEN ? SHARD_FORBIDDEN : cost + back;
}

/* The row of a table that belongs to the writer's choice i of so many. */
static void network_edges_fill_row(struct building *building, const struct wants *wants, int64_t *table, bool turned,
	uint32_t i, uint32_t rows, uint32_t columns, struct placement placement)
{
	FOR(j, columns)
		table[turned ? (size_t)j * rows + i : (size_t)i * columns + j] = need_cost(building, wants, j, placement);
}

/* Choices of second copies say where these are. */
static void fill_readers(
	struct building *building, const struct reading *reading, const struct chain_edge *edge, bool turned)
{
	const struct network *network = building->network;
	uint32_t node = turned ? edge->to : edge->from, rows = network_edges_choices_of(building, node),
			 columns = network_edges_choices_of(building, reading->node);
	uint8_t phase = building->graph->op[reading->op].phase;
	bool doubled = network->node[node].kind == NETWORK_COPY;
	struct wants wants;
	bool there = wants_begin(building, reading, &wants);
	FOR_WHILE(i, rows, there) {
		const struct network_choice *choice = &network->choice[network->chain.first[node] + i];
		struct placement placement = doubled ? choice->placement : choice_place(building, reading->tensor, choice);
		there = network_edges_find_costs(
			building, &wants, placement, doubled && choice->phases >> phase & 1 ? &choice->second : NULL);
		network_edges_fill_row(building, &wants, network->chain.pair + edge->table, turned, i, rows, columns, placement);
	}
	building->failed |= !there;
	wants_end(&wants);
}

static void fill_return(
	struct building *building, const struct reading *reading, const struct chain_edge *edge, bool turned)
{
	const struct network *network = building->network;
	uint32_t writer = turned ? edge->to : edge->from, rows = network_edges_choices_of(building, writer),
			 columns = network_edges_choices_of(building, reading->node);
	uint32_t last = building->graph->tensor[reading->tensor].writer;
	bool update = last != NONE && building->graph->op[last].phase == PHASE_UPDATE;
	FOR(i, rows) {
		struct placement from = choice_place(building, reading->tensor, &network->choice[network->chain.first[writer] + i]);
		FOR(j, columns) {
			int64_t time = distance_find(building, reading->tensor, from,
				network->choice[network->chain.first[reading->node] + j].placement, update)
							   .time;
			network->chain.pair[edge->table + (turned ? (size_t)j * rows + i : (size_t)i * columns + j)] =
				time >= SHARD_FORBIDDEN ? SHARD_FORBIDDEN : time;
		}
	}
}

/* ---- second copies ---- */

/* The place of a placement, a new one where it has none; NULL when out of memory. */
static struct place *note_place(struct places *places, struct placement placement)
{
	uint32_t i = 0;
	while (i < places->count && !placement_equal(places->place[i].at, placement))
		i++;
	if (i < places->count)
		return &places->place[i];
	if (!GROWN(places->place, places->room, (size_t)places->count + 1))
		return NULL;
	places->place[places->count++] = (struct place){ .at = placement };
	return &places->place[i];
}

/* True where an op may read a tensor in two places at once: a product of a matrix and itself. */
static bool reads_in_two(const struct building *building, const struct reading *reading)
{
	const struct network *network = building->network;
	const struct graph *graph = building->graph;
	FOR_SPAN(c, network->chain.first, reading->node) {
		struct placement seen;
		uint32_t count = 0, k = 0;
		FOR_ITEMS(item, &graph->reads, reading->op) {
			struct placement need = split_place(building->units, reading->op, network->choice[c].split, k++);
			if (item != reading->tensor)
				continue;
			if (count++ > 0 && !placement_equal(need, seen))
				return true;
			seen = need;
		}
	}
	return false;
}

/* Places that readers may need, how many of them, and in which phases. */
static enum status note_needs(const struct building *building, uint32_t writer, uint32_t list, struct places *needs)
{
	const struct network *network = building->network;
	const struct graph *graph = building->graph;
	for (uint32_t at = list; at != NONE; at = building->reading[at].next) {
		const struct reading *reading = &building->reading[at];
		uint8_t phase = graph->op[reading->op].phase;
		bool view = phase == PHASE_FORWARD && building->reaches[reading->op];
		bool many = view || (network_edges_copies_of(building, writer) == 1 && reading->count > 1) ||
			reads_in_two(building, reading);
		FOR_SPAN(c, network->chain.first, reading->node) {
			uint32_t k = 0;
			FOR_ITEMS(read, &graph->reads, reading->op) {
				struct placement need = split_place(building->units, reading->op, network->choice[c].split, k++);
				if (read != reading->tensor)
					continue;
				struct place *place = note_place(needs, need);
				NEED(place);
				if (place->counted == at + 1)
					continue;
				place->counted = at + 1;
				place->readers[phase] = (uint8_t)(place->readers[phase] < 100 ? place->readers[phase] + (many ? 2 : 1) : 100);
				place->late |= building->reaches[reading->op];
				place->view |= view;
			}
		}
	}
	return OK;
}

static bool has_partial(struct placement placement)
{
	FOR_INT(a, MESH_AXES)
		if (placement.on[a] == PLACE_PARTIAL)
			return true;
	return false;
}

/* One all-to-all: a split moves along one axis, all others stay. */
static bool moves_one_split(const struct building *building, struct placement from, struct placement to)
{
	uint32_t moved = 0;
	FOR(a, building->mesh->axes) {
		if (from.on[a] != to.on[a] && (from.on[a] < 0 || to.on[a] < 0))
			return false;
		moved += from.on[a] != to.on[a];
	}
	return moved == 1;
}

/* The phase that a copy is made in which readers of these phases share. */
static enum phase first_phase(const struct place *place, uint8_t set)
{
	FOR(phase, PHASE_COUNT)
		if (set >> phase & 1 && place->readers[phase] > 0)
			return (enum phase)phase;
	return PHASE_UPDATE;
}

/* What a second copy for a set of phases costs: once, or (apart) in each of them. distance: of one resharding. */
static int64_t doubled_cost(const struct building *building, uint32_t tensor, const struct place *place,
	const struct distance *distance, uint8_t set, bool apart, bool update)
{
	int64_t cost = 0;
	if (!apart)
		return network_edges_weigh(building, tensor, distance, first_phase(place, set), update);
	FOR(phase, PHASE_COUNT)
		cost += set >> phase & 1
			? network_edges_weigh(building, tensor, distance, (enum phase)phase, update || phase == PHASE_UPDATE)
			: 0;
	return cost;
}

/* A copy that readers of all phases may share, and that is made anew for none: without the forward pass' it may weigh
 * less. */
static bool may_come_later(
	const struct building *building, uint32_t tensor, const struct place *place, const struct distance *distance)
{
	bool several = place->readers[PHASE_FORWARD] > 0 && place->readers[PHASE_BACKWARD] > 1;
	return several &&
		network_edges_weigh(building, tensor, distance, PHASE_BACKWARD, false) <
		network_edges_weigh(building, tensor, distance, PHASE_FORWARD, false);
}

/* The sets of phases, as bits, in which several may read a copy that comes so far. Returns how many. */
static uint32_t doubled_sets(const struct building *building, uint32_t tensor, const struct place *place,
	const struct distance *distance, bool apart, uint8_t sets[2 + PHASE_COUNT])
{
	uint32_t count = 0, readers = 0;
	uint8_t several = 0;
	FOR(phase, PHASE_COUNT) {
		readers += place->readers[phase];
		if (place->readers[phase] > 1) {
			several |= (uint8_t)(1 << phase);
			sets[count++] = (uint8_t)(1 << phase);
		}
	}
	if (!apart)
		count = 0;
	if (apart ? count > 1 : readers > 1)
		sets[count++] = apart ? several : 0xff;
	if (!apart && may_come_later(building, tensor, place, distance))
		sets[count++] = (uint8_t)~(1 << PHASE_FORWARD);
	return count;
}

/* The choices with one second copy: for every set of phases in which several may read it. */
static enum status doubled_at(
	struct building *building, uint32_t tensor, struct network_choice choice, const struct place *place)
{
	uint8_t sets[2 + PHASE_COUNT];
	bool update = place->readers[PHASE_UPDATE] > 0;
	FOR(phase, PHASE_COUNT)
		update &= phase == PHASE_UPDATE || place->readers[phase] == 0;
	struct distance distance = distance_find(building, tensor, choice.placement, place->at, update);
	int64_t time = distance.time;
	bool apart = per_phase(building, tensor, distance.gathers);
	choice.second = place->at;
	if (building->options->narrow && !distance.gathers && !has_partial(choice.placement) && time > 0 &&
		!moves_one_split(building, choice.placement, place->at))
		return OK;
	uint32_t count = doubled_sets(building, tensor, place, &distance, apart, sets);
	FOR_WHILE(i, count, time < SHARD_FORBIDDEN) {
		bool early = sets[i] >> PHASE_FORWARD & 1,
			 held = early && (apart ? place->view : place->readers[PHASE_FORWARD] > 0 && place->late);
		int64_t bytes = held ? placement_bytes(building->units, building->mesh, tensor, choice.second) : 0;
		choice.phases = sets[i];
		if (time > 0 || held)
			TRY(building_choice(building, choice,
				doubled_cost(building, tensor, place, &distance, sets[i], apart, update) + sharding_tie(bytes), bytes));
	}
	return OK;
}

/* The choices of a node of second copies. */
static enum status doubled_choices(
	struct building *building, uint32_t writer, uint32_t tensor, const struct places *needs)
{
	const struct network *network = building->network;
	struct places written = { 0 };
	enum status status = OK;
	for (uint32_t c = network->chain.first[writer]; status == OK && c < network->chain.first[writer + 1]; c++)
		status = note_place(&written, choice_place(building, tensor, &network->choice[c])) ? OK : NO_MEMORY;
	FOR_WHILE(i, written.count, status == OK) {
		struct network_choice choice = { .placement = written.place[i].at };
		status = building_choice(building, choice, 0, 0);
		FOR_WHILE(j, needs->count, status == OK)
			if (!placement_equal(needs->place[j].at, choice.placement))
				status = doubled_at(building, tensor, choice, &needs->place[j]);
	}
	mem_free(written.place);
	return status;
}

/* The table between the writer and the node of second copies: they agree on where the tensor is written. */
static void fill_agree(struct building *building, uint32_t tensor, const struct chain_edge *edge)
{
	const struct network *network = building->network;
	uint32_t rows = network_edges_choices_of(building, edge->from), columns = network_edges_choices_of(building, edge->to);
	FOR(i, rows) {
		struct placement placement = choice_place(building, tensor, &network->choice[network->chain.first[edge->from] + i]);
		FOR(j, columns)
			if (!placement_equal(placement, network->choice[network->chain.first[edge->to] + j].placement))
				network->chain.pair[edge->table + (size_t)i * columns + j] = SHARD_FORBIDDEN;
	}
}

static enum status double_tensor(
	struct building *building, uint32_t writer, uint32_t class, uint32_t list, const struct places *needs)
{
	struct network *network = building->network;
	uint32_t tensor = building->class_example[class], segment = network->chain.segment[writer];
	uint32_t node = building_node(building, NETWORK_COPY, tensor, segment);
	TRY(node == NONE ? NO_MEMORY : doubled_choices(building, writer, tensor, needs));
	uint8_t where = segment == NONE ? CHAIN_ONLY : CHAIN_EVERY;
	TRY(network_edges_add_edge(
		building, (struct chain_edge){ .from = writer, .to = node, .from_where = where, .to_where = where }));
	fill_agree(building, tensor, &network->chain.edge[network->chain.edges - 1]);
	for (uint32_t at = list; at != NONE; at = building->reading[at].next)
		TRY(network_edges_connect(building, writer, node, &building->reading[at], fill_readers));
	return OK;
}

/* True where two readers may share a copy that isn't free. */
static bool worth_doubling(const struct places *needs)
{
	FOR(i, needs->count) {
		uint32_t readers = 0;
		FOR(phase, PHASE_COUNT)
			readers += needs->place[i].readers[phase];
		if (readers > 1)
			return true;
	}
	return false;
}

/* All edges of a class of tensors. */
static enum status connect_class(struct building *building, uint32_t writer, uint32_t class, struct places *needs)
{
	uint32_t list = building->class_reading[class];
	needs->count = 0;
	enum status status = note_needs(building, writer, list, needs);
	building->needs = needs;
	if (status == OK && !building->options->plain && worth_doubling(needs))
		status = double_tensor(building, writer, class, list, needs);
	else
		for (uint32_t at = list; at != NONE && status == OK; at = building->reading[at].next)
			status = network_edges_connect(building, writer, writer, &building->reading[at], fill_readers);
	for (uint32_t at = building->class_reading[building->classes + class]; at != NONE && status == OK;
		at = building->reading[at].next)
		status = network_edges_connect(building, writer, writer, &building->reading[at], fill_return);
	return status;
}

enum status building_edges(struct building *building)
{
	const struct control *control = building->options->control;
	uint32_t writers = building->network->chain.nodes;
	struct places needs = { 0 };
	enum status status = building_readings(building);
	FOR_WHILE(writer, writers, status == OK)
		for (uint32_t class = building->node_class[writer]; class < building->node_class[writer + 1] && status == OK; class++)
			status = control && control_status(control) == CANCELLED ? CANCELLED
				: connect_class(building, writer, class, &needs);
	building->needs = NULL;
	mem_free(needs.place);
	return status == OK && building->failed ? NO_MEMORY : status;
}
