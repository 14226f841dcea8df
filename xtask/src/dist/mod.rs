//! `cargo xtask dist`, `cargo xtask install`: an archive and a Debian package of what is built, or
//! the same in a folder of the system.
//!
//! | file | contents |
//! |---|---|
//! | `build.rs` | builds the command and the libraries |
//! | `stage.rs` | the folder with all files, as they are installed |
//! | `template.rs` | the files that are made of templates |
//! | `archive.rs` | the archive |
//! | `debian.rs` | the Debian package of the library with OpenCSD's interface |

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod archive;
mod build;
mod debian;
mod stage;
mod template;
#[cfg(test)]
mod tests;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the options state.
#[derive(Debug, Default)]
struct Options {
    /// The development profile, which is built sooner.
    dev: bool,
    /// The folder of the archive and the package.
    out: Option<PathBuf>,
    /// Where files are installed.
    prefix: Option<PathBuf>,
    /// A folder that stands for the root of the system, for makers of packages.
    destination: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut path = || {
                let path = words.next().ok_or_else(|| format!("{word} needs a folder"))?;
                std::path::absolute(path).map_err(|error| format!("{path}: {error}"))
            };
            match *word {
                "--dev" => options.dev = true,
                "--out" => options.out = Some(path()?),
                "--prefix" => options.prefix = Some(path()?),
                "--destdir" => options.destination = Some(path()?),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }
}

/// Makes the archive and the Debian package.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    ended(dist(root, words))
}

fn dist(root: &Path, words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    if options.prefix.is_some() || options.destination.is_some() {
        return Err("--prefix and --destdir are for `cargo xtask install`".into());
    }
    let built = build::build(root, options.dev)?;
    let out = options.out.unwrap_or_else(|| built.target.join("dist"));
    let name = format!("tracewright-{VERSION}-{}", built.triple);
    let folder = out.join(&name);
    fresh(&folder)?;
    stage::stage(root, &built, &folder)?;
    println!("{}", archive::pack(root, &out, &name)?.display());
    match debian::package(root, &built, &out)? {
        Some(package) => println!("{}", package.display()),
        None => println!("no Debian package: dpkg-deb is not installed"),
    }
    Ok(())
}

/// Builds and copies everything to a prefix.
pub(crate) fn install(root: &Path, words: &[&str]) -> ExitCode {
    ended(Options::parse(words).and_then(|options| {
        if options.out.is_some() {
            return Err("--out is for `cargo xtask dist`".into());
        }
        let prefix = options.prefix.ok_or("--prefix is missing")?;
        let built = build::build(root, options.dev)?;
        let to = match &options.destination {
            Some(destination) => {
                destination.join(prefix.strip_prefix("/").map_err(|error| error.to_string())?)
            }
            None => prefix,
        };
        stage::stage(root, &built, &to)?;
        println!("installed in {}", to.display());
        Ok(())
    }))
}

fn ended(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// An empty folder.
fn fresh(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// The text of an error with a file.
fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Runs a program and returns its standard output.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
