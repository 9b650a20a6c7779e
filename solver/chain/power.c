/* power.c: min-plus powers, and walks. */
#include <string.h>

#include "model.h"

static size_t power_size_of(const struct chain_power *power)
{
	return (size_t)power->states * power->states;
}

enum status chain_power_begin(struct chain_power *power, uint32_t states, uint32_t length, struct arena *arena)
{
	*power = (struct chain_power) { .states = states, .length = length };
	size_t size = power_size_of(power);
	uint32_t bits = 32 - (uint32_t)__builtin_clz(length);
	bool full = ROOMS(arena, bits, power->square, power->product, power->bit);
	FOR_WHILE(i, bits, full) {
		power->square[power->squares++] = arena_alloc(arena, size, sizeof **power->square);
		full = power->square[i] != NULL;
		if (!full || !(length >> i & 1))
			continue;
		power->bit[power->products] = i;
		power->product[power->products] = power->products ? arena_alloc(arena, size, sizeof **power->product)
			: power->square[i];
		full = power->product[power->products++] != NULL;
	}
	return full ? OK : NO_MEMORY;
}

/* result = min(result, left * right) */
static void power_multiply(uint32_t states, const int64_t *left, const int64_t *right, int64_t *result)
{
	FOR(i, states)
		FOR(k, states) {
			int64_t first = left[(size_t)i * states + k];
			const int64_t *from = right + (size_t)k * states;
			int64_t *to = result + (size_t)i * states;
			if (chain_blocked(first))
				continue;
			FOR(j, states)
				to[j] = SMALLER(first + from[j], to[j]);
		}
}

static void power_block(const struct chain_power *power, int64_t *matrix)
{
	FOR_SIZE(i, power_size_of(power))
		matrix[i] = CHAIN_BLOCKED;
}

/* Sums with a blocked part are too large or a little below: all of them count as blocked. */
static void power_settle(const struct chain_power *power, int64_t *matrix)
{
	FOR_SIZE(i, power_size_of(power))
		matrix[i] = chain_blocked(matrix[i]) ? CHAIN_BLOCKED : matrix[i];
}

static void set_product(const struct chain_power *power, const int64_t *left, const int64_t *right, int64_t *result)
{
	power_block(power, result);
	power_multiply(power->states, left, right, result);
	power_settle(power, result);
}

void chain_power_run(struct chain_power *power, struct control *control)
{
	FOR_FROM(i, 1, power->squares)
		set_product(power, power->square[i - 1], power->square[i - 1], power->square[i]);
	FOR_FROM(i, 1, power->products)
		set_product(power, power->product[i - 1], power->square[power->bit[i]], power->product[i]);
	control_spend(control, power_size_of(power) * power->states * (power->squares + power->products) / 8);
}

static uint32_t middle(uint32_t states, const int64_t *left, const int64_t *right, uint32_t from, uint32_t to)
{
	uint32_t best = 0;
	int64_t least = INT64_MAX;
	FOR(k, states) {
		int64_t sum = left[(size_t)from * states + k] + right[(size_t)k * states + to];
		if (sum < least) {
			least = sum;
			best = k;
		}
	}
	return best;
}

static void walk_square(const struct chain_power *power, uint32_t bit, uint32_t from, uint32_t to, uint32_t *state)
{
	state[0] = from;
	state[(size_t)1 << bit] = to;
	if (!bit)
		return;
	const int64_t *half = power->square[bit - 1];
	uint32_t between = middle(power->states, half, half, from, to);
	walk_square(power, bit - 1, from, between, state);
	walk_square(power, bit - 1, between, to, state + ((size_t)1 << (bit - 1)));
}

void chain_power_walk(const struct chain_power *power, uint32_t from, uint32_t to, uint32_t *state)
{
	size_t end = power->length;
	for (uint32_t i = power->products; i-- > 1;) {
		uint32_t between = middle(power->states, power->product[i - 1], power->square[power->bit[i]], from, to);
		end -= (size_t)1 << power->bit[i];
		walk_square(power, power->bit[i], between, to, state + end);
		to = between;
	}
	walk_square(power, power->bit[0], from, to, state);
}
