//! Times decoding beside OpenCSD: the same inputs, in the same run, alternately.
//!
//! | file | holds |
//! |---|---|
//! | `options.rs` | what the user asked for |
//! | `inputs.rs` | the list of inputs |
//! | `library.rs` | the library of OpenCSD that the driver is linked with |
//! | `tools.rs` | the programs: built, found, run |
//! | `ratio.rs` | full decode: the ratio and its spread |
//! | `sizes.rs` | cost and memory against size |
//! | `listings.rs` | the listing beside OpenCSD's |
//! | `table.rs` | tables, as Markdown |

mod inputs;
mod library;
mod listings;
mod options;
mod ratio;
mod sizes;
mod table;
mod tools;

use std::path::Path;
use std::process::ExitCode;

use options::{Options, What};
use tools::Tools;

/// Runs it.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    match answer(root, words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench-reference: {error}");
            ExitCode::from(2)
        }
    }
}

/// Measures, prints and records. Returns whether both decoders agree.
fn answer(root: &Path, words: &[&str]) -> Result<bool, String> {
    let options = Options::of(words)?;
    let tools = Tools::build(root, &options)?;
    let (body, agree) = match options.what {
        What::Ratio | What::Interface => ratio::measure(&tools, &options)?,
        What::Sizes => (sizes::measure(&tools, &options)?, true),
        What::Listings => listings::measure(&tools, &options)?,
    };
    let text = format!("{}\n{body}", tools.machine());
    println!("{text}");
    if let Some(file) = &options.record {
        std::fs::write(file, &text).map_err(|error| format!("cannot write {file}: {error}"))?;
    }
    Ok(agree)
}
