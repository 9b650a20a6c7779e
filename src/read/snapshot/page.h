/* page.h: the page that `python -m torch.cuda._memory_viz` makes of a snapshot: HTML with the pickle in it, in base64.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "src/base/source.h"

#define PAGE_CHUNK ((size_t)64 << 10)

struct page {
	struct source inner;
	bool begun, encoded, ended;       /* encoded: it is a page; ended: its text is */
	uint32_t bits;                    /* of letters that make no whole byte yet */
	unsigned letters;
	size_t have, at;
	unsigned char chunk[PAGE_CHUNK];
};

/* The bytes of inner, or where these are a page the pickle in it. BAD_INPUT for a page without one, and for what is no
 * base64. `page` must outlive the source. */
struct source page_source(struct page *page, struct source inner);
