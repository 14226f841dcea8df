//! Tables in the specification's order.

mod choices;
mod encode;
mod examples;
mod open;
mod own;
mod packets;
mod parameters;
mod port;
