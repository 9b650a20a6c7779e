/* banned.h: forced into every file; what here is poisoned writes past buffers or hides errors. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC poison gets sprintf vsprintf strcpy strcat strncpy strncat strtok atoi atol atoll atof
