#include "start.h"

// A condition calls the function whose decision it belongs to.

NOINLINE static int even(int n);

NOINLINE static int odd(int n) {
  if (n != 0 && even(n - 1))
    return 1;
  return 0;
}

NOINLINE static int even(int n) {
  return n == 0 || odd(n - 1);
}

NOINLINE static int sum_to(int n) {
  if (n > 0 && sum_to(n - 1) >= 0 && (n != 2 || sink != 7))
    return n + 1;
  return n & 3;
}

NOINLINE static int path(const char *pattern, const char *text) {
  if (*pattern == 0)
    return *text == 0;
  if (*pattern == '*')
    return path(pattern + 1, text) || (*text != 0 && path(pattern, text + 1));
  return *text != 0 && (*pattern == '?' || *pattern == *text) && path(pattern + 1, text + 1);
}

NOINLINE static int queens(unsigned row, unsigned columns, unsigned left, unsigned right) {
  if (row == 4)
    return 1;
  for (unsigned bit = 1; bit < 16; bit <<= 1)
    if (!(columns & bit) && !(left & bit) && !(right & bit) &&
        queens(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1))
      return 1;
  return 0;
}

NOINLINE static int loop(int n) {
  int turns = 0;
  while (n > 0 && (loop(n - 2) < 3 || turns == 0)) {
    turns++;
    n--;
  }
  return turns;
}

void program(void) {
  int sum = 0;
  for (int n = 0; n < 5; n++)
    sum += odd(n) + even(n) + sum_to(n);
  sum += path("a*c?", "abbcd") + path("*", "") + path("a?", "a") + path("x*", "abc");
  sum += queens(0, 0, 0, 0) + loop(4);
  sink = sum;
}
