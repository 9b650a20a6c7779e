/* folder.h: what XLA leaves in a folder with --xla_dump_to: which of its files is the step. */
#pragma once

#include "solver/base/base.h"

/* The chosen module. list: a line on each where there are several, else "". number: which of them it is, from 1 on. */
struct hlo_folder {
	char path[4096];
	char *list;
	uint32_t modules, number;
};

/* Modules after optimization, as proto (which has the buffer assignment) or text; where there are none of these,
 * before. wanted: the module, from 1 on in the order of their names; 0: that of the largest file. Without any *found
 * stays with no modules, which is OK. BAD_INPUT: no module of that number. Free with hlo_folder_free(), after an error
 * too. O(files log files). */
enum status hlo_folder_find(const char *path, uint32_t wanted, struct hlo_folder *found, struct error *error);
void hlo_folder_free(struct hlo_folder *found);
