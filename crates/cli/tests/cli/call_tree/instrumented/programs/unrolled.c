#include "start.h"

// Loops with few turns, whose number is known: compilers write each turn out.

static unsigned char cells[16];

NOINLINE static void fill(unsigned seed) {
  for (int i = 0; i < 16; i++) {
    seed = seed * 1103515245u + 12345u;
    cells[i] = seed >> 16 & 15;
  }
}

NOINLINE static int inside(void) {
  int count = 0;
  for (int i = 0; i < 4; i++)
    if (cells[i] > 2 && cells[i] < 9)
      count++;
  return count;
}

NOINLINE static int edges(void) {
  int count = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 8; i++) {
    if (cells[i] == 15 || (cells[i + 8] > 7 && cells[i] != 1))
      count += i;
    sink = count;
  }
  return count;
}

NOINLINE static int row(int of) {
  for (int i = 0; i < 4; i++)
    if (cells[4 * of + i] == 0 || cells[4 * of + i] == 13)
      return i;
  return -1;
}

NOINLINE static int sorted(void) {
  int i = 1;
  while (i < 4 && cells[i - 1] <= cells[i])
    i++;
  return i;
}

NOINLINE static unsigned checksum(void) {
  unsigned sum = 0xffff;
  for (int i = 0; i < 16; i++) {
    sum ^= cells[i];
    for (int bit = 0; bit < 4; bit++)
      sum = sum & 1 ? sum >> 1 ^ 0xa001 : sum >> 1;
  }
  return sum;
}

NOINLINE static int none(void) {
  int count = 0;
  for (int i = 0; i < 3; i++)
    if (cells[i] > 20 || cells[i] == 99)
      count++;
  return count;
}

void program(void) {
  unsigned sum = 0;
  for (unsigned seed = 1; seed < 7; seed++) {
    fill(seed * 77);
    sum += inside() + edges() + row(seed & 3) + sorted() + none();
    sum ^= checksum();
  }
  sink = sum;
}
