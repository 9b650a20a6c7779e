/* members.h: whether a file has members that nobody looks at. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "solver/base/base.h"

/* An object by its path: `[]` is an element of a list, `*` a member of any name. Where all bits of `with` are set it
 * has these members, separated by blanks, and may have those with a question mark; NULL: any. */
struct member_row { const char *path, *names; unsigned with; };

/* Walks through every object of a file. has: what the file is of; ~0u where that is not known: then members with
 * conditions may be there or not. OK, or INFEASIBLE: it has a member that no row allows, a claim that nothing else
 * would look at, or one is missing, or a number is -0. O(size of the file * rows). */
enum status members_check(
	const json_t *file, const struct member_row *rows, size_t count, unsigned has, struct error *error);

/* compare: a file against the one that what it asks for leads to. */

/* A member at the top that may differ, and why. */
struct free_member { const char *name, *why; };

/* OK where all members but the free ones (up to one without a name) are equal; INFEASIBLE with the first that differs.
 * O(size). */
enum status compare_files(
	const json_t *file, const json_t *again, const struct free_member *free_members, struct error *error);

/* again: what is written again, as a file would have it. */

/* Write into stream, where it isn't NULL; then written_json() closes it: NULL when out of memory. */
struct written { FILE *stream; char *text; size_t size; };
void written_begin(struct written *written);
json_t *written_json(struct written *written);

/* Reports, to a stream or to NULL: what holds; what was not looked at. */
void report_passed(FILE *report, const char *what);
void report_skipped(FILE *report, const char *what);
