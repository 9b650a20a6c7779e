/* unpack.h: the bytes of a descriptor, plain as they are, gzip decompressed; it knows how many came in, from pipes,
 * too. */
#pragma once

#include <sys/types.h>

#include "solver/base/base.h"

struct unpack;

/* Takes the descriptor and closes it, where this fails, too. */
struct unpack *unpack_open(int descriptor, struct error *error);
void unpack_close(struct unpack *unpack);
/* Like read(2), but -1 sets *error. Members of gzip that follow each other are one file; what follows them and is none
 * is left out, as gzip does. */
ssize_t unpack_read(struct unpack *unpack, void *buffer, size_t size, struct error *error);
/* Bytes taken of the descriptor, 0 where they are not compressed. */
uint64_t unpack_packed(const struct unpack *unpack);
