#include "start.h"

static unsigned numbers[20];

NOINLINE static unsigned classify(unsigned n) {
  if (n < 3 || n == 7)
    return 1;
  if (n % 2 == 0 && n > 10)
    return 2;
  switch (n) {
  case 5:
    return 3;
  case 9:
    return 4;
  default:
    return 0;
  }
}

static inline unsigned square(unsigned n) {
  return n * n;
}

NOINLINE static unsigned never(unsigned n) {
  if (n)
    return 1;
  return 2;
}

NOINLINE static void fill(void) {
  for (unsigned n = 0; n < 20; n++) {
    numbers[n] = square(n) % 17;
  }
}

NOINLINE static unsigned sum(void) {
  unsigned total = 0;
  unsigned n = 0;
  while (n < 20) {
    total += classify(numbers[n]);
    n++;
  }
  if (total > 100000)
    total = never(total);
  return total;
}

void program(void) {
  fill();
  sink = sum();
}
