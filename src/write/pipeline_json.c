/* pipeline_json.c: pipelines in plan files and reports. */
#include <inttypes.h>

#include "src/read/native.h"
#include "pipeline_json.h"
#include "src/base/json_text.h"

static void write_seconds(FILE *stream, const char *key, int64_t picoseconds)
{
	fprintf(stream, ", \"%s\": %" PRId64 ".%012" PRId64, key, picoseconds / PICOSECONDS, picoseconds % PICOSECONDS);
}

static void write_piece(const struct pipelined *pipelined, uint32_t k, FILE *stream)
{
	const struct pipeline_piece *piece = &pipelined->piece[k];
	fprintf(stream, "%s{\"rank\": %u, \"first\": ", k ? ",\n    " : "\n    ", k % pipelined->ranks);
	json_write_text(stream, piece->first ? piece->first : "");
	fputs(", \"last\": ", stream);
	json_write_text(stream, piece->last ? piece->last : "");
	fprintf(stream, ", \"ops\": %u", piece->ops);
	write_seconds(stream, "forward_seconds", piece->forward);
	write_seconds(stream, "backward_seconds", piece->backward);
	write_seconds(stream, "send_seconds", piece->send);
	fprintf(stream, ", \"sent_bytes\": %" PRId64 ", \"kept_bytes\": %" PRId64 ", \"in_flight\": %u}", piece->sent, piece->kept, piece->in_flight);
}

static void write_pipeline(const struct plan *plan, FILE *stream)
{
	const struct pipelined *pipelined = plan->pipelined;
	fprintf(stream, ",\n  \"pipeline\": {\"ranks\": %u, \"chunks\": %u, \"microbatches\": %u, \"schedule\": \"%s\", \"rank\": %u", pipelined->ranks,
		pipelined->chunks, pipelined->microbatches, schedule_names[pipelined->schedule], plan->rank);
	write_seconds(stream, "bubble_seconds", pipelined->bubble);
	write_seconds(stream, "exposed_seconds", pipelined->exposed);
	write_seconds(stream, "update_seconds", pipelined->update);
	fputs(",\n   \"pieces\": [", stream);
	for (uint32_t k = 0; k < pipelined->ranks * pipelined->chunks; k++)
		write_piece(pipelined, k, stream);
	fputs("]}", stream);
}

static void write_stage(uint32_t rank, const struct plan_stage *stage, FILE *stream)
{
	fprintf(stream, "{\"rank\": %u, \"peak_bytes\": %" PRId64, rank, stage->peak);
	for (int kind = 0; kind < KIND_COUNT; kind++)
		fprintf(stream, ", \"%s\": %" PRId64, kind_names[kind], stage->bytes[kind]);
	fprintf(stream, ", \"workspace\": %" PRId64, stage->workspace);
}

static void write_rank(const struct plan *plan, uint32_t r, FILE *stream)
{
	const struct pipeline_rank *rank = &plan->pipelined->rank[r];
	fputs(r ? ",\n   " : "\n   ", stream);
	write_stage(r, &plan->stage[r], stream);
	fprintf(stream, ", \"arena_bytes\": ");
	if (plan->stage[r].arena < 0)
		fputs("null", stream);
	else
		fprintf(stream, "%" PRId64, plan->stage[r].arena);
	fprintf(stream, ", \"in_flight_bytes\": %" PRId64 ", \"alike\": %u", rank->kept, rank->alike);
	write_seconds(stream, "exposed_seconds", rank->exposed);
	write_seconds(stream, "update_seconds", rank->update);
	putc('}', stream);
}

void pipeline_write_json(const struct plan *plan, FILE *stream)
{
	if (plan->pipelined)
		write_pipeline(plan, stream);
	fputs(",\n  \"stages\": [", stream);
	for (uint32_t r = 0; plan->pipelined && r < plan->pipelined->ranks; r++)
		write_rank(plan, r, stream);
	if (!plan->pipelined) {
		struct plan_stage stage = { .peak = plan->peak_bytes };
		if (plan->graph->ops)
			plan_categories(plan, plan->peak_position, stage.bytes, &stage.workspace);
		write_stage(0, &stage, stream);
		putc('}', stream);
	}
	putc(']', stream);
}

/* ---- report -------------------------------------------------------------------------------------------------- */

#define RANKS_SHOWN 16

static double milliseconds(int64_t picoseconds)
{
	return (double)picoseconds * 1e-9;
}

static void write_rank_line(const struct plan *plan, uint32_t r, FILE *stream)
{
	const struct pipelined *pipelined = plan->pipelined;
	const struct plan_stage *stage = &plan->stage[r];
	const struct pipeline_rank *rank = &pipelined->rank[r];
	char text[4][32];
	int64_t forward = 0, backward = 0;
	for (uint32_t c = 0; c < pipelined->chunks; c++) {
		forward += pipelined->piece[c * pipelined->ranks + r].forward;
		backward += pipelined->piece[c * pipelined->ranks + r].backward;
	}
	const struct pipeline_piece *piece = &pipelined->piece[r];
	fprintf(stream, "  %4u%c %12s %12s %12s %12s %10.3f %10.3f   %s .. %s\n", r, r == plan->rank ? '*' : ' ',
		bytes_text(stage->peak, text[0], sizeof text[0]), stage->arena < 0 ? "-" : bytes_text(stage->arena, text[1], sizeof text[1]),
		bytes_text(rank->parameters + rank->optimizer + rank->gradients, text[2], sizeof text[2]), bytes_text(rank->kept, text[3], sizeof text[3]),
		milliseconds(forward), milliseconds(backward), piece->first ? piece->first : "", piece->last ? piece->last : "");
}

void pipeline_write_text(const struct plan *plan, FILE *stream)
{
	const struct pipelined *pipelined = plan->pipelined;
	if (!pipelined)
		return;
	fprintf(stream, "\n%u microbatch%s through %u pipeline rank%s, %s", pipelined->microbatches, pipelined->microbatches == 1 ? "" : "es", pipelined->ranks,
		pipelined->ranks == 1 ? "" : "s", schedule_names[pipelined->schedule]);
	if (pipelined->chunks > 1)
		fprintf(stream, ", %u pieces of the model on each", pipelined->chunks);
	fprintf(stream, "\n  step %.3f ms: idle in the pipeline %.3f, gradients not hidden %.3f, update %.3f\n", milliseconds(pipelined->time),
		milliseconds(pipelined->bubble), milliseconds(pipelined->exposed), milliseconds(pipelined->update));
	fputs("  rank          peak        arena       states    in flight forward ms  backward\n", stream);
	for (uint32_t r = 0; r < pipelined->ranks; r++) {
		if (pipelined->ranks > RANKS_SHOWN && r >= RANKS_SHOWN / 2 && r + RANKS_SHOWN / 2 < pipelined->ranks && r != plan->rank)
			continue;
		write_rank_line(plan, r, stream);
	}
	fprintf(stream, "  * the rank that is planned above\n");
}
