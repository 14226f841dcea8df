//! The listings beside OpenCSD's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::options::Options;
use super::table::{Spread, table};
use super::tools::{Tools, size};
use crate::processor_time::timed;

const METHOD: &str = "\
Method. In each round, alternately: `trc_pkt_lister -ss_dir CAPTURE -decode -logfilename FILE`, and `tracewright LISTING --jobs 1 -o FILE CAPTURE` for \
each listing, to a file in the folder for temporary files or that of --output, and to /dev/null. Time is that of the processor, user and system, of the \
whole process, as bash's `time` measures it, the least of all rounds; the pages of a file are system time of the process. `MB/s` is that of the text into \
/dev/null. Ratios are made round by round: median (least to greatest). `text` is the size of Tracewright's listing. The lines of executed ranges of both \
listings in OpenCSD's words are compared.
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
    // The lister writes a file of its own where it is started.
    let output = options.output.as_ref().map_or_else(std::env::temp_dir, PathBuf::from);
    let works = |mut lister: Command| {
        lister.arg("-help").current_dir(&output).stdout(Stdio::null()).status().is_ok()
    };
    let lister = tools.library.lister().is_some_and(works);
    let _ = std::fs::remove_file(output.join("trc_pkt_lister.ppl"));
    let out = output.join(format!("tracewright-listing-{}", std::process::id()));
    let discarded = Path::new("/dev/null");
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
        let theirs = |out: &Path| {
            let Some(mut command) = tools.library.lister().filter(|_| lister) else {
                return Ok(None);
            };
            command.arg("-ss_dir").arg(&folder).args(["-decode", "-logfilename"]).arg(out);
            timed(&mut command).map(Some)
        };
        let mut measured = LISTINGS.map(Measured::of);
        let (mut its_file, mut its_discarded) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            // It appends.
            let _ = std::fs::remove_file(&out);
            let its = theirs(&out)?.map(|seconds| (seconds, lines(&out)));
            let nowhere = theirs(discarded)?;
            its_file.extend(its.map(|(seconds, _)| seconds));
            its_discarded.extend(nowhere);
            for one in &mut measured {
                let own = ours(one.listing, &out)?;
                one.text = std::fs::metadata(&out).map_or(0, |about| about.len());
                one.file.push(own, its.map(|(seconds, _)| seconds));
                one.discarded.push(ours(one.listing, discarded)?, nowhere);
                let Some((_, ranges)) = its else { continue };
                if one.listing == LISTINGS[0] {
                    agree &= same(input.name, lines(&out), ranges);
                }
            }
        }
        let _ = std::fs::remove_file(&out);
        tools.remove(&folder);
        for one in measured {
            let row = one.row(input.name, &its_file, &its_discarded);
            eprintln!("  {}", row.join("  "));
            rows.push(row);
        }
    }
    let head = [
        "input",
        "listing",
        "text MB",
        "seconds, file",
        "lister",
        "ratio",
        "seconds, /dev/null",
        "lister",
        "ratio",
        "MB/s",
    ];
    Ok((format!("\n{METHOD}\n{}", table(&head, &rows)), agree))
}

/// One listing of an input.
struct Measured {
    listing: &'static str,
    /// Its length in bytes.
    text: u64,
    /// To a file, and with the output discarded.
    file: Rounds,
    discarded: Rounds,
}

/// Processor seconds of each round, and the ratios of the lister's to them.
#[derive(Default)]
struct Rounds {
    seconds: Vec<f64>,
    ratios: Vec<f64>,
}

impl Rounds {
    fn push(&mut self, own: f64, its: Option<f64>) {
        self.seconds.push(own);
        self.ratios.extend(its.map(|its| its / own));
    }

    /// The seconds, those of the lister, and the ratio.
    fn columns(&self, lister: &[f64]) -> [String; 3] {
        let least = |all: &[f64]| {
            Spread::of(all).map_or("-".into(), |spread| format!("{:.3}", spread.least))
        };
        let ratio = Spread::of(&self.ratios).map_or("-".into(), Spread::text);
        [least(&self.seconds), least(lister), ratio]
    }
}

impl Measured {
    fn of(listing: &'static str) -> Self {
        Measured { listing, text: 0, file: Rounds::default(), discarded: Rounds::default() }
    }

    fn row(&self, input: &str, its_file: &[f64], its_discarded: &[f64]) -> Vec<String> {
        let least = Spread::of(&self.discarded.seconds).map_or(f64::NAN, |spread| spread.least);
        let megabytes = self.text as f64 / 1e6;
        let mut row = vec![input.to_owned(), self.listing.to_owned(), format!("{megabytes:.1}")];
        row.extend(self.file.columns(its_file));
        row.extend(self.discarded.columns(its_discarded));
        row.push(format!("{:.0}", megabytes / least));
        row
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
