/* scale_reserve.c: the reserve of a recurrent layer, as oneDNN lays it out (set_workspace_sizes() of its rnn_utils).
 *
 * Gates and hidden states of each step; states of layer, iteration and cell, before and after, of both sides of the
 * layer. Rows are padded, parts begin at pages; so the whole isn't proportional to anything, and has to be computed
 * anew at another size. */
#include "scale.h"

#define PAGE 4096
#define LARGEST ((int64_t)1 << 40) /* of a number that is multiplied by another one below it, and by 32 */

/* The length of a row of floats: whole cache lines, and no multiple of 256 elements. */
static int64_t scale_reserve_row_length(int64_t elements)
{
	int64_t padded = (elements + 15) / 16 * 16;
	return padded % 256 == 0 ? padded + 16 : padded;
}

/* Rows of floats, in whole pages, added to the sum. */
static bool scale_reserve_add_part(int64_t *sum, int64_t rows, int64_t row, int64_t times)
{
	int64_t bytes;
	if (__builtin_mul_overflow(rows, 4 * row, &bytes) || bytes > INT64_MAX - PAGE)
		return false;
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	return !__builtin_mul_overflow(bytes, times, &bytes) && !__builtin_add_overflow(*sum, bytes, sum);
}

int64_t lstm_reserve(const int64_t size[4])
{
	int64_t steps = size[0], samples = size[1], features = size[2], hidden = size[3], rows, sum = 0;
	FOR_INT(i, 4)
		if (size[i] < 0 || size[i] > LARGEST)
			return INT64_MAX;
	if (__builtin_mul_overflow(steps + 1, 2 * samples, &rows))
		return INT64_MAX;
	int64_t wide = scale_reserve_row_length(LARGER(features, hidden));
	bool fine = scale_reserve_add_part(&sum, steps * samples, scale_reserve_row_length(4 * hidden), 1) &&
		scale_reserve_add_part(&sum, steps * samples, scale_reserve_row_length(hidden), 1) &&
		scale_reserve_add_part(&sum, rows, wide, 3) && scale_reserve_add_part(&sum, rows, hidden, 2);
	return fine ? sum : INT64_MAX;
}
