/* unit_schedule_csv.c: schedules of torch.distributed.pipelining: what is read, and what is said of what can't be. */
#include <string.h>

#include "src/read/schedule_csv.h"
#include "tests/common/support.h"

static enum status read_text(const char *text, struct schedule_csv *csv, struct error *error)
{
	*error = (struct error) { 0 };
	return schedule_csv_read(text, strlen(text), csv, error);
}

Test(schedule_csv, passes_pairs_and_what_is_left_out)
{
	struct schedule_csv csv;
	struct error error;
	cr_assert_eq(
		read_text("0F0,0SEND_F0,0F1,,0UNSHARD,0B0,0RECV_B1,0B1\r\n1F0,1B0,,1F1,1B1,1WAIT_SEND_B0\r\n", &csv, &error),
		OK, "%s", error.text);
	cr_expect(csv.order.ranks == 2 && csv.order.chunks == 1 && csv.order.microbatches == 2 && !csv.order.split &&
		csv.order.slots == 4);
	cr_expect_eq(csv.left_out, 4);
	cr_expect_eq(csv.order.slot[2].pass, PASS_BACKWARD);
	schedule_csv_free(&csv);
	cr_assert_eq(read_text("0F0,3F0,3I0,3W0,(0F1;0B0)OVERLAP_F_B,3F1,3B1,0I1,0W1\n1F0,2F0,2B0,1B0,1F1,2F1,2B1,1B1\n",
					 &csv, &error),
		OK, "%s", error.text);
	cr_expect(csv.order.folded && csv.order.split && csv.order.chunks == 2);
	cr_expect(csv.order.slot[4].overlapped && csv.order.slot[5].pass == PASS_INPUT && csv.order.slot[5].joined &&
		csv.order.slot[6].pass == PASS_WEIGHT);
	schedule_csv_free(&csv);
	/* As torch.distributed.pipelining's Schedule1F1B dumps it. */
	cr_assert_eq(read_text("0F0,,,0F1,0B0,0F2,0B1,,0B2\n,1F1,1B0,1F2,1B1,1F3,1B2\n", &csv, &error), OK, "%s", error.text);
	cr_expect(csv.renumbered && csv.order.microbatches == 3 && csv.order.slot[6].microbatch == 0 &&
		csv.order.slot[6].pass == PASS_FORWARD);
	schedule_csv_free(&csv);
}

Test(schedule_csv, errors_name_line_and_column)
{
	static const struct { const char *text; unsigned line; const char *what; } bad[] = {
		{ "", 0, "no passes: expected a row a rank, of cells such as 0F3" },
		{ "0F0,0B0\n1F0,1X0\n", 2,
			"column 5: expected a stage, an action (F, B, I, W, SEND_F, ...) and a microbatch, such as 0F3: 1X0" },
		{ "0F0,0B0,0F", 1,
			"column 9: expected a stage, an action (F, B, I, W, SEND_F, ...) and a microbatch, such as 0F3: 0F" },
		{ "0B0,0F0", 1, "column 1: 0B0: this microbatch has not gone forward" },
		{ "0F0,0F0,0B0", 1, "column 5: 0F0: this pass has been done before" },
		{ "0F0,0W0,0I0", 1, "column 5: 0W0: gradients of the input come before" },
		{ "0F0,0I0", 0, "stage 0: the weights' pass (W) of microbatch 0 is missing" },
		{ "0F0,0B0,0F1", 0, "stage 0: the backward pass of microbatch 1 is missing" },
		{ "0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n", 1,
			"column 5: 1F0: this stage belongs elsewhere: stages are on the ranks in turn (0, 1, 2, 0, 1, 2) or in a V "
			"(0, 1, 2, 2, 1, 0)" },
		{ "0F0,0B0\n2F0,2B0\n1F0,1B0,1F1\n", 2,
			"column 1: 2F0: this stage belongs elsewhere: stages are on the ranks in turn (0, 1, 2, 0, 1, 2) or in a V "
			"(0, 1, 2, 2, 1, 0)" },
		{ "0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n", 0, "" },
		{ "0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0\n", 0, "" },
		{ "0F1,0F0,0B1,0B0\n1F0,1B0,1F1,1B1\n", 0, "" },
		{ "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 1, "column 5: 0B0: it waits for ever: ranks wait for each other" },
		{ "(0F0;0B0\n", 1, "column 9: expected )OVERLAP_F_B: " },
		{ "0F0 0B0\n", 1, "column 5: expected a comma: 0B0" },
		{ "99999999F0,0B0\n", 1,
			"column 1: expected a stage, an action (F, B, I, W, SEND_F, ...) and a microbatch, such as 0F3: "
			"99999999F0" },
		{ "0F1000000,0B1000000\n", 0,
			"1 stages and 1000001 microbatches are at least 2000002 passes, but there are 2" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct schedule_csv csv;
		struct error error;
		enum status status = read_text(bad[i].text, &csv, &error);
		if (!*bad[i].what)    /* it only looks like one that can't be played */
			cr_expect_eq(status, OK, "%zu: %s", i, error.text);
		else
			cr_expect(status == BAD_INPUT && error.line == bad[i].line && strcmp(error.text, bad[i].what) == 0,
				"%zu: status %d, line %u, %s", i, status, error.line, error.text);
		schedule_csv_free(&csv);
	}
}

Test(schedule_csv, failing_allocations_leave_nothing)
{
	struct schedule_csv csv;
	struct error error;
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n = memory_next(n)) {
		memory_allow(n);
		status = read_text("0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1B1\n", &csv, &error);
		memory_allow(-1);
		schedule_csv_free(&csv);
		cr_assert_eq(memory_blocks(), 0);
	}
	cr_expect_eq(status, OK, "%s", error.text);
}
