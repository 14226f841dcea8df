//! Closed sets of names, as other outputs spell them.

use tracewright::base::{Direction, ExceptionStep, Isa, Range, Security, TimeDelay, Transaction};
use tracewright::views::json::last_name;
pub(super) use tracewright::views::json::role_name as role;

pub(super) const ISAS: &[&str] = &["A64", "A32", "T32", "ThumbEE", "Jazelle", "RV32", "RV64"];
pub(super) const LASTS: &[&str] =
    &["plain", "branch", "indirect", "isb", "barrier", "wait", "transaction-start", "undefined"];
pub(super) const ROLES: &[&str] = &["call", "return", "exception-return", "loop", "swap", "link"];
pub(super) const SECURITIES: &[&str] = &["secure", "non-secure", "root", "realm"];
pub(super) const PRIVILEGES: &[&str] = &["U", "S", "M", "D", "VU", "VS"];
pub(super) const DIRECTIONS: &[&str] = &["read", "write"];
pub(super) const DELAYS: &[&str] = &["timestamp", "packet", "both"];
pub(super) const STEPS: &[&str] = &["entered", "exited", "returned"];
/// Steps of transactions, and of exceptions.
pub(super) const STEPS_OF_ALL: &[&str] =
    &["inside", "start", "commit", "failure", "cancelled", "entered", "exited", "returned"];

pub(super) const fn isa(isa: Isa) -> &'static str {
    isa.name()
}

pub(super) const fn last(range: &Range) -> &'static str {
    last_name(range.last.kind)
}

pub(super) const fn security(security: Security) -> &'static str {
    match security {
        Security::Secure => "secure",
        Security::NonSecure => "non-secure",
        Security::Root => "root",
        Security::Realm => "realm",
    }
}

pub(super) const fn direction(direction: Direction) -> Option<&'static str> {
    match direction {
        Direction::Unknown => None,
        Direction::Read => Some("read"),
        Direction::Write => Some("write"),
    }
}

pub(super) const fn read_or_write(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

pub(super) const fn delay(delay: TimeDelay) -> Option<&'static str> {
    match delay {
        TimeDelay::None => None,
        TimeDelay::Timestamp => Some("timestamp"),
        TimeDelay::Packet => Some("packet"),
        TimeDelay::Both => Some("both"),
    }
}

pub(super) const fn step(step: ExceptionStep) -> &'static str {
    match step {
        ExceptionStep::Entered => "entered",
        ExceptionStep::Exited => "exited",
        ExceptionStep::Returned => "returned",
    }
}

pub(super) const fn transaction(step: Transaction) -> &'static str {
    match step {
        Transaction::Inside => "inside",
        Transaction::Start => "start",
        Transaction::Commit => "commit",
        Transaction::Failure => "failure",
        Transaction::Cancelled => "cancelled",
    }
}
