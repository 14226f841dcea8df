//! Our listing beside OpenCSD's, line by line.

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

    /// The next element. Packets are spelled otherwise from version to version; what they mean is
    /// what counts.
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

/// OpenCSD does not follow IT blocks: a T32 branch that only its IT block makes conditional has no
/// condition there, not even in a listing of the branch as not taken.
fn known(theirs: Option<&str>, mine: Option<&str>) -> bool {
    let (Some(theirs), Some(mine)) = (theirs, mine) else { return false };
    let bare = mine.replace(" <cond>", "");
    // 0xfffffffe reports a tail-chained exception. (M profile)
    let tail = theirs.replace("pref ret addr:0xfffffffe [addr also prev br tgt]; ", "");
    tail != theirs && tail == mine || mine.contains("(ISA=T32) ") && bare != mine && bare == theirs
}

/// An ETE has no packet for a return from an exception: the instruction is the only sign of it.
/// OpenCSD looks for A64's only.
fn only_ours(theirs: Option<&str>, mine: Option<&str>) -> bool {
    let returns = |line: Option<&str>| line.is_some_and(|line| line.contains("_EXCEPTION_RET()"));
    returns(mine) && !returns(theirs)
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
    let mut aarch32 = false;
    loop {
        let (theirs, mut mine) = (reference.next(), ours.next());
        if aarch32 && only_ours(theirs.as_deref(), mine.as_deref()) {
            same.explained += 1;
            mine = ours.next();
        }
        aarch32 = mine
            .as_deref()
            .is_some_and(|line| line.contains("(ISA=A32)") || line.contains("(ISA=T32)"));
        if theirs.is_none() && mine.is_none() {
            let empty = same.elements == 0;
            return Ok(if empty { Err("OpenCSD lists no element".into()) } else { Ok(same) });
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
