//! Bills of materials: all packages that are compiled into what is published, in CycloneDX 1.5.
//! Cargo states them; the tools that make such files leave them in the tree of sources, and write
//! others each time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::build::{FEATURES, PACKAGES};
use super::{VERSION, date, failed, output};

/// What is published, and the packages that it is made of.
struct Subject<'a> {
    /// Part of the name of the file.
    suffix: &'static str,
    manifest: &'static str,
    packages: &'a [&'a str],
    features: &'static str,
    triple: &'a str,
}

/// Writes the files, and returns their paths.
pub(super) fn sboms(
    root: &Path,
    out: &Path,
    triple: &str,
    time: u64,
) -> Result<Vec<PathBuf>, String> {
    let subjects = [
        Subject {
            suffix: "",
            manifest: "Cargo.toml",
            packages: &PACKAGES,
            features: FEATURES,
            triple,
        },
        Subject {
            suffix: "-python",
            manifest: "python/Cargo.toml",
            packages: &["tracewright-python"],
            features: "",
            triple,
        },
        Subject {
            suffix: "-sql",
            manifest: "sql/Cargo.toml",
            packages: &[super::sql::NAME],
            features: "",
            triple,
        },
        Subject {
            suffix: "-npm",
            manifest: "crates/wasm/Cargo.toml",
            packages: &["tracewright-wasm"],
            features: "",
            triple: "wasm32-unknown-unknown",
        },
    ];
    let mut made = Vec::new();
    for subject in subjects {
        let path = out.join(format!("tracewright-{VERSION}{}.cdx.json", subject.suffix));
        let text = format!("{:#}\n", subject.sbom(root, time)?);
        std::fs::write(&path, text).map_err(|error| failed(&path, &error))?;
        made.push(path);
    }
    Ok(made)
}

impl Subject<'_> {
    fn sbom(&self, root: &Path, time: u64) -> Result<Value, String> {
        let manifest = root.join(self.manifest);
        let lock = manifest.with_file_name("Cargo.lock");
        let lock = std::fs::read_to_string(&lock).map_err(|error| failed(&lock, &error))?;
        let checksums = checksums(&lock);
        let tree = self.tree(&manifest, "normal,build")?;
        // The code of build scripts and procedural macros is not in what is published.
        let required = self.tree(&manifest, "normal,no-proc-macro")?;
        let all = Graph::read(&tree)?;
        let required = Graph::read(&required)?.packages;
        let components: Vec<Value> = all
            .packages
            .values()
            .map(|package| package.component(required.contains_key(&package.key()), &checksums))
            .collect();
        let name = format!("tracewright{}", self.suffix);
        let dependency = |(from, on): (&String, &BTreeSet<String>)| json!({ "ref": if from.is_empty() { &name } else { from }, "dependsOn": on });
        let dependencies: Vec<Value> = all.edges.iter().map(dependency).collect();
        Ok(json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "timestamp": date::iso(time),
                "component": {
                    "type": "application",
                    "bom-ref": name,
                    "name": name,
                    "version": VERSION,
                    "licenses": [{ "expression": env!("CARGO_PKG_LICENSE") }],
                },
                "properties": [{ "name": "cargo:target", "value": self.triple }],
            },
            "components": components,
            "dependencies": dependencies,
        }))
    }

    /// What `cargo tree` prints: depth, package, licence and repository, divided by tabs. Its
    /// features are those of these packages, not of the whole workspace.
    fn tree(&self, manifest: &Path, edges: &str) -> Result<String, String> {
        let mut command = Command::new("cargo");
        command.args(["tree", "--locked", "--prefix", "depth", "--format", "\t{p}\t{l}\t{r}"]);
        command.args(["--edges", edges, "--target", self.triple, "--features", self.features]);
        command.args(self.packages.iter().flat_map(|name| ["--package", name]));
        output(command.arg("--manifest-path").arg(manifest))
    }
}

/// A package of a tree.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
    repository: &'a str,
}

/// The packages of a tree, and what each depends on, by their URL. That of the whole is empty.
#[derive(Default)]
struct Graph<'a> {
    packages: BTreeMap<String, Package<'a>>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Graph<'a> {
    fn read(tree: &'a str) -> Result<Graph<'a>, String> {
        let mut graph = Graph::default();
        // The packages from the root to the last line.
        let mut path = vec![String::new()];
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let (depth, package) =
                Package::read(line).ok_or_else(|| format!("cargo tree: `{line}` is no package"))?;
            let key = package.key();
            path.truncate(depth + 1);
            if let Some(parent) = path.last() {
                graph.edges.entry(parent.clone()).or_default().insert(key.clone());
            }
            graph.edges.entry(key.clone()).or_default();
            graph.packages.insert(key.clone(), package);
            path.push(key);
        }
        Ok(graph)
    }
}

