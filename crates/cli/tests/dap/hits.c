/* A function that is inlined several times between two branches. Without a C library. */

volatile int sink;

static inline __attribute__((always_inline)) void put(int n) {
  sink = n;
}

void _start(void) {
  for (;;) {
    put(1);
    put(2);
    put(3);
  }
}
