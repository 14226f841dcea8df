//! The trace of an ITM as a debug probe gives it: without registers, from any byte on.
//!
//! | file | contents |
//! |---|---|
//! | `grammar.rs` | how well bytes can be parsed as packets of an ITM |
//! | `packet_evidence.rs` | the evidence that packets are those of an ITM |
//! | `evidence.rs` | whether few bytes suffice to determine the form |
//! | `form.rs` | [`Form`]: the framing, the trace ID, and where packets begin |
//! | `greeting.rs` | [`Greeting`]: the line of text of a terminal port |
//! | `resume.rs` | where packets begin after damage |
//! | `receiver.rs` | [`Receiver`]: from bytes, as they arrive, to elements |

mod evidence;
mod form;
mod grammar;
mod greeting;
mod packet_evidence;
mod receiver;
mod resume;

pub use form::Form;
pub use greeting::Greeting;
pub(crate) use packet_evidence::{evidence_a_byte, is_likely_itm};
pub use receiver::{Receiver, Wanted};
