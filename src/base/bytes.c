/* bytes.c: sizes and amounts of work for people. */
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

char *flops_text(double flops, char *text, size_t size)
{
	static const char *const units[] = { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP" };
	int unit = 0;
	while (flops >= 999.5 && unit < 6) {
		flops /= 1000;
		unit++;
	}
	snprintf(text, size, "%.*f %s", unit == 0 ? 0 : flops < 9.995 ? 2 : flops < 99.95 ? 1 : 0, flops, units[unit]);
	return text;
}

char *change_text(int64_t bytes, char *text, size_t size)
{
	char amount[32];
	bytes_text(bytes < 0 ? -bytes : bytes, amount, sizeof amount);
	snprintf(text, size, "%s%s", bytes > 0 ? "+" : bytes < 0 ? "-" : "", amount);
	return text;
}
