//! The link layer: frames, the pieces of each id in them, and everything in between.

mod json;
mod opencsd;
mod text;

pub use json::Json;
pub use opencsd::Opencsd;
pub use text::Text;

use tracewright_base::Fault;
use tracewright_frames::Event;

/// What an event is called, and what it says.
pub(crate) fn words(event: Event) -> (&'static str, String) {
    match event {
        Event::FullSync => ("full-sync", String::new()),
        Event::HalfSync => ("half-sync", String::new()),
        Event::Barrier => ("barrier", String::new()),
        Event::Footer(_) => ("footer", String::new()),
        Event::Trigger(value) => ("trigger", format!("{value:#04x}")),
        Event::Flush(value) => ("flush", format!("{value:#04x}")),
        Event::Null { len } => ("padding", bytes(len)),
        Event::Reserved { id, len } => ("reserved", format!("id {id:#04x}, {}", bytes(len))),
        Event::NoSource { len } => ("no-id", format!("{} before the first id", bytes(len))),
        Event::Bad { len, fault } => {
            let why = match fault {
                Fault::Unsynchronised => "before the first synchronisation".to_owned(),
                Fault::Truncated => "of a frame that the buffer's end cuts short".to_owned(),
                fault => fault.to_string(),
            };
            ("bad", format!("{} {why}", bytes(len)))
        }
    }
}

fn bytes(len: u32) -> String {
    if len == 1 { "1 byte".into() } else { format!("{len} bytes") }
}
