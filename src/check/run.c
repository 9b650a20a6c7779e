/* run.c: what a plan file says of the run that made it. Seconds and what was kept from before can't be known
 * afterwards; no other claim may stand there. */

#include "run.h"

enum status check_run(struct check *check)
{
	json_t *run = json_object_get(check->plan, "run");
	double seconds[2];
	json_int_t count[4];
	int limited;
	if (!run)
		return OK;
	if (json_unpack(run, "{s:{s:F, s:F !}, s:{s:{s:I, s:I !}, s:{s:I, s:I !} !}, s:b !}", "seconds",
			stage_names[STAGE_ORDER], &seconds[0], stage_names[STAGE_LAYOUT], &seconds[1], "cache",
			stage_names[STAGE_ORDER], "reused", &count[0], "solved", &count[1], stage_names[STAGE_LAYOUT], "reused",
			&count[2], "solved", &count[3], "limited", &limited) != 0)
		return fail(check->error, BAD_INPUT,
			"not a plan file: \"run\" has other members than seconds, cache and limited, or they are malformed");
	for (int i = 0; i < 4; i++)
		if (count[i] < 0 || seconds[i / 2] < 0)
			return check_wrong(check, "run says that something took less than nothing");
	if (limited != json_is_true(json_object_get(check->plan, "limited")))
		return check_wrong(check, "run.limited and limited contradict each other");
	check_skipped(check, "run: how long it took, and what was kept from before");
	return OK;
}
