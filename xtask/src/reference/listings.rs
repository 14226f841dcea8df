//! The listing beside OpenCSD's.

use std::path::Path;
use std::process::{Command, Stdio};

use super::options::Options;
use super::table::{Spread, table};
use super::tools::{Tools, size};

const METHOD: &str = "\
Method. In each round, alternately: `trc_pkt_lister -ss_dir CAPTURE -decode -logfilename FILE`, Debian's, and `tracewright decode --packets --format opencsd \
--jobs 1 -o FILE CAPTURE`, to a file in memory (/dev/shm where there is one). Time is that of the processor, user and system, of the whole process, as \
bash's `time` measures it. Ratios are made round by round: median (least to \
greatest). `text` is the size of Tracewright's listing. It is in the words of version 1.8.0, which differ a little from 1.3.3's, but not in the lines of \
executed ranges: those are compared.
";

/// The inputs, in hundredths of a MB: listings are 250 times as long as the trace.
const INPUTS: [(&str, usize); 4] =
    [("bugfix-exact-match", 100), ("calls", 100), ("tc2-ptm-rstk-t32", 100), ("juno_r1_1", 100)];

/// Measures. Answers with the text, and whether all lines of ranges are the same.
pub(super) fn measure(tools: &Tools, options: &Options) -> Result<(String, bool), String> {
    let shm = Path::new("/dev/shm");
    // It writes a file of its own where it is started.
    let offset = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let lister = Command::new("trc_pkt_lister")
        .arg("-help")
        .current_dir(&offset)
        .stdout(Stdio::null())
        .status()
        .is_ok();
    let _ = std::fs::remove_file(offset.join("trc_pkt_lister.ppl"));
    let out = offset.join(format!("tracewright-listing-{}", std::process::id()));
    if !lister {
        eprintln!(
            "note: trc_pkt_lister is not installed; on Debian: apt-get install libopencsd-bin"
        );
    }
    let (mut rows, mut agree) = (Vec::new(), true);
    for mut input in tools.list(options)? {
        let Some((_, hundredths)) = INPUTS.iter().find(|(name, _)| *name == input.name) else {
            continue;
        };
        input.mb = 1;
        let folder = tools.write(&input, size(&input, options) * hundredths / 100)?;
        let ours = |format: &str| {
            let mut command = Command::new(&tools.tracewright);
            command.args(["decode", "--jobs", "1", "--format", format, "-o"]).arg(&out);
            if format == "opencsd" {
                command.arg("--packets");
            }
            command.arg(&folder);
            timed(&mut command)
        };
        let theirs = || {
            let mut command = Command::new("trc_pkt_lister");
            command.arg("-ss_dir").arg(&folder).arg("-decode").arg("-logfilename").arg(&out);
            timed(&mut command)
        };
        let (mut seconds, mut reference, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut text = 0;
        for _ in 0..options.rounds {
            let own = ours("opencsd")?;
            let mine = lines(&out);
            text = std::fs::metadata(&out).map_or(0, |about| about.len());
            seconds.push(own);
            if lister {
                // It appends.
                let _ = std::fs::remove_file(&out);
                let its = theirs()?;
                agree &= same(input.name, mine, lines(&out));
                reference.push(its);
                ratios.push(its / own);
            }
        }
        let _ = std::fs::remove_file(&out);
        tools.remove(&folder);
        let least = |all: &[f64]| Spread::of(all).map(|spread| spread.least);
        let own = least(&seconds).unwrap_or(f64::NAN);
        let row = vec![
            input.name.to_owned(),
            format!("{:.1}", text as f64 / 1e6),
            format!("{own:.3}"),
            format!("{:.0}", text as f64 / 1e6 / own),
            least(&reference).map_or("-".into(), |s| format!("{s:.3}")),
            Spread::of(&ratios).map_or("-".into(), Spread::text),
        ];
        eprintln!("  {}", row.join("  "));
        rows.push(row);
    }
    let head = ["input", "text MB", "seconds", "MB/s of text", "lister seconds", "ratio"];
    Ok((format!("\n{METHOD}\n{}", table(&head, &rows)), agree))
}

/// How many lines of ranges a listing has, and a checksum of them.
fn lines(path: &Path) -> (u64, u64) {
    let text = std::fs::read(path).unwrap_or_default();
    let mut found = (0, 0u64);
    // `Idx:`, `ID:`, and then the words.
    let is_range = |line: &&[u8]| {
        let words = line.splitn(3, |&byte| byte == b' ').nth(2);
        words.is_some_and(|words| words.starts_with(b"OCSD_GEN_TRC_ELEM_INSTR_RANGE("))
    };
    let ranges = text.split(|&byte| byte == b'\n').filter(is_range);
    for line in ranges {
        found.0 += 1;
        // FNV-1a.
        let hash = line.trim_ascii_end().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        found.1 = found.1.wrapping_mul(31).wrapping_add(hash);
    }
    found
}

fn same(name: &str, ours: (u64, u64), theirs: (u64, u64)) -> bool {
    if ours != theirs {
        eprintln!("{name}: the listings differ: {} lines here, {} there", ours.0, theirs.0);
    }
    ours == theirs
}

/// Processor seconds of a program: the shell's `time` has those of its children.
fn timed(command: &mut Command) -> Result<f64, String> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='processor %U %S'; time \"$0\" \"$@\" >/dev/null 2>&1"]);
    shell.arg(command.get_program()).args(command.get_args());
    let output = shell.output().map_err(|error| format!("bash: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let line = words.lines().rfind(|line| line.starts_with("processor ")).unwrap_or_default();
    let times = line.split_whitespace().skip(1).filter_map(|word| word.parse::<f64>().ok());
    let seconds: f64 = times.sum();
    if seconds > 0.0 { Ok(seconds) } else { Err(format!("no time of {command:?}: {words}")) }
}
