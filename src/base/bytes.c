/* bytes.c: sizes for people. */
#include "bytes.h"

#include <inttypes.h>
#include <stdio.h>

char *bytes_text(int64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	int unit = 0;
	while ((value >= 1024 || value <= -1024) && unit < 5) {
		value /= 1024;
		unit++;
	}
	double magnitude = value < 0 ? -value : value;
	if (unit == 0)
		snprintf(text, size, "%" PRId64 " B", bytes);
	else
		snprintf(text, size, "%.*f %s", magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, value, units[unit]);
	return text;
}
