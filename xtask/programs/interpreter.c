// A stack machine that runs a program of its own: a dispatch through a table of labels.
#include <stdio.h>

enum op { PUSH, ADD, SUB, MUL, DUP, SWAP, OVER, DROP, JUMP, JUMP_IF, PRINT, CALL, RET, HALT };

static long run(const int *code) {
    static const void *const labels[] = {&&push, &&add,  &&sub,     &&mul,   &&dup,  &&swap, &&over,
                                         &&drop, &&jump, &&jump_if, &&print, &&call, &&ret,  &&halt};
    long stack[64], *top = stack, last = 0;
    const int *returns[64], **calls = returns, *pc = code;
#define NEXT goto *labels[*pc++]
    NEXT;
push:
    *top++ = *pc++;
    NEXT;
add:
    top--, top[-1] += top[0];
    NEXT;
sub:
    top--, top[-1] -= top[0];
    NEXT;
mul:
    top--, top[-1] = top[-1] * top[0] % 1000003;
    NEXT;
dup:
    top[0] = top[-1], top++;
    NEXT;
swap: {
    long t = top[-1];
    top[-1] = top[-2];
    top[-2] = t;
    NEXT;
}
over:
    top[0] = top[-2], top++;
    NEXT;
drop:
    top--;
    NEXT;
jump:
    pc = code + *pc;
    NEXT;
jump_if:
    pc = *--top ? code + *pc : pc + 1;
    NEXT;
print:
    last = *--top;
    NEXT;
call:
    *calls++ = pc + 1;
    pc = code + *pc;
    NEXT;
ret:
    pc = *--calls;
    NEXT;
halt:
    return last;
}

int main(void) {
    // for (n = 1300; n; n--) square(n) + 7;
    static const int loop[] = {
        PUSH, 1300,                    // 0
        DUP, CALL, 14, PRINT,          // 2
        PUSH, 1, SUB, DUP,             // 6
        JUMP_IF, 2, DROP, HALT,        // 10
        DUP, MUL, PUSH, 7, ADD, RET,   // 14
    };
    // Two sums that change places: 3 * 1600 steps.
    static const int swaps[] = {
        PUSH, 1, PUSH, 2, PUSH, 1600,  // 0
        PUSH, 1, SUB, SWAP, OVER,      // 6
        ADD, SWAP, DUP, JUMP_IF, 6,    // 11
        DROP, PRINT, PRINT, HALT,      // 16
    };
    long last = 0;
    for (int n = 0; n < 6; n++) last += run(loop) + run(swaps);
    printf("%ld\n", last);
    return 0;
}
