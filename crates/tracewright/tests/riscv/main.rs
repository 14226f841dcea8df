//! RISC-V captures: `../shared/captures/riscv` (or `captures/riscv` where `TRACEWRIGHT_SHARED`
//! points). Its README describes each of them.
#![forbid(unsafe_code)]

mod damage;
mod data;
mod decode;
mod encode;
mod fast_path;
mod fifo;
mod harts;
mod ingress;
mod logs;
mod packets;
mod program;
mod proof;
mod ring;
mod roundtrip;
mod run;
mod spec;
mod streams;
