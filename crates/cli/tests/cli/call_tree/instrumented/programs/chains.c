#include "start.h"

// Short circuits, up to three deep, as a condition of `if`, as a value and as what is returned.

NOINLINE static int check(int n) {
  sink = n;
  return n > 1;
}

NOINLINE static int and_chain(int a, int b, int c) {
  if (a && b && c)
    return 1;
  return 0;
}

NOINLINE static int or_chain(int a, int b, int c) {
  if (a || b || c)
    return 1;
  return 0;
}

NOINLINE static int no_tree(int a, int b, int c) {
  if ((a || b) && c)
    return 1;
  return 0;
}

NOINLINE static int deep(int a, int b, int c, int d) {
  if (check(a) && (check(b) || (check(c) && check(d))))
    return 1;
  return 0;
}

NOINLINE static int deepest(int a, int b, int c, int d) {
  if ((check(a) || (b > 2 && (c == 1 || check(d)))) && (a != d || b < c))
    return 1;
  return 0;
}

NOINLINE static int negated(int a, int b, int c) {
  if (!a && (b || !c))
    return 1;
  return 0;
}

NOINLINE static int negated_whole(int a, int b, int c) {
  if (!(a && !b) || c)
    return 1;
  return 0;
}

NOINLINE static int value(int a, int b, int c) {
  int r = a > 1 || (b > 1 && c > 1);
  sink = r;
  return r;
}

NOINLINE static int returned(int a, int b) {
  return check(a) && check(b);
}

NOINLINE static int nested(int a, int b, int c) {
  if (a > 1) {
    if (b > 1 || c == 2)
      return 1;
    else if (check(b + c) && a == 2)
      return 2;
  } else if (b == 3 && c == 3) {
    return 3;
  }
  return 0;
}

NOINLINE static int never(int a, int b) {
  if (a > 9 && b > 9)
    return 1;
  return 0;
}

NOINLINE static int not_called(int a, int b) {
  if (a || b)
    return 1;
  return 0;
}

void program(void) {
  unsigned s = 5;
  int all = 0;
  for (int i = 0; i < 12; i++) {
    s = s * 1103515245u + 12345u;
    int a = s >> 16 & 3, b = s >> 20 & 3, c = s >> 24 & 3, d = s >> 28 & 3;
    all += and_chain(a & 1, b & 1, c & 1) + or_chain(a & 2, 0, c & 2);
    all += no_tree(a > 2, b & 1, c & 1) + deep(a, b, c, d) + deepest(a, b, c, d);
    all += negated(a & 1, b & 1, c & 1) + negated_whole(a & 1, b & 1, c & 1);
    all += value(a, b, c) + returned(a, b) + nested(a, b, c) + never(a, b);
  }
  if (all > 1000)
    all = not_called(all, 1);
  sink = all;
}
