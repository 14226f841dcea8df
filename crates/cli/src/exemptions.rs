//! Exemptions of `coverage --justify` and `--justify-comments`.

use std::collections::BTreeMap;

use tracewright::analysis::coverage::SourceFile;
use tracewright::analysis::exemptions::{Applied, Exemption, Use, apply, comments, read};
use tracewright::capture::read_regular;
use tracewright::views::exemptions as view;

use crate::args::CoverageArgs;
use crate::fail::Fail;
use crate::message;
use crate::sources::Sources;

/// The most bytes of a file of exemptions.
const MAX_FILE: u64 = 1 << 26;

/// The most notes on exemptions and comments.
const MAX_NOTES: usize = 32;

/// All exemptions, and what each of them exempts.
pub struct Exemptions {
    /// The exemptions.
    pub all: Vec<Exemption>,
    /// What each of them exempts.
    pub uses: Vec<Use>,
}

/// Exempts parts of the source files, if exemptions are wanted.
pub fn exempt(
    args: &CoverageArgs,
    sources: &mut BTreeMap<String, SourceFile>,
) -> Result<Option<Exemptions>, Fail> {
    if !args.justified.wanted() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for path in &args.justified.files {
        let bytes =
            read_regular(path, MAX_FILE).map_err(|why| Fail::input(path, &why.to_string()))?;
        let text = str::from_utf8(&bytes).map_err(|_| Fail::input(path, "not text"))?;
        let own = read(&path.to_string_lossy(), text);
        all.extend(own.map_err(|why| Fail::input(path, &why.to_string()))?);
    }
    let files = Sources::new(&args.source_roots);
    if args.justified.comments {
        all.extend(of_comments(sources, &files));
    }
    let text = |path: &str, source: &SourceFile| {
        files
            .read(path, source)
            .map(|(text, _)| text)
            .map_err(|why| format!("cannot read {path}: {why}; name its folder with --source-root"))
    };
    let Applied { uses, errors } = apply(sources, &all, text);
    files.refuse(args.outcome.output.as_deref())?;
    for (n, error) in errors.iter().take(MAX_NOTES) {
        if let Some(own) = all.get(*n) {
            let (origin, subject) = (view::origin(own), view::subject(own));
            message::line(&format!("{origin} ({subject}): {error}"));
        }
    }
    if !errors.is_empty() {
        return Err(Fail::text(&format!("exemptions that are not valid: {}", errors.len())));
    }
    let unused = all.iter().zip(&uses).filter_map(|(own, its)| Some((own, its.unused?)));
    let unused: Vec<_> = unused.collect();
    for (own, why) in unused.iter().take(MAX_NOTES) {
        let (origin, subject) = (view::origin(own), view::subject(own));
        message::line(&format!("note: {origin} ({subject}) exempts nothing: {why}"));
    }
    if unused.len() > MAX_NOTES {
        message::line(&format!("note: {} more exempt nothing", unused.len() - MAX_NOTES));
    }
    Ok(Some(Exemptions { all, uses }))
}

/// The exemptions in comments, with notes on comments that are wrong and on files that cannot be
/// read.
fn of_comments(sources: &BTreeMap<String, SourceFile>, files: &Sources<'_>) -> Vec<Exemption> {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    let mut missing = Vec::new();
    for (path, source) in sources {
        let Ok((text, _)) = files.read(path, source) else {
            missing.push(path.as_str());
            continue;
        };
        let (own, problems) = comments(path, &text, source);
        all.extend(own);
        notes.extend(problems.iter().map(|(line, what)| format!("note: {path}:{line}: {what}")));
    }
    for note in notes.iter().take(MAX_NOTES) {
        message::line(note);
    }
    if notes.len() > MAX_NOTES {
        message::line(&format!("note: {} more comments are wrong", notes.len() - MAX_NOTES));
    }
    if let Some(first) = missing.first() {
        message::line(&format!(
            "note: source files whose comments are not read: {}; the first is {first}; name their \
             folder with --source-root",
            missing.len()
        ));
    }
    all
}
