/* unit_buffers_csv.c: MiniMalloc's CSV, in and out. */
#define _GNU_SOURCE
#include <stdio.h>

#include "src/read/problems/buffers_csv.h"
#include "tests/common/support.h"

static enum status read_text(const char *text, struct buffers_csv *csv, struct error *error)
{
	return buffers_csv_read(text, strlen(text), csv, error);
}

static void assert_written(const struct buffers_csv *csv, const int64_t *offset, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	cr_assert(buffers_csv_write(csv, offset, stream));
	fclose(stream);
	cr_assert_str_eq(text, expected);
	free(text);
}

Test(buffers_csv, columns_come_in_any_order_and_come_back_as_they_were)
{
	OWN(buffers_csv) csv;
	struct error error;
	cr_assert_eq(
		read_text("size,note,id,start,upper\r\n4,x y,b1,0,3\r\n\r\n8,,b2,2,9\r\n", &csv, &error), OK, "%s", error.text);
	cr_assert_eq(csv.buffers.n, 2);
	cr_assert_eq(csv.buffers.upper[0], 3);
	cr_assert_eq(csv.buffers.size[1], 8);
	int64_t offset[] = { 8, 0 };
	assert_written(&csv, offset, "size,note,id,start,upper,offset\n4,x y,b1,0,3,8\n8,,b2,2,9,0\n");
}

Test(buffers_csv, an_end_is_inclusive_for_lives_and_gaps_alike)
{
	OWN(buffers_csv) csv;
	struct error error;
	cr_assert_eq(read_text("id,begin,end,size,gaps\na,0,9,4,2-3 6-6\n", &csv, &error), OK, "%s", error.text);
	cr_assert_eq(csv.buffers.upper[0], 10);
	cr_assert_eq(csv.buffers.piece_start[1], 3);
	static const struct piece expected[] = { { 0, 2 }, { 4, 6 }, { 7, 10 } };
	cr_assert_eq(memcmp(csv.buffers.piece, expected, sizeof expected), 0);
}

Test(buffers_csv, offsets_pin_and_negative_ones_do_not)
{
	OWN(buffers_csv) csv;
	struct error error;
	cr_assert_eq(read_text("id,lower,upper,size,offset,hint,alignment\na,0,2,4,16,-1,8\nb,0,2,4,-1,7,1\nc,0,2,4,,,1\n",
					 &csv, &error),
		OK, "%s", error.text);
	cr_assert_eq(csv.buffers.fixed[0], 16);
	cr_assert_lt(csv.buffers.fixed[1], 0);
	cr_assert_lt(csv.buffers.fixed[2], 0);
	cr_assert_eq(csv.buffers.hint[1], 7);
	cr_assert_eq(csv.buffers.alignment[0], 8);
	int64_t offset[] = { 16, 0, 4 };
	assert_written(&csv, offset,
		"id,lower,upper,size,offset,hint,alignment\na,0,2,4,16,-1,8\nb,0,2,4,0,7,1\nc,0,2,4,4,,1\n");
}

Test(buffers_csv, a_buffer_that_is_never_there_takes_no_place)
{
	OWN(buffers_csv) csv;
	struct error error;
	cr_assert_eq(read_text("id,lower,upper,size,gaps\na,0,4,4,0-2 2-4\n", &csv, &error), OK, "%s", error.text);
	cr_assert_eq(csv.buffers.size[0], 0);
}

Test(buffers_csv, what_is_wrong_is_said_with_its_line)
{
	static const struct { const char *text; unsigned line; const char *message; } cases[] = {
		{ "", 0, "the file is empty" },
		{ "id,lower,size\n", 1, "the header lacks a column: upper or end" },
		{ "id,lower,upper,end,size\n", 1, "a column appears twice: end" },
		{ "id,lower,upper,size\na,0,3\n", 2, "fewer columns than the header: a,0,3" },
		{ "id,lower,upper,size\na,0,3,4,5\n", 2, "more columns than the header: a,0,3,4,5" },
		{ "id,lower,upper,size\na,0,3,4\nb,0,x,4\n", 3, "upper is not a number: x" },
		{ "id,lower,upper,size\na,0,3,99999999999999999999\n", 2, "size is not a number: 99999999999999999999" },
		{ "id,lower,upper,size\na,0,3,2000000000000000000\n", 2, "a number is out of range: 2000000000000000000" },
		{ "id,lower,upper,size\na,3,3,4\n", 2, "a life is empty: a" },
		{ "id,lower,upper,size\na,0,3,-4\n", 2, "size is negative: -4" },
		{ "id,lower,upper,size,alignment\na,0,3,4,0\n", 2, "alignment is less than 1: 0" },
		{ "id,lower,upper,size,gaps\na,0,3,4,1\n", 2, "a gap is not of the form a-b: 1" },
		{ "id,lower,upper,size,gaps\na,0,3,4,1-9\n", 2, "a gap is empty or outside its buffer's life: 1-9" },
		{ "id,lower,upper,size,gaps\na,0,9,4,1-4 3-5\n", 2, "gaps overlap" },
		{ "id,lower,upper,size\na,0,2,10\n\nb,0,1,1\n a,1,3,10\na,4,5,1\n", 5,
			"there are two buffers of one id, the other in line 2: a" },
		{ "id,lower,upper,size,gaps\na,0,9,4,1-4@0:2\n", 2, "a gap is not of the form a-b: 1-4@0:2" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		OWN(buffers_csv) csv;
		struct error error;
		cr_assert_eq(read_text(cases[i].text, &csv, &error), BAD_INPUT, "case %zu", i);
		cr_assert_str_eq(error.text, cases[i].message);
		cr_assert_eq(error.line, cases[i].line, "case %zu: line %u", i, error.line);
	}
}

Test(buffers_csv, running_out_of_memory_leaks_nothing)
{
	for (long n = 0;; n = memory_next(n)) {
		struct buffers_csv csv;
		struct error error;
		long before = memory_blocks();
		memory_allow(n);
		enum status status = read_text("id,lower,upper,size,gaps\na,0,9,4,1-4 5-6\nb,0,9,4,\n", &csv, &error);
		memory_allow(-1);
		buffers_csv_free(&csv);
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
		if (status != NO_MEMORY)
			break;
	}
}
