/* main.c: the program's entry. */
#include <stdio.h>

int main(void)
{
	puts("tidemark " TIDEMARK_VERSION);
	return 0;
}
