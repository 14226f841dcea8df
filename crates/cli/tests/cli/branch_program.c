// A program of calls, recursion, indirect branches and a signal handler, without a library.
typedef unsigned long u64;
#define CALL __attribute__((noinline))

static u64 system_call(u64 number, u64 a, u64 b, u64 c, u64 d) {
    register u64 x8 __asm__("x8") = number;
    register u64 x0 __asm__("x0") = a;
    register u64 x1 __asm__("x1") = b;
    register u64 x2 __asm__("x2") = c;
    register u64 x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
    return x0;
}

static volatile int handled;

static void handler(int signal) { handled += signal; }

__attribute__((naked)) static void restorer(void) { __asm__("mov x8, 139\n svc 0"); }

// struct sigaction of Linux: handler, flags, restorer, mask.
static void install(void) {
    struct { u64 handler, flags, restorer, mask; } action = {
        (u64)handler, 0x04000000, (u64)restorer, 0};
    system_call(134, 10, (u64)&action, 0, 8);
}

CALL static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

CALL static int even(int n) { return n / 2; }
CALL static int odd(int n) { return 3 * n + 1; }
static int (*volatile step[2])(int) = {even, odd};

CALL static int walk(int n) {
    int count = 0;
    for (; n != 1; count++)
        n = step[n & 1](n);
    return count;
}

void _start(void) {
    install();
    int all = 0;
    for (int n = 1; n < 12; n++) {
        all += fibonacci(n) + walk(n);
        if (n % 4 == 0)
            system_call(129, system_call(172, 0, 0, 0, 0), 10, 0, 0);
    }
    system_call(94, (all + handled) & 0x7f, 0, 0, 0);
    for (;;) {}
}
