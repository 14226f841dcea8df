@ Start code for a Linux process.
    .syntax unified
    .arm
    .text
    .global _start
_start:
    bl      run
    mov     r7, #1
    svc     0
    .section .note.GNU-stack,"",%progbits