impl<'a> Package<'a> {
    fn read(line: &'a str) -> Option<(usize, Package<'a>)> {
        let mut parts = line.split('\t');
        let depth = parts.next()?.parse().ok()?;
        let (name, rest) = parts.next()?.split_once(" v")?;
        let version = rest.split(' ').next()?;
        let licence = parts.next()?;
        // A package that was listed before has a mark.
        let repository = parts.next()?.trim_end_matches(" (*)");
        Some((depth, Package { name, version, licence, repository }))
    }

    /// The name of a package that all ecosystems use. (Package URL)
    fn key(&self) -> String {
        // Of the characters of a version, only this has another meaning in a URL.
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }

    fn component(&self, required: bool, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": self.key(),
            "name": self.name,
            "version": self.version,
            "scope": if required { "required" } else { "excluded" },
            "purl": self.key(),
        });
        if !self.licence.is_empty() {
            // The form before SPDX expressions.
            let expression = self.licence.replace('/', " OR ");
            component["licenses"] = json!([{ "expression": expression }]);
        }
        if !self.repository.is_empty() {
            component["externalReferences"] = json!([{ "type": "vcs", "url": self.repository }]);
        }
        if let Some(sum) = checksums.get(&(self.name, self.version)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|package| {
            let value = |name: &str| {
                let mut lines = package.lines();
                let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
                value.map(|value| value.trim_end_matches('"'))
            };
            Some(((value("name")?, value("version")?), value("checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All packages that are in what is published, with a checksum and a licence each, no others.
    #[test]
    fn all_packages_are_listed() {
        let root = crate::root();
        let out = std::env::temp_dir().join(format!("tracewright-sbom-{}", std::process::id()));
        crate::dist::fresh(&out).unwrap();
        let triple = crate::dist::build::host().unwrap();
        for path in sboms(root, &out, &triple, 0).unwrap() {
            let text = std::fs::read_to_string(&path).unwrap();
            let sbom: Value = serde_json::from_str(&text).unwrap();
            let components = sbom["components"].as_array().unwrap();
            for component in components {
                let own = component["name"].as_str().unwrap().starts_with("tracewright");
                assert!(component["licenses"][0]["expression"].is_string(), "{component}");
                assert!(own || component["hashes"][0]["content"].is_string(), "{component}");
            }
            let required = |name: &str| {
                let found = components.iter().find(|component| component["name"] == name);
                found.map(|component| component["scope"] == "required")
            };
            assert_eq!(required("tracewright-decode"), Some(true));
            assert_eq!(required("memchr"), Some(true));
            assert_eq!(required("quote"), Some(false), "part of procedural macros");
            assert_eq!(required("tracewright-testing"), None, "part of tests");
            let known: Vec<&Value> =
                components.iter().map(|component| &component["bom-ref"]).collect();
            for dependency in sbom["dependencies"].as_array().unwrap() {
                let on = dependency["dependsOn"].as_array().unwrap();
                assert!(on.iter().all(|reference| known.contains(&reference)), "{dependency}");
            }
        }
        std::fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn trees_are_graphs() {
        let tree = "0\ta v1.0.0 (/a)\tMIT\t\n1\tb v2.0.0+c\tMIT/Apache-2.0\thttps://b\n2\td v3.0.0 \
                    (proc-macro)\tMIT\t\n\n0\te v4.0.0 (/e)\tMIT\t\n1\tb v2.0.0+c\tMIT/Apache-2.0\thttps://b (*)\n";
        let graph = Graph::read(tree).unwrap();
        let edges: Vec<String> =
            graph.edges.iter().map(|(from, on)| format!("{from}: {on:?}")).collect();
        assert_eq!(
            edges,
            [
                r#": {"pkg:cargo/a@1.0.0", "pkg:cargo/e@4.0.0"}"#,
                r#"pkg:cargo/a@1.0.0: {"pkg:cargo/b@2.0.0%2Bc"}"#,
                r#"pkg:cargo/b@2.0.0%2Bc: {"pkg:cargo/d@3.0.0"}"#,
                "pkg:cargo/d@3.0.0: {}",
                r#"pkg:cargo/e@4.0.0: {"pkg:cargo/b@2.0.0%2Bc"}"#,
            ]
        );
        let component = graph.packages["pkg:cargo/b@2.0.0%2Bc"].component(true, &BTreeMap::new());
        assert_eq!(component["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(component["externalReferences"][0]["url"], "https://b");
        assert!(Graph::read("a v1").is_err());
    }
}
