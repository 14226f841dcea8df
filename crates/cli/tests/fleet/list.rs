//! Shares of many captures without a plan, of which a worker opens its own only; captures of a plan
//! that cannot be opened; what is lacking of a plan.

use std::fs;
use std::path::PathBuf;

use super::plan::{CODE, Fleet};
use super::{Folder, error, good, refused, run};

/// The offsets of a build identifier in `perf_etm.data` and in `etm_test_loop`.
const BUILD_IDS: [usize; 2] = [11_052, 744];

fn worker<'a>(fleet: &'a Fleet, list: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["profile", list, "--format", "branch-list", "--binary", &fleet.binary][..], more].concat()
}

#[test]
fn workers_without_a_plan_open_their_captures_only() {
    let folder = Folder::new("list");
    let Some(fleet) = Fleet::new(&folder, 50) else { return };
    let files: Vec<String> = (1..=3).map(|n| folder.path(&format!("{n}.part"))).collect();
    // The captures of other shares are not there.
    let away = |n: usize| fleet.paths[n].with_extension("away");
    for (n, file) in files.iter().enumerate() {
        let own = n * 50 / 3..(n + 1) * 50 / 3;
        for other in (0..50).filter(|other| !own.contains(other)) {
            fs::rename(&fleet.paths[other], away(other)).expect("a file");
        }
        let share = format!("{}/3", n + 1);
        good(&worker(&fleet, &fleet.list, &["--units", &share, "-o", file]));
        for other in (0..50).filter(|other| !own.contains(other)) {
            fs::rename(away(other), &fleet.paths[other]).expect("a file");
        }
        let again = good(&worker(&fleet, &fleet.list, &["--units", &share, "--jobs", "2"]));
        assert!(again == fs::read(file).expect("a part"));
    }
    let whole = fleet.whole(&fleet.list);
    let [one, two, three] = &files[..] else { unreachable!("three files") };
    assert!(good(&["merge", three, one, two]) == whole);
    let some = folder.path("some.part");
    good(&["merge", "--partial", "-o", &some, three, one]);
    assert!(good(&["merge", two, &some]) == whole);
    let text = refused(&["merge", three, one]);
    assert!(text.contains("parts are lacking: captures 17 to 33 of the list"), "{text}");
    let text = refused(&["merge", three, one, two, &some]);
    assert!(text.contains("of the list would be counted twice"), "{text}");
    // Another number of shares is another division of the same list.
    let half = folder.path("half.part");
    good(&worker(&fleet, &fleet.list, &["--units", "1/2", "-o", &half]));
    assert!(refused(&["merge", &half, two, three]).contains("counted twice"));
    // A list in another order, and the same captures elsewhere.
    let list = folder.path("other");
    let mut paths: Vec<String> =
        fleet.paths.iter().map(|path| path.display().to_string()).collect();
    paths.reverse();
    fs::write(&list, paths.join("\n")).expect("room");
    let other = folder.path("other.part");
    good(&worker(&fleet, &format!("@{list}"), &["--units", "2/3", "-o", &other]));
    assert!(refused(&["merge", one, &other, three]).contains("another plan"));
    let elsewhere = folder.0.join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let copied: Vec<String> = fleet.paths.iter().map(|path| copied(path, &elsewhere)).collect();
    fs::write(&list, copied.join("\n")).expect("room");
    let own = good(&worker(&fleet, &format!("@{list}"), &["--units", "2/3"]));
    assert!(own == fs::read(two).expect("a part"));
    // With units of a size, each worker opens all, as it does where there are few captures.
    fs::rename(&fleet.paths[0], away(0)).expect("a file");
    let text =
        refused(&worker(&fleet, &fleet.list, &["--units", "3/3", "--unit-size", Fleet::SIZE]));
    assert!(text.contains("0.data"), "{text}");
}

fn copied(path: &PathBuf, to: &std::path::Path) -> String {
    let to = to.join(path.file_name().expect("a name"));
    fs::copy(path, &to).expect("room");
    to.display().to_string()
}

