//! Tables in the specification's order.

mod packets;
mod parameters;
