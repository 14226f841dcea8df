//! Listings as text.

mod colour;
mod element;
mod listing;
mod ports;

pub use colour::Tone;
pub use element::element;
pub(crate) use listing::offset_digits;
pub use listing::{Listing, Shown};
pub use ports::{Line, Ports};
