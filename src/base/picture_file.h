/* picture_file.h: whether a picture is one, and not cut short: libraries without memory write half of one and say
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* format "svg", "pdf" or "png": begins and ends as such a file does. True of any other format. */
bool picture_whole(const char *format, const char *text, size_t length);
