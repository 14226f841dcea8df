#include "start.h"

// Calls by pointer, a jump table, callbacks.

NOINLINE static unsigned last(unsigned n) {
  sink += n;
  return n;
}

NOINLINE static unsigned middle(unsigned n) {
  sink ^= n;
  return last(n + 1) * 3;
}

NOINLINE static unsigned choose(unsigned n) {
  switch (n) {
  case 0: sink += 11; break;
  case 1: sink ^= 12; break;
  case 2: sink -= 13; break;
  case 3: sink *= 14; break;
  case 4: sink |= 15; break;
  case 5: sink &= 0xffff; break;
  case 6: return middle(n) + 1;
  case 7: return middle(n);
  default: break;
  }
  return sink;
}

static unsigned (*volatile table[])(unsigned) = {last, middle, choose, last};

NOINLINE static int before(const void *a, const void *b) {
  return *(const unsigned *)a < *(const unsigned *)b;
}

NOINLINE static void sort(unsigned *from, unsigned count, int (*less)(const void *, const void *)) {
  for (unsigned n = 1; n < count; n++)
    for (unsigned m = n; m > 0 && less(from + m, from + m - 1); m--) {
      unsigned other = from[m];
      from[m] = from[m - 1];
      from[m - 1] = other;
    }
}

void program(void) {
  unsigned numbers[12];
  for (unsigned n = 0; n < 12; n++)
    numbers[n] = choose(n % 9) * 2654435761u >> 7;
  for (unsigned n = 0; n < 12; n++)
    sink += table[n & 3](n);
  sort(numbers, 12, before);
  sink = middle(numbers[0]);
}
