//! `coverage --format html` on the built-in example.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{skip, tool};

use crate::common::{Folder, Output};
use crate::coverage::{example, full, objects, run};
use crate::coverage_runs::{DECISIONS, parts};

fn done(folder: &Folder, words: &str) -> Output {
    let output = run(folder, words);
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output
}

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let all = fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    });
    all.collect()
}

/// The texts of the cells of each row of a table with this caption.
fn table(page: &str, caption: &str) -> Vec<Vec<String>> {
    let begin = format!("<caption>{caption}</caption>");
    let table = page.split(&begin).nth(1).unwrap_or_else(|| panic!("{caption}: {page}"));
    let body = table.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
    let text = |cell: &str| {
        let parts = cell.split('<').map(|part| part.rsplit('>').next().unwrap());
        parts.collect::<String>().replace("&quot;", "\"").trim().to_owned()
    };
    let cells = |row: &str| {
        let row = row.replace("</th>", "</td>");
        let mut cells: Vec<String> = row.split("</td>").map(text).collect();
        cells.pop();
        cells
    };
    body.split("</tr>").filter(|row| row.contains("<th")).map(cells).collect()
}

fn count(value: &Value) -> String {
    value.as_u64().map_or("–".to_owned(), |count| count.to_string())
}

/// A folder of pages with decisions, three runs and an exemption.
fn report(folder: &Folder) -> BTreeMap<String, String> {
    let files = parts(folder);
    fs::write(folder.path("d.json"), DECISIONS).unwrap();
    done(folder, "coverage demo --decisions d.json --tag TEST-d --save d.runs");
    let head = "[[exempt]]\nfile = \"program.c\"\nfunction = \"place\"\nlines = 7\n";
    let keys = "reason = \"<by> design\"\nby = \"A. Reviewer\"\ndate = 2026-11-30\n";
    fs::write(folder.path("e.toml"), format!("{head}{keys}")).unwrap();
    let refused = run(folder, "coverage demo --justify e.toml").err;
    let hash = refused.split("that of the text is ").nth(1).unwrap().get(..64).unwrap().to_owned();
    fs::write(folder.path("e.toml"), format!("{head}{keys}hash = \"{hash}\"\n")).unwrap();
    let loads: String = files.iter().map(|file| format!(" --load {file}")).collect();
    let words = format!("coverage{loads} --load d.runs --justify e.toml --source-root demo");
    done(folder, &format!("{words} --format html -o pages --fail-under 1"));
    let all = pages(&folder.path("pages"));
    assert!(all["exemptions.html"].contains("&lt;by&gt; design") && !refused.is_empty());
    assert!(all["exemptions.html"].contains(&hash));
    // The same input has the same bytes, and the lines of JSON are those of the other format.
    let json = done(folder, &format!("{words} --format json"));
    assert_eq!(all["coverage.jsonl"], json.out);
    all
}

/// The pages have the numbers of the lines of JSON: of lines, branches, functions, decisions and
/// runs.
#[test]
fn pages_have_the_numbers_of_json() {
    let folder = Folder::new("coverage-pages");
    let all = report(&folder);
    let json = Output { out: all["coverage.jsonl"].clone(), ..done(&folder, "--version") };
    let file = &all["file-0001.html"];
    let rows = table(file, "Source lines");
    let lines = objects(&json, "line");
    let with_code: Vec<&Vec<String>> = rows.iter().filter(|row| !row[1].is_empty()).collect();
    assert_eq!(with_code.len(), lines.len());
    for (row, line) in with_code.iter().zip(&lines) {
        assert_eq!((&row[0], &row[2]), (&count(&line["line"]), &count(&line["executions"])));
        let state = match line["executions"].as_u64() {
            Some(0) => "not executed",
            Some(_) => "executed",
            None => "unknown",
        };
        assert_eq!(row[1], state, "{row:?}");
    }
    let branches = lines.iter().flat_map(|line| {
        let all = line["branches"].as_array().unwrap();
        all.iter().map(|own| [count(&line["line"]), count(&own["taken"]), count(&own["not_taken"])])
    });
    let shown = table(file, "Conditional branches").into_iter();
    let shown: Vec<[String; 3]> =
        shown.map(|row| [row[0].clone(), row[3].clone(), row[6].clone()]).collect();
    assert_eq!(shown, branches.collect::<Vec<_>>());
    let decision = &objects(&json, "decision").into_iter().find(|own| own["line"] == 39).unwrap();
    let values = table(file, "Values of the decision 39:9");
    let conditions = decision["conditions"].as_array().unwrap();
    for (row, own) in values.iter().skip(1).zip(conditions) {
        assert_eq!([&row[3], &row[6]], [&count(&own["false"]), &count(&own["true"])]);
        assert_eq!(row[1], own["text"].as_str().unwrap());
    }
    assert_eq!(values.len(), 4);
    let runs = table(&all["runs.html"], "Runs: what each covers and adds");
    let own = objects(&json, "run");
    assert_eq!(runs.len(), 4);
    for (row, own) in runs.iter().zip(&own) {
        let keys = ["lines", "added_lines", "outcomes", "added_outcomes"];
        assert_eq!(row[2..6], keys.map(|key| count(&own[key])));
        assert_eq!(row[1], own["tags"][0].as_str().unwrap());
    }
    let functions = table(&all["functions.html"], "Functions, and the runs that execute them");
    let names = objects(&json, "function-runs");
    for (row, own) in functions.iter().zip(objects(&json, "source-function")) {
        assert_eq!(
            (row[0].as_str(), &row[3]),
            (own["name"].as_str().unwrap(), &count(&own["executions"]))
        );
        let own = names.iter().find(|its| its["symbol"] == row[0].as_str()).unwrap();
        assert_eq!(row[8], own["runs"].as_array().unwrap().len().to_string());
    }
    assert_eq!(functions.len(), names.len());
    let index = &all["index.html"];
    assert!(index.contains("met</span>") && index.contains("masking MC/DC"), "{index}");
    assert!(index.contains("<dt>Decisions</dt><dd>4; each source file with code has some</dd>"));
    assert!(index.contains("<dt>Qualification</dt><dd>none: evidence for a review."));
    // Decisions of files that no one describes are stated to be missing.
    fs::write(folder.path("o.json"), DECISIONS.replace("program.c", "other.c")).unwrap();
    done(&folder, "coverage demo --decisions o.json --format html -o others");
    let index = &pages(&folder.path("others"))["index.html"];
    assert!(index.contains("so that none is counted: 1 of 1</dd>"), "{index}");
    let index = &all["index.html"];
    let total = objects(&json, "coverage").remove(0);
    let rows = table(index, "Totals of all files");
    assert_eq!(
        [&rows[0][1], &rows[1][1]],
        [&count(&total["executed_lines"]), &count(&total["occurred_outcomes"])]
    );
    assert_eq!(rows[1][4], count(&total["exempted_outcomes"]));
}

