//! `cargo xtask vsix`: an extension for Visual Studio Code and editors that take its extensions. It
//! declares the debugger and starts `tracewright dap`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod zip;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files of the extension. `@VERSION@` in them is replaced.
const FILES: [(&str, &str); 5] = [
    ("[Content_Types].xml", include_str!("content_types.xml")),
    ("extension.vsixmanifest", include_str!("extension.vsixmanifest")),
    ("extension/package.json", include_str!("package.json")),
    ("extension/extension.js", include_str!("extension.js")),
    ("extension/README.md", include_str!("README.md")),
];

/// Makes the extension in a folder, or in `dist` of the target folder.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let out = match words {
        [] => root.join("target/dist"),
        ["--out", folder] => PathBuf::from(folder),
        _ => {
            eprintln!("usage: cargo xtask vsix [--out FOLDER]");
            return ExitCode::from(2);
        }
    };
    match make(&out) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", out.display());
            ExitCode::from(2)
        }
    }
}

/// Makes the extension in a folder, and returns its path.
pub(crate) fn make(out: &Path) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(out)?;
    let path = out.join(format!("tracewright-{VERSION}.vsix"));
    let content = |text: &str| text.replace("@VERSION@", VERSION).into_bytes();
    let files: Vec<(&str, Vec<u8>)> =
        FILES.iter().map(|(name, text)| (*name, content(text))).collect();
    std::fs::write(&path, zip::pack(&files))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tracewright_testing::tool;

    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(zip::crc32(b"123456789"), 0xcbf4_3926);
    }

    /// Reads the archive: checksums, XML and JSON are valid, the manifests agree, each file has a
    /// content type, and each asset is in the archive. Prints the members of configurations.
    const CHECK: &str = r#"
import json, sys, zipfile
import xml.etree.ElementTree as tree
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
names = archive.namelist()
read = lambda name: archive.read(name).decode()
types = tree.fromstring(read("[Content_Types].xml"))
kinds = {kind.get("Extension") for kind in types}
for name in names[1:]:
    assert "." + name.rsplit(".", 1)[1] in kinds, name
manifest = tree.fromstring(read("extension.vsixmanifest"))
space = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
identity = manifest.find("v:Metadata/v:Identity", space)
package = json.loads(read("extension/package.json"))
assert identity.get("Id") == package["name"]
assert identity.get("Publisher") == package["publisher"]
assert identity.get("Version") == package["version"] == sys.argv[2]
engine = "v:Metadata/v:Properties/v:Property[@Id='Microsoft.VisualStudio.Code.Engine']"
assert manifest.find(engine, space).get("Value") == package["engines"]["vscode"]
assets = [asset.get("Path") for asset in manifest.find("v:Assets", space)]
assert "extension/package.json" in assets and all(asset in names for asset in assets), assets
assert "extension/" + package["main"].removeprefix("./") in names
debugger = package["contributes"]["debuggers"][0]
for configuration in debugger["initialConfigurations"]:
    assert configuration["type"] == debugger["type"]
print(" ".join(debugger["configurationAttributes"]["launch"]["properties"]))
"#;

    /// Runs the extension with what an editor gives it, and prints what it would start.
    const START: &str = r#"
const made = [];
const vscode = {
  workspace: { getConfiguration: () => ({ get: () => process.argv[2] }) },
  debug: { registerDebugAdapterDescriptorFactory: (type, factory) => made.push({ type, factory }) },
  DebugAdapterExecutable: class { constructor(command, args) { Object.assign(this, { command, args }); } },
};
const module_ = require("module");
const load = module_._load;
module_._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
require(process.argv[1]).activate({ subscriptions: [] });
const { command, args } = made[0].factory.createDebugAdapterDescriptor();
console.log(made[0].type, command, args.join(" "));
"#;

    fn printed(command: &mut Command) -> String {
        let output = command.output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn an_extension_declares_and_starts_the_debugger() {
        let name = format!("tracewright-vsix-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let path = make(&folder).expect("the extension");
        if let Some(python) = tool(&[("python3", "python3")]) {
            let members = printed(Command::new(python).args(["-c", CHECK]).arg(&path).arg(VERSION));
            // The members that the manual has.
            let manual = std::fs::read_to_string(crate::root().join("docs/debugger.md"));
            let manual = manual.expect("the manual");
            let table = manual.split("| member | meaning |").nth(1).expect("the table");
            let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
            let documented: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
            assert_eq!(members.split(' ').collect::<Vec<_>>(), documented);
        }
        if let Some(node) = tool(&[("node", "nodejs")]) {
            let script = folder.join("extension.js");
            std::fs::write(&script, include_str!("extension.js")).expect("written");
            let started = |command: &str| {
                printed(Command::new(node).args(["-e", START]).arg(&script).arg(command))
            };
            assert_eq!(started("/opt/tw"), "tracewright /opt/tw dap");
            assert_eq!(started(""), "tracewright tracewright dap");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
