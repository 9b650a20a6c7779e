/* machine.c: the roofline of one op. */
#include "machine.h"

__extension__ typedef __int128 wide;

/* log2 in 1/1024, linear between powers of two. */
static int64_t machine_logarithm(int64_t x)
{
	int64_t exponent = 63 - __builtin_clzll((unsigned long long)(x > 0 ? x : 1)), power = INT64_C(1) << exponent;
	int64_t rest = (x > 0 ? x : 1) - power;
	return exponent * 1024 + (exponent > 10 ? rest >> (exponent - 10) : rest << (10 - exponent));
}

uint32_t efficiency_at(const struct efficiency *efficiency, int64_t size)
{
	int i = 0;
	while (i < EFFICIENCY_POINTS && efficiency->point[i].size <= size)
		i++;
	if (i == 0 || i == EFFICIENCY_POINTS)
		return efficiency->point[i == 0 ? 0 : EFFICIENCY_POINTS - 1].share;
	int64_t low = machine_logarithm(efficiency->point[i - 1].size), high = machine_logarithm(efficiency->point[i].size),
			at = machine_logarithm(size);
	int64_t from = efficiency->point[i - 1].share, to = efficiency->point[i].share;
	return (uint32_t)(high > low ? from + (to - from) * (at - low) / (high - low) : to);
}

/* Picoseconds of work at a share (millionths) of a rate. */
static int64_t spent(int64_t work, int64_t rate, int64_t share)
{
	if (rate <= 0 || share == 0)
		return 0;
	wide divisor = (wide)rate * share, time = ((wide)work * PICOSECONDS * 1000000 + divisor - 1) / divisor;
	return time > COLLECTIVE_TIME_MAX ? COLLECTIVE_TIME_MAX : (int64_t)time;
}

int64_t machine_time(const struct machine *machine, bool matrix, enum machine_format format, int64_t flops,
	int64_t parts, int64_t bytes, enum machine_limit *limit)
{
	*limit = LIMIT_LAUNCH;
	if (flops <= 0 && bytes <= 0)
		return 0;
	int64_t share = matrix
		? (int64_t)machine->matrix * (machine->sustained[format] ? machine->sustained[format] : 1000)
		: (int64_t)efficiency_at(&machine->vector, flops) * 1000;
	if (matrix && format == FORMAT_F8)
		share = share * machine->narrow / 1000;
	int64_t ramp = matrix && flops > 0 ? parts * machine->ramp : 0;
	int64_t time = ramp + spent(flops, matrix ? machine->matrix_rate[format] : machine->vector_rate, share);
	int64_t traffic = spent(bytes, machine->memory_rate, (int64_t)efficiency_at(&machine->traffic, bytes) * 1000);
	if (traffic <= machine->launch && time <= machine->launch)
		return machine->launch;
	*limit = traffic > time ? LIMIT_TRAFFIC : !matrix ? LIMIT_ARITHMETIC : time < 2 * ramp ? LIMIT_LAUNCH : LIMIT_PRODUCTS;
	time = LARGER(traffic, time);
	return SMALLER(COLLECTIVE_TIME_MAX, time);
}

int64_t machine_host_time(const struct machine *machine, int64_t bytes)
{
	struct mesh_axis axis = { .size = 2, .near_size = 2, .near = machine->host };
	return collective_time(&axis, COLLECTIVE_SEND, bytes);
}

bool machine_is_matrix(const struct rule *rule)
{
	return rule_contracts(rule) || rule->cost == COST_RECURRENCE || rule->cost == COST_ATTENTION ||
		rule->cost == COST_ATTENTION_BACKWARD;
}

static int cost_machine_format_of(uint8_t dtype)
{
	switch (dtype) {
	case DTYPE_F64: case DTYPE_C128: return FORMAT_F64;
	case DTYPE_F32: case DTYPE_C64: return FORMAT_F32;
	case DTYPE_F16: return FORMAT_F16;
	case DTYPE_BF16: return FORMAT_BF16;
	case DTYPE_F8E4M3: case DTYPE_F8E5M2: return FORMAT_F8;
	default: return -1;
	}
}

enum machine_format machine_format_of(const struct graph *graph, uint32_t op)
{
	int found = -1;
	int64_t most = -1;
	FOR_ITEMS(read, &graph->reads, op) {
		const struct tensor *tensor = &graph->tensor[read];
		int format = cost_machine_format_of(tensor->dtype);
		int64_t elements = format >= 0 ? tensor->bytes * 8 / dtype_bits[tensor->dtype] : -1;
		if (elements > most || (elements == most && format < found)) {
			found = format;
			most = elements;
		}
	}
	return found >= 0 ? (enum machine_format)found : FORMAT_F32;
}
