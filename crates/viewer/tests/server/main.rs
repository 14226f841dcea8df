//! The server, over TCP: who may ask, bounds, and that answers are those of the trace. Files
//! without a server.

mod access;
mod answers;
mod captures;
mod common;
mod export;
mod routes;
mod values;
