//! What is uploaded where, and the checksums.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Made, VERSION, failed};

/// Where the files of a kind are published.
pub(super) struct Place {
    pub(super) name: &'static str,
    /// `@FILES@` is replaced by the files of the kind.
    pub(super) command: &'static str,
}

/// The page of the release, whose text is `NOTES.md`.
pub(super) const RELEASE: Place =
    Place { name: "the page of the release", command: "gh release upload v@VERSION@ @FILES@" };

/// The names of the files with the notes, the checksums and this list.
const NOTES: &str = "NOTES.md";
const SUMS: &str = "SHA256SUMS";
const LIST: &str = "UPLOAD.md";

/// Writes the notes, the checksums and the list, and returns the list.
pub(super) fn write(
    out: &Path,
    notes: &str,
    made: &[(&'static str, &'static [Place], Made)],
) -> Result<String, String> {
    let put = |name: &str, text: &str| {
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, &error))
    };
    put(NOTES, notes)?;
    let mut files: Vec<&PathBuf> = made.iter().flat_map(|(.., made)| made.files()).collect();
    files.sort();
    put(SUMS, &sums(&files)?)?;
    let list = list(made);
    put(LIST, &list)?;
    Ok(list)
}

/// A folder in which only an earlier release may be is emptied.
pub(super) fn emptied(out: &Path) -> Result<(), String> {
    let used = fs::read_dir(out).is_ok_and(|mut list| list.next().is_some());
    if used && !out.join(SUMS).is_file() {
        let why = "has files that are not of a release (no SHA256SUMS)";
        return Err(format!("{} {why}: give an empty folder", out.display()));
    }
    super::fresh(out)?;
    // A release that ends early can be made again.
    let sums = out.join(SUMS);
    fs::write(&sums, "").map_err(|error| failed(&sums, &error))
}

/// The lines that `sha256sum --check` reads.
fn sums(files: &[&PathBuf]) -> Result<String, String> {
    let mut text = String::new();
    for path in files {
        let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
        for byte in Sha256::digest(&bytes) {
            let _ = write!(text, "{byte:02x}");
        }
        let _ = writeln!(text, "  {}", name(path));
    }
    Ok(text)
}

fn list(made: &[(&'static str, &'static [Place], Made)]) -> String {
    let mut text = format!(
        "# Files of Tracewright {VERSION}, and where they are published\n\n\
         First: `git tag v{VERSION}`, `git push origin v{VERSION}`, \
         `gh release create v{VERSION} --title v{VERSION} --notes-file {NOTES}`, and \
         `gh release upload v{VERSION} {SUMS}`.\n"
    );
    for (kind, places, made) in made {
        let _ = write!(text, "\n## {kind}\n\n");
        if let Made::Skipped { why, how } = made {
            let _ = writeln!(text, "SKIPPED: {kind}: {why}; to enable it: {how}");
            continue;
        }
        let names: Vec<String> = made.files().map(|path| name(path)).collect();
        for file in &names {
            let _ = writeln!(text, "- `{file}`");
        }
        text.push('\n');
        for place in *places {
            let command = place.command.replace("@VERSION@", VERSION);
            let command = command.replace("@FILES@", &names.join(" "));
            let _ = writeln!(text, "To {}: `{command}`", place.name);
        }
    }
    text
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_what_is_absent_are_listed() {
        let out = std::env::temp_dir().join(format!("tracewright-upload-{}", std::process::id()));
        super::super::fresh(&out).unwrap();
        fs::write(out.join("b.deb"), "abc").unwrap();
        fs::write(out.join("a.whl"), "").unwrap();
        assert!(emptied(&out).unwrap_err().contains("SHA256SUMS"));
        let made = |name: &str| Made::Files(vec![out.join(name)]);
        let places: &[Place] = &[RELEASE];
        let list = write(
            &out,
            "what changed",
            &[
                ("debian", places, made("b.deb")),
                ("wheel", places, made("a.whl")),
                ("npm", places, Made::skipped("no compiler", "install one")),
            ],
        );
        let list = list.unwrap();
        assert!(list.contains(&format!("`gh release upload v{VERSION} b.deb`")), "{list}");
        assert!(list.contains("SKIPPED: npm: no compiler; to enable it: install one"), "{list}");
        // FIPS 180-4: the digest of no bytes, and that of its first example.
        let sums = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.whl\n\
                    ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b.deb\n";
        assert_eq!(fs::read_to_string(out.join(SUMS)).unwrap(), sums);
        assert_eq!(fs::read_to_string(out.join(NOTES)).unwrap(), "what changed");
        emptied(&out).unwrap();
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        emptied(&out).unwrap();
        fs::remove_dir_all(out).unwrap();
    }
}
