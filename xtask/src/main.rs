//! Chores of this repository: `cargo xtask tidy`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

mod tidy;

const USAGE: &str = "\
usage: cargo xtask tidy           check the invariants of ARCHITECTURE.md
       cargo xtask tidy --list    say what is checked";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["tidy"] => match tidy::Tree::read(root()) {
            Ok(tree) => tidy::report(&tree),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        },
        ["tidy", "--list"] => {
            for check in tidy::CHECKS {
                println!("{:<14} {}", check.name, check.about);
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The workspace's root: the folder above this crate's.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
