/* options.h: getopt_long() with messages of ours: "tidemark: --nonsense: plan has no such option; the nearest is --json". */
#ifndef TIDEMARK_CLI_OPTIONS_H
#define TIDEMARK_CLI_OPTIONS_H

#include <getopt.h>

/* The next option's letter, as getopt_long() returns it, and -1 after the last one. letters begins with ':'. '?' after saying on standard error
 * which option is unknown, ambiguous or lacks its value; the caller returns EXIT_USAGE. command: "plan"; "" where there is none. */
int option_next(const char *command, int argc, char **argv, const char *letters, const struct option *options);

#endif
