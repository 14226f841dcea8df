#include "start.h"

// Two coroutines on stacks of their own.

static registers main_place, places[2];
static char stacks[2][1 << 16] __attribute__((aligned(1 << 16)));

NOINLINE static void yield(unsigned own, unsigned value) {
  sink += value;
  change(places[own], main_place);
}

NOINLINE static void walk(unsigned own, unsigned depth) {
  if (depth > 0) {
    walk(own, depth - 1);
    yield(own, depth);
    walk(own, depth - 1);
  }
}

__attribute__((noreturn)) static void first(void) {
  for (;;)
    walk(0, 3);
}

__attribute__((noreturn)) static void second(void) {
  for (unsigned n = 0;; n++)
    yield(1, n);
}

NOINLINE static void step(unsigned which) {
  sink ^= which;
  change(main_place, places[which]);
}

static void prepare(unsigned which, void (*body)(void)) {
  long stack = (long)(stacks[which] + sizeof stacks[which] - 64);
#if defined(__aarch64__)
  places[which][11] = (long)body;
  places[which][12] = stack;
#elif defined(__arm__)
  places[which][8] = stack;
  places[which][9] = (long)body;
#else
  places[which][12] = stack;
  places[which][13] = (long)body;
#endif
}

void program(void) {
  prepare(0, first);
  prepare(1, second);
  for (unsigned n = 0; n < 24; n++)
    step(n % 5 == 2);
}
