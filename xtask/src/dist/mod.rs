//! `cargo xtask dist`, `cargo xtask install`: all files of a release in one folder, or what is
//! built in a folder of the system.
//!
//! | file | contents |
//! |---|---|
//! | `build.rs` | builds the command and the libraries |
//! | `stage.rs` | the folder with all files, as they are installed |
//! | `template.rs` | the files that are made of templates |
//! | `archive.rs` | archives, the same each time |
//! | `debian/` | the Debian packages |
//! | `sql.rs` | the program that answers queries in SQL |
//! | `packages.rs` | the packages for pip, npm and Visual Studio Code |
//! | `crates.rs` | the packages for Cargo |
//! | `sbom.rs` | the bills of materials |
//! | `versions.rs` | one version in all packages |
//! | `notes.rs` | what changed |
//! | `upload.rs` | checksums, and what is uploaded where |

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use archive::Level;
use build::Built;
use upload::{Place, RELEASE};

use crate::files::{failed, fresh};

mod archive;
mod build;
mod crates;
mod date;
mod debian;
mod notes;
mod packages;
mod sbom;
mod sql;
mod stage;
mod template;
#[cfg(test)]
mod tests;
mod upload;
mod versions;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files of a release that are made together.
struct Kind {
    name: &'static str,
    places: &'static [Place],
    make: fn(&mut Release) -> Result<Made, String>,
}

/// All kinds, in the order of the list of what is uploaded.
const KINDS: [Kind; 8] = [
    Kind { name: "archives", places: &[RELEASE], make: |release| release.archives() },
    Kind { name: "debian", places: &[RELEASE], make: |release| release.debian() },
    Kind { name: "sql", places: &[RELEASE], make: |release| release.sql() },
    Kind {
        name: "crates",
        places: &[Place {
            name: "crates.io, from the commit of the tag, where Cargo makes the same bytes",
            command: "cargo publish --workspace --locked",
        }],
        make: |release| {
            crates::crates(release.root, &release.work(), &release.out, release.dev)
                .map(Made::Files)
        },
    },
    Kind {
        name: "wheel",
        places: &[RELEASE, Place { name: "PyPI", command: "twine upload @FILES@" }],
        make: |release| {
            packages::wheel(release.root, &release.work(), &release.out, release.time, release.dev)
        },
    },
    Kind {
        name: "npm",
        places: &[RELEASE, Place { name: "npm", command: "npm publish @FILES@" }],
        make: |release| {
            packages::npm(release.root, &release.work(), &release.out, release.time, release.dev)
        },
    },
    Kind {
        name: "vsix",
        places: &[
            RELEASE,
            Place { name: "the Marketplace", command: "vsce publish --packagePath @FILES@" },
            Place { name: "Open VSX", command: "ovsx publish @FILES@" },
        ],
        make: |release| packages::extension(&release.out),
    },
    Kind {
        name: "sbom",
        places: &[RELEASE],
        make: |release| {
            let triple = build::host()?;
            sbom::sboms(release.root, &release.out, &triple, release.time).map(Made::Files)
        },
    },
];

/// What became of a kind.
enum Made {
    Files(Vec<PathBuf>),
    /// A tool is not installed: which, and how to get it.
    Skipped {
        why: String,
        how: String,
    },
}

impl Made {
    fn skipped(why: &str, how: &str) -> Made {
        Made::Skipped { why: why.to_owned(), how: how.to_owned() }
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let files: &[PathBuf] = match self {
            Made::Files(files) => files,
            Made::Skipped { .. } => &[],
        };
        files.iter()
    }
}

/// A release that is made.
struct Release<'a> {
    root: &'a Path,
    out: PathBuf,
    dev: bool,
    /// Seconds since 1970, of all files.
    time: u64,
    /// What was built, and the folder with it as it is installed, when a kind needs them.
    staged: Option<(Built, PathBuf)>,
}

impl Release<'_> {
    /// A folder for what is not published.
    fn work(&self) -> PathBuf {
        self.out.join("work")
    }

    /// Builds the command and the libraries, once.
    fn staged(&mut self) -> Result<(&Built, &Path), String> {
        let (built, folder) = match self.staged.take() {
            Some(staged) => staged,
            None => {
                let built = build::build(self.root, self.dev)?;
                let folder = self.work().join("archive");
                fresh(&folder)?;
                stage::stage(self.root, &built, &folder)?;
                (built, folder)
            }
        };
        let (built, folder) = self.staged.insert((built, folder));
        Ok((built, folder))
    }

    fn archives(&mut self) -> Result<Made, String> {
        let (out, time, level) = (self.out.clone(), self.time, Level::new(self.dev));
        let (built, folder) = self.staged()?;
        let name = format!("tracewright-{VERSION}-{}", built.triple);
        let mut made = Vec::new();
        for extension in ["tar.gz", "tar.xz"] {
            let path = out.join(format!("{name}.{extension}"));
            archive::pack(&path, folder, &name, time, level)?;
            made.push(path);
        }
        Ok(Made::Files(made))
    }

    fn sql(&mut self) -> Result<Made, String> {
        let program = sql::build(self.root, self.dev)?;
        let (work, level) = (self.work().join("sql"), Level::new(self.dev));
        let making = sql::Making { root: self.root, work, out: &self.out, time: self.time, level };
        sql::packages(&program, &build::host()?, &making)
    }

    fn debian(&mut self) -> Result<Made, String> {
        let (root, work, out) = (self.root, self.work(), self.out.clone());
        let (time, level) = (self.time, Level::new(self.dev));
        let (built, folder) = self.staged()?;
        debian::packages(root, built, folder, &work, &out, (time, level))
    }
}

/// What the options state.
#[derive(Debug, Default)]
struct Options {
    /// The development profile, which is built sooner.
    dev: bool,
    /// The folder of the files.
    out: Option<PathBuf>,
    /// The only kinds to make; all if it is empty.
    only: Vec<String>,
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
                "--only" => {
                    let name = words.next().copied().unwrap_or_default();
                    if !KINDS.iter().any(|kind| kind.name == name) {
                        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
                        return Err(format!("--only needs one of {}", names.join(", ")));
                    }
                    options.only.push(name.to_owned());
                }
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }
}

/// Makes the files of a release.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    ended(dist(root, words))
}

fn dist(root: &Path, words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    if options.prefix.is_some() || options.destination.is_some() {
        return Err("--prefix and --destdir are for `cargo xtask install`".into());
    }
    versions::check(root)?;
    let notes = notes::notes(root)?;
    let out = match options.out {
        Some(out) => out,
        None => build::target(root)?.join("dist"),
    };
    upload::emptied(&out)?;
    let time = archive::time(root)?;
    let mut release = Release { root, out, dev: options.dev, time, staged: None };
    let mut made = Vec::new();
    for kind in &KINDS {
        if options.only.is_empty() || options.only.iter().any(|name| name == kind.name) {
            println!("==> {}", kind.name);
            made.push((kind.name, kind.places, (kind.make)(&mut release)?));
        }
    }
    let work = release.work();
    if work.exists() {
        std::fs::remove_dir_all(&work).map_err(|error| failed(&work, &error))?;
    }
    print!("{}", upload::write(&release.out, &notes, &made)?);
    println!("\n{}", release.out.display());
    Ok(())
}

/// Builds and copies everything to a prefix.
pub(crate) fn install(root: &Path, words: &[&str]) -> ExitCode {
    ended(Options::parse(words).and_then(|options| {
        if options.out.is_some() || !options.only.is_empty() {
            return Err("--out and --only are for `cargo xtask dist`".into());
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

/// Runs a program and returns its standard output.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
