/* layout_command.h: `tidemark layout BUFFERS.csv`. */
#ifndef TIDEMARK_LAYOUT_COMMAND_H
#define TIDEMARK_LAYOUT_COMMAND_H

/* Solves a file of buffers in MiniMalloc's CSV form (see buffers_csv.h) and writes it back with offsets.
 * argv[0] is the command's name. Returns the program's exit status. */
int layout_command(int argc, char **argv);

#endif
