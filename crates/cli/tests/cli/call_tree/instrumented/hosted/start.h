// What the programs use, with a C library.

#define NOINLINE __attribute__((noinline))

extern volatile unsigned sink;
