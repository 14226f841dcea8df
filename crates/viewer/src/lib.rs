//! The viewer: a trace in a browser.
//!
//! | file | contents |
//! |---|---|
//! | `served.rs` | [`Served`]: the trace that is shown, its index and its program |
//! | `server.rs`, `answering.rs` | [`serve`]: connections, and the threads that answer |
//! | `access.rs` | who may ask: host, token, origin; the headers of each answer |
//! | `request.rs`, `answer.rs`, `arrays.rs`, `shown.rs` | parameters; answers as JSON and as arrays; text |
//! | `work.rs` | what a thread has to answer with |
//! | `answers.rs` | [`Answers`]: the answers of the server, without it |
//! | `routes/` | one file for each route |
//! | `export/` | [`export()`]: a trace as one file, without a server |
//! | `page.rs` | the files of the page, which are embedded |
//!
//! The server accepts connections on the loopback interface only. One thread takes requests; others
//! decode.
//! The page is made of the sources in `viewer` of the repository, and checked in, so that a build
//! needs no Node. `docs/view.md` describes the routes.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

#[cfg(feature = "server")]
mod access;
mod answer;
#[cfg(feature = "server")]
mod answering;
mod answers;
mod arrays;
mod export;
pub mod page;
mod players;
mod request;
mod routes;
mod served;
#[cfg(feature = "server")]
mod server;
mod shown;
mod work;

#[cfg(feature = "server")]
pub use access::Token;
#[cfg(feature = "server")]
pub use answering::Answering;
pub use answers::{Answers, Reply};
pub use export::{ExportError, Exporting, MOST as MOST_EXPORTED, export, part_of};
pub use served::{Files, Save, Served};
#[cfg(feature = "server")]
pub use server::{Limits, Server, serve};
