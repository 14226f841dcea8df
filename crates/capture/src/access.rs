//! What reading a capture may access.

/// What the files of a capture may refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// Trace data may be read from named pipes, which wait for their writers. Otherwise only
    /// regular files are read.
    pub pipes: bool,
}

impl Access {
    /// Regular files, and trace data from named pipes if `pipes`.
    pub fn with_pipes(pipes: bool) -> Access {
        Access { pipes }
    }
}
