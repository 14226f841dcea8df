//! A trace analyzer for ETMv4 and ETE that shares no code with the decoder: a direct transcription
//! of the Arm ARM, K10.5 "Use of the Embedded Trace and Trace Buffer Extensions".
//!
//! | section | stage | module |
//! |---|---|---|
//! | K10.5.2 | bytes to elements | `parse` |
//! | K10.5.3, K10.5.4 | speculation and transactions | `resolve` |
//! | K10.5.5 | the program | `follow` |
//! | K10.5.6.4 | data encodings | `bits` |
//!
//! It is slow: each element is a value in a queue, and each instruction is classified when it is
//! reached. Where the text contradicts itself, a comment names the sections and the choice.
//!
//! The analyzer ends at the first point where the stream is malformed, which the text calls a
//! reserved encoding, an illegal element, or does not define: see [`Malformed`]. It makes no
//! statement about what follows.

mod bits;
mod element;
mod follow;
mod memory;
mod output;
mod parse;
mod resolve;
mod unit;

pub use element::{AnalyzerContext, Element, SubIsa};
pub use memory::Memory;
pub use output::{Lost, Malformed, Output};
pub use unit::Unit;

use follow::{Choices, Follower};
use parse::Parser;
use resolve::Resolver;

/// What the processor executed, by the trace in `bytes` and the program in `memory`. The bytes
/// begin with an Alignment Synchronization packet.
pub fn analyze(unit: &Unit, memory: &Memory, bytes: &[u8]) -> Vec<Output> {
    run(Follower::new(unit, memory), unit, bytes)
}

/// The same with the two choices of the decoder:
///
/// - Where the address is unknown and the context is known, K10.5.5.7.1 ignores a source address,
///   and here the analysis continues with the instruction at it. The trace gives its address, and
///   that it was taken.
/// - Where an Exception packet has neither the target of the branch before it nor a return address,
///   K10.5.2.13.2 has a Target Address element with address 0, and here the address is unknown. It
///   matters where the Exception element is cancelled.
pub fn analyze_as_decoded(unit: &Unit, memory: &Memory, bytes: &[u8]) -> Vec<Output> {
    let choices = Choices { continues_at_source: true, without_unknown_targets: true };
    run(Follower::new(unit, memory).with(choices), unit, bytes)
}

fn run(mut follower: Follower<'_>, unit: &Unit, bytes: &[u8]) -> Vec<Output> {
    let mut resolver = Resolver::new(unit);
    let mut parser = Parser::new(unit, bytes);
    let mut elements = Vec::new();
    let ended = loop {
        elements.clear();
        let parsed = parser.packet(&mut elements);
        let resolved = elements.drain(..).try_for_each(|e| resolver.emit(e, &mut follower));
        if let Some(open) = resolver.cancelled_step.take() {
            parser.set_transaction(open);
        }
        match (resolved, parsed) {
            (Err(malformed), _) => break Err(malformed),
            (_, Err(malformed)) => {
                break resolver.certain(&mut follower).and(Err(malformed));
            }
            (Ok(()), Ok(true)) => {}
            (Ok(()), Ok(false)) => break resolver.end(&mut follower),
        }
    };
    follower.end(ended)
}

/// The outputs of `elements`, from the second stage on. For tables of elements.
pub fn analyze_elements(
    unit: &Unit,
    memory: &Memory,
    elements: impl IntoIterator<Item = Element>,
) -> Vec<Output> {
    let mut follower = Follower::new(unit, memory);
    let mut resolver = Resolver::new(unit);
    let resolved = elements.into_iter().try_for_each(|e| resolver.emit(e, &mut follower));
    let ended = resolved.and_then(|()| resolver.end(&mut follower));
    follower.end(ended)
}

#[cfg(test)]
mod streams;
#[cfg(test)]
mod tests;
