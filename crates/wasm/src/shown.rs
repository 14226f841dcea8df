//! The answers of the viewer.

use std::io::{self, Read};
use std::path::Path;

use tracewright::index::Index;
use tracewright_viewer::{Answers, Files, Served};

use crate::host;
use crate::opening::Opened;
use crate::reply::{Problem, Reply};

/// What answers the requests of the page.
pub(crate) struct Shown(Answers<'static>);

impl Shown {
    /// Answers about `opened` with its index.
    pub(crate) fn new(opened: &'static Opened, index: &'static Index) -> Result<Shown, Problem> {
        let read = |path: &Path, most: u64| {
            let bytes = opened.bytes(path).ok_or(io::ErrorKind::NotFound)?;
            if bytes.size() > most {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut all = Vec::new();
            bytes.reader().read_to_end(&mut all)?;
            Ok(all)
        };
        let files = Files {
            disk: opened.files.clone(),
            read: Box::leak(Box::new(read)),
            notes: &|| Ok(None),
            save: None,
            source_roots: opened.folders(),
            any_source: false,
        };
        let served = Served::new(&opened.trace, index, files);
        let mut served = served.map_err(|error| Problem::of(&error))?;
        served.notes = opened.lacks();
        if served.is_empty() {
            return Err(Problem::of(&"no buffer has a source that can be decoded"));
        }
        Ok(Shown(Answers::new(Box::leak(Box::new(served)))))
    }

    /// Answers a request of the page. The events of a search are output.
    pub(crate) fn answer(&mut self, route: &str, query: &str, body: Option<&[u8]>) -> Reply {
        if route == "find" {
            self.0.find(query, &mut |event| host::write(event.as_bytes()));
            return Reply { status: 200, body: Vec::new() };
        }
        let answer = self.0.answer(route, query, body);
        Reply { status: answer.status, body: answer.body }
    }
}
