//! Recordings of the levels of a trace port by a logic analyser or a simulator.
//!
//! | form | detected by |
//! |---|---|
//! | `.sr` of sigrok (`sigrok`) | the first bytes, those of a ZIP archive |
//! | Value Change Dump, IEEE 1364 (`vcd`) | anything else |
//!
//! The signals are sampled at the edges of TRACECLK. Those of an ETMv1 or ETMv2 become the records
//! of its cycles, others the bytes that the port sent. (IHI 0014, 2.10 and 8.2)

mod port;
mod signals;
mod sigrok;
mod swo;
mod vcd;
pub(crate) mod zip;

use std::path::Path;

use tracewright_frames::cycles::port::Wiring;
use tracewright_units::etm::connector::Pinout;

use crate::Bytes;
use crate::buffer::Buffer;
use crate::capture::Capture;
use crate::limits::MAX_LEVELS;
use crate::problem::{OpenError, Problem};

pub use self::swo::{
    BitOrder, Coding, Packed, SwoOptions, SwoRecording, may_be_levels, packed_swo, read_swo,
    sample_swo,
};

use self::port::Port;
use self::signals::Signals;

/// What the recorded port sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Bytes: the port of an ETMv3 or a TPIU. Both edges of TRACECLK are active.
    Bytes,
    /// The cycles of an ETMv1 or ETMv2.
    Cycles(Wiring),
}

/// The names of the signals in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Signals with other names: `TRACECLK=D0`.
    pub signals: Vec<String>,
    /// The signals have the names of the pins of this connector: `PIN6` is TRACECLK.
    pub connector: Option<Connector>,
}

/// The connectors of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// One connector.
    One(Pinout),
    /// Two: the second one has TRACEDATA\[31:16] of an ETMv3 (IHI 0014, Table 8-5), or the older
    /// cycle of a demultiplexed port (8.2.5). Its pins are `PIN1_2` to `PIN38_2`.
    Two,
}

/// Replaces the first buffer of `capture`, a recording of levels, with what the port sent.
///
/// # Errors
/// [`OpenError`] where the file is no recording of the signals of such a port, or a limit is
/// exceeded.
pub fn sample(
    capture: &mut Capture,
    path: &Path,
    sends: Sends,
    names: &Names,
) -> Result<(), OpenError> {
    let problem = |why: String| OpenError::new(path, Problem::Levels(why));
    let Some(buffer) = capture.buffers.first_mut() else { return Ok(()) };
    let [file] = buffer.files.as_slice() else { return Ok(()) };
    if file.pipe.is_some() {
        return Err(problem("it is a pipe; write the recording to a file".to_owned()));
    }
    let bytes = file.bytes.clone();
    let bytes = read(&bytes, sends, names).map_err(problem)?;
    *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    Ok(())
}

/// What the port sent.
fn read(file: &Bytes, sends: Sends, names: &Names) -> Result<Vec<u8>, String> {
    if file.size() > MAX_LEVELS {
        return Err(format!("it has {} bytes, more than the limit of {MAX_LEVELS}", file.len()));
    }
    let mut signals = Signals::new(sends, names)?;
    let mut port = Port::new(sends);
    if *file.head(zip::MAGIC.len()) == zip::MAGIC {
        sigrok::read(file, &mut signals, &mut port)?;
    } else {
        vcd::read(file.reader(), &mut signals, &mut port)?;
    }
    Ok(port.bytes)
}
