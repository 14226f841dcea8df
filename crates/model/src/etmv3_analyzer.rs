//! A trace analyzer for ETMv3 that shares no code with the decoder: a direct transcription of the
//! *Embedded Trace Macrocell Architecture Specification*, IHI 0014, issue O, chapter 7.
//!
//! | section | contents | module |
//! |---|---|---|
//! | 3.5.1, 3.5.18 | the registers | `unit` |
//! | 7.2 to 7.5, 7.7, 7.8 | bytes to packets | `packet` |
//! | 7.3, 7.5, 7.7, 7.9 | the program | `flow` |
//! | 7.4, 7.5.3 | data accesses | `transfers` |
//!
//! Virtual machine IDs, timestamps and Hyp mode are those of ETMv3.5, issue Q.
//!
//! It is slow: every output stays in one list, and what a packet cancels is removed from the list.
//! It ends at the first packet that is malformed: one that the text reserves, or that the
//! configuration excludes.

mod flow;
mod output;
mod packet;
mod transfers;
mod unit;

pub use output::{Analysis, Context, Output, Transfer};
pub use unit::Unit;

use crate::analyzer::Memory;
use flow::Flow;
use packet::{Parser, Stop};

/// What the processor executed, by the trace in `bytes` and the program in `memory`.
pub fn analyze(unit: Unit, memory: &Memory, bytes: &[u8]) -> Analysis {
    let Some(mut parser) = Parser::aligned(unit, bytes) else { return Analysis::default() };
    let mut flow = Flow::new(unit, memory);
    loop {
        let packet = parser.packet();
        match packet {
            Ok(packet) => flow.packet(&packet),
            Err(stop) => {
                let malformed = stop == Stop::Malformed;
                return Analysis { outputs: flow.outputs(), malformed, len: parser.taken() };
            }
        }
        parser.accept();
    }
}
