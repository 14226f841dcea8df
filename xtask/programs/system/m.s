@ An M-profile processor on QEMU's `mps2-an386`: a system call, an undefined instruction, a timer whose interrupts
@ are tail-chained, a pending service; then a semihosting call ends it.
    .syntax unified
    .cpu cortex-m4
    .thumb
    .section .text
vec:
    .word 0x20002000
    .word reset+1
    .word nmi+1
    .word hard+1
    .word hard+1, hard+1, usage+1
    .word 0,0,0,0
    .word svc+1
    .word 0,0
    .word pendsv+1
    .word systick+1
    .thumb_func
    .global reset
reset:
    ldr r0, =0xe000ed24
    ldr r1, =0x70000
    str r1, [r0]
    svc #1
    udf #1
    ldr r0, =0xe000e014
    movw r1, #1000
    str r1, [r0]
    str r1, [r0, #4]
    movs r1, #7
    subs r0, #4
    str r1, [r0]
    ldr r7, =0x20000000
    movs r1, #0
    str r1, [r7]
1:  ldr r1, [r7]
    cmp r1, #3
    blt 1b
    ldr r0, =0xe000ed04
    mov r1, #0x10000000
    str r1, [r0]
    isb
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt #0xab
    b .
    .thumb_func
nmi: b .
    .thumb_func
hard: b .
    .thumb_func
usage:
    ldr r0, [sp, #24]
    adds r0, #2
    str r0, [sp, #24]
    bx lr
    .thumb_func
svc:
    push {r4, lr}
    pop {r4, pc}
    .thumb_func
pendsv:
    bx lr
    .thumb_func
systick:
    ldr r1, [r7]
    adds r1, #1
    str r1, [r7]
    bx lr
