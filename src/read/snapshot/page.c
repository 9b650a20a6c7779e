/* page.c: takes a snapshot's pickle out of the page that shows it, as it is read. */
#include <stddef.h>
#include <string.h>

#include "page.h"

static const char mark[] = "\"base64\": \"";

/* Fills the chunk; false with *error. An empty chunk: the end. */
static bool page_refill(struct page *page, struct error *error)
{
	page->have = page->at = 0;
	while (page->have < PAGE_CHUNK) {
		ssize_t got = page->inner.read(page->inner.context, page->chunk + page->have, PAGE_CHUNK - page->have, error);
		if (got < 0)
			return false;
		if (got == 0)
			break;
		page->have += (size_t)got;
	}
	return true;
}

static bool page_begin(struct page *page, struct error *error)
{
	page->begun = true;
	if (!page_refill(page, error))
		return false;
	size_t at = 0, length = sizeof mark - 1;
	while (at < page->have && strchr(" \t\r\n", page->chunk[at]) && page->chunk[at])
		at++;
	page->encoded = at < page->have && page->chunk[at] == '<';
	if (!page->encoded)
		return true;
	for (; at + length <= page->have; at++)
		if (memcmp(page->chunk + at, mark, length) == 0) {
			page->at = at + length;
			return true;
		}
	fail(error, BAD_INPUT, "the page holds no snapshot in base64");
	return false;
}

/* 0 to 63, 64 for what ends the text, 65 for what is no letter of it. */
static unsigned page_value_of(unsigned char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return letter - 'A';
	if (letter >= 'a' && letter <= 'z')
		return letter - 'a' + 26u;
	if (letter >= '0' && letter <= '9')
		return letter - '0' + 52u;
	return letter == '+' ? 62 : letter == '/' ? 63 : letter == '"' || letter == '=' ? 64 : 65;
}

static ssize_t page_decode(struct page *page, unsigned char *out, size_t size, struct error *error)
{
	size_t made = 0;
	while (made < size && !page->ended) {
		if (page->at == page->have && !page_refill(page, error))
			return -1;
		unsigned value = page->have ? page_value_of(page->chunk[page->at++]) : 65;
		if (value == 65) {
			fail(error, BAD_INPUT, page->have ? "the page's snapshot is no base64" : "the page ends within its snapshot");
			return -1;
		}
		page->ended = value == 64;
		page->bits = page->bits << 6 | (value & 63);
		unsigned place = page->letters++ % 4;   /* of four letters that make three bytes */
		if (place > 0 && !page->ended)
			out[made++] = (unsigned char)(page->bits >> (6 - 2 * place));
	}
	return (ssize_t)made;
}

static ssize_t read_page(void *context, void *buffer, size_t size, struct error *error)
{
	struct page *page = context;
	if (!page->begun && !page_begin(page, error))
		return -1;
	if (page->encoded)
		return page_decode(page, buffer, size, error);
	if (page->at == page->have && page->have)
		return page->inner.read(page->inner.context, buffer, size, error);
	size_t part = page->have - page->at < size ? page->have - page->at : size;
	memcpy(buffer, page->chunk + page->at, part);
	page->at += part;
	return (ssize_t)part;
}

struct source page_source(struct page *page, struct source inner)
{
	memset(page, 0, offsetof(struct page, chunk));
	page->inner = inner;
	return (struct source){ read_page, page };
}
