/* sort.h: many items by a number each, such as millions of events by their step. */
#pragma once

#include "base.h"

struct keyed { int64_t key; uint32_t item, more; };   /* more: whatever goes along */

/* Sorts by key; equal keys keep their order. False: out of memory, nothing is moved. O(count) for keys of little range,
 * at most 8 times as much; memory as the list again. */
bool sort_keyed(struct keyed *list, size_t count);
