//! Our listing beside the reference's, line by line.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::tools::Tools;

/// A listing on its way.
struct Listing {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Listing {
    fn of(mut command: Command) -> Result<Listing, String> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        Ok(Listing { child, lines: BufReader::new(output).lines() })
    }

    /// The next element. Packets are spelled otherwise from version to version; what they mean is what counts.
    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            if line.starts_with("Idx:") && line.contains("OCSD_GEN_TRC_ELEM_") {
                return Some(line.trim_end().to_owned());
            }
        }
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reference gives no indirect branch of T32 a condition: not one that an IT block makes conditional, not
/// even where it says that it was not taken.
fn known(theirs: Option<&str>, mine: Option<&str>) -> bool {
    let (Some(theirs), Some(mine)) = (theirs, mine) else { return false };
    let bare = mine.replace(" <cond>", "");
    mine.contains("(ISA=T32) ") && mine.contains(" iBR ") && bare != mine && bare == theirs
}

/// Listings that agree.
#[derive(Clone, Copy, Default)]
pub(super) struct Same {
    /// Elements that both have.
    pub(super) elements: u64,
    /// How many of them differ for a reason that is known.
    pub(super) explained: u64,
}

/// How many elements are the same, or the first that differs.
pub(super) fn compare(tools: &Tools, snapshot: &Path) -> Result<Result<Same, String>, String> {
    let mut reference = Listing::of(tools.reference(snapshot))?;
    let mut ours = Listing::of(tools.ours(snapshot))?;
    let mut same = Same::default();
    loop {
        let (theirs, mine) = (reference.next(), ours.next());
        if theirs.is_none() && mine.is_none() {
            let empty = same.elements == 0;
            return Ok(if empty { Err("the reference lists no element".into()) } else { Ok(same) });
        }
        let explained = theirs != mine;
        if explained && !known(theirs.as_deref(), mine.as_deref()) {
            let text = |line: Option<String>| line.unwrap_or_else(|| "(end)".into());
            return Ok(Err(format!(
                "element {} differs\n  reference {}\n  ours      {}",
                same.elements + 1,
                text(theirs),
                text(mine)
            )));
        }
        same.elements += 1;
        same.explained += u64::from(explained);
    }
}
