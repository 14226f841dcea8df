//! Cost and memory against size.

use std::process::Command;

use super::inputs::MB;
use super::options::Options;
use super::table::table;
use super::tools::{Tools, watched};

const METHOD: &str = "\
Method. The same input in five sizes. Time: the least processor time of three passes of `tracewright bench --jobs 1`. Memory: the most that was seen \
of `tracewright decode --format none --jobs 1`, asked every 2 ms (`/proc/PID/status`): `own` is memory without mapped files (RssAnon), `all` has the \
mapped pages of the trace and of the program, too (VmHWM), which the system takes back when it needs them. `reference own` is the same of the driver, \
which maps the trace, too.
";

/// The sizes in MB.
const SIZES: [usize; 5] = [1, 4, 16, 64, 256];
/// OpenCSD is not asked to decode more MB than this.
const PATIENCE: usize = 16;
/// The inputs, where no others are named.
const INPUTS: [&str; 2] = ["bugfix-exact-match", "large"];

/// Measures all sizes.
pub(super) fn measure(tools: &Tools, options: &Options) -> Result<String, String> {
    let mut rows = Vec::new();
    let list = tools.list(options)?;
    let wanted = |name: &str| !options.only.is_empty() || INPUTS.contains(&name);
    for input in list.iter().filter(|input| wanted(input.name)) {
        for mb in SIZES {
            let folder = tools.write(input, mb * MB)?;
            let row = tools.bench(&folder, 3)?;
            let mut decode = Command::new(&tools.tracewright);
            decode.args(["decode", "--format", "none", "--jobs", "1"]).arg(&folder);
            let used = watched(&mut decode)?;
            let reference = match &tools.driver {
                Ok(driver) if mb <= PATIENCE => {
                    let job = folder.join("reference/reference.job");
                    watched(Command::new(driver).arg(job).args(["1", "files"])).map(Some)?
                }
                _ => None,
            };
            tools.remove(&folder);
            let (seconds, megabytes) =
                (row.least(), |bytes: u64| format!("{:.1}", bytes as f64 / 1e6));
            let line = vec![
                input.name.to_owned(),
                mb.to_string(),
                format!("{seconds:.4}"),
                format!("{:.1}", row.bytes as f64 / 1e6 / seconds),
                format!("{:.2}", 1e9 * seconds / row.ranges.max(1) as f64),
                megabytes(used.own),
                megabytes(used.all),
                reference.map_or("-".into(), |used| megabytes(used.own)),
            ];
            eprintln!("  {}", line.join("  "));
            rows.push(line);
        }
    }
    let head =
        ["input", "MB", "seconds", "MB/s", "ns/range", "own MB", "all MB", "reference own MB"];
    Ok(format!("\n{METHOD}\n{}", table(&head, &rows)))
}
