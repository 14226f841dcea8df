#include "start.h"

// Jumps out of several functions, from the same and from other depths.

static registers place, inner;

NOINLINE static unsigned leave(unsigned n) {
  sink += n;
  if (n % 3 == 0)
    restore(place);
  return n + 1;
}

NOINLINE static unsigned down(unsigned n, unsigned depth) {
  if (depth == 0)
    return leave(n);
  return down(n, depth - 1) + depth;
}

NOINLINE static unsigned nested(unsigned n) {
  if (save(inner))
    return 7;
  if (n & 1)
    restore(inner);
  return down(n, n % 4);
}

NOINLINE static unsigned attempt(unsigned n) {
  if (save(place))
    return 100;
  return nested(n) + down(n, n % 5);
}

void program(void) {
  for (unsigned n = 0; n < 16; n++)
    sink += attempt(n);
}
