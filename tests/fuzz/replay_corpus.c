/* replay_corpus.c: feeds the files of a folder, and mutations of them, to a fuzz target without a fuzzer.
 *
 *   fuzz_X FOLDER [ROUNDS]     every file as it is, then ROUNDS (default 2000) mutated inputs; SEED= sets the seed */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILES_MAX 500
#define BYTES_MAX_MUTATED (256u << 10)

static struct { uint8_t *data; size_t size; } corpus[FILES_MAX];
static int files;

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load(const char *folder)
{
	struct dirent **entry;
	int count = scandir(folder, &entry, NULL, by_name);
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
		FILE *file = entry[i]->d_name[0] == '.' || files == FILES_MAX ? NULL : fopen(path, "rb");
		free(entry[i]);
		if (!file)
			continue;
		uint8_t *data = malloc(16u << 20);
		size_t size = data ? fread(data, 1, 16u << 20, file) : 0;
		fclose(file);
		if (!data)
			continue;
		corpus[files].data = realloc(data, size ? size : 1);
		corpus[files++].size = size;
	}
	if (count >= 0)
		free(entry);
}

/* A few random edits: bytes changed, cut out, doubled, or pieces of another file spliced in. */
static size_t mutate(uint8_t *to, size_t size, uint64_t *random)
{
	static const char *const words[] = { "-1", "9223372036854775808", "1e400", "null", "[[", "{}", "\"", "\\u0000",
		"\xff\xfe", "\n", "true" };
	int edits = 1 + (int)(random_next(random) % 6);
	for (; edits > 0; edits--) {
		size_t at = size ? random_next(random) % size : 0, length = 1 + random_next(random) % 24;
		const char *word = words[random_next(random) % (sizeof words / sizeof *words)];
		if (length > size - at)
			length = size - at;
		switch (random_next(random) % 5) {
		case 0:
			if (size)
				to[at] = (uint8_t)random_next(random);
			break;
		case 1:
			memmove(to + at, to + at + length, size - at - length);
			size -= length;
			break;
		case 2:
			if (size + length <= BYTES_MAX_MUTATED) {
				memmove(to + at + length, to + at, size - at);
				size += length;
			}
			break;
		case 3:
			if (size + strlen(word) <= BYTES_MAX_MUTATED) {
				memmove(to + at + strlen(word), to + at, size - at);
				memcpy(to + at, word, strlen(word));
				size += strlen(word);
			}
			break;
		default:
			size = at;
		}
		if (size == 0)
			break;
	}
	return size;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER [ROUNDS]\n", argv[0]);
		return 2;
	}
	const char *seed = getenv("SEED");
	uint64_t random = seed ? strtoull(seed, NULL, 0) : 20261121;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;
	load(argv[1]);
	if (files == 0) {
		fprintf(stderr, "no files in %s\n", argv[1]);
		return 2;
	}
	printf("%d files, %ld mutations, SEED=%llu\n", files, rounds, (unsigned long long)random);
	fflush(stdout);
	for (int i = 0; i < files; i++)
		LLVMFuzzerTestOneInput(corpus[i].data, corpus[i].size);
	uint8_t *input = malloc(BYTES_MAX_MUTATED);
	for (long i = 0; input && i < rounds; i++) {
		int file = (int)(random_next(&random) % (uint64_t)files);
		size_t size = corpus[file].size < BYTES_MAX_MUTATED ? corpus[file].size : BYTES_MAX_MUTATED;
		memcpy(input, corpus[file].data, size);
		size = mutate(input, size, &random);
		LLVMFuzzerTestOneInput(input, size);
	}
	free(input);
	for (int i = 0; i < files; i++)
		free(corpus[i].data);
	return 0;
}
