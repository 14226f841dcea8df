#include "start.h"

// Decisions that compilers turn into conditional selects, comparisons and arithmetic.

NOINLINE static int both(int a, int b) {
  return a > 2 && b > 2;
}

NOINLINE static int any(unsigned a, unsigned b, unsigned c) {
  return (a | b) == 0 || (b & c) != 0;
}

NOINLINE static int larger(int a, int b) {
  return a > b ? a : b;
}

NOINLINE static int middle(int a, int b, int c) {
  int low = a < b ? a : b;
  int high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

NOINLINE static int chosen(int a, int b) {
  return a > 1 && b != 2 ? a + 1 : b;
}

NOINLINE static unsigned flags(int a, int b) {
  unsigned flags = 0;
  flags |= a == b || a == 3 ? 1 : 0;
  if (a < b && b < 3)
    flags |= 2;
  int zero = !a;
  flags += zero;
  return flags;
}

NOINLINE static int in_range(unsigned c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

NOINLINE static int assigned(int a, int b) {
  int first, second;
  if ((first = a & 1) && (second = b & 2))
    return first + second;
  return 0;
}

NOINLINE static int absolute(int n) {
  if (n < 0)
    n = -n;
  return n;
}

// One comparison of each is never true; compilers search for the value.
NOINLINE static int kind(int c) {
  if (c == 4)
    return 1;
  else if (c == 9)
    return 2;
  else if (c == 13)
    return 3;
  else if (c == 5)
    return 9;
  return 0;
}

// The first condition is always true; compilers join both.
NOINLINE static int joined(int a, int b) {
  if (a > 2)
    if (b > 2)
      return 1;
  return 0;
}

NOINLINE static int both_zero(int a, int b) {
  if (!a) {
    if (!b)
      sink = 5;
  }
  return 0;
}

void program(void) {
  int sum = 0;
  for (int n = 8; n < 15; n++)
    sum += kind(n) + joined(n, n - 7) + both_zero(0, n - 9);
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 4; b++) {
      sum += both(a, b) + any(a, b, 1) + larger(a, b) + middle(a, b, 2);
      sum += chosen(a, b) + (int)flags(a, b) + assigned(a, b) + absolute(a - b);
    }
  for (const char *at = "b7_Z ~3"; *at; at++)
    sum += in_range((unsigned char)*at);
  sink = sum;
}
