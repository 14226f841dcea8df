//! Why an input other than trace cannot be used.

use alloc::string::String;
use core::error::Error;
use core::fmt;

/// Why an input other than trace cannot be used: a text of the user, a register, a section of a
/// file. It does not name the input, as only the caller knows its path or its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl Invalid {
    /// An input that cannot be used for the reason `why`.
    pub fn new(why: impl Into<String>) -> Invalid {
        Invalid(why.into())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Invalid {}

impl From<String> for Invalid {
    fn from(why: String) -> Invalid {
        Invalid(why)
    }
}

impl From<&str> for Invalid {
    fn from(why: &str) -> Invalid {
        Invalid(why.into())
    }
}

impl From<Invalid> for String {
    fn from(invalid: Invalid) -> String {
        invalid.0
    }
}
