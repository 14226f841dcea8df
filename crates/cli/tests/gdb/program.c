/* A program that calls in several ways. Without a C library. */

volatile int sink;

#if defined(__aarch64__)
asm(".globl _start\n.type _start, %function\n_start: bl program\n mov x8, #94\n mov x0, #0\n svc #0\n"
    ".size _start, . - _start\n");
#elif defined(M_PROFILE)
extern unsigned stack_top;
int program(void);
void _start(void) {
  program();
  /* Semihosting: SYS_EXIT with ADP_Stopped_ApplicationExit. */
  asm volatile("mov r0, #0x18\n ldr r1, =0x20026\n bkpt #0xab\n" ::: "r0", "r1");
}
int leaf(int n);
__attribute__((noinline)) void supervisor(void) {
  leaf(2);
}
__attribute__((section(".vectors"), used)) void *const vectors[16] = {
  &stack_top, (void *)_start, 0, 0, 0, 0, 0, 0, 0, 0, 0, (void *)supervisor,
};
#elif defined(__arm__)
asm(".arm\n.globl _start\n.type _start, %function\n_start: bl program\n mov r7, #248\n mov r0, #0\n svc #0\n"
    ".size _start, . - _start\n");
#elif defined(__riscv)
asm(".globl _start\n.type _start, %function\n_start: jal program\n li a7, 94\n li a0, 0\n ecall\n"
    ".size _start, . - _start\n");
#endif

__attribute__((noinline)) int leaf(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += i ^ sink;
  }
  sink = s;
  return s;
}

__attribute__((noinline)) int recursive(int n) {
  if (n == 0)
    return leaf(3);
  int a = recursive(n - 1);
  return a + n;
}

__attribute__((noinline)) int tail(int n) {
  return leaf(n + 1);
}

static inline __attribute__((always_inline)) int inlined(int n) {
  int a = leaf(n);
  return a * 2;
}

__attribute__((noinline)) int middle(int n) {
  int a = leaf(n);
  int b = recursive(n);
  int c = tail(n);
  return a + b + c + inlined(n);
}

int (*volatile pointer)(int) = middle;

__attribute__((noinline)) int done(int n) {
  sink = n;
  return n;
}

int program(void) {
  int total = 0;
  total += middle(2);
  total += leaf(5);
#if defined(M_PROFILE)
  asm volatile("svc #0");
#endif
  total += pointer(3);
  done(total);
  return total;
}
