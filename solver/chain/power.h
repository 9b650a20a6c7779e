/* power.h: least weights of walks of a given length, by min-plus powers of a matrix.
 *
 * Squaring and multiplying keeps O(log length) matrices; going back through them gives, for every arc, the least weight
 * of a walk that uses it anywhere (the adjoint of the power), and a walk itself. O(states^3 log length). */
#pragma once

#include "solver/base/base.h"

struct chain_power {
	uint32_t states, length, squares, products;
	int64_t **square;          /* [squares] the 2^i-th power; square[0] is the matrix */
	int64_t **product; /* [products] of the squares of the length's bits, lowest first; the last one is the result */
	uint32_t *bit;             /* [products] */
	int64_t *spare[3];         /* scratch matrices */
	/* What is around a square anywhere on the walk, and around a product; NULL: not kept. */
	int64_t **square_around, **product_around;
	struct arena *arena;
};

/* length 1 at least. */
enum status chain_power_begin(struct chain_power *power, uint32_t states, uint32_t length, struct arena *arena);
/* After filling square[0]; the result is product[products - 1]. */
void chain_power_run(struct chain_power *power, struct control *control);
/* around[from * states + to]: the least of everything outside a walk from from to to. arc: the same for one arc
 * anywhere on a walk. */
void chain_power_around(struct chain_power *power, const int64_t *around, int64_t *arc, struct control *control);
/* Makes room for what is around squares and products: the next call of chain_power_around() keeps it. OK or NO_MEMORY.
 */
enum status chain_power_keep(struct chain_power *power);
/* The states on a best walk, state[0 .. length]. */
void chain_power_walk(const struct chain_power *power, uint32_t from, uint32_t to, uint32_t *state);
