/* shard.c: how a step is split over devices, as CSV. */
#include <inttypes.h>

#include "data.h"
#include "plan_json.h"

static void write_word(FILE *stream, const char *word)
{
	putc(',', stream);
	csv_text(stream, word ? word : "");
}

static void write_shard_write_placements(const struct plan *plan, FILE *stream)
{
	const struct sharded *sharded = plan->sharded;
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	fputs("tensor,kind,bytes,device_bytes,redundant_bytes,placement,dtensor,partition_spec,hlo\n", stream);
	FOR(t, units->graph->tensors) {
		const struct tensor *tensor = &units->graph->tensor[t];
		struct placement placement = sharded->sharding.produced[t];
		csv_text(stream, tensor->name);
		fprintf(stream, ",%s,%" PRId64 ",%" PRId64 ",%" PRId64, kind_names[tensor->kind], tensor->bytes,
			placement_bytes(units, mesh, t, placement), placement_redundant(units, mesh, t, placement));
		write_word(stream, sharded_place(sharded, t, placement, TEXT(400)));
		write_word(stream, sharding_dtensor(units, mesh, t, placement, TEXT(400)));
		write_word(stream, sharding_partition_spec(units, mesh, t, placement, TEXT(400)));
		write_word(stream, sharding_hlo(units, mesh, t, placement, TEXT(400)));
		putc('\n', stream);
	}
}

static void write_collectives(const struct plan *plan, FILE *stream)
{
	const struct mesh *mesh = &plan->sharded->sharding.mesh;
	fputs("axis,collective,count,sent_bytes,seconds\n", stream);
	FOR(a, mesh->axes)
		FOR_INT(c, COLLECTIVE_COUNT) {
			const struct traffic *traffic = &plan->traffic.of[a][c];
			if (traffic->count == 0)
				continue;
			fprintf(stream, "%s,%s,%u,%" PRId64 ",", mesh->axis[a].name, collective_names[c], traffic->count, traffic->bytes);
			csv_seconds(stream, traffic->time);
			putc('\n', stream);
		}
}

static enum status with_split(const struct export_job *job, void (*write)(const struct plan *plan, FILE *stream))
{
	if (!job->plan->sharded)
		return refuse(job->error, "the step is not split over devices: set devices and strategy");
	write(job->plan, job->stream);
	return OK;
}

enum status shard_placements(const struct export_job *job)
{
	return with_split(job, write_shard_write_placements);
}

enum status shard_collectives(const struct export_job *job)
{
	return with_split(job, write_collectives);
}
