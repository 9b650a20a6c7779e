/* verdict.c: does the plan fit, with parameters gathered ahead, buffers and reserve? Added up anew. */
#include <string.h>

#include "src/plan/verdict.h"
#include "src/scenario/own_device.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/notes.h"
#include "verdict.h"

/* Groups of devices that a device talks with: degrees above 1, as the file's own mesh and pipeline have them. */
static int64_t count_groups(const struct check *check)
{
	json_t *mesh = json_object_get(json_object_get(check->plan, "shard"), "mesh"), *size;
	const char *name;
	int64_t groups = 0;
	json_object_foreach(mesh, name, size) {
		groups += json_integer_value(size) > 1;
	}
	return groups + (scenario_pipelines(&check->asked) && check->asked.value[K_pp] > 1);
}

static enum status check_verdict_expect(struct check *check, const char *key, int64_t expected)
{
	return check_expect(check, "memory", key, expected);
}

/* The words follow from the numbers. */
static enum status check_verdict_check_words(struct check *check, const struct verdict *verdict)
{
	char text[VERDICT_TEXT];
	const char *stated = json_string_value(check_member(check, "memory", "verdict"));
	verdict_text(verdict, text, sizeof text);
	return stated && strcmp(stated, text) == 0 ? OK : check_wrong(check, "memory.verdict is not \"%s\"", text);
}

static enum status check_fits(struct check *check, struct verdict *verdict)
{
	const json_t *stated = check_member(check, "memory", "fits"), *cap = check_member(check, "memory", "cap_bytes");
	int64_t bound = json_integer_value(check_member(check, "order", "bound_bytes"));
	check->over = verdict->cap < 0 ? -1 : verdict->needed - verdict->cap;
	if (verdict->cap < 0)
		return stated || cap ? check_wrong(check, "memory.fits is said of a scenario without a memory cap") : OK;
	verdict->fits = check->over <= 0 ? FITS_YES
		: bound + verdict->buffers + verdict->reserve > verdict->cap ? FITS_NO
		: FITS_UNKNOWN;
	const char *word = verdict->fits == FITS_YES ? "yes" : verdict->fits == FITS_NO ? "no" : "unknown";
	enum status status = check_verdict_expect(check, "cap_bytes", verdict->cap);
	if (status == OK && (!json_is_string(stated) || strcmp(json_string_value(stated), word) != 0))
		status = check_wrong(check,
			"memory.fits must be \"%s\": so says the sum of the plan, what is gathered ahead, buffers and reserve, "
			"beside the bound",
			word);
	return status;
}

enum status check_verdict(struct check *check)
{
	int64_t arena = json_integer_value(check_member(check, "layout", "arena_bytes")), groups = count_groups(check);
	struct device_preset preset = scenario_preset(&check->asked);
	struct verdict verdict = { .plan = arena, .reserve = scenario_reserve(&check->asked),
		.buffers = groups * scenario_group_buffers(&check->asked) };
	const json_t *note;
	size_t i;
	if (check->as_planned)   /* the step isn't simulated */
		check->ahead = json_integer_value(check_member(check, "shard", "gathered_ahead_bytes"));
	verdict.ahead = check->ahead;
	json_array_foreach(json_object_get(check->plan, "notes"), i, note) {
		verdict.guess |= json_is_string(note) && strncmp(json_string_value(note), NOTE_GUESS, strlen(NOTE_GUESS)) == 0;
	}
	verdict.cap = check->asked.value[K_memory] >= 0 ? check->asked.value[K_memory] : preset.machine.memory;
	verdict.needed = verdict.plan + verdict.ahead + verdict.buffers + verdict.reserve;
	verdict.caching = check->reserved[0] + verdict.needed - verdict.plan;
	verdict.expandable = check->reserved[1] + verdict.needed - verdict.plan;
	enum status status = check_verdict_expect(check, "buffers_bytes", verdict.buffers);
	THEN(status, check_verdict_expect(check, "reserve_bytes", verdict.reserve));
	THEN(status, check_verdict_expect(check, "needed_bytes", verdict.needed));
	THEN(status, check_verdict_expect(check, "caching_allocator_needed_bytes", verdict.caching));
	THEN(status, check_verdict_expect(check, "expandable_segments_needed_bytes", verdict.expandable));
	THEN(status, check_fits(check, &verdict));
	THEN(status, check_verdict_check_words(check, &verdict));
	if (status == OK)
		check_passed(check,
			verdict.cap < 0 ? "what the plan needs, with parameters gathered ahead, buffers and reserve"
			: "whether the plan fits its device, with parameters gathered ahead, buffers and reserve");
	return status;
}
