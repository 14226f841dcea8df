//! Files of parts: where they are written, and which are read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, command, demo, error, good, parts, refused, run};

#[cfg(unix)]
#[test]
fn a_part_is_written_to_a_regular_file() {
    let folder = Folder::new("kinds");
    let input = demo(&folder, "d1");
    fs::create_dir(folder.0.join("out")).expect("a folder");
    let out = |name: &str| folder.path(&format!("out/{name}"));
    std::os::unix::fs::symlink("absent", out("dangling")).expect("a link");
    fs::create_dir(out("folder")).expect("a folder");
    let mut kinds = vec![
        ("/dev/null".to_owned(), "a device"),
        ("/dev/full".to_owned(), "a device"),
        (out("folder"), "a folder"),
        (out("dangling"), "a symbolic link that leads to no file"),
    ];
    if let Some(mkfifo) = tracewright_testing::tool(&[("mkfifo", "coreutils")]) {
        assert!(Command::new(mkfifo).arg(out("pipe")).status().expect("mkfifo").success());
        kinds.push((out("pipe"), "a pipe"));
    }
    let names = |of: &Path| -> Vec<String> {
        let all = fs::read_dir(of).expect("a folder").map(|own| own.expect("a file").file_name());
        all.map(|own| own.to_string_lossy().into_owned()).collect()
    };
    let inner = folder.0.join("out");
    let before = names(&inner).len();
    let part = folder.path("a.part");
    good(&["profile", &input, "--units", "1/1", "--unit-size", "256", "-o", &part]);
    // The trace is not read: it need not exist.
    for (path, what) in &kinds {
        for command in [
            &["profile", "/absent", "--units", "1/1", "-o", path][..],
            &["coverage", "/absent", "--units", "1/1", "-o", path],
            &["profile", &input, "--units", "1/1", "-o", path],
            &["merge", "--partial", &part, "-o", path],
            &["merge", &part, "-o", path],
        ] {
            let text = refused(command);
            assert!(text.contains(what) && text.contains(path.as_str()), "{command:?}: {text}");
        }
    }
    assert_eq!(names(&inner).len(), before, "{:?}", names(&inner));
    assert!(names(Path::new("/dev")).iter().all(|name| !name.starts_with(".null")));
    let text = refused(&["profile", "/absent", "--units", "1/1", "-o", &out("none/a.part")]);
    assert!(text.contains("none/a.part"), "{text}");
    // Other bytes have one file, however often they are written.
    let part = out("b.part");
    good(&["profile", &input, "--units", "1/2", "--unit-size", "256", "-o", &part]);
    for _ in 0..3 {
        refused(&["profile", &input, "--units", "2/2", "--unit-size", "256", "-o", &part]);
    }
    assert_eq!(names(&inner).len(), before + 2, "{:?}", names(&inner));
}

#[cfg(unix)]
#[test]
fn files_that_are_no_parts_are_named() {
    let folder = Folder::new("named");
    let input = demo(&folder, "d1");
    let files = parts(&folder, &["profile"], &input, "256", 3);
    let [a, b, c] = [0, 1, 2].map(|n| files[n].as_str());
    let typo = folder.path("typo.part");
    let text = refused(&["merge", a, b, &typo]);
    assert!(text.contains("typo.part: no such file"), "{text}");
    let done = run(&["merge", "--keep-going", "--partial", a, b, &typo, "-o", &folder.path("k")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(error(&done).contains("typo.part"), "{}", error(&done));
    let other = folder.path("other");
    fs::write(&other, "text").expect("room");
    for command in [&["merge", a, b, &other][..], &["merge", "--partial", a, &other]] {
        let text = refused(command);
        assert!(text.contains("other: it is no part"), "{text}");
    }
    let text = refused(&["profile", &input, "--parts", &typo]);
    assert!(text.contains("typo.part: no such file"), "{text}");
    let text = refused(&["profile", &input, "--parts", &other]);
    assert!(text.contains("other: it is no part"), "{text}");
    // A missing file among branch lists.
    let list = folder.path("list.part");
    let verb = ["profile", &input, "--format", "branch-list", "--unit-size", "256"];
    good(&[&verb[..], &["--units", "1/2", "-o", &list]].concat());
    let text = refused(&["merge", &list, &other]);
    assert!(text.contains("other: it is neither"), "{text}");
    // A part is read of a pipe.
    let sum = folder.path("sum.part");
    good(&["merge", a, b, c, "-o", &sum]);
    let piped = |arguments: &[&str], part: &str| {
        let from = fs::File::open(part).expect("a part");
        let mut cat = Command::new("cat").stdin(from).stdout(Stdio::piped()).spawn().expect("cat");
        let pipe = cat.stdout.take().expect("a pipe");
        let done = command(arguments).stdin(pipe).output().expect("the command");
        cat.wait().expect("cat");
        done
    };
    let done = piped(&["merge", "/dev/stdin", b, c], a);
    assert_eq!(done.stdout, fs::read(&sum).expect("a part"), "{}", error(&done));
    let done = piped(&["profile", &input, "--parts", "/dev/stdin"], &sum);
    assert_eq!(done.stdout, good(&["profile", &input]), "{}", error(&done));
    let done = piped(&["merge", a, b, "/dev/stdin"], &other);
    assert_eq!(done.status.code(), Some(2));
    assert!(error(&done).contains("/dev/stdin: it is no regular file"), "{}", error(&done));
}

/// A result replaces no part, and no file with the paths of the inputs.
#[test]
fn parts_and_lists_are_not_replaced() {
    let folder = Folder::new("replaced");
    let input = demo(&folder, "d1");
    let files = parts(&folder, &["profile"], &input, "256", 3);
    let list = folder.path("list");
    fs::write(&list, files.join("\n")).expect("a file");
    let at = format!("@{list}");
    let captures = folder.path("captures");
    fs::write(&captures, &input).expect("a file");
    let of_captures = format!("@{captures}");
    let sum = folder.path("sum");
    good(&["merge", "--partial", &at, "-o", &sum]);
    let read = |path: &str| fs::read(path).expect("a file");
    for (path, command) in [
        (&sum, &["profile", &input, "--parts", &sum][..]),
        (&sum, &["coverage", &input, "--parts", &sum]),
        (&list, &["profile", &input, "--parts", &at]),
        (&list, &["coverage", &input, "--parts", &at]),
        (&list, &["merge", &at]),
        (&list, &["merge", "--partial", &at]),
        (&captures, &["profile", &of_captures]),
        (&captures, &["profile", &of_captures, "--units", "1/1"]),
        (&captures, &["units", &of_captures]),
    ] {
        let before = read(path);
        let text = refused(&[command, &["-o", path]].concat());
        assert!(text.contains("this file is read as"), "{command:?}: {text}");
        assert!(read(path) == before, "{command:?}");
    }
}
