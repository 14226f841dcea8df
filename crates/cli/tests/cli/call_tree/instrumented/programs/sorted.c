#include "start.h"

// A heap, a search in order, and a table of keys with open addressing.

enum { COUNT = 24, SLOTS = 16, FREE = -1, GONE = -2 };

static int values[COUNT];
static int slots[SLOTS];

NOINLINE static void sink_down(int *all, int from, int end) {
  for (;;) {
    int child = 2 * from + 1;
    if (child >= end)
      break;
    if (child + 1 < end && all[child] < all[child + 1])
      child++;
    if (all[from] >= all[child])
      break;
    int other = all[from];
    all[from] = all[child];
    all[child] = other;
    from = child;
  }
}

NOINLINE static void sort(int *all, int count) {
  for (int n = count / 2; n-- > 0;)
    sink_down(all, n, count);
  for (int end = count; end-- > 1;) {
    int first = all[0];
    all[0] = all[end];
    all[end] = first;
    sink_down(all, 0, end);
  }
}

NOINLINE static int find(const int *all, int count, int key) {
  int low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (all[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && all[low] == key ? low : -1;
}

NOINLINE static int insert(int key) {
  int place = FREE;
  for (int n = 0; n < SLOTS; n++) {
    int at = (key * 7 + n) % SLOTS;
    if (slots[at] == key)
      return 0;
    if (place == FREE && (slots[at] == FREE || slots[at] == GONE))
      place = at;
    if (slots[at] == FREE)
      break;
  }
  if (place == FREE)
    return -1;
  slots[place] = key;
  return 1;
}

NOINLINE static int drop(int key) {
  for (int n = 0; n < SLOTS; n++) {
    int at = (key * 7 + n) % SLOTS;
    if (slots[at] == FREE)
      return 0;
    if (slots[at] != key)
      continue;
    slots[at] = GONE;
    return 1;
  }
  return 0;
}

void program(void) {
  unsigned seed = 3;
  for (int n = 0; n < COUNT; n++) {
    seed = seed * 1103515245 + 12345;
    values[n] = (int)(seed >> 16 & 31);
  }
  sort(values, COUNT);
  int total = 0;
  for (int key = -1; key < 33; key++)
    total += find(values, COUNT, key);
  for (int n = 0; n < SLOTS; n++)
    slots[n] = FREE;
  for (int n = 0; n < COUNT; n++) {
    total += insert(values[n] * 3);
    if (n % 5 == 4 && drop(values[n - 1] * 3) && !drop(77))
      total++;
  }
  for (int key = 100; key < 120 && insert(key) >= 0; key++)
    total += 2;
  sink = (unsigned)total;
}
