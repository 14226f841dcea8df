#include "start.h"

volatile unsigned sink;

#if defined(__aarch64__)
asm(".globl _start\n.type _start, %function\n_start: bl program\n bl finish\n.size _start, . - _start\n"
    ".globl finish\n.type finish, %function\nfinish: mov x8, #94\n mov x0, #0\n svc #0\n.size finish, . - finish\n"
    ".globl save\n.type save, %function\nsave: stp x19, x20, [x0]\n stp x21, x22, [x0, #16]\n"
    " stp x23, x24, [x0, #32]\n stp x25, x26, [x0, #48]\n stp x27, x28, [x0, #64]\n stp x29, x30, [x0, #80]\n"
    " mov x1, sp\n str x1, [x0, #96]\n mov x0, #0\n ret\n.size save, . - save\n"
    ".globl restore\n.type restore, %function\nrestore: ldp x19, x20, [x0]\n ldp x21, x22, [x0, #16]\n"
    " ldp x23, x24, [x0, #32]\n ldp x25, x26, [x0, #48]\n ldp x27, x28, [x0, #64]\n ldp x29, x30, [x0, #80]\n"
    " ldr x1, [x0, #96]\n mov sp, x1\n mov x0, #1\n ret\n.size restore, . - restore\n"
    ".globl change\n.type change, %function\nchange: stp x19, x20, [x0]\n stp x21, x22, [x0, #16]\n"
    " stp x23, x24, [x0, #32]\n stp x25, x26, [x0, #48]\n stp x27, x28, [x0, #64]\n stp x29, x30, [x0, #80]\n"
    " mov x2, sp\n str x2, [x0, #96]\n ldp x19, x20, [x1]\n ldp x21, x22, [x1, #16]\n ldp x23, x24, [x1, #32]\n"
    " ldp x25, x26, [x1, #48]\n ldp x27, x28, [x1, #64]\n ldp x29, x30, [x1, #80]\n ldr x2, [x1, #96]\n mov sp, x2\n"
    " ret\n.size change, . - change\n"
    ".globl system_call\n.type system_call, %function\nsystem_call: mov x8, x0\n mov x0, x1\n mov x1, x2\n"
    " mov x2, x3\n mov x3, x4\n svc #0\n ret\n.size system_call, . - system_call\n"
    ".globl leave_signal\n.type leave_signal, %function\nleave_signal: mov x8, #139\n svc #0\n"
    ".size leave_signal, . - leave_signal\n");
#elif defined(__arm__)
asm(".arm\n.globl _start\n.type _start, %function\n_start: bl program\n bl finish\n.size _start, . - _start\n"
    ".globl finish\n.type finish, %function\nfinish: mov r7, #248\n mov r0, #0\n svc #0\n.size finish, . - finish\n"
    ".globl save\n.type save, %function\nsave: stm r0, {r4-r11, sp, lr}\n mov r0, #0\n bx lr\n.size save, . - save\n"
    ".globl restore\n.type restore, %function\nrestore: ldm r0, {r4-r11, sp, lr}\n mov r0, #1\n bx lr\n"
    ".size restore, . - restore\n"
    ".globl change\n.type change, %function\nchange: stm r0, {r4-r11, sp, lr}\n ldm r1, {r4-r11, sp, lr}\n bx lr\n"
    ".size change, . - change\n"
    ".globl system_call\n.type system_call, %function\nsystem_call: push {r7}\n mov r7, r0\n mov r0, r1\n"
    " mov r1, r2\n mov r2, r3\n ldr r3, [sp, #4]\n svc #0\n pop {r7}\n bx lr\n.size system_call, . - system_call\n"
    ".globl leave_signal\n.type leave_signal, %function\nleave_signal: mov r7, #173\n svc #0\n"
    ".size leave_signal, . - leave_signal\n");
#elif defined(__riscv)
#define EACH(op, at)                                                                               \
  #op " s0, 0(" #at ")\n" #op " s1, 8(" #at ")\n" #op " s2, 16(" #at ")\n" #op " s3, 24(" #at ")\n" \
  #op " s4, 32(" #at ")\n" #op " s5, 40(" #at ")\n" #op " s6, 48(" #at ")\n" #op " s7, 56(" #at ")\n" \
  #op " s8, 64(" #at ")\n" #op " s9, 72(" #at ")\n" #op " s10, 80(" #at ")\n" #op " s11, 88(" #at ")\n" \
  #op " sp, 96(" #at ")\n" #op " ra, 104(" #at ")\n"
asm(".globl _start\n.type _start, %function\n_start: jal program\n jal finish\n.size _start, . - _start\n"
    ".globl finish\n.type finish, %function\nfinish: li a7, 94\n li a0, 0\n ecall\n.size finish, . - finish\n"
    ".globl save\n.type save, %function\nsave: " EACH(sd, a0) "li a0, 0\n ret\n.size save, . - save\n"
    ".globl restore\n.type restore, %function\nrestore: " EACH(ld, a0) "li a0, 1\n ret\n.size restore, . - restore\n"
    ".globl change\n.type change, %function\nchange: " EACH(sd, a0) EACH(ld, a1) "ret\n.size change, . - change\n"
    ".globl system_call\n.type system_call, %function\nsystem_call: mv a7, a0\n mv a0, a1\n mv a1, a2\n mv a2, a3\n"
    " mv a3, a4\n ecall\n ret\n.size system_call, . - system_call\n");
#endif
