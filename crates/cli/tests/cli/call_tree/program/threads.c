#include "start.h"

// Threads with recursive functions, which wait for each other.

static volatile unsigned done[3], turn;
static char stacks[3][1 << 16] __attribute__((aligned(1 << 16)));

// Starts a thread that calls `function` with `argument` on the stack below `stack`.
void start_thread(void *stack, void (*function)(unsigned), unsigned argument);

asm(".globl start_thread\n.type start_thread, %function\nstart_thread: stp x1, x2, [x0, #-16]!\n"
    " mov x1, x0\n mov x0, #0xf00\n movk x0, #5, lsl #16\n mov x2, #0\n mov x3, #0\n mov x4, #0\n"
    " mov x8, #220\n svc #0\n cbz x0, 1f\n ret\n1: ldp x1, x0, [sp], #16\n blr x1\n mov x8, #93\n"
    " mov x0, #0\n svc #0\n.size start_thread, . - start_thread\n");

NOINLINE static unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static unsigned down(unsigned n) {
  if (n == 0)
    return fibonacci(4);
  unsigned below = down(n - 1);
  return below + n;
}

NOINLINE static void wait_for(unsigned own) {
  while (turn != own)
    system_call(124, 0, 0, 0, 0);
}

NOINLINE static void worker(unsigned own) {
  for (unsigned n = 0; n < 3; n++) {
    sink += down(own + n);
    wait_for(own);
    turn = (own + 1) % 3;
  }
  done[own] = 1;
}

void program(void) {
  for (unsigned n = 0; n < 3; n++)
    start_thread(stacks[n] + sizeof stacks[n], worker, n);
  sink += fibonacci(7);
  while (!done[0] || !done[1] || !done[2])
    system_call(124, 0, 0, 0, 0);
}
