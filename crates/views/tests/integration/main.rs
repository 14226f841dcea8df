//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod bad_packets;
mod barrier;
mod branch_disassembly;
mod disassembly;
mod etmv3;
mod etmv4;
mod itm_stm;
mod llvm;
mod ptm;
mod raw_frames;
mod riscv_disassembly;
mod riscv_extensions;
mod simd_disassembly;
mod system_disassembly;
