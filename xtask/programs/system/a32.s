@ System calls, an undefined instruction, a data abort, user mode, T32 with IT blocks, and timer interrupts on
@ QEMU's `virt`; then a semihosting call ends it.
    .syntax unified
    .arm
    .global _start
_start:
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    ldr sp, =stack
    mov r0, #7
    mcr p15, 0, r0, c13, c0, 1
    svc #1
    udf #1
    ldr r1, =0xdead0000
    ldr r2, [r1]
    blx thumb
    ldr r0, =user
    mrs r1, cpsr
    bic r1, r1, #0x1f
    orr r1, r1, #0x10
    msr spsr_cxsf, r1
    movs pc, r0
    .thumb
    .thumb_func
thumb:
    mov r12, lr
    movs r0, #3
1:  subs r0, #1
    bne 1b
    cmp r0, #0
    ite eq
    moveq r1, #1
    movne r1, #2
    svc #5
    it ne
    bne 1b
    it eq
    bxeq r12
    udf #0
    .arm
    .balign 4
user:
    mov r0, #4
2:  subs r0, r0, #1
    svcne #2
    bne 2b
    svc #9
    b .
svc:
    push {r4, r5, lr}
    mrs r5, spsr
    tst r5, #0x20
    ldrne r4, [lr, #-2]
    ldreq r4, [lr, #-4]
    and r4, r4, #0xff
    cmp r4, #9
    pop {r4, r5, lr}
    beq irqs
    movs pc, lr
und:
    movs pc, lr
dabt:
    subs pc, lr, #4
irqs:
    ldr r0, =0x08000000
    mov r1, #3
    str r1, [r0]
    ldr r0, =0x08000100
    mvn r1, #0
    str r1, [r0]
    ldr r0, =0x08010000
    mov r1, #3
    str r1, [r0]
    mov r1, #0xff
    str r1, [r0, #4]
    ldr r1, =0x4000
    mcr p15, 0, r1, c14, c2, 0
    mov r1, #1
    mcr p15, 0, r1, c14, c2, 1
    ldr r7, =count
    cps #0x12
    ldr sp, =stack2
    cps #0x13
    cpsie i
3:  ldr r1, [r7]
    cmp r1, #3
    blt 3b
    cpsid i
    mov r0, #0x18
    ldr r1, =0x20026
    svc #0x123456
    b .
irq:
    push {r4, r5}
    ldr r4, =0x08010000
    ldr r5, [r4, #12]
    str r5, [r4, #16]
    ldr r5, [r7]
    add r5, r5, #1
    str r5, [r7]
    ldr r5, =0x4000
    mcr p15, 0, r5, c14, c2, 0
    pop {r4, r5}
    subs pc, lr, #4
    .ltorg
    .balign 32
vectors:
    b .
    b und
    b svc
    b .
    b dabt
    b .
    b irq
    b .
    .data
count: .word 0
    .space 4096
stack:
    .space 512
stack2:
