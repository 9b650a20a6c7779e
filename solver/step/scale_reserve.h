/* scale_reserve.h: what a layer of a recurrent network keeps for its backward pass beside its results. */
#pragma once

#include <stdint.h>

/* Bytes that oneDNN's LSTM layer in f32 keeps on a CPU, for so many times, samples, features and hidden units.
 * INT64_MAX where that is too much to count. */
int64_t lstm_reserve(const int64_t size[4]);
