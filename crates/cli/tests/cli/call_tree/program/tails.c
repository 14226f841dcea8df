#include "start.h"

// Tail calls: in a row, in a circle, by a table, after a call, in a recursion, in a callback.

#define TAIL __attribute__((musttail)) return

typedef unsigned Function(unsigned);

NOINLINE static unsigned last(unsigned n) {
  sink += n;
  return n;
}

NOINLINE static unsigned middle(unsigned n) {
  sink ^= n;
  TAIL last(n + 1);
}

NOINLINE static unsigned first(unsigned n) {
  sink -= n;
  TAIL middle(n + 2);
}

// Two functions that replace each other: the stack does not grow.
static unsigned pong(unsigned n);

NOINLINE static unsigned ping(unsigned n) {
  sink += n;
  if (n == 0)
    return 1;
  TAIL pong(n - 1);
}

NOINLINE static unsigned pong(unsigned n) {
  if (n == 0)
    return 2;
  TAIL ping(n - 1);
}

// A machine whose states continue in one another, at last in a function that returns.
static Function *volatile states[4];

NOINLINE static unsigned idle(unsigned n) {
  sink += 3;
  TAIL states[1 + n % 3](n);
}

NOINLINE static unsigned reading(unsigned n) {
  sink ^= n;
  if (n < 2)
    TAIL last(n);
  TAIL states[n & 1 ? 2 : 0](n - 2);
}

NOINLINE static unsigned writing(unsigned n) {
  sink -= 5;
  if (n < 3)
    return sink;
  TAIL states[n & 2 ? 1 : 3](n - 3);
}

// Calls one function, and continues in another.
NOINLINE static unsigned both(unsigned n) {
  unsigned sum = first(n);
  sink -= sum + middle(sum);
  TAIL ping(n);
}

static Function *volatile states[4] = {idle, reading, writing, both};

// Each level of the recursion ends with a tail call.
NOINLINE static unsigned down(unsigned n) {
  if (n == 0)
    TAIL first(7);
  unsigned below = down(n - 1);
  TAIL middle(below + n);
}

NOINLINE static unsigned each(unsigned count, Function *visit) {
  unsigned sum = 0;
  for (unsigned n = 0; n < count; n++)
    sum += visit(n);
  return sum;
}

void program(void) {
  sink = each(9, first) + each(5, both);
  sink += ping(14) + pong(9);
  for (unsigned n = 0; n < 24; n++)
    sink += idle(n);
  sink ^= down(12);
}
