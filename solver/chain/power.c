/* power.c: min-plus powers, their adjoints, and walks. */
#include <string.h>

#include "model.h"

static size_t power_size_of(const struct chain_power *power)
{
	return (size_t)power->states * power->states;
}

enum status chain_power_begin(struct chain_power *power, uint32_t states, uint32_t length, struct arena *arena)
{
	*power = (struct chain_power) { .states = states, .length = length, .arena = arena };
	size_t size = power_size_of(power);
	uint32_t bits = 32 - (uint32_t)__builtin_clz(length);
	power->square = arena_alloc(arena, bits, sizeof *power->square);
	power->product = arena_alloc(arena, bits, sizeof *power->product);
	power->bit = arena_alloc(arena, bits, sizeof *power->bit);
	bool full = power->square && power->product && power->bit;
	for (uint32_t i = 0; i < bits && full; i++) {
		power->square[power->squares++] = arena_alloc(arena, size, sizeof **power->square);
		full = power->square[i] != NULL;
		if (!full || !(length >> i & 1))
			continue;
		power->bit[power->products] = i;
		power->product[power->products] = power->products ? arena_alloc(arena, size, sizeof **power->product)
			: power->square[i];
		full = power->product[power->products++] != NULL;
	}
	for (int i = 0; i < 3 && full; i++) {
		power->spare[i] = arena_alloc(arena, size, sizeof **power->spare);
		full = power->spare[i] != NULL;
	}
	return full ? OK : NO_MEMORY;
}

enum status chain_power_keep(struct chain_power *power)
{
	if (power->square_around)
		return OK;
	int64_t **squares = arena_alloc(power->arena, power->squares, sizeof *squares);
	power->product_around = arena_alloc(power->arena, power->products, sizeof *power->product_around);
	bool full = squares && power->product_around;
	for (uint32_t i = 0; i < power->squares && full; i++)
		full = (squares[i] = arena_alloc(power->arena, power_size_of(power), sizeof **squares)) != NULL;
	for (uint32_t i = 0; i < power->products && full; i++)
		full = (power->product_around[i] = arena_alloc(power->arena, power_size_of(power), sizeof **squares)) != NULL;
	power->square_around = full ? squares : NULL;
	return full ? OK : NO_MEMORY;
}

/* result = min(result, left * right) */
static void power_multiply(uint32_t states, const int64_t *left, const int64_t *right, int64_t *result)
{
	for (uint32_t i = 0; i < states; i++)
		for (uint32_t k = 0; k < states; k++) {
			int64_t first = left[(size_t)i * states + k];
			const int64_t *from = right + (size_t)k * states;
			int64_t *to = result + (size_t)i * states;
			if (chain_blocked(first))
				continue;
			for (uint32_t j = 0; j < states; j++)
				to[j] = first + from[j] < to[j] ? first + from[j] : to[j];
		}
}

static void power_block(const struct chain_power *power, int64_t *matrix)
{
	for (size_t i = 0; i < power_size_of(power); i++)
		matrix[i] = CHAIN_BLOCKED;
}

/* Sums with a blocked part are too large or a little below: all of them count as blocked. */
static void power_settle(const struct chain_power *power, int64_t *matrix)
{
	for (size_t i = 0; i < power_size_of(power); i++)
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
	for (uint32_t i = 1; i < power->squares; i++)
		set_product(power, power->square[i - 1], power->square[i - 1], power->square[i]);
	for (uint32_t i = 1; i < power->products; i++)
		set_product(power, power->product[i - 1], power->square[power->bit[i]], power->product[i]);
	control_spend(control, power_size_of(power) * power->states * (power->squares + power->products) / 8);
}

/* result = min(result, left * right transposed) */
static void multiply_transposed(uint32_t states, const int64_t *left, const int64_t *right, int64_t *result)
{
	for (uint32_t i = 0; i < states; i++)
		for (uint32_t k = 0; k < states; k++) {
			const int64_t *a = left + (size_t)i * states, *b = right + (size_t)k * states;
			int64_t least = result[(size_t)i * states + k];
			for (uint32_t j = 0; j < states; j++)
				least = a[j] + b[j] < least ? a[j] + b[j] : least;
			result[(size_t)i * states + k] = least;
		}
}

/* result = min(result, left transposed * right) */
static void multiply_left_transposed(uint32_t states, const int64_t *left, const int64_t *right, int64_t *result)
{
	for (uint32_t i = 0; i < states; i++)
		for (uint32_t k = 0; k < states; k++) {
			int64_t first = left[(size_t)i * states + k];
			const int64_t *from = right + (size_t)i * states;
			int64_t *to = result + (size_t)k * states;
			if (chain_blocked(first))
				continue;
			for (uint32_t j = 0; j < states; j++)
				to[j] = first + from[j] < to[j] ? first + from[j] : to[j];
		}
}

static void lower(const struct chain_power *power, const int64_t *matrix, int64_t *least)
{
	for (size_t i = 0; i < power_size_of(power); i++)
		least[i] = matrix[i] < least[i] ? matrix[i] : least[i];
}

/* Highest bit first: what is around the square at hand gathers the share of a product, then that of the square above.
 */
void chain_power_around(struct chain_power *power, const int64_t *around, int64_t *arc, struct control *control)
{
	uint32_t states = power->states, product = power->products - 1;
	int64_t *here = power->spare[0], *below = power->spare[1], *result = power->spare[2];
	memcpy(result, around, power_size_of(power) * sizeof *result);
	power_block(power, here);
	for (uint32_t i = power->squares; i-- > 0;) {
		if (product != NONE && power->bit[product] == i) {
			if (power->square_around)
				memcpy(power->product_around[product], result, power_size_of(power) * sizeof *result);
			if (product) {
				multiply_left_transposed(states, power->product[product - 1], result, here);
				power_block(power, below);
				multiply_transposed(states, result, power->square[i], below);
				power_settle(power, below);
				memcpy(result, below, power_size_of(power) * sizeof *result);
			} else {
				lower(power, result, here);
			}
			product--;
		}
		power_settle(power, here);
		if (power->square_around)
			memcpy(power->square_around[i], here, power_size_of(power) * sizeof *here);
		if (!i)
			break;
		power_block(power, below);
		multiply_transposed(states, here, power->square[i - 1], below);
		multiply_left_transposed(states, power->square[i - 1], here, below);
		int64_t *swap = here;
		here = below;
		below = swap;
	}
	memcpy(arc, here, power_size_of(power) * sizeof *arc);
	control_spend(control, power_size_of(power) * states * (power->squares + power->products) / 4);
}

static uint32_t middle(uint32_t states, const int64_t *left, const int64_t *right, uint32_t from, uint32_t to)
{
	uint32_t best = 0;
	int64_t least = INT64_MAX;
	for (uint32_t k = 0; k < states; k++) {
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
