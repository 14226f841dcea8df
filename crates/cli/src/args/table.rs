//! Options of `table`.

#[cfg(feature = "columns")]
pub use with_columns::{TableArgs, TableOptions};

/// The options of a command without tables: all are accepted, and none is used.
#[cfg(not(feature = "columns"))]
#[derive(Debug, clap::Args)]
pub struct TableArgs {
    /// Name of a table, its input and options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub all: Vec<String>,
}

#[cfg(feature = "columns")]
mod with_columns {
    use std::ops::Range;
    use std::path::PathBuf;

    use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
    use tracewright_columns::files::Format;

    use crate::args::fleet::ShareArgs;
    use crate::args::input::{InputArgs, JobsArgs};
    use crate::args::own::group;
    use crate::args::random::{WindowArgs, offsets};

    /// The options of a table.
    #[derive(Debug, Args)]
    #[command(after_long_help = "\
Examples:
  tracewright table ranges CAPTURE -o ranges.parquet
  tracewright table                                   the tables and their columns
  tracewright table gaps CAPTURE                      what is missing or wrong, as CSV
  tracewright table ranges CAPTURE --columns element,address,function --function main
  tracewright table calls_view CAPTURE -o calls.csv   with addresses in hexadecimal
  tracewright table ranges CAPTURE --units 1/1 -o rows.part   one of the parts of a table: docs/units.md
  tracewright table functions *.data -o all.parquet   of several captures, with a column `capture`")]
    pub struct TableOptions {
        /// Name of a table; with `_view` at the end, addresses are texts in hexadecimal. Without a
        /// name, the tables are listed.
        pub name: Option<String>,
        #[command(flatten)]
        pub input: InputArgs,
        /// Further captures: their rows follow, and column `capture` has the path of each; @FILE
        /// has the path of one in each line.
        #[arg(value_name = "INPUT|@FILE")]
        pub more: Vec<PathBuf>,
        /// Leave out captures that cannot be read, and list them at the end; the exit code is 1.
        #[arg(long)]
        pub keep_going: bool,
        /// Only these columns, in this order. Default: all but those on request.
        #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
        pub columns: Option<Vec<String>>,
        /// Format of the file. Default: by the end of its name; CSV on standard output.
        #[arg(long, value_enum)]
        pub format: Option<TableFormat>,
        /// Signed numbers of 64 bits, with the same bits, for programs without unsigned ones
        /// (SQLite, Java, Spark).
        #[arg(long)]
        pub signed: bool,
        /// Write the table to FILE instead of standard output.
        #[arg(short, long, value_name = "FILE")]
        pub output: Option<PathBuf>,
        /// Exit with 1 on undecodable bytes, inconsistent packets, missing program memory or
        /// losses.
        #[arg(long)]
        pub strict: bool,
        /// Table `elements`: only these kinds.
        #[arg(long, value_delimiter = ',', value_name = "KIND,...", help_heading = group::SELECTING)]
        pub only: Vec<String>,
        /// Only what is at these addresses: A..B, A.. or ..B (repeatable).
        #[arg(long, value_name = "A..B", value_parser = offsets, help_heading = group::SELECTING)]
        pub address: Vec<Range<u64>>,
        /// Only what is in this function (repeatable).
        #[arg(long, value_name = "NAME", help_heading = group::SELECTING)]
        pub function: Vec<String>,
        /// At most N rows.
        #[arg(long, value_name = "N", help_heading = group::SELECTING)]
        pub limit: Option<u64>,
        #[command(flatten)]
        pub window: WindowArgs,
        #[command(flatten)]
        pub share: ShareArgs,
        #[command(flatten)]
        pub threads: JobsArgs,
    }

    /// The options of a table, where the input may be missing.
    #[derive(Debug)]
    pub struct TableArgs(pub TableOptions);

    /// The input is needed only for a table with a name.
    fn without_input(verb: Command) -> Command {
        verb.mut_group("capture", |group| group.required(false))
    }

    impl Args for TableArgs {
        fn augment_args(verb: Command) -> Command {
            without_input(TableOptions::augment_args(verb))
        }

        fn augment_args_for_update(verb: Command) -> Command {
            without_input(TableOptions::augment_args_for_update(verb))
        }
    }

    impl FromArgMatches for TableArgs {
        fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
            TableOptions::from_arg_matches(matches).map(TableArgs)
        }

        fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
            self.0.update_from_arg_matches(matches)
        }
    }

    /// Format of a table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    pub enum TableFormat {
        /// Parquet (.parquet).
        Parquet,
        /// File of Arrow IPC, also called Feather (.arrow, .feather).
        Arrow,
        /// Stream of Arrow IPC (.arrows).
        Arrows,
        /// Comma-separated values (.csv).
        Csv,
    }

    impl From<TableFormat> for Format {
        fn from(argument: TableFormat) -> Format {
            match argument {
                TableFormat::Parquet => Format::Parquet,
                TableFormat::Arrow => Format::Arrow,
                TableFormat::Arrows => Format::ArrowStream,
                TableFormat::Csv => Format::Csv,
            }
        }
    }
}
