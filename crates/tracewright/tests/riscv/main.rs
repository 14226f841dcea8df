//! RISC-V captures of `shared/captures/riscv`; its README describes each.
#![forbid(unsafe_code)]

mod contradictions;
mod damage;
mod data;
mod decode;
mod encode;
#[path = "../../../../fuzz/src/etrace_flow.rs"]
mod etrace_flow;
mod events;
mod expansion;
mod fast_path;
mod fifo;
mod flips;
mod harts;
mod ingress;
mod logs;
mod ntrace_dqr;
mod ntrace_encode;
mod ntrace_fast_path;
mod ntrace_nexrv;
mod ntrace_roundtrip;
#[path = "../ntrace/run.rs"]
mod ntrace_run;
mod packets;
mod predicted;
mod program;
mod proof;
mod ring;
mod roundtrip;
mod run;
mod spec;
mod streams;
