/* places.h: where the data of weights that lie in other files are said to lie. */
#pragma once

#include "src/base/wire.h"

/* What is wrong with where a weight lies in another file (external_data 13: key 1, value 2), which must lie beside the
 * model. NULL: nothing. The file isn't opened in any case, be it there or a link to elsewhere. */
const char *onnx_place_wrong(struct wire tensor);