/// A copy of a capture is found in a share, and by the merge.
#[test]
fn a_copy_in_a_list_is_not_counted_twice() {
    let folder = Folder::new("list-copy");
    let Some(fleet) = Fleet::new(&folder, 32) else { return };
    let part = |share: &str, to: &str| {
        run(&worker(&fleet, &fleet.list, &["--units", share, "-o", &folder.path(to)]))
    };
    fs::copy(&fleet.paths[3], &fleet.paths[5]).expect("room");
    let done = part("1/2", "0.part");
    assert_eq!(done.status.code(), Some(2));
    let text = error(&done);
    assert!(text.contains("5.data") && text.contains("has the same trace"), "{text}");
    fs::copy(&fleet.paths[30], &fleet.paths[5]).expect("room");
    assert!(part("1/2", "1.part").status.success() && part("2/2", "2.part").status.success());
    let text = refused(&["merge", &folder.path("1.part"), &folder.path("2.part")]);
    assert!(text.contains("would be counted twice") && text.contains("is in both"), "{text}");
}

#[test]
fn captures_of_other_programs_are_refused_in_any_share() {
    let folder = Folder::new("list-programs");
    let Some(mut fleet) = Fleet::new(&folder, 32) else { return };
    // The program with another build identifier, and half of the captures with it.
    let change = |path: &PathBuf, at: usize, to: &PathBuf| {
        let mut bytes = fs::read(path).expect("a file");
        bytes[at] ^= 0xff;
        fs::write(to, bytes).expect("room");
    };
    let other = folder.0.join("etm_test_loop");
    change(&PathBuf::from(&fleet.binary), BUILD_IDS[1], &other);
    fleet.paths[16..].iter().for_each(|path| change(path, BUILD_IDS[0], path));
    let other = other.display().to_string();
    let files: Vec<String> = (1..=4).map(|n| folder.path(&format!("{n}.part"))).collect();
    let binary = ["--binary", &other];
    for (n, file) in files.iter().enumerate() {
        let share = format!("{}/2", n % 2 + 1);
        let force = if n < 2 { &[][..] } else { &["--force"] };
        let own = [&["--units", &share, "-o", file][..], &binary, force].concat();
        good(&worker(&fleet, &fleet.list, &own));
    }
    let text = refused(&["merge", &files[0], &files[1]]);
    assert!(text.contains("different programs") && text.contains("etm_test_loop has"), "{text}");
    let whole = [&["--add", &fleet.list][..], &binary].concat();
    let of = ["profile", "--format", "branch-list", "--binary", &fleet.binary];
    assert!(refused(&[&of[..], &whole].concat()).contains("different programs"));
    let whole = good(&[&of[..], &whole, &["--force"]].concat());
    assert!(good(&["merge", &files[2], &files[3]]) == whole);
    // In one share.
    let list = folder.path("mixed");
    fleet.paths.rotate_left(8);
    let paths: Vec<String> = fleet.paths.iter().map(|path| path.display().to_string()).collect();
    fs::write(&list, paths.join("\n")).expect("room");
    let list = format!("@{list}");
    let text = refused(&worker(&fleet, &list, &[&["--units", "1/2"][..], &binary].concat()));
    assert!(text.contains("different programs"), "{text}");
}

/// A worker has another program with the same build identifier.
#[test]
fn other_code_with_the_same_build_identifier_has_no_sum() {
    let folder = Folder::new("list-code");
    let Some(fleet) = Fleet::new(&folder, 32) else { return };
    let other = folder.path("etm_test_loop");
    let mut program = fs::read(&fleet.binary).expect("the program");
    program[CODE] ^= 1;
    fs::write(&other, program).expect("room");
    let [one, two] = ["1.part", "2.part"].map(|name| folder.path(name));
    good(&worker(&fleet, &fleet.list, &["--units", "1/2", "-o", &one]));
    let of = ["profile", &fleet.list, "--format", "branch-list", "--binary", &other];
    good(&[&of[..], &["--units", "2/2", "-o", &two]].concat());
    for more in [&[][..], &["--partial", "-o", &folder.path("sum.part")]] {
        let text = refused(&[&["merge", &one, &two][..], more].concat());
        assert!(text.contains("etm_test_loop with build ID 0c9a20bf"), "{text}");
        assert!(text.contains("has other code on one of the machines"), "{text}");
    }
}

