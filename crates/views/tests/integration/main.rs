//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod branch_disassembly;
mod disassembly;
mod llvm;
mod riscv_disassembly;
mod riscv_extensions;
mod simd_disassembly;
mod system_disassembly;
