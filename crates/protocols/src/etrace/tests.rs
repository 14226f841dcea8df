//! Tables in the specification's order.

mod encode;
mod packets;
mod parameters;
