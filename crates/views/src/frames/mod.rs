//! Formatter frames, the data of each trace ID in them, and the events between them.

mod json;
mod part;
mod text;

pub use json::Json;
pub use part::Part;
pub use text::Text;

use tracewright_base::Fault;
use tracewright_frames::Event;

/// The kind of an event, and its text.
pub(crate) fn describe(event: Event) -> (&'static str, String) {
    match event {
        Event::FullSync => ("full-sync", String::new()),
        Event::HalfSync => ("half-sync", String::new()),
        Event::Barrier => ("barrier", String::new()),
        Event::Footer(_) => ("footer", String::new()),
        Event::Trigger(value) => ("trigger", format!("{value:#04x}")),
        Event::Flush(value) => ("flush", format!("{value:#04x}")),
        Event::Null { len } => ("padding", bytes(len)),
        Event::Reserved { id, len } => ("reserved", format!("ID {id:#04x}, {}", bytes(len))),
        Event::NoSource { len } => ("no-id", format!("{} before the first trace ID", bytes(len))),
        Event::Bad { len, fault } => {
            let reason = match fault {
                Fault::Unsynchronised => "before the first synchronisation".to_owned(),
                Fault::Truncated => "of an incomplete frame at the end of the buffer".to_owned(),
                fault => fault.to_string(),
            };
            ("undecodable", format!("{} {reason}", bytes(len)))
        }
    }
}

fn bytes(len: u32) -> String {
    if len == 1 { "1 byte".into() } else { format!("{len} bytes") }
}
