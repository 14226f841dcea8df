//! Why a trace could not be decoded.

use std::{error, fmt, io};

use tracewright_capture::Buffer;
use tracewright_decode::{ForeignPlan, Skipped};

/// Why [`Trace::decode`](crate::Trace::decode) or [`Trace::elements`](crate::Trace::elements)
/// failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// Some sources cannot be decoded. [`Trace::partial`](crate::Trace::partial) decodes the
    /// others.
    SourcesLeftOut(Vec<Skipped>),
    /// The capture has no source that can be decoded.
    NothingToDecode {
        /// Names of its trace buffers.
        buffers: Vec<String>,
        /// The sources that cannot be decoded.
        left_out: Vec<Skipped>,
    },
    /// The plan of a buffer does not fit the capture.
    Plan(ForeignPlan),
    /// A trace buffer cannot be read.
    Read {
        /// Its name.
        buffer: String,
        /// Why not.
        error: io::Error,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::SourcesLeftOut(left_out) => {
                reasons(left_out, f)?;
                f.write_str("; `Trace::partial` decodes the other sources")
            }
            DecodeError::NothingToDecode { buffers, left_out: none } if none.is_empty() => {
                match buffers.len() {
                    0 => f.write_str("the capture has no trace buffer"),
                    _ => write!(
                        f,
                        "no source that the options select writes to the trace buffers {}",
                        buffers.join(", ")
                    ),
                }
            }
            DecodeError::NothingToDecode { left_out, .. } => reasons(left_out, f),
            DecodeError::Plan(error) => error.fmt(f),
            DecodeError::Read { buffer, error } => write!(f, "{buffer}: cannot be read: {error}"),
        }
    }
}

impl error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            DecodeError::Read { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// The error of a buffer that cannot be read.
pub(crate) fn unreadable(buffer: &Buffer, error: io::Error) -> DecodeError {
    DecodeError::Read { buffer: buffer.name.clone(), error }
}

fn reasons(left_out: &[Skipped], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (n, skipped) in left_out.iter().enumerate() {
        write!(f, "{}{}", if n == 0 { "" } else { "; " }, skipped.message)?;
    }
    Ok(())
}
