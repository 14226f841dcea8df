#include "start.h"

// Decisions of loops: compilers move the test of a loop to its end, and copy it to its begin.

static const unsigned char text[] = "12 abc+7,  x=40; (z)";

NOINLINE static int spaces(int at) {
  int n = 0;
  while (text[at + n] == ' ' || text[at + n] == ';')
    n++;
  return n;
}

NOINLINE static int digits(int at, int limit) {
  int n = 0;
  while (n < limit && text[at] >= '0' && text[at] <= '9') {
    n++;
    at++;
  }
  return n;
}

NOINLINE static int search(int from, int to, int wanted) {
  for (int i = from; i < to && text[i] != wanted; i++) {
    if (text[i] == 'a' || text[i] == 'z')
      continue;
    if (text[i] == ',' && wanted != 'x')
      return -1;
    sink = i;
  }
  return wanted;
}

NOINLINE static unsigned steps(unsigned n, unsigned limit) {
  unsigned count = 0;
  do {
    n = n & 1 ? 3 * n + 1 : n / 2;
    count++;
  } while (n != 1 && count < limit);
  return count;
}

NOINLINE static int pairs(int n) {
  int found = 0;
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++)
      if ((i + j) % 3 == 0 && (i ^ j) > 1)
        found++;
  return found;
}

NOINLINE static int endless(int n) {
  for (;;) {
    if (n > 20 || n == 9)
      break;
    n += n & 1 ? 3 : 5;
  }
  return n;
}

NOINLINE static int never_entered(int n) {
  while (n > 100 && n < 200)
    n++;
  return n;
}

void program(void) {
  unsigned sum = 0;
  for (int at = 0; at < 20; at++)
    sum += spaces(at) + digits(at, at % 3);
  sum += search(0, 20, 'x') + search(8, 20, '=') + search(3, 6, '?') + search(5, 12, '4');
  for (unsigned n = 2; n < 9; n++)
    sum += steps(n, 8);
  sum += pairs(6) + endless(1) + endless(4) + endless(0) + never_entered(3);
  sink = sum;
}
