/* host_pool.c: see host_pool.h. */

#include "host_pool.h"
#include "solver/layout/layout.h"

/* Microbatches besides the one at hand whose tensors wait with an op's; what adds up to more than BYTES_MAX is no such
 * number. */
static uint32_t host_pool_others_of(const struct graph *graph, uint32_t op, int64_t bytes, int64_t *sum)
{
	uint32_t held = graph->op[op].in_flight;
	int64_t all;
	if (held < 2 || graph->flush == NONE || __builtin_mul_overflow(held - 1, bytes, &all)
		|| all > BYTES_MAX - *sum)
		return 0;
	*sum += all;
	return held - 1;
}

static bool host_pool_add(struct host_pool *pool, size_t *room, struct host_buffer buffer)
{
	if (!mem_reserve(&pool->buffer, room, pool->n + 1, sizeof *pool->buffer))
		return false;
	pool->buffer[pool->n++] = buffer;
	pool->tensors += buffer.others == 0;
	return true;
}

static enum status host_pool_collect(
	const struct graph *graph, const uint32_t *position, int64_t alignment, struct host_pool *pool)
{
	int64_t sum = 0;
	size_t room = 0;
	FOR(op, graph->ops) {
		if (graph->op[op].added != ADDED_OFFLOAD || csr_length(&graph->reads, op) != 1 || csr_length(&graph->writes, op) != 1)
			continue;
		uint32_t tensor = graph_operand(graph, op, 0);
		bool stays = offload_stays(graph, op);
		uint32_t copy = graph->tensor[graph_result(graph, op, 0)].storage,
				 first = stays ? 0 : position[op], last = stays ? graph->ops - 1 : first;
		int64_t bytes = align_up(graph_home(graph, tensor)->bytes, alignment);
		FOR_ITEMS(user, &graph->users, copy)
			if (position[user] > last)
				last = position[user];
		uint32_t others = host_pool_others_of(graph, op, bytes, &sum);
		if (!host_pool_add(pool, &room, (struct host_buffer){ tensor, first, last, 0, bytes, 0 }) ||
			(others &&
				!host_pool_add(
					pool, &room, (struct host_buffer){ tensor, 0, position[graph->flush], others, others * bytes, 0 })))
			return NO_MEMORY;
	}
	return OK;
}

static enum status host_pool_lay_out(struct host_pool *pool, int64_t alignment)
{
	OWN(arena) arena = { 0 };
	struct buffers buffers = { .n = pool->n, .lower = arena_alloc(&arena, pool->n, sizeof *buffers.lower),
				   .upper = arena_alloc(&arena, pool->n, sizeof *buffers.upper),
				   .size = arena_alloc(&arena, pool->n, sizeof *buffers.size) };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = alignment };
	struct control control = { 0 };
	OWN(layout) layout = { 0 };
	NEED(buffers.lower && buffers.upper && buffers.size);
	FOR(i, pool->n) {
		buffers.lower[i] = pool->buffer[i].first;
		buffers.upper[i] = (int64_t)pool->buffer[i].last + 1;
		buffers.size[i] = pool->buffer[i].bytes;
	}
	TRY(layout_solve(&buffers, &options, &control, &layout, NULL));
	FOR(i, pool->n)
		pool->buffer[i].offset = layout.offset[i];
	pool->arena = layout.arena;
	pool->load = layout.load;
	return OK;
}

enum status host_pool_make(
	const struct graph *graph, const uint32_t *position, int64_t alignment, struct host_pool *pool)
{
	*pool = (struct host_pool){ 0 };
	enum status status = host_pool_collect(graph, position, alignment, pool);
	if (status == OK && pool->n > 0)
		status = host_pool_lay_out(pool, alignment);
	if (status != OK)
		host_pool_free(pool);
	return status;
}

void host_pool_free(struct host_pool *pool)
{
	mem_free(pool->buffer);
	*pool = (struct host_pool){ 0 };
}
