// Start code, exit, setjmp and a switch of stacks, without a C library.

#define NOINLINE __attribute__((noinline))

void finish(void);
void program(void);
extern volatile unsigned sink;

// Registers that a call preserves, the stack pointer, the return address.
typedef long registers[16];
int save(registers);
__attribute__((noreturn)) void restore(registers);
void change(registers from, registers to);

// A system call of Linux.
long system_call(long number, long a, long b, long c, long d);

// Ends the handler of a signal.
void leave_signal(void);
