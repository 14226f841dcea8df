// A program for profiles of source lines and blocks: inlined calls in inlined calls, recursion, a
// jump table, a loop that is unrolled, tail calls, and code that is not executed. Its exit code is
// the last seven bits of a sum.
typedef unsigned long u64;
#define INLINE static inline __attribute__((always_inline))
#define CALL __attribute__((noinline))

static unsigned words[256];
volatile int never_set;

INLINE u64 half(u64 n) { return n >> 1; }

INLINE u64 next(u64 n) {
    if (n & 1)
        return 3 * n + 1;
    return half(n);
}

CALL static int collatz(u64 n) {
    int steps = 0;
    while (n != 1) {
        n = next(n);
        steps++;
    }
    return steps;
}

CALL int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

CALL int failed(int n) {
    if (n > 3)
        return 9 * n;
    return n + 7;
}

CALL unsigned choose(unsigned n) {
    switch (n % 8) {
    case 0: return collatz(n + 1);
    case 1: return n * 3;
    case 2: return n ^ 0x55;
    case 3: return fibonacci(n % 7);
    case 4: return half(next(n + 1));
    case 5: return n << 2;
    case 6: return collatz(n + 2) + 1;
    default: return 0;
    }
}

CALL unsigned sum(unsigned count) {
    unsigned all = 0;
    for (unsigned i = 0; i < count; i++)
        all += words[i] * 5 + (i & 3);
    return all;
}

int main_of(int count) {
    unsigned all = 0;
    for (int i = 0; i < count; i++) {
        if (never_set)
            all += failed(all);
        words[i & 255] = choose(i * 7);
        if (i % 16 == 15)
            all += half(collatz(i));
    }
    return all + sum(256);
}

void _start(void) {
    register long x0 __asm__("x0") = main_of(96) & 0x7f;
    register long x8 __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8));
    for (;;) {}
}
