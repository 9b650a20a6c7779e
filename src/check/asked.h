/* asked.h: the part of the plan checker that looks at the graph and at what was asked for. */
#pragma once

#include "state.h"

/* True where the graph that was given is the planned one, not the input. */
bool check_given_as_planned(struct check *check);
/* Name, counts and fingerprint of the graph that was read; the planned graph's, once it is made. */
enum status check_input_graph(struct check *check);
enum status check_planned_graph(struct check *check);
/* Reads every knob and pin into check->scenario: each must be there, with a value that it can have, written as plan
 * files write it. */
enum status check_scenario(struct check *check);
/* The names of the strategies, and the verdict on the memory cap. */
enum status check_fit(struct check *check);