#[test]
fn a_plan_leaves_out_what_cannot_be_opened() {
    let folder = Folder::new("keep-going");
    let Some(fleet) = Fleet::new(&folder, 12) else { return };
    fs::write(&fleet.paths[4], b"PERFILE2, and no more").expect("room");
    fs::remove_file(&fleet.paths[9]).expect("a file");
    let plan = folder.path("fleet.plan");
    let of = ["units", &fleet.list, "--job", "branch-list", "--binary", &fleet.binary];
    let of = [&of[..], &["--unit-size", Fleet::SIZE, "-o", &plan]].concat();
    assert!(refused(&of).contains("4.data"));
    let mut texts = Vec::new();
    for jobs in ["1", "2", "5"] {
        let done = run(&[&of[..], &["--keep-going", "--jobs", jobs]].concat());
        assert_eq!(done.status.code(), Some(1), "{}", error(&done));
        texts.push((error(&done), fs::read(&plan).expect("a plan")));
        fs::remove_file(&plan).expect("the plan");
    }
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
    let text = &texts[0].0;
    let left_out = text.lines().filter(|line| line.contains("left out: "));
    assert!(left_out.eq(text.lines().filter(|line| {
        ["4.data", "9.data"].iter().any(|name| line.contains(&format!("/{name}")))
    })));
    assert!(text.contains("10 units of 10 captures"), "{text}");
    fs::write(&plan, &texts[0].1).expect("room");
    // The sum is that of the others, and of a part that is lacking the plan has the captures.
    let files: Vec<String> = (1..=5).map(|n| folder.path(&format!("{n}.part"))).collect();
    for (n, file) in files.iter().enumerate() {
        good(&fleet.worker(&plan, &["--units", &format!("{}/5", n + 1), "-o", file]));
    }
    let others = folder.path("others");
    let names: Vec<String> = fleet.paths.iter().map(|path| path.display().to_string()).collect();
    let good_names = names.iter().enumerate().filter(|(n, _)| ![4, 9].contains(n));
    let text: Vec<&str> = good_names.map(|(_, name)| name.as_str()).collect();
    fs::write(&others, text.join("\n")).expect("room");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let merge = |files: &[&str], more: &[&str]| run(&[&["merge"][..], files, more].concat());
    let done = merge(&files, &["--plan", &plan]);
    assert!(done.status.success() && done.stdout == fleet.whole(&format!("@{others}")));
    let done = merge(&files[..4], &[]);
    assert!(error(&done).contains("2 captures of which there is no unit"), "{}", error(&done));
    let done = merge(&files[..4], &["--plan", &plan]);
    let text = error(&done);
    assert_eq!(done.status.code(), Some(2), "{text}");
    let listed = fs::read_to_string(&plan).expect("a plan");
    let unit = listed.lines().rfind(|line| line.contains("\"type\":\"unit\""));
    let unit: serde_json::Value = serde_json::from_str(unit.expect("a unit")).expect("JSON");
    assert!(text.contains(unit["id"].as_str().expect("an identifier")), "{text}");
    assert_eq!(names.iter().filter(|name| text.contains(name.as_str())).count(), 2, "{text}");
    // A plan of others, and a merge without parts.
    let other = folder.path("other.plan");
    good(&["units", &names[0], "--job", "branch-list", "--binary", &fleet.binary, "-o", &other]);
    let done = merge(&files, &["--plan", &other]);
    assert!(error(&done).contains("not the plan of the parts"), "{}", error(&done));
    let list = folder.path("sum.list");
    good(&[&["merge", "-o", &list][..], &files].concat());
    assert!(refused(&["merge", &list, "--plan", &plan]).contains("--plan is for parts"));
    assert!(refused(&["merge", files[0], "--plan", &plan, "-o", &plan]).contains("is read as"));
}
