//! The lines that may differ.

/// One known difference.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// `SNAPSHOT.KIND`.
    pub run: String,
    pub change: Change,
}

/// How the lines at one place begin.
#[derive(Clone, Debug)]
pub struct Change {
    /// OpenCSD's line; empty where the line is ours alone.
    pub reference: Option<String>,
    /// Our line; empty where the line is OpenCSD's alone.
    pub ours: Option<String>,
}

/// Reads `differences.txt`: after a line `run NAME`, in the order of the listing, `- ` and how the
/// reference's line begins, and `+ ` and how ours begins. A `+` after a `-` replaces it.
pub fn read() -> Vec<Allowed> {
    let text = include_str!("differences.txt");
    let mut all: Vec<Allowed> = Vec::new();
    let mut run = String::new();
    let mut removed = false;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').expect("a word and a line");
        let start = rest.to_owned();
        match word {
            "run" => run = start,
            "-" => {
                let change = Change { reference: Some(start), ours: None };
                all.push(Allowed { run: run.clone(), change });
            }
            "+" if removed => {
                if let Some(last) = all.last_mut() {
                    last.change.ours = Some(start);
                }
            }
            "+" => {
                let change = Change { reference: None, ours: Some(start) };
                all.push(Allowed { run: run.clone(), change });
            }
            _ => panic!("differences.txt: {line}"),
        }
        removed = word == "-";
    }
    all
}
