/* A loop that reads and writes two variables; in A32, at addresses that the test knows. */
int values[2];

asm(".arm\n.text\n.globl _start\n.type _start, %function\n"
    "_start: movw r0, #:lower16:values\n movt r0, #:upper16:values\n mov r1, #5\n"
    "again: ldr r2, [r0]\n add r2, r2, r1\n str r2, [r0]\n mov r3, r2\n strb r1, [r0, #4]\n"
    " subs r1, r1, #1\n bne again\n mov r0, #0\n nop\n nop\n.size _start, . - _start\n");
