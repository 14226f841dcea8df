//! The listings beside OpenCSD's.

use std::path::Path;
use std::process::{Command, Stdio};

use super::options::Options;
use super::table::{Spread, table};
use super::tools::{Tools, size};
use crate::processor_time::timed;

const METHOD: &str = "\
Method. In each round, alternately: `trc_pkt_lister -ss_dir CAPTURE -decode -logfilename FILE`, and `tracewright LISTING --jobs 1 -o FILE CAPTURE` for \
each listing, to a file in memory (/dev/shm where there is one). Time is that of the processor, user and system, of the whole process, as bash's `time` \
measures it; `MB/s` is that of the text into /dev/null, without the time for a file's pages. Ratios are made round by round: median (least \
to greatest). `text` is the size of Tracewright's listing. The lines of executed ranges of both listings in OpenCSD's words are compared.
";

/// The inputs, in hundredths of a MB: listings are 250 times as long as the trace.
const INPUTS: [(&str, usize); 7] = [
    ("bugfix-exact-match", 100),
    ("calls", 100),
    ("large", 100),
    ("tc2-ptm-rstk-t32", 100),
    ("juno_r1_1", 100),
    ("Snowball", 100),
    ("TC2", 100),
];

/// The listings. The first has the lister's own words.
const LISTINGS: [&str; 5] = [
    "decode --packets --format opencsd",
    "decode --format text",
    "instructions --format text",
    "instructions --format json",
    "instructions --format pc",
];

/// Measures. Answers with the text, and whether all lines of ranges are the same.
pub(super) fn measure(tools: &Tools, options: &Options) -> Result<(String, bool), String> {
    let shm = Path::new("/dev/shm");
    // The lister writes a file of its own where it is started.
    let offset = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let works = |mut lister: Command| {
        lister.arg("-help").current_dir(&offset).stdout(Stdio::null()).status().is_ok()
    };
    let lister = tools.library.lister().is_some_and(works);
    let _ = std::fs::remove_file(offset.join("trc_pkt_lister.ppl"));
    let out = offset.join(format!("tracewright-listing-{}", std::process::id()));
    if !lister {
        eprintln!(
            "note: there is no trc_pkt_lister; on Debian: apt-get install libopencsd-bin; in a source \
             tree of OpenCSD: make in decoder/build/linux"
        );
    }
    let (mut rows, mut agree) = (Vec::new(), true);
    for mut input in tools.list(options)? {
        let Some((_, hundredths)) = INPUTS.iter().find(|(name, _)| *name == input.name) else {
            continue;
        };
        input.mb = 1;
        let folder = tools.write(&input, size(&input, options) * hundredths / 100)?;
        let ours = |listing: &str, out: &Path| {
            let mut command = Command::new(&tools.tracewright);
            command.args(listing.split(' ')).args(["--jobs", "1", "-o"]).arg(out).arg(&folder);
            timed(&mut command)
        };
        let mut measured = LISTINGS.map(Measured::of);
        let mut reference = Vec::new();
        for _ in 0..options.rounds {
            let its = match tools.library.lister().filter(|_| lister) {
                Some(mut command) => {
                    // It appends.
                    let _ = std::fs::remove_file(&out);
                    command
                        .arg("-ss_dir")
                        .arg(&folder)
                        .arg("-decode")
                        .arg("-logfilename")
                        .arg(&out);
                    Some((timed(&mut command)?, lines(&out)))
                }
                None => None,
            };
            reference.extend(its.map(|(seconds, _)| seconds));
            for one in &mut measured {
                let own = ours(one.listing, &out)?;
                one.text = std::fs::metadata(&out).map_or(0, |about| about.len());
                one.seconds.push(own);
                one.user.push(ours(one.listing, Path::new("/dev/null"))?);
                let Some((seconds, ranges)) = its else { continue };
                one.ratios.push(seconds / own);
                if one.listing == LISTINGS[0] {
                    agree &= same(input.name, lines(&out), ranges);
                }
            }
        }
        let _ = std::fs::remove_file(&out);
        tools.remove(&folder);
        for one in measured {
            let row = one.row(input.name, &reference);
            eprintln!("  {}", row.join("  "));
            rows.push(row);
        }
    }
    let head = ["input", "listing", "text MB", "seconds", "MB/s", "lister seconds", "ratio"];
    Ok((format!("\n{METHOD}\n{}", table(&head, &rows)), agree))
}

/// One listing of an input.
struct Measured {
    listing: &'static str,
    /// Its length in bytes.
    text: u64,
    /// Processor seconds, to a file in memory, and with the output discarded.
    seconds: Vec<f64>,
    user: Vec<f64>,
    ratios: Vec<f64>,
}

impl Measured {
    fn of(listing: &'static str) -> Self {
        let (seconds, user, ratios) = (Vec::new(), Vec::new(), Vec::new());
        Measured { listing, text: 0, seconds, user, ratios }
    }

    fn row(&self, input: &str, reference: &[f64]) -> Vec<String> {
        let least = |all: &[f64]| Spread::of(all).map_or(f64::NAN, |spread| spread.least);
        let megabytes = self.text as f64 / 1e6;
        vec![
            input.to_owned(),
            self.listing.to_owned(),
            format!("{megabytes:.1}"),
            format!("{:.3}", least(&self.seconds)),
            format!("{:.0}", megabytes / least(&self.user)),
            Spread::of(reference).map_or("-".into(), |spread| format!("{:.3}", spread.least)),
            Spread::of(&self.ratios).map_or("-".into(), Spread::text),
        ]
    }
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
