//! All packages of a release have one version, that of the workspace.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{VERSION, failed, output};

/// Manifests that state a version of their own: those of other workspaces, and of npm.
const OTHERS: [&str; 4] = [
    "python/Cargo.toml",
    "sql/Cargo.toml",
    "crates/wasm/Cargo.toml",
    "crates/wasm/package/package.json",
];

/// Compares all versions with that of the workspace.
pub(super) fn check(root: &Path) -> Result<(), String> {
    for name in OTHERS {
        let path = root.join(name);
        let version = if name.ends_with(".json") { of_npm(&path)? } else { of_cargo(&path)? };
        same(name, &version)?;
    }
    Ok(())
}

/// Refuses another version than that of the workspace.
pub(super) fn same(name: &str, version: &str) -> Result<(), String> {
    if version == VERSION {
        return Ok(());
    }
    Err(format!(
        "{name}: the version is {version}, that of the workspace is {VERSION}: make them one"
    ))
}

fn of_npm(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let version = value["version"].as_str().map(str::to_owned);
    version.ok_or_else(|| format!("{}: no member `version`", path.display()))
}

fn of_cargo(path: &Path) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(path);
    let value: Value = serde_json::from_str(&output(&mut command)?).map_err(|e| e.to_string())?;
    let version = value["packages"][0]["version"].as_str().map(str::to_owned);
    version.ok_or_else(|| format!("{}: Cargo reports no version", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_one_version() {
        check(crate::root()).unwrap();
    }

    #[test]
    fn another_version_is_refused() {
        let name = format!("tracewright-versions-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for path in ["python/src", "sql/src", "crates/wasm/src", "crates/wasm/package"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        let write = |name: &str, version: &str| {
            let text = match name.ends_with(".json") {
                true => format!("{{\"version\": \"{version}\"}}"),
                false => format!("[package]\nname = \"a\"\nversion = \"{version}\"\n[workspace]\n"),
            };
            std::fs::write(root.join(name), text).unwrap();
        };
        for folder in ["python", "sql", "crates/wasm"] {
            std::fs::write(root.join(folder).join("src/lib.rs"), "").unwrap();
        }
        OTHERS.iter().for_each(|name| write(name, VERSION));
        check(&root).unwrap();
        for name in OTHERS {
            write(name, "9.9.9");
            let error = check(&root).unwrap_err();
            assert!(error.starts_with(&format!("{name}: the version is 9.9.9")), "{error}");
            write(name, VERSION);
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}
