/* fx_size.h: symbolic sizes as PyTorch prints them: "s77", "2*s0 + 1", "8*(((u0 + u1 + 71)//8))", "Max(1, s0)". */
#pragma once

#include "solver/base/base.h"

/* What the caller knows: "s77=8" a symbol, "u*=64" all whose names begin so; the first that matches counts. */
struct fx_sizes { const char *const *dim; uint32_t dims; };

/* The value of an expression; false where it has a symbol without a number (*symbol, of *length letters, is the first
 * one), no such grammar, or a value below 0 or above 2^62. Sums, products, floor division (a division that isn't whole,
 * too), remainders, powers; Max, Min, FloorDiv, CeilDiv, Mod, PythonMod, ModularIndexing, floor, ceiling. O(length *
 * dims). */
bool fx_size(const struct fx_sizes *sizes, const char *text, const char *end, int64_t *value, const char **symbol,
	size_t *length);
