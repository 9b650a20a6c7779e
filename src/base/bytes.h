/* bytes.h: sizes and amounts of work for people. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes for people: "1.50 GiB", "12 KiB", "7 B"; always powers of 1024. Returns text. */
char *bytes_text(int64_t bytes, char *text, size_t size);
/* With a sign: "+1.50 GiB", "-12 KiB", "0 B". Returns text. */
char *change_text(int64_t bytes, char *text, size_t size);
/* Floating-point operations for people: "3.35 TFLOP", "12.0 GFLOP", "7 FLOP"; powers of 1000. Returns text. */
char *flops_text(double flops, char *text, size_t size);
