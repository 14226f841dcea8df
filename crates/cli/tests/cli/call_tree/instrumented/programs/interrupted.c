#include "start.h"

// A signal arrives between the conditions of a decision; its handler evaluates the same decision.

#if __STDC_HOSTED__
#include <signal.h>
#endif

NOINLINE static int level(int n);

static volatile int pending, depth;

NOINLINE static int limit(int n) {
  if (n > 1 && level(n) && n != 3)
    return n;
  return -n;
}

NOINLINE static void handler(int signal) {
  depth++;
  for (int n = 0; n < 4; n++)
    sink += limit(n) + signal;
  if (pending > 1 && depth < 3)
    pending--;
  depth--;
}

#if __STDC_HOSTED__
static void prepare(void) { signal(10, handler); }
static void interrupt(void) { raise(10); }
#else
enum { KILL = 129, ACTION = 134, PROCESS = 172 };
static long action[20];
static void prepare(void) {
  action[0] = (long)handler;
  action[1] = 0x04000000;
  action[2] = (long)leave_signal;
  system_call(ACTION, 10, (long)action, 0, 8);
}
static void interrupt(void) { system_call(KILL, system_call(PROCESS, 0, 0, 0, 0), 10, 0, 0); }
#endif

NOINLINE static int level(int n) {
  if (pending && depth == 0 && n == 2)
    interrupt();
  return n & 2 || n == 5;
}

NOINLINE static int turns(int n) {
  int count = 0;
  while (count < n && (level(count) || count != 3))
    count++;
  return count;
}

void program(void) {
  prepare();
  pending = 2;
  int sum = 0;
  for (int n = 0; n < 6; n++)
    sum += limit(n);
  pending = 3;
  sum += turns(5) + turns(2);
  pending = 0;
  sum += limit(4) + limit(0);
  sink = sum;
}
