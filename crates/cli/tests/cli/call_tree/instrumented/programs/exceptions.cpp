extern "C" {
#include "start.h"
void program(void);
}

// Conditions that throw, so that their decision has no outcome.

struct Error {
  int n;
};

NOINLINE static bool check(int n) {
  if (n == 3 || n > 6)
    throw Error{n};
  return n & 1;
}

NOINLINE static int plain(int a, int b) {
  if (check(a) && check(b) && a != b)
    return 1;
  return 0;
}

// The decision of this function is evaluated in a handler of an exception of the same decision.
NOINLINE static int again(int n) {
  try {
    if (n > 0 && (check(n) || check(n + 1)))
      return n;
  } catch (const Error &error) {
    if (error.n == 3 && again(n - 2))
      return 2;
    return error.n;
  }
  return 0;
}

struct Guard {
  int n;
  NOINLINE ~Guard() {
    if (n > 1 && sink != 99)
      sink = n;
  }
};

NOINLINE static int unwound(int n) {
  Guard guard{n};
  while (n < 9 && !check(n))
    n += 2;
  return n;
}

NOINLINE static int caught(int n) {
  try {
    return plain(n, n + 1);
  } catch (const Error &) {
    return -1;
  }
}

NOINLINE static int tried(int n) {
  try {
    return unwound(n);
  } catch (const Error &error) {
    return error.n > 7 || sink == 1 ? 5 : 6;
  }
}

NOINLINE static int quiet(int a, int b) {
  try {
    return check(a) || check(b);
  } catch (...) {
    return 9;
  }
}

void program(void) {
  int sum = 0;
  for (int n = 1; n < 3; n++)
    sum += caught(n);
  sum += again(3) + again(1) + again(0) + tried(4) + tried(1) + quiet(1, 2) + quiet(2, 2);
  sink = sum;
}
