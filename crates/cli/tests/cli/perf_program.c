// A program of loops, calls and indirect calls, without a library. Its exit code is the last seven
// bits of a sum.
typedef unsigned long u64;
static int values[64];

__attribute__((noinline)) static int collatz(u64 n) {
    int steps = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n >>= 1;
        steps++;
    }
    return steps;
}

__attribute__((noinline)) static int twice(int n) { return 2 * n; }

__attribute__((noinline)) static int thrice(int n) { return 3 * n; }

int (*volatile choose[2])(int) = {twice, thrice};

__attribute__((noinline)) static int sum(int count) {
    int all = 0;
    for (int i = 0; i < count; i++) {
        values[i] = collatz(i + 1);
        all += choose[i & 1](values[i]);
    }
    return all;
}

void _start(void) {
    register long x0 __asm__("x0") = sum(40) & 0x7f;
    register long x8 __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8));
    for (;;) {}
}
