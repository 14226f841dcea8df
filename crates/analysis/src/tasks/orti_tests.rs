//! ORTI: own files, and those of public repositories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use tracewright_testing::skip;

use super::TaskFile;
use super::system::{Current, Offset, Place};

#[test]
fn orti() {
    let text = r#"
        VERSION { KOIL = "2.2"; OSSEMANTICS = "ORTI", "2.2"; };
        IMPLEMENTATION Own {
          OS {
            ENUM "uint8" [ "NO_TASK" = "0", "Control" : Control = "&(OsTask[1])",
              "Log" : Log = "0x20" ] RUNNINGTASK, "Running task"; // the task
            ENUM [ "none" = "9" ] RUNNINGISR2, "Running ISR";
          };
          TASK { CTYPE PRIORITY, "Priority"; };
        };
        /* objects */
        OS os { RUNNINGTASK[0] = "(OsCurrent)"; RUNNINGISR2 = "OsIsr"; };
        TASK Control { PRIORITY = "5"; };
    "#;
    let file = TaskFile::read(text).expect("ORTI");
    let names: Vec<_> = file.names.iter().map(|(value, name)| (*value, name.as_str())).collect();
    assert_eq!(names, [(0, "NO_TASK"), (0x20, "Log")]);
    assert_eq!(file.expressions, [("&(OsTask[1])".to_owned(), "Control".to_owned())]);
    let system = file.systems.first().expect("a system");
    assert_eq!(system.detect, ["OsCurrent"]);
    let place = Place::Symbol("OsCurrent".to_owned(), Offset::At(0));
    let current = Current::of(place);
    assert_eq!(system.current, Some(current));
    // Without values, the variables have the names of the tasks.
    let text = "VERSION{};OS o{RUNNINGTASK=\"os.run[0]\";};TASK A{};TASK B{};";
    let file = TaskFile::read(text).expect("ORTI");
    let names: Vec<_> = file.expressions.iter().map(|(value, _)| value.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    let place = file.systems.first().and_then(|system| Some(system.current.clone()?.place));
    assert_eq!(place, Some(Place::Variable("os.run[0]".to_owned())));
}

/// The values and names of a text.
fn names(text: &str) -> Vec<(u64, String)> {
    let file = TaskFile::read(text).expect("ORTI");
    assert!(file.expressions.is_empty(), "{:?}", file.expressions);
    file.names.into_iter().collect()
}

fn current(text: &str) -> Current {
    let file = TaskFile::read(text).expect("ORTI");
    file.systems.into_iter().find_map(|system| system.current).expect("a variable")
}

/// Numbers without quotes, as implementations write them, and what stands around them.
#[test]
fn values_are_texts_or_numbers() {
    let of = |values: &str| {
        let text = format!(
            "VERSION {{ KOIL = \"2.1\"; OSSEMANTICS = \"ORTI\", \"2.1\"; }};
             IMPLEMENTATION Own {{
               OS {{
                 TOTRACE ENUM \"unsigned short\" [{values}] RUNNINGTASK[], \"Running\" \"task\";
                 ENUM \"int\" [ \"E_OK\" = 0, \"E_OS_ID\" = 3 ] LASTERROR, \"Last error\";
                 ENUM [ ] CURRENTAPPMODE, \"Mode\";
                 CTYPE \"unsigned int\" vs_CEILING;
               }}, \"OS\";
               TASK {{ ENUM \"void*\" [ \"S0\" : S0 = \"S0\", ] STACK, \"Stack\"; }}, \"Tasks\";
             }};
             OS own {{ RUNNINGTASK = \"current\" \"Task\"; LASTERROR = \"last\"; }};"
        );
        assert_eq!(
            current(&text),
            Current {
                is_number: true,
                ..Current::of(Place::Symbol("currentTask".to_owned(), Offset::At(0)))
            }
        );
        names(&text)
    };
    let own = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
        all.iter().map(|(value, name)| (*value, (*name).to_owned())).collect()
    };
    let found = of("\"NO_TASK\" = 0xFFFF, \"A\" = 0, \"B \" \"b\" : B = \"1\", \"C\"=2,");
    assert_eq!(found, own(&[(0, "A"), (1, "B b"), (2, "C"), (0xffff, "NO_TASK")]));
    assert_eq!(
        of("\"A\" = 0 \"B\" = 0x1 \"C\" : C = \"2\" \"\""),
        own(&[(0, "A"), (1, "B"), (2, "C")])
    );
    // A negative number is that of the variable's width.
    for values in ["\"NO_TASK\" = \"-1\", \"A\" = 0", "\"NO_TASK\" = -1, \"A\" = 0"] {
        let none = [0xff, 0xffff, 0xffff_ffff, u64::MAX].map(|value| (value, "NO_TASK"));
        assert_eq!(of(values), own(&[&[(0, "A")], &none[..]].concat()), "{values}");
    }
    assert_eq!(of("\"NO_TASK\" = -1, \"A\" = 255")[0].1, "A");
}

/// Each core has a variable: one object with numbered attributes, or an object for each.
#[test]
fn several_cores_have_a_variable_each() {
    for text in [
        "VERSION {}; OS own { RUNNINGTASK[0] = \"Os[0].Task\"; RUNNINGTASK[1] = \"Os[1].Task\"; };",
        "VERSION {}; OS a { RUNNINGTASK = \"Os[0].Task\"; }; OS b { RUNNINGTASK = \"Os[1].Task\"; };",
    ] {
        let own = current(text);
        let at = |n| Place::Variable(format!("Os[{n}].Task"));
        assert_eq!((own.place, own.others), (at(0), vec![at(1)]), "{text}");
    }
}

#[test]
fn files_that_are_wrong() {
    for (text, why) in [
        ("VERSION {}; OS own { LASTERROR = \"x\"; };", "no OS has RUNNINGTASK"),
        ("VERSION {}; OS own { RUNNINGTASK = \"a ? b : c\"; };", "is not one variable"),
        ("VERSION {}; OS own { RUNNINGTASK = \"a\"; ", "has no end"),
        ("IMPLEMENTATION x { OS { ENUM [ \"A\" = { ] RUNNINGTASK; }; };", "a value of an enumera"),
        ("IMPLEMENTATION x { OS { ENUM [ \"A\" = 1, \"B", "a text has no end"),
    ] {
        let error = TaskFile::read(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// The names of the enumeration of RUNNINGTASK, and those of the TASK objects, by lines.
fn by_lines(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut last, mut names, mut tasks) = (Vec::new(), Vec::new(), BTreeSet::new());
    for line in text.lines().map(str::trim) {
        let quoted = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        match quoted {
            Some((name, rest)) if rest.contains('=') => last.push(name.to_owned()),
            _ if line.contains("] RUNNINGTASK,") => names = std::mem::take(&mut last),
            _ if line.contains(']') => last.clear(),
            _ => {}
        }
        if let Some(name) = line.strip_prefix("TASK ").and_then(|rest| rest.split_once(" {")) {
            tasks.insert(name.0.to_owned());
        }
    }
    (names, tasks)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if path.is_dir() {
            files(&path, found);
        } else if ["orti", "ort"].contains(&end.to_ascii_lowercase().as_str()) {
            found.push(path);
        }
    }
}

/// The files of a folder have the names that their lines have.
#[test]
fn files_of_implementations_are_read() {
    let Some(folder) = env::var_os("TRACEWRIGHT_ORTI") else {
        return skip("TRACEWRIGHT_ORTI does not name a folder with files of ORTI");
    };
    let mut all = Vec::new();
    files(Path::new(&folder), &mut all);
    let mut read = 0;
    for path in all {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("the file")).into_owned();
        let (names, tasks) = by_lines(&text);
        let file = TaskFile::read(&text);
        if !text.contains("RUNNINGTASK") {
            assert!(file.is_err(), "{}", path.display());
            continue;
        }
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let found: BTreeSet<&String> =
            file.names.values().chain(file.expressions.iter().map(|own| &own.1)).collect();
        assert_eq!(found, names.iter().collect(), "{}", path.display());
        assert!(tasks.iter().all(|task| found.contains(task)), "{} {tasks:?}", path.display());
        assert!(!tasks.is_empty(), "{}", path.display());
        read += 1;
    }
    assert!(read > 0, "no file of the folder has RUNNINGTASK");
}
