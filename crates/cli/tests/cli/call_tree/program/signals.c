#include "start.h"

// Handlers of signals: one that is interrupted by another, in recursive functions, and one that
// does not return.

#if defined(__arm__)
enum { KILL = 37, ACTION = 174, PROCESS = 20 };
#else
enum { KILL = 129, ACTION = 134, PROCESS = 172 };
#endif

static registers place;

NOINLINE static void send(long signal) {
  long process = system_call(PROCESS, 0, 0, 0, 0);
  system_call(KILL, process, signal, 0, 0);
}

NOINLINE static unsigned work(unsigned n) {
  sink += n;
  return n < 2 ? 1 : work(n - 1) + work(n - 2);
}

NOINLINE static void on_signal_first(int signal) { sink += work(signal % 4); }

NOINLINE static void on_signal_second(int signal) {
  sink += work(2);
  send(signal - 2);
  sink += work(3);
}

NOINLINE static void on_signal_jump(int signal) {
  sink += work(signal % 3);
  restore(place);
}

// The handler, flags (SA_NODEFER, SA_RESTORER, SA_SIGINFO), the code that it returns to, signals.
static long action[20];

NOINLINE static void install(long signal, void (*handler)(int)) {
  action[0] = (long)handler;
  action[1] = 0x44000004;
  action[2] = (long)leave_signal;
  system_call(ACTION, signal, (long)action, 0, 8);
}

NOINLINE static unsigned deep(unsigned n) {
  if (n == 0) {
    send(12);
    return work(4);
  }
  unsigned below = deep(n - 1);
  if (n % 2)
    send(10);
  return below + n;
}

NOINLINE static void leaves(unsigned n) {
  if (n > 0)
    leaves(n - 1);
  else
    send(15);
  sink += n;
}

NOINLINE static unsigned tries(unsigned n) {
  if (save(place) == 0) {
    leaves(n);
    return 0;
  }
  return work(n);
}

void program(void) {
  install(10, on_signal_first);
  install(12, on_signal_second);
  install(15, on_signal_jump);
  for (unsigned n = 0; n < 4; n++) {
    sink += deep(n);
    sink += tries(n);
  }
}
