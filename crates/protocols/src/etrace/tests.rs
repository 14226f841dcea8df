//! Tables in the specification's order.

mod choices;
mod encode;
mod examples;
mod packets;
mod parameters;
