//! What a package depends on: the packages with the libraries that its files name, of the least
//! version that has the symbols. The result is that of dpkg-shlibdeps, which is not needed.

use std::path::Path;
use std::process::Command;

use crate::dist::output;

/// A shared library, its package, and the beginning of the versions of its symbols.
const LIBRARIES: [(&str, &str, &str); 5] = [
    ("libc.so.6", "libc6", "GLIBC_"),
    ("libm.so.6", "libc6", "GLIBC_"),
    ("libpthread.so.0", "libc6", "GLIBC_"),
    ("libdl.so.2", "libc6", "GLIBC_"),
    ("libgcc_s.so.1", "libgcc-s1", "GCC_"),
];

/// Packages with the least version, `libc6 (>= 2.34)`, for a program or library.
pub(super) fn of(file: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("readelf");
    let text = output(command.args(["--dynamic", "--version-info", "--wide"]).arg(file))?;
    packages(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The packages for what `readelf` prints.
fn packages(text: &str) -> Result<Vec<String>, String> {
    let mut packages = Vec::new();
    let libraries = text.lines().filter(|line| line.contains("(NEEDED)"));
    for library in libraries.filter_map(|line| line.split(['[', ']']).nth(1)) {
        // The loader is in the package of the C library.
        if library.starts_with("ld-linux") {
            continue;
        }
        let known = LIBRARIES.iter().find(|(name, ..)| *name == library);
        let (_, package, prefix) = known.ok_or_else(|| format!("no package has {library}"))?;
        let least =
            newest(text, prefix).ok_or_else(|| format!("no version {prefix} of {library}"))?;
        packages.push(format!("{package} (>= {least})"));
    }
    packages.sort();
    packages.dedup();
    Ok(packages)
}

/// The highest version that begins with `prefix`, without zeros at its end.
fn newest(text: &str, prefix: &str) -> Option<String> {
    let versions = text.split(prefix).skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest.get(..end)?.split('.').map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<_>>>()
    });
    let mut newest = versions.max()?;
    while newest.len() > 2 && newest.last() == Some(&0) {
        newest.pop();
    }
    Some(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = " 0x1 (NEEDED)  Shared library: [libgcc_s.so.1]\n \
        0x1 (NEEDED)  Shared library: [libm.so.6]\n 0x1 (NEEDED)  Shared library: [libc.so.6]\n \
        0x1 (NEEDED)  Shared library: [ld-linux-x86-64.so.2]\n \
        Name: GLIBC_2.9  Flags\n Name: GLIBC_2.34\n GLIBC_2.2.5\n GLIBC_PRIVATE\n \
        Name: GCC_3.0\n Name: GCC_4.2.0\n";

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(packages(TEXT).unwrap(), ["libc6 (>= 2.34)", "libgcc-s1 (>= 4.2)"]);
        assert_eq!(packages("").unwrap(), [""; 0]);
    }

    #[test]
    fn other_libraries_are_refused() {
        let text = TEXT.replace("libm.so.6", "libz.so.1");
        assert_eq!(packages(&text), Err("no package has libz.so.1".to_owned()));
        let text = TEXT.replace("GCC_", "OTHER_");
        assert_eq!(packages(&text), Err("no version GCC_ of libgcc_s.so.1".to_owned()));
    }
}
