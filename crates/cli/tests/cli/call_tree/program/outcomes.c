#include "start.h"

NOINLINE static unsigned choose(unsigned n) {
  return n > 4 ? 3 : 5;
}

NOINLINE static unsigned loops(unsigned n) {
  unsigned total = 0;
  do {
    total += n;
    n--;
  } while (n > 3 && total < 40);
  while (n)
    n >>= 1;
  return total;
}

NOINLINE static unsigned dense(unsigned n) {
  switch (n) { // a table
  case 0:
    return 5;
  case 1:
    return 7;
  case 2:
    return 11;
  case 3:
    return 2;
  case 4:
    return 6;
  case 5:
    return 1;
  default:
    return 0;
  }
}

NOINLINE static unsigned sparse(unsigned n) {
  switch (n) { // comparisons
  case 5:
    return 3;
  case 90:
    return 4;
  default:
    return 0;
  }
}

NOINLINE static unsigned check(unsigned a, unsigned b) {
  if ((a < 3 || b > 2) && (a + b) % 3 != 0)
    return 1;
  if (!(a & 1))
    return 2;
  return a == b;
}

NOINLINE static unsigned never(unsigned n) {
  return n && n < 7;
}

void program(void) {
  unsigned total = 0;
  for (unsigned n = 1; n < 12; n++) {
    total += choose(n) + loops(n) + dense(n) + sparse(n * 5);
    for (unsigned m = 0; m < 5; m++)
      total += check(n, m);
  }
  if (total == 0)
    total = never(total);
  sink = total;
}
