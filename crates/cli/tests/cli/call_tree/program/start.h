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
