// Records each evaluation of a decision: its conditions in order, then its outcome.

#include <stdio.h>
#include <string.h>

enum { DECISIONS = 200, CONDITIONS = 8, KINDS = 256, DEPTH = 64 };

static char open[DEPTH][CONDITIONS + 2];
static int depth, kinds[DECISIONS];
static char seen[DECISIONS][KINDS][CONDITIONS + 2];
static long counts[DECISIONS][KINDS];

static int begin(int conditions) {
  memset(open[depth], '-', conditions);
  open[depth++][conditions] = 0;
  return 0;
}

static int condition(int n, int value) {
  open[depth - 1][n] = value ? 'T' : 'F';
  return value;
}

static int end(int decision, int conditions, int value) {
  char *own = open[--depth];
  own[conditions] = value ? '1' : '0';
  own[conditions + 1] = 0;
  int n = 0;
  while (n < kinds[decision] && strcmp(seen[decision][n], own))
    n++;
  if (n == kinds[decision])
    strcpy(seen[decision][kinds[decision]++], own);
  counts[decision][n]++;
  return value;
}

static void report(void) {
  for (int decision = 0; decision < DECISIONS; decision++)
    for (int n = 0; n < kinds[decision]; n++)
      printf("%d %s %ld\n", decision, seen[decision][n], counts[decision][n]);
}

#define C(n, value) condition(n, !!(value))
#define D(decision, conditions, value) (begin(conditions), end(decision, conditions, !!(value)))
