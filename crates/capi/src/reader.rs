//! Elements on demand.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use tracewright::decode::{Session, Tally};

use crate::batch::Batch;
use crate::decode::TwCounts;
use crate::element::TwElement;
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared, used, Kind};
use crate::opened::{Opened, Shared, TwCapture};
use crate::plain;
use crate::run;
use crate::select::TwDecodeOptions;
use crate::status::{Failure, TwStatus, TW_END, TW_ERR_READ, TW_OK};

/// The elements of a capture, in parts that the client asks for.
pub struct TwReader(());

/// Bytes that are decoded at a time.
const CHUNK: usize = 1 << 12;

/// What the handle refers to.
struct Reader {
    opened: Arc<Opened>,
    element_size: usize,
    /// The plans of the buffers that follow, each with the number of its first source.
    waiting: VecDeque<(usize, usize)>,
    running: Option<Running>,
    batch: Batch,
    /// The elements of `batch` that were given to the client.
    given: usize,
    counts: TwCounts,
    /// Why nothing more can be read.
    failed: Option<String>,
}

/// The buffer that is being decoded.
struct Running {
    session: Session,
    bytes: Box<dyn Read + Send>,
    name: String,
    tally: Tally,
}

impl Kind for Reader {
    type Opaque = TwReader;
    const NAME: &'static str = "reader";
}

impl Reader {
    /// Decodes until there is an element. `false` at the end of the last buffer.
    fn advance(&mut self) -> Result<bool, Failure> {
        let mut space = [0; CHUNK];
        while self.given == self.batch.elements.len() {
            self.batch.elements.clear();
            self.given = 0;
            let Some(running) = &mut self.running else {
                let Some((number, first)) = self.waiting.pop_front() else { return Ok(false) };
                self.begin(number, first)?;
                continue;
            };
            let Running { session, bytes, name, tally } = running;
            let read = loop {
                match bytes.read(&mut space) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            let len = read.map_err(|error| run::unreadable(name, &error))?;
            let mut both = (&mut self.batch, &mut *tally);
            match space.get(..len) {
                Some(bytes) if len > 0 => session.feed(bytes, &mut both),
                _ => {
                    session.finish(&mut both);
                    self.counts.add(tally);
                    self.running = None;
                }
            }
        }
        Ok(true)
    }

    /// Begins with the buffer of plan `number`.
    fn begin(&mut self, number: usize, first: usize) -> Result<(), Failure> {
        let Some(plan) = self.opened.trace.plans().get(number) else { return Ok(()) };
        let Some(buffer) = self.opened.trace.capture().buffers.get(plan.buffer) else {
            return Ok(());
        };
        self.batch = Batch::new(first);
        self.running = Some(Running {
            session: run::session(&self.opened, plan)?,
            bytes: buffer.reader(),
            name: buffer.name.clone(),
            tally: Tally::default(),
        });
        Ok(())
    }
}

/// Makes a reader of the elements of all buffers, or of the one that `options` select. `options`
/// may be NULL; a part of a buffer is selected with `tw_decode` only.
#[no_mangle]
pub unsafe extern "C" fn tw_reader_new(
    capture: *const TwCapture,
    options: *const TwDecodeOptions,
    reader: *mut *mut TwReader,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(reader, "reader")?;
            plain::give(reader, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let selected = plain::read_or_zero(options, "options")?.selected(opened)?;
            if !selected.window.is_all() || selected.index.is_some() {
                let what = "a reader reads whole buffers; tw_decode selects parts of them";
                return Err(Failure::argument(what));
            }
            let wanted: Vec<usize> =
                run::plans(opened, &selected)?.iter().map(|(plan, _)| plan.buffer).collect();
            let numbered = opened.plans().enumerate();
            let waiting = numbered.filter(|(_, (plan, _))| wanted.contains(&plan.buffer));
            plain::give(
                reader,
                make(Reader {
                    opened: Arc::clone(opened),
                    element_size: selected.element_size,
                    waiting: waiting.map(|(number, (_, first))| (number, first)).collect(),
                    running: None,
                    batch: Batch::new(0),
                    given: 0,
                    counts: plain::zeroed(),
                    failed: None,
                }),
            );
            Ok(TW_OK)
        })
    }
}

/// Frees a reader.
#[no_mangle]
pub unsafe extern "C" fn tw_reader_free(
    reader: *mut *mut TwReader,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Reader>(reader)) }
}

/// Writes the next elements, at most `room`, to the array `elements`, and their number to `count`.
/// An element of the array has the size that the options of the reader state. Returns `TW_END`, and
/// a count of 0, at the end.
#[no_mangle]
pub unsafe extern "C" fn tw_reader_next(
    reader: *mut TwReader,
    elements: *mut TwElement,
    room: usize,
    count: *mut usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(count, "count")?;
            plain::give(count, 0);
            plain::not_null(elements, "elements")?;
            if room == 0 {
                return Err(Failure::argument("`room` is 0"));
            }
            let mut reader = used::<Reader>(reader)?;
            if let Some(text) = &reader.failed {
                return Err(Failure::new(TW_ERR_READ, text));
            }
            match reader.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(TW_END),
                Err(failure) => {
                    reader.failed = Some(failure.text.clone());
                    return Err(failure);
                }
            }
            let size = reader.element_size;
            let some = reader.batch.elements.get(reader.given..).unwrap_or_default();
            let some = some.get(..room).unwrap_or(some);
            for (n, element) in some.iter().enumerate() {
                plain::put(elements.cast::<u8>().add(n * size), size, element);
            }
            let given = some.len();
            reader.given += given;
            plain::give(count, given);
            Ok(TW_OK)
        })
    }
}

/// The counts of the buffers that were read to their end.
#[no_mangle]
pub unsafe extern "C" fn tw_reader_counts(
    reader: *mut TwReader,
    counts: *mut TwCounts,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let reader = used::<Reader>(reader)?;
            plain::write(counts, reader.counts, "counts")?;
            Ok(TW_OK)
        })
    }
}
