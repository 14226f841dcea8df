// The program of the built-in example, for a Cortex-M7. It places queens on a chessboard so that
// none attacks another, and writes each solution to the ITM. A timer interrupts it. Where there is no
// solution, it divides by zero.

typedef unsigned char u8;
typedef volatile unsigned *word;
#define NOINLINE __attribute__((noinline))
#define REGISTER(address) (*(word)(address))
#define ITM_PORT(n) ((volatile u8 *)(0xe0000000 + 4 * (n)))
#define SYST_CSR REGISTER(0xe000e010) // 7: on, with its exception, at the processor's clock
#define SYST_RVR REGISTER(0xe000e014)
#define CFSR REGISTER(0xe000ed28)
#define CCR REGISTER(0xe000ed14)   // bit 4, DIV_0_TRP: a division by zero is a UsageFault
#define SHCSR REGISTER(0xe000ed24) // bit 18: UsageFault is enabled

static u8 column[8]; // of the queen in each row
static volatile unsigned ticks;

// A store and a return.
__attribute__((naked)) static void write_port(volatile u8 *port, unsigned value) {
  asm("strb r1, [r0]\n bx lr");
}

NOINLINE static void print(const char *text) {
  while (*text)
    write_port(ITM_PORT(0), (unsigned)*text++);
}

NOINLINE static void print_number(unsigned value) {
  if (value >= 10)
    print_number(value / 10);
  write_port(ITM_PORT(0), '0' + value % 10);
}

// Whether no queen in the rows before attacks this square.
NOINLINE static int is_safe(int row, int at) {
  for (int n = 1; n <= row; n++) {
    int other = column[row - n];
    if (other == at || other == at - n || other == at + n)
      return 0;
  }
  return 1;
}

// Places queens from this row on, and calls `found` for each solution. Returns their number.
NOINLINE static unsigned place(int size, int row, void (*found)(int)) {
  if (row == size) {
    found(size);
    return 1;
  }
  unsigned count = 0;
  for (int at = 0; at < size; at++)
    if (is_safe(row, at)) {
      column[row] = (u8)at;
      count += place(size, row + 1, found);
    }
  return count;
}

NOINLINE static void show(int size) {
  for (int row = 0; row < size; row++)
    print_number(column[row] + 1u);
  print("\n");
}

NOINLINE static unsigned ticks_per_solution(unsigned passed, unsigned solutions) {
  return passed * 100 / solutions;
}

NOINLINE static void solve(int size) {
  unsigned before = ticks;
  void (*found)(int) = show;
  asm("" : "+r"(found)); // The compiler does not know the function.
  print_number((unsigned)size);
  print(" queens\n");
  unsigned solutions = place(size, 0, found);
  unsigned average = ticks_per_solution(ticks - before, solutions);
  print("solutions: ");
  print_number(solutions);
  print(", ticks for 100: ");
  print_number(average);
  print("\n");
}

NOINLINE static void sleep_until(unsigned tick) {
  while (ticks < tick)
    asm volatile("wfi");
}

static void systick_handler(void) {
  ticks++;
  write_port(ITM_PORT(1), '.');
}

// Reports a division by zero, and lets it give 0.
static void usage_fault_handler(void) {
  print("fault: division by zero\n");
  CCR &= ~16u;
  CFSR = CFSR;
}

NOINLINE int main(void) {
  CCR |= 16;
  SHCSR |= 1 << 18;
  SYST_RVR = 2500 - 1;
  SYST_CSR = 7;
  solve(5);
  sleep_until(ticks + 2);
  solve(3);
  SYST_CSR = 0;
  return 0;
}

// Ends QEMU by semihosting: SYS_EXIT, ADP_Stopped_ApplicationExit.
void reset_handler(void) {
  main();
  register unsigned operation asm("r0") = 0x18;
  register unsigned reason asm("r1") = 0x20026;
  for (;;)
    asm volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

extern u8 stack_end[];

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    [0] = stack_end,
    [1] = reset_handler,
    [6] = usage_fault_handler,
    [15] = systick_handler,
};
