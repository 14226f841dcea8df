#include "start.h"

// Decisions in macros, over several lines, and several of them in one line.

#define BOTH(a, b) ((a) && (b))
#define BETWEEN(n, low, high) ((n) >= (low) && (n) <= (high))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return -1;                                                                                   \
  } while (0)

NOINLINE static int call(int n) {
  sink = n;
  return n != 1;
}

NOINLINE static int both(int a, int b) {
  if (BOTH(call(a), call(b)))
    return 1;
  return 0;
}

NOINLINE static int between(int n) {
  if (BETWEEN(n, 2, 5))
    return 1;
  return 0;
}

NOINLINE static int required(int a, int b) {
  REQUIRE(a > 0);
  REQUIRE(call(a) || b);
  return a;
}

NOINLINE static int lines(int a, int b, int c) {
  if (call(a) &&
      (call(b) ||
       call(c)))
    return 1;
  if (
      a
      > 2
      ||
      b
      > 2)
    return 2;
  return 0;
}

NOINLINE static int one_line(int a, int b) {
  if (a > 1) { if (b > 1) return 3; if (call(a) && call(b)) return 4; }
  return LARGER(a, b);
}

#if defined(NEVER)
NOINLINE static int left_out(int a) {
  if (a || call(a))
    return 1;
  return 0;
}
#endif

NOINLINE static int constant(int a) {
  if (a && 1)
    return 1;
  while (1)
    if (a++ > 2 || call(a))
      return a;
}

void program(void) {
  int sum = 0;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 3; b++) {
      sum += both(a, b) + between(a + b) + required(a, b) + lines(a, b, 1) + one_line(a, b);
      sum += constant(b & 1);
    }
  sink = sum;
}
