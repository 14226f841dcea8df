//! Writes captures for benchmarks, with jobs for the driver of OpenCSD.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use benches::{Workload, capture, job};
use tracewright::capture::write_over;

const USAGE: &str = "\
usage: inputs FOLDER NAME SIZE [CAPTURE]

Writes the capture FOLDER/NAME, and FOLDER/NAME/reference/reference.job for the driver of OpenCSD.
Without CAPTURE, NAME is a workload: loop, calls, large, branchy; or cores, which is
large on two processors with timestamps. SIZE is in bytes, or in MB as `64M`.
With CAPTURE, the first buffer of that capture is repeated up to SIZE.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder, name, bytes] => write(folder, name, bytes, None),
        [folder, name, bytes, source] => write(folder, name, bytes, Some(Path::new(source))),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn write(folder: &str, name: &str, bytes: &str, source: Option<&Path>) -> io::Result<()> {
    let bytes = size(bytes).ok_or_else(|| {
        io::Error::other(format!("`{bytes}` is not a size; examples are 65536 and 64M"))
    })?;
    let made = match source {
        Some(path) => capture::repeated(path, bytes).map_err(io::Error::other)?,
        None if name == "cores" => {
            capture::cores(bytes).ok_or_else(|| io::Error::other("the workload is not traced"))?
        }
        None => Workload::named(name)
            .and_then(|workload| capture::made(workload, bytes))
            .ok_or_else(|| io::Error::other(format!("unknown workload {name}\n\n{USAGE}")))?,
    };
    let folder = Path::new(folder).join(name);
    fs::create_dir_all(&folder)?;
    write_over(&made, &folder).map_err(io::Error::other)?;
    // OpenCSD does not support every capture.
    if let Err(error) = job::write(&made, &folder.join("reference")) {
        eprintln!("{name}: no job for OpenCSD: {error}");
    }
    println!("{}", folder.display());
    Ok(())
}

fn size(text: &str) -> Option<usize> {
    match text.strip_suffix(['M', 'm']) {
        Some(millions) => millions.parse::<usize>().ok()?.checked_mul(1 << 20),
        None => text.parse().ok(),
    }
}