/// Trace that was lost, an older state, and object code have pages; what is not wanted has none.
#[test]
fn parts_that_are_wanted_have_pages() {
    let folder = Folder::new("coverage-pages-parts");
    example(&folder, "demo");
    full(&folder, "overwritten", 1600..1664);
    let names = |name: &str| pages(&folder.path(name)).into_keys().collect::<Vec<_>>().join(" ");
    done(&folder, "coverage overwritten --format html -o a --by object");
    assert_eq!(
        names("a"),
        "coverage.jsonl file-0001.html functions.html index.html object.html runs.html violations.html"
    );
    let index = fs::read_to_string(folder.path("a/index.html")).unwrap();
    assert!(index.contains("may have been executed there, and is unknown"), "{index}");
    let rows = table(&index, "Totals of all files");
    assert!(rows.iter().all(|row| row[2] == "0") && rows[0][3] == "63", "{rows:?}");
    done(&folder, "coverage demo --save demo.runs");
    let older = "coverage overwritten --older demo.runs --format html -o b";
    done(&folder, older);
    let states = table(&pages(&folder.path("b"))["states.html"], "Functions since the older state");
    assert!(states.len() > 10 && states.iter().all(|row| row[2] == "unchanged"), "{states:?}");
    // A source text that is not found is not shown, and its lines are.
    let other = run(&folder, "coverage --load demo.runs --format html -o c");
    assert!(other.err.contains("--source-root"), "{}", other.err);
    let file = pages(&folder.path("c"))["file-0001.html"].clone();
    assert!(file.contains("The text is not shown"), "{file}");
    assert_eq!(table(&file, "Source lines").len(), 63);
    // A folder with files, a file that is read, and no folder.
    for (words, what) in [
        ("-o a", "not empty"),
        ("", "name it with --output"),
        ("-o -", "name it with --output"),
        ("-o demo.runs", "demo.runs"),
    ] {
        let refused = run(&folder, &format!("coverage demo --format html {words}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{words}");
        assert!(refused.err.contains(what), "{words}: {}", refused.err);
    }
    // Too little is covered: the pages are written, and the command exits with 1.
    let words = "coverage demo --format html -o d --fail-under 100";
    assert_eq!(run(&folder, words).code, Some(1));
    assert!(pages(&folder.path("d"))["index.html"].contains("not met</span>"));
}

/// Tests of `viewer/tests/coverage.mjs`: axe, the keyboard, columns, words.
#[test]
fn pages_in_a_browser() {
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    if tool(&[("node", "nodejs")]).is_none() || tool(&[("chromium", "chromium")]).is_none() {
        return;
    }
    if !viewer.join("node_modules/playwright-core").is_dir() {
        return skip("viewer has no packages: npm ci --ignore-scripts in viewer");
    }
    let folder = Folder::new("coverage-pages-browser");
    report(&folder);
    let mut tests = Command::new("node");
    tests.args(["tests/run.mjs", "coverage:"]).current_dir(&viewer);
    let output = tests.env("TRACEWRIGHT_PAGES", folder.path("pages")).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    assert!(text.matches("ok      coverage: ").count() >= 9, "{text}");
}
