//! The arguments of the program.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use tracewright::capture::ImageSource;
use tracewright_sql::Opening;
use tracewright_sql::output::Format;

/// Memory where the system does not report it.
const MEMORY: u64 = 1 << 30;

/// SQL over captures of processor trace
///
/// Captures are tables: ranges, calls, exceptions, gaps. `SHOW TABLES` lists them, `DESCRIBE
/// ranges` their columns, and `tracewright table` what each is. They are decoded while they are
/// read; with an index beside the capture (`tracewright index`), only the parts that filters
/// select.
#[derive(Debug, Parser)]
#[command(name = "tracewright-sql", version)]
pub struct Arguments {
    /// The captures, and after them the query
    #[arg(required = true, value_name = "CAPTURE... QUERY")]
    what: Vec<PathBuf>,
    /// Read the query from FILE, or from standard input for `-`; all other arguments are captures
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How rows are written
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatArg,
    /// Program memory: an ELF file, or raw bytes at an address
    #[arg(long, value_name = "FILE[@ADDRESS]")]
    image: Vec<String>,
    /// The index. Default: CAPTURE.twx beside the capture, if there is one
    #[arg(long, value_name = "FILE", conflicts_with = "no_index")]
    index: Option<PathBuf>,
    /// Decode from the beginning, without an index
    #[arg(long)]
    no_index: bool,
    /// Decode on N threads. Default: one for each processor
    #[arg(short, long, value_name = "N", value_parser = partitions)]
    pub partitions: Option<usize>,
    /// The most bytes for rows: 512M, 4G. Default: a quarter of the memory
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// A format.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormatArg {
    /// Columns of text
    Table,
    /// Comma-separated values
    Csv,
    /// An object for each row
    Json,
}

impl From<FormatArg> for Format {
    fn from(own: FormatArg) -> Format {
        match own {
            FormatArg::Table => Format::Table,
            FormatArg::Csv => Format::Csv,
            FormatArg::Json => Format::Json,
        }
    }
}

impl Arguments {
    /// The captures and the query.
    pub fn query(&self) -> Result<(Vec<PathBuf>, String), String> {
        if let Some(file) = &self.file {
            let read = match file.to_str() {
                Some("-") => {
                    let mut text = String::new();
                    std::io::stdin().read_to_string(&mut text).map(|_| text)
                }
                _ => fs::read_to_string(file),
            };
            let query = read.map_err(|why| format!("{}: {why}", file.display()))?;
            return Ok((self.what.clone(), query));
        }
        match self.what.split_last() {
            Some((query, captures)) if !captures.is_empty() => {
                let text = query.to_str().ok_or("the query is not UTF-8")?;
                Ok((captures.to_vec(), text.to_owned()))
            }
            _ => Err(
                "write the query after the captures: tracewright-sql CAPTURE 'SHOW TABLES'; or \
                      give a file with it: --file FILE"
                    .to_owned(),
            ),
        }
    }

    /// How captures are opened.
    pub fn opening(&self) -> Result<Opening, String> {
        let images = self
            .image
            .iter()
            .map(|text| ImageSource::parse(text).map_err(|why| format!("--image {text}: {why}")));
        let images = images.collect::<Result<_, _>>()?;
        Ok(Opening { images, index: self.index.clone(), without_index: self.no_index })
    }

    /// The most bytes of rows.
    pub fn memory(&self) -> usize {
        let bytes = self.memory.unwrap_or_else(|| total().map_or(MEMORY, |all| all / 4));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// The memory of the machine, where the system reports it.
fn total() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

fn partitions(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("this is no number of threads from 1 on".to_owned()),
        Ok(n) => Ok(n),
    }
}

/// A number of bytes, with `K`, `M`, `G` after it for units of 1024.
fn size(text: &str) -> Result<u64, String> {
    let why = || "this is no size, such as 512M or 4G".to_owned();
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units.iter().find(|(unit, _)| text.ends_with(*unit));
    let (digits, shift) =
        unit.map_or((text, 0), |(unit, shift)| (text.trim_end_matches(*unit), *shift));
    let number: u64 = digits.parse().map_err(|_| why())?;
    number.checked_mul(1 << shift).filter(|own| *own > 0).ok_or_else(why)
}
