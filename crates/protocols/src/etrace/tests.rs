//! Tables in the specification's order.

mod choices;
mod encode;
mod examples;
mod open;
mod packets;
mod parameters;
mod port;
