/* mesh.h: --view mesh: the grid of devices as a figure, as LaTeX, as tables. */
#ifndef TIDEMARK_WRITE_MESH_H
#define TIDEMARK_WRITE_MESH_H

#include "export.h"

enum status export_mesh(const struct export_job *job);

#endif
