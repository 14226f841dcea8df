#include "start.h"

NOINLINE static unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static unsigned odd(unsigned n);

NOINLINE static unsigned even(unsigned n) {
  sink += n;
  return n == 0 ? 1 : odd(n - 1) + 1;
}

NOINLINE static unsigned odd(unsigned n) {
  sink -= n;
  return n == 0 ? 0 : even(n - 1) + 2;
}

NOINLINE static unsigned deep(unsigned n) {
  volatile unsigned here = n;
  return n == 0 ? here : deep(n - 1) + here;
}

void program(void) {
  sink = fibonacci(9) + ackermann(2, 3) + even(20) + deep(200);
}
