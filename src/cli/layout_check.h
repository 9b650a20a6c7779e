/* layout_check.h: `tidemark check BUFFERS RESULT`: files that `tidemark layout` has written. */
#pragma once

#include "layout_result.h"
#include "src/check/check.h"

/* Verifies offsets and sums of a result (the object of --json, or the CSV with offsets) by src/check/buffers.h, bounds
 * by their certificates; then, unless numbers is set or the result was cut short by --time, lays out again what the
 * file says was asked for, and compares every member. A line on report for each part, and *outcome. wanted: what
 * capacity and alignment it must be of; zero: any. OK; INFEASIBLE: something in it is wrong; BAD_INPUT; NO_MEMORY. */
enum status layout_check_file(const char *buffers_path, const char *result_path, const struct layout_request *wanted,
	bool numbers, FILE *report, struct check_outcome *outcome, struct error *error);
