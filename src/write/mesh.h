/* mesh.h: --view mesh: the grid of devices as a figure, as LaTeX, as tables. */
#pragma once

#include "export.h"

enum status export_mesh(const struct export_job *job);
