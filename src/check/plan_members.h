/* plan_members.h: a plan file has no members but those that plan files have. For this folder only. */
#pragma once

#include "state.h"

/* Every object of the file is walked through: a member that no plan file has there, or that no plan of such a scenario
 * has (a pipeline of a step on one rank), is a claim that nothing here looks at. OK or INFEASIBLE. After all that finds
 * out what the plan has: recomputation, copies to the host, ranks. O(size of the file * rows). */
enum status check_members(struct check *check);
