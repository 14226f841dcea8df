// From EL3 down to EL0 on QEMU's `virt`, as far as the machine has these levels: system calls, an undefined
// instruction, a data abort, timer interrupts; then a semihosting call ends it.
    .global _start
    .section .text
_start:
    mrs x0, CurrentEL
    lsr x0, x0, #2
    cmp x0, #3
    b.ne 1f
    adr x1, vectors
    msr vbar_el3, x1

    ldr x2, =0x08000080
    mov w1, #-1
    str w1, [x2]
    mov w1, #3
    ldr x2, =0x08000000
    str w1, [x2]
    ldr x2, =0x08010000
    str w1, [x2]
    mov w1, #0xff
    str w1, [x2, #4]
    mov x1, #0x501
    msr scr_el3, x1
    mov x1, #0x3c9
    msr spsr_el3, x1
    adr x1, 1f
    msr elr_el3, x1
    eret
1:  mrs x0, CurrentEL
    lsr x0, x0, #2
    cmp x0, #2
    b.ne 2f
    adr x1, vectors
    msr vbar_el2, x1
    mov x1, #(1<<31)
    msr hcr_el2, x1
    mov x1, #0x3c5
    msr spsr_el2, x1
    adr x1, 2f
    msr elr_el2, x1
    eret
2:
    adr x1, vectors
    msr vbar_el1, x1
    ldr x1, =stack
    mov sp, x1
    mov x1, #42
    msr contextidr_el1, x1
    svc #1
    .word 0
    mov x2, #0
    movk x2, #0xdead, lsl #48
    ldr x3, [x2]
    mov x1, #0x0
    msr spsr_el1, x1
    adr x1, user
    msr elr_el1, x1
    eret
user:
    mov x0, #10
3:  subs x0, x0, #1
    b.ne 3b
    svc #2
    mov x0, #5
4:  subs x0, x0, #1
    cbnz x0, 4b
    svc #3
    b .
handler:
    // Faults return behind their instruction.
    stp x4, x5, [sp, #-16]!
    mrs x4, esr_el1
    lsr x5, x4, #26
    cmp x5, #0x15
    b.eq 5f
    mrs x5, elr_el1
    add x5, x5, #4
    msr elr_el1, x5
    b 6f
5:  and x4, x4, #0xffff
    cmp x4, #3
    b.eq back
6:  ldp x4, x5, [sp], #16
    eret
back:
    // Three timer interrupts, through a GICv2.
    ldp x4, x5, [sp], #16
    ldr x0, =0x08000000
    mov w1, #3
    str w1, [x0]
    ldr x0, =0x08000100
    mov w1, #-1
    str w1, [x0]
    ldr x0, =0x08010000
    mov w1, #3
    str w1, [x0]
    mov w1, #0xff
    str w1, [x0, #4]
    mov x1, #0x4000
    msr cntp_tval_el0, x1
    mov x1, #1
    msr cntp_ctl_el0, x1
    ldr x7, =count
    msr daifclr, #2
7:  ldr w1, [x7]
    cmp w1, #3
    b.lt 7b
    msr daifset, #2
    mov w0, #0x18
    ldr x1, =0x20026
    ldr x2, =block
    str x1, [x2]
    str xzr, [x2, #8]
    mov x1, x2
    hlt #0xf000
    b .
irq:
    stp x4, x5, [sp, #-16]!
    ldr x4, =0x08010000
    ldr w5, [x4, #12]
    str w5, [x4, #16]
    ldr w5, [x7]
    add w5, w5, #1
    str w5, [x7]
    mov x5, #0x4000
    msr cntp_tval_el0, x5
    ldp x4, x5, [sp], #16
    eret
    .ltorg
    .balign 0x800
vectors:
    .rept 4
    .balign 0x80
    b handler
    .balign 0x80
    b irq
    .balign 0x80
    b .
    .balign 0x80
    b .
    .endr
    .data
    .balign 16
count: .quad 0
block: .quad 0, 0
    .space 4096
stack:
