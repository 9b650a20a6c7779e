/* check_floor.h: verifies that nothing fits, from an op's cheapest state (floor.h). */
#pragma once

#include "bound.h"

/* BAD_INPUT, with the reason, where the certificate's flow does not prove that more than cap is there while its op
 * runs. for_good [storages]: written once in every plan. O(step + arcs). */
enum status fit_check_floor(const struct fit_input *input, const bool *for_good, int64_t cap,
	const struct fit_certificate *certificate, struct error *error);
