/* assignment.h: XLA's own buffer assignment: where each array of a module lies, as the proto or the text that lies
 * beside a dump says it. */
#pragma once

#include "hlo.h"
#include "src/base/wire.h"

/* Both fill in the module's sums and places. Its allocations are put one behind another: arguments, constants, results,
 * temporaries. What the module doesn't have is left out; memory of single threads is not the step's. OK, BAD_INPUT
 * (text: it is none), NO_MEMORY. O(size log instructions). */
enum status hlo_assignment_proto(struct wire body, struct hlo_module *module, struct error *error);
enum status hlo_assignment_text(const char *text, size_t size, struct hlo_module *module, struct error *error);

/* The address of array `leaf` of an instruction, -1 where the assignment has none. O(log places). */
int64_t hlo_address(const struct hlo_module *module, const struct hlo_instruction *instruction, uint32_t leaf);
