//! Listings as text.

mod colour;
mod element;
mod listing;

pub use crate::ports::{Line, Ports};
pub use colour::Tone;
pub use element::element;
pub(crate) use listing::offset_digits;
pub use listing::{Listing, Shown};
