/* shard_check.h: sharding problems read, solved choices written, and files of them verified. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "solver/problems/problems.h"
#include "src/check/check.h"

/* Reads a problem of the contest's form. BAD_INPUT with the line, NO_MEMORY. Free it after an error, too. */
enum status shard_problem_open(const char *path, struct shard_problem *problem, struct error *error);

/* The object that says a result; asked: seconds of --time, 0: none; whole: with the certificate. NULL, or with members left out, when out of memory. */
json_t *shard_json(const struct shard_problem *problem, const struct shard_plan *plan, bool limited, double seconds, double asked, bool whole);

/* Verifies such a file: the choice is summed anew and the bound derived from its certificate in integers, without the solver; then, unless numbers is set or the file
 * was made with --time, the problem is solved again and every member compared. What was not looked at is said on report. OK; INFEASIBLE; BAD_INPUT; NO_MEMORY. */
enum status shard_check_file(const struct shard_problem *problem, const char *path, bool numbers, FILE *report, struct check_outcome *outcome, struct error *error);
