//! The elements of the installed library, 1.3.3, field by field: those of this library, but for
//! what [`difference`] has.

use crate::client::{compile, installed, library, output, run, text_of};
use crate::snapshots::scripts;

/// What is different in the elements of a snapshot. `releases.rs` shows which of it 1.8.0 has, too.
enum Difference {
    Nothing,
    /// 1.3.3 prints this line and nothing else.
    Only(&'static str),
    /// 1.3.3 has these lines in addition: `docs/differences-from-opencsd.md` has the reasons.
    More(&'static [&'static str]),
    /// 1.3.3 has this number of lines for missing memory again, with the offset of the exception
    /// that follows.
    Twice(usize),
    /// 1.3.3 has the second text where this library has the first: in this number of lines.
    Other(&'static str, &'static str, usize),
    /// The first line that differs has these texts.
    From(&'static str, &'static str),
}

fn difference(snapshot: &str) -> Difference {
    match snapshot {
        // It has no ITM: OCSD_ERR_DCDREG_NAME_UNKNOWN.
        "TC2" | "itm_only_raw" => Difference::Only("ITM: 40"),
        // Without program memory it has no response but a fatal one.
        "event_test" | "init-short-addr" => Difference::Only("FATAL 6"),
        "ete_ip" => Difference::More(&["range=0x1aa948:[0x1b37f4]"]),
        "ete_spec_2" => Difference::More(&["range=0x2709c:[0x270a0]"]),
        "q_elem" => Difference::More(&[
            "I_RANGE_NOPATH(first 0x6960c:[next 0x695c8]",
            "range=0x26ffc:[0x301c0]",
            "ADDR_NACC( 0x301c0 )",
            "range=0x270e0:[0x301c0]",
            "ADDR_NACC( 0x301c0 )",
        ]),
        "juno-uname-001" => Difference::Twice(13),
        "juno_r1_1" => Difference::Twice(3),
        // A VERSION packet sets the master to 0. (MIPI STPv2, "VERSION")
        "stm_only" => Difference::Other(
            "(Ma:0x00; Ch:0x00) 0x00000000; Freq) | {0 0}{20}",
            "(Ma:0x41; Ch:0x00) 0x00000000; Freq) | {41 0}{20}",
            6,
        ),
        // 551fffbf at 0x10275ec is RETAASPPC, of FEAT_PAuth_LR: it does not know the return.
        "pauth_lr" => Difference::Other(
            "exec range=0x10275d0:[0x10275f0] num_i(8) last_sz(4) (ISA=A64) E iBR A64:ret ) | \
             {2 10275d0 10275f0 8",
            "exec range=0x10275d0:[0x1027604] num_i(13) last_sz(4) (ISA=A64) E iBR A64:ret ) | \
             {2 10275d0 1027604 13",
            1,
        ),
        // f044 c003 at 0x1e0c4 is WLS, of Armv8.1-M: it does not know the branch, and the atoms
        // behind it belong to other branches.
        "armv8_1m_branches" => Difference::From(
            "range=0x1e0a6:[0x1e0c8] num_i(9)",
            "range=0x1e0a6:[0x1e0ca] num_i(10)",
        ),
        _ => Difference::Nothing,
    }
}

/// Whether 1.3.3 has the same elements of a snapshot.
pub fn is_the_same(snapshot: &str) -> bool {
    matches!(difference(snapshot), Difference::Nothing)
}

/// `line` without the memory space of missing memory, which 1.3.3 does not print.
pub fn without_space(line: &str) -> String {
    match line.split_once("; Memspace [") {
        Some((before, rest)) => {
            format!("{before}{}", rest.split_once(']').map_or("", |(_, after)| after))
        }
        None => line.to_owned(),
    }
}

#[test]
fn elements_are_those_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    if installed().is_none() {
        return;
    }
    for (name, script, _) in scripts() {
        if name == "bugfix-exact-match" {
            continue;
        }
        let args = [script.to_str().unwrap(), "elements", "4096", "0"];
        let own = output(run(&client, Some(library()), &args));
        let own: Vec<String> = own.lines().map(without_space).collect();
        let theirs = text_of(&run(&client, None, &args).stdout);
        let mut theirs: Vec<String> = theirs.lines().map(str::to_owned).collect();
        match difference(&name) {
            Difference::Nothing => {}
            Difference::Only(line) => {
                assert_eq!(theirs, [line], "{name}");
                continue;
            }
            Difference::More(lines) => {
                for line in lines {
                    let more = theirs.iter().rposition(|theirs| theirs.contains(line));
                    theirs.remove(more.unwrap_or_else(|| panic!("{name} {line}")));
                }
            }
            Difference::Twice(count) => {
                for _ in 0..count {
                    let both = own.iter().zip(&theirs);
                    let n = both.take_while(|(own, theirs)| own == theirs).count();
                    let [before, again, exception] =
                        [n - 1, n, n + 1].map(|n| theirs[n].split_once(';').unwrap());
                    assert!(again.1.contains("_ADDR_NACC(") && again.1 == before.1, "{name}");
                    assert!(exception.1.contains("_EXCEPTION(") && again.0 == exception.0);
                    theirs.remove(n);
                }
            }
            Difference::Other(here, there, count) => {
                let others = theirs.iter_mut().filter(|line| line.contains(there));
                let changed = others.map(|line| *line = line.replace(there, here)).count();
                assert_eq!(changed, count, "{name}");
            }
            Difference::From(here, there) => {
                let both = own.iter().zip(&theirs);
                let (here_line, there_line) =
                    both.clone().find(|(own, theirs)| own != theirs).unwrap();
                assert!(here_line.contains(here) && there_line.contains(there), "{name}");
                continue;
            }
        }
        let differs = own.iter().zip(&theirs).find(|(own, theirs)| own != theirs);
        assert_eq!(differs, None, "{name}");
        assert_eq!(own.len(), theirs.len(), "{name}");
    }
}
