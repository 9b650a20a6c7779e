/* unit_words.c: texts put together piece by piece; words as a shell reads them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "src/base/words.h"

Test(words, what_has_no_room_is_cut_off)
{
	char text[8] = "";
	struct words words = { text, sizeof text, 0 };
	words_add(&words, "%s", "abc");
	words_add(&words, "%d", 1234567);
	cr_expect_str_eq(text, "abc1234");
	words_add(&words, "more");
	cr_expect_str_eq(text, "abc1234");
}

/* A shell gets back each word as it was. */
Test(words, a_shell_reads_a_quoted_word_as_it_was)
{
	static const char *const asked[] = { "plain/file-1.json", "", "two words", "it's", "$(reboot) `x` \"y\"", "*?[a]",
		"ä;b&c|d", "line\nbreak", "\x1b[31m'it\\s'",
		"\xe2\x80\xae\xff"
		"7%" };
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		char line[256] = "", heard[256] = "";
		struct words words = { line, sizeof line, 0 };
		words_add(&words, "bash <<'END'\nprintf '[%%s]' ");
		words_add_quoted(&words, asked[i]);
		cr_expect_null(strpbrk(strchr(line, '[') , "\x1b\xff"), "%s", line);
		words_add(&words, "\nEND\n");
		FILE *shell = popen(line, "r");
		size_t got = fread(heard, 1, sizeof heard - 1, shell);
		pclose(shell);
		char wanted[256];
		snprintf(wanted, sizeof wanted, "[%s]", asked[i]);
		cr_expect_eq(got, strlen(wanted));
		cr_expect_str_eq(heard, wanted, "%s", line);
	}
}
