//! N-Trace captures of `shared/captures/riscv/ntrace`; its READMEs describe each.
#![forbid(unsafe_code)]

mod captures;
mod decode;
mod detect;
mod harts;
mod messages;
mod random;
mod run;
