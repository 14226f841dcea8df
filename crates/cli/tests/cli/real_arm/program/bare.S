@ Start code for bare metal: vectors, stacks, memory management, a timer interrupt.
    .syntax unified
    .arm
    .section .vectors, "ax"
    b       _start
    ldr     pc, at_undefined
    ldr     pc, at_call
    ldr     pc, at_prefetch
    ldr     pc, at_data
    nop
    ldr     pc, at_irq
    nop
at_undefined: .word on_undefined
at_call:      .word on_call
at_prefetch:  .word on_prefetch
at_data:      .word on_data
at_irq:       .word on_irq

    .text
    .global _start
_start:
    @ Stacks of the modes IRQ, abort, undefined, supervisor and system.
    msr     cpsr_c, #0xd2
    ldr     sp, =0x42000
    msr     cpsr_c, #0xd7
    ldr     sp, =0x43000
    msr     cpsr_c, #0xdb
    ldr     sp, =0x44000
    msr     cpsr_c, #0xd3
    ldr     sp, =0x45000
    msr     cpsr_c, #0xdf
    ldr     sp, =0x48000
    @ Two sections of 1 MB are mapped, memory and devices; other addresses fault.
    ldr     r0, =0x4c000
    ldr     r1, =0x00000c02
    str     r1, [r0]
    ldr     r1, =0x10100c02
    str     r1, [r0, #0x404]
    mcr     p15, 0, r0, c2, c0, 0
    mvn     r1, #0
    mcr     p15, 0, r1, c3, c0, 0
    mrc     p15, 0, r0, c1, c0, 0
    orr     r0, r0, #1
    mcr     p15, 0, r0, c1, c0, 0
    @ Timer 0 raises interrupt 4 every 40 microseconds.
    ldr     r2, =0x10140000
    mov     r1, #0x10
    str     r1, [r2, #0x10]
    ldr     r2, =0x101e2000
    mov     r1, #40
    str     r1, [r2]
    mov     r1, #0xe2
    str     r1, [r2, #8]
    msr     cpsr_c, #0x5f
    bl      run
    msr     cpsr_c, #0xdf
    @ A semihosting call exits.
    mov     r0, #0x18
    ldr     r1, =0x20026
    svc     0x123456
    b       .

on_undefined:
    movs    pc, lr
on_call:
    stmfd   sp!, {r0-r3, r12, lr}
    ldrh    r0, [lr, #-2]
    bl      called
    ldmfd   sp!, {r0-r3, r12, pc}^
on_prefetch:
    ldr     lr, =after_jump
    movs    pc, lr
on_data:
    subs    pc, lr, #4
on_irq:
    sub     lr, lr, #4
    stmfd   sp!, {r0-r3, r12, lr}
    bl      interrupted
    ldmfd   sp!, {r0-r3, r12, pc}^

    @ Raises exceptions: an undefined instruction, and a load and a jump at unmapped addresses.
    .global faults
faults:
    stmfd   sp!, {r4, lr}
    .word   0xe7f000f0
    ldr     r4, =0x70000000
    ldr     r0, [r4, #4]
    strd    r0, r1, [r4]
    ldmia   r4, {r0, r1}
    mov     pc, r4
after_jump:
    svc     #7
    ldmfd   sp!, {r4, pc}
    .section .note.GNU-stack,"",%progbits
