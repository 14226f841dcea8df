#include "start.h"

// Decisions of functions that are inlined, each caller into a copy of its own.

#define ALWAYS static inline __attribute__((always_inline))

NOINLINE static int ready(int n) {
  sink = n;
  return n & 1;
}

ALWAYS int usable(int n, int limit) {
  if (ready(n) && n < limit)
    return 1;
  return 0;
}

ALWAYS int either(int a, int b) {
  return ready(a) || ready(b);
}

static int small(int a, int b) {
  if (a > 2 && (b == 1 || ready(b)))
    return 3;
  return a;
}

static inline int clamped(int n, int low, int high) {
  if (n < low)
    return low;
  if (n > high)
    return high;
  return n;
}

// The value of a condition is known in this caller.
NOINLINE static int first(int n) {
  return usable(n, 3) + small(n, 1);
}

NOINLINE static int second(int n, int limit) {
  if (usable(n, limit) && either(n, limit))
    return clamped(n, 2, 5);
  return small(n, limit);
}

NOINLINE static int third(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    if (either(i, n))
      sum += clamped(n, 1, i);
  return sum;
}

NOINLINE static int unused(int n) {
  return usable(n, 2) + small(n, 9);
}

void program(void) {
  int sum = 0;
  for (int n = 0; n < 7; n++)
    sum += first(n) + second(n, 4) + third(n);
  if (sum == -1)
    sum = unused(sum);
  sink = sum;
}
