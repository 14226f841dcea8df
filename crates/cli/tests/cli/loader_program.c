// A program of two threads, without a library. The first loads a shared library, calls it, unloads
// it, and loads another one at the same address. Its arguments are the paths of the libraries. With
// SIGNAL, it sends itself a signal before and after the second library.
typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef int (*function)(int);

#define BASE 0x40000000ul
#define CALL __attribute__((noinline))

static u64 system_call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    register u64 x8 __asm__("x8") = number;
    register u64 x0 __asm__("x0") = a;
    register u64 x1 __asm__("x1") = b;
    register u64 x2 __asm__("x2") = c;
    register u64 x3 __asm__("x3") = d;
    register u64 x4 __asm__("x4") = e;
    register u64 x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                     : "memory");
    return x0;
}

static volatile int started, replaced, finished;
static u64 stack[1024] __attribute__((aligned(16)));

CALL static int collatz(u64 n) {
    int steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        steps++;
    }
    return steps;
}

CALL static void second_thread(void) {
    int all = 0;
    for (int n = 1; n < 20; n++)
        all += collatz(n);
    started = 1;
    while (!replaced)
        system_call(124, 0, 0, 0, 0, 0, 0);
    for (int n = 20; n < 60; n++)
        all += collatz(n);
    finished = all;
    for (;;)
        system_call(93, 0, 0, 0, 0, 0, 0);
}

CALL static void start_thread(void) {
    register u64 x8 __asm__("x8") = 220;
    register u64 x0 __asm__("x0") = 0x50f00;
    register u64 x1 __asm__("x1") = (u64)(stack + 1024);
    register u64 x2 __asm__("x2") = 0;
    register u64 x3 __asm__("x3") = 0;
    register u64 x4 __asm__("x4") = 0;
    register u64 x9 __asm__("x9") = (u64)second_thread;
    __asm__ volatile("svc 0\n cbnz x0, 1f\n br x9\n1:"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8), "r"(x9)
                     : "memory", "x30");
}

static char header[4096];

// Loads the executable segment of a library, calls its entry, and unloads it.
CALL static int with_library(const char *path, int n) {
    u64 file = system_call(56, -100ul, (u64)path, 0, 0, 0, 0);
    system_call(63, file, (u64)header, sizeof header, 0, 0, 0);
    u64 entry = *(u64 *)(header + 24), table = *(u64 *)(header + 32);
    int count = *(u16 *)(header + 56);
    for (int i = 0; i < count; i++) {
        char *segment = header + table + 56 * i;
        if (*(u32 *)segment != 1 || !(*(u32 *)(segment + 4) & 1))
            continue;
        u64 offset = *(u64 *)(segment + 8), address = *(u64 *)(segment + 16) + BASE;
        u64 size = *(u64 *)(segment + 32), part = offset & 4095;
        system_call(222, address - part, size + part, 5, 0x12, file, offset - part);
        n = ((function)(BASE + entry))(n);
        system_call(215, address - part, size + part, 0, 0, 0, 0);
    }
    system_call(57, file, 0, 0, 0, 0, 0);
    return n;
}

#ifdef SIGNAL
static volatile int handled;

static void handler(int signal) { handled += collatz(signal); }

__attribute__((naked)) static void restorer(void) { __asm__("mov x8, 139\n svc 0"); }

// rt_sigaction with handler, flags, restorer and mask; tgkill.
CALL static void with_signal(void) {
    struct { u64 handler, flags, restorer, mask; } action = {
        (u64)handler, 0x04000000, (u64)restorer, 0};
    system_call(134, 10, (u64)&action, 0, 8, 0, 0);
    u64 process = system_call(172, 0, 0, 0, 0, 0, 0), thread = system_call(178, 0, 0, 0, 0, 0, 0);
    system_call(131, process, thread, 10, 0, 0, 0);
}
#else
static void with_signal(void) {}
#endif

CALL static int run(u64 *arguments) {
    const char **paths = (const char **)(arguments + 1);
    start_thread();
    while (!started)
        system_call(124, 0, 0, 0, 0, 0, 0);
    int all = with_library(paths[1], 30);
    replaced = 1;
    with_signal();
    all += with_library(paths[2], 30);
    with_signal();
    while (!finished)
        system_call(124, 0, 0, 0, 0, 0, 0);
    return all + finished;
}

__attribute__((naked)) void _start(void) {
    __asm__ volatile("mov x0, sp\n bl run_all");
}

void run_all(u64 *arguments) {
    system_call(94, run(arguments) & 0x7f, 0, 0, 0, 0, 0);
    for (;;) {}
}
