//! `tracewright dap`

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use clap::Parser;
use tracewright_dap::{Connection, Handshake, Launch, Port, Replayed, Session, SourceFiles};

use super::gdb::{open, with_machine};
use crate::args::{DapArgs, Launched, ReplayArgs};
use crate::exported;
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::message;

/// The source files of this machine.
struct Disk;

impl SourceFiles for Disk {
    fn exists(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = std::fs::OpenOptions::new().read(true).open(path)?;
        limited(file, most, &mut bytes)?;
        Ok(bytes)
    }
}

/// Reads a file of at most `most` bytes.
fn limited(file: File, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    file.take(most.saturating_add(1)).read_to_end(bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long")),
        false => Ok(()),
    }
}

/// Runs the verb.
pub fn run(args: &DapArgs) -> Result<bool, Fail> {
    match args.port {
        None => {
            if io::stdin().is_terminal() {
                message::line("note: this is for editors: docs/debugger.md has configurations");
            }
            let connection = Connection::new(io::stdin(), io::stdout()).map_err(ended)?;
            serve(args, connection)?;
        }
        Some(number) => {
            let failed = |error| Fail::text(&format!("port {number} cannot be opened: {error}"));
            let port = Port::open(number).map_err(failed)?;
            let address = port.address().map_err(failed)?;
            // Programs read the address from the first line.
            let mut out = io::stdout();
            writeln!(out, "{address}").and_then(|()| out.flush()).map_err(ended)?;
            serve(args, port.accept().map_err(ended)?)?;
        }
    }
    Ok(true)
}

fn ended(error: io::Error) -> Fail {
    Fail::text(&format!("the connection to the editor ended: {error}"))
}

/// Answers a client: a launch that fails may be followed by another one.
fn serve<W: Write>(args: &DapArgs, mut connection: Connection<W>) -> Result<(), Fail> {
    let mut handshake = Handshake::default();
    while let Some(launch) = connection.launch(&mut handshake).map_err(ended)? {
        match replay(args, &launch, &mut connection, &mut handshake) {
            Ok(true) => return Ok(()),
            // The failure is among the messages.
            Ok(false) => {}
            Err(fail) => handshake.fail(&launch, &fail.to_string()),
        }
        connection.flush(&mut handshake).map_err(ended)?;
    }
    Ok(())
}

/// The options that a launch selects.
fn selected(args: &DapArgs, launch: &Launch) -> Result<ReplayArgs, Fail> {
    let Some(capture) = launch.capture.as_ref().or(args.input.as_ref()) else {
        return Err(Fail::text("the configuration has no `capture`"));
    };
    let mut words: Vec<OsString> = vec!["arguments".into(), capture.into()];
    for program in &launch.programs {
        words.extend(["--image".into(), program.into()]);
    }
    words.extend(launch.arguments.iter().map(OsString::from));
    let launched = Launched::try_parse_from(words);
    launched.map(|launched| launched.replay).map_err(|error| Fail::text(&error.to_string()))
}

/// Replays what a client has launched. `false` where the launch has failed.
fn replay<W: Write>(
    args: &DapArgs,
    launch: &Launch,
    connection: &mut Connection<W>,
    handshake: &mut Handshake,
) -> Result<bool, Fail> {
    let selected = selected(args, launch)?;
    let input = open(&selected)?;
    let index = match exported::with_view(&input, &selected.index, &[])? {
        Some(index) => index,
        None => made(&input, &selected, connection, handshake)?,
    };
    with_machine(&input, &index, |machine, job, _| {
        let subject = input.trace.subject();
        let replayed = Replayed { machine, subject, plan: job.plan, index: &index, files: &Disk };
        let session = Session::new(replayed, launch, handshake, connection.control());
        let session = session.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
        let Some(mut session) = session else { return Ok(false) };
        connection.serve(&mut session).map_err(ended)?;
        Ok(true)
    })
}

/// Makes an index, and states that.
fn made<W: Write>(
    input: &Input,
    selected: &ReplayArgs,
    connection: &mut Connection<W>,
    handshake: &mut Handshake,
) -> Result<tracewright::index::Index, Fail> {
    handshake.progress(Some(0));
    connection.flush(handshake).map_err(ended)?;
    let jobs = selected.threads.jobs().count;
    let made = exported::make(input, &index::plans(input), &[], jobs);
    handshake.progress(None);
    connection.flush(handshake).map_err(ended)?;
    made
}
