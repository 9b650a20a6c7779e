/* ilp.h: the layout of a few buffers as an integer program. For this folder only. */
#pragma once

#include "model.h"

/* A smallest layout, by GLPK; where its limits are reached first, offset stays as it was. For models without pins and
 * gaps. As MODeL's (Steiner et al., ICML 2023): one binary for each overlapping pair says which is below. */
enum status layout_ilp(const struct layout_model *model, int64_t *offset, struct control *control);
