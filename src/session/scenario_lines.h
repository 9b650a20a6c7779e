/* scenario_lines.h: what follows `set`, `reset` and `unpin` at the prompt and in session files. */
#pragma once

#include "src/scenario/scenario.h"

/* The first assignment of such a line, "" where it's 200 bytes or longer; how far on the next one begins. */
size_t scenario_line_word(const char *argument, char word[200]);
/* "k=v l=w ...": an assignment reaches to the word with the next '='. */
enum status scenario_line_set(struct scenario *scenario, const char *argument, struct error *error);
/* A knob's name, or nothing: all of them. */
enum status scenario_line_reset(struct scenario *scenario, const char *argument, struct error *error);
/* A pin's number, from 1 on. */
enum status scenario_line_unpin(struct scenario *scenario, const char *argument, struct error *error);
