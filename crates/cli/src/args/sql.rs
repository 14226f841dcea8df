//! Options of `sql`.

use std::ffi::OsString;

use clap::Args;

/// What is passed on to `tracewright-sql`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright sql CAPTURE 'SELECT function, count(*) FROM ranges GROUP BY function'
  tracewright sql CAPTURE 'SHOW TABLES'               the tables; DESCRIBE ranges has the columns of one
  tracewright-sql --help                              the options of the program")]
pub struct SqlArgs {
    /// Options of tracewright-sql, captures, and a query.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "WORDS"
    )]
    pub words: Vec<OsString>,
}
