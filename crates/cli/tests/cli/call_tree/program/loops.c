#include "start.h"

// Loops, which compilers rotate, with conditions of one and of several branches.
static int data[40];
static char text[64];
static unsigned seed = 7;
static unsigned rnd(void) {
  seed = seed * 1103515245 + 12345;
  return seed >> 16 & 0x7fff;
}
static int clamp(int x, int low, int high) {
  if (x < low)
    return low;
  if (x > high)
    return high;
  return x;
}
NOINLINE static void fill(int n) {
  for (int i = 0; i < n; i++)
    data[i] = (int)(rnd() % 100);
}
NOINLINE static void sort(int n) {
  for (int i = 1; i < n; i++) {
    int x = data[i];
    int j = i - 1;
    while (j >= 0 && data[j] > x) {
      data[j + 1] = data[j];
      j--;
    }
    data[j + 1] = x;
  }
}
NOINLINE static int search(int n, int x) {
  int low = 0, high = n - 1;
  while (low <= high) {
    int mid = (low + high) / 2;
    if (data[mid] == x)
      return mid;
    if (data[mid] < x)
      low = mid + 1;
    else
      high = mid - 1;
  }
  return -1;
}
NOINLINE static int length(const char *s) {
  int n = 0;
  while (*s++)
    n++;
  return n;
}
NOINLINE static void number(unsigned n) {
  char *p = text;
  do {
    *p++ = (char)('0' + n % 10);
    n /= 10;
  } while (n);
  *p = 0;
  for (char *q = text; q < --p; q++) {
    char c = *q;
    *q = *p;
    *p = c;
  }
}
NOINLINE static int sum(int n, int low, int high) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    int v = clamp(data[i], low, high) + clamp(data[n - 1 - i], low, high);
    if (v & 1)
      continue;
    total += v > 50 ? v : -v;
    if (total > 5000)
      break;
  }
  return total;
}
NOINLINE static unsigned primes(unsigned n) {
  unsigned count = 0;
  for (unsigned i = 2; i < n; i++) {
    int prime = 1;
    for (unsigned j = 2; j * j <= i; j++)
      if (i % j == 0) {
        prime = 0;
        break;
      }
    if (prime)
      count++;
  }
  return count;
}
NOINLINE static unsigned state(const char *s) {
  unsigned st = 0;
  for (; *s; s++) {
    switch (st) {
    case 0:
      if (*s == 'a')
        st = 1;
      break;
    case 1:
      st = *s == 'b' ? 2 : 0;
      break;
    case 2:
      if (*s == 'c')
        return 3;
      st = 0;
      break;
    }
  }
  return st;
}
NOINLINE static unsigned matrix(void) {
  static unsigned a[6][6], b[6][6];
  unsigned total = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      a[i][j] = rnd();
      b[j][i] = rnd();
    }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      unsigned s = 0;
      for (int k = 0; k < 6; k++)
        s += a[i][k] * b[k][j];
      total ^= s;
    }
  return total;
}
void program(void) {
  fill(40);
  sort(40);
  for (int i = 0; i < 30; i++)
    sink += (unsigned)search(40, i * 3);
  number(1234567);
  sink += (unsigned)length(text);
  number(9);
  sink += (unsigned)sum(40, 10, 80);
  sink += primes(120);
  sink += state("xxabaababd ab");
  sink += state("abc");
  sink += matrix();
}
