/* schedule_rows.c: schedules in the words of torch.distributed.pipelining. */
#include "plan_json.h"

/* Returns how many slots one cell, or one part of a pair, stands for. */
static uint32_t write_cell(const struct pipeline_slot *slot, FILE *stream)
{
	static const char letters[PASS_COUNT] = {
		[PASS_FORWARD] = 'F', [PASS_BACKWARD] = 'B', [PASS_INPUT] = 'I', [PASS_WEIGHT] = 'W'
	};
	fprintf(stream, "%u%c%u", slot->piece, slot->joined ? 'B' : letters[slot->pass], slot->microbatch);
	return slot->joined ? 2 : 1;
}

void schedule_row_write(const struct pipeline_slot *slot, uint32_t slots, FILE *stream)
{
	for (uint32_t i = 0; i < slots;) {
		bool pair = slot[i].overlapped;
		fputs(i > 0 ? "," : "", stream);
		fputs(pair ? "(" : "", stream);
		i += write_cell(&slot[i], stream);
		if (pair) {
			putc(';', stream);
			i += write_cell(&slot[i], stream);
			fputs(")OVERLAP_F_B", stream);
		}
	}
}
