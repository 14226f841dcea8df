//! `tracewright gdbserver` and `tracewright gdb`

mod launch;

use std::io::{self, IsTerminal, Write};

use tracewright::index::Index;
use tracewright::index::view::View;
use tracewright_gdb::{Port, Server};
use tracewright_replay::Machine;

pub use launch::run;

use crate::args::{GdbserverArgs, ReplayArgs, ShownArgs};
use crate::exported;
use crate::fail::Fail;
use crate::index;
use crate::input::{Input, Job};
use crate::message;
use crate::report;

/// Runs `gdbserver`.
pub fn serve(args: &GdbserverArgs) -> Result<bool, Fail> {
    let input = open(&args.shown.replay)?;
    let ended = |error: io::Error| Fail::text(&format!("the connection to gdb ended: {error}"));
    with_server(&input, &args.shown, |server| match args.port {
        None => {
            if io::stdin().is_terminal() {
                message::line(
                    "note: this is for gdb: use `tracewright gdb`, or in gdb `target remote | \
                     tracewright gdbserver ...`",
                );
            }
            tracewright_gdb::serve(server, io::stdin(), &mut io::stdout()).map_err(ended)
        }
        Some(number) => {
            let failed = |error| Fail::text(&format!("port {number} cannot be opened: {error}"));
            let port = Port::open(number).map_err(failed)?;
            let address = port.address().map_err(failed)?;
            // Programs read the address from the first line.
            let mut out = io::stdout();
            writeln!(out, "{address}").and_then(|()| out.flush()).map_err(ended)?;
            port.serve(server).map_err(ended)
        }
    })?;
    Ok(true)
}

/// Opens a capture that can be replayed.
pub fn open(args: &ReplayArgs) -> Result<Input, Fail> {
    if args.how.committed {
        return Err(Fail::text("--committed is not for a debugger: all elements are replayed"));
    }
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(false)?;
    input.decodable()?;
    if index::is_piped(&input) {
        return Err(Fail::input(&input.path, "a pipe cannot be replayed; write it to a file"));
    }
    Ok(input)
}

/// Calls `serve` with a server of the first buffer that has instructions.
fn with_server(
    input: &Input,
    args: &ShownArgs,
    serve: impl FnOnce(&mut Server<'_>) -> Result<(), Fail>,
) -> Result<(), Fail> {
    let ReplayArgs { index, threads, .. } = &args.replay;
    let index = match exported::with_view(input, index, &[])? {
        Some(index) => index,
        None => exported::make(input, &index::plans(input), &[], threads.jobs().count)?,
    };
    with_machine(input, &index, |machine, job, is_last| {
        if !is_last {
            message::line(&format!(
                "note: buffer {} is replayed; --source names another one",
                job.buffer.name
            ));
        }
        let mut server = Server::new(machine, input.capture());
        if let Some(place) = &args.at {
            let place = server.go(place);
            let place = place.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
            place.map_err(|why| Fail::option("--at", "", why.trim_end()))?;
        }
        serve(&mut server)
    })
}

/// Calls `use_it` with the first buffer that has instructions, and whether it is the last one.
pub fn with_machine<T>(
    input: &Input,
    index: &Index,
    use_it: impl FnOnce(Machine<'_>, &Job<'_>, bool) -> Result<T, Fail>,
) -> Result<T, Fail> {
    let failed = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
    for (n, &number) in input.buffers.iter().enumerate() {
        let job = input.job(number);
        let Some(buffer) = index.buffer(job.plan.buffer) else { continue };
        let Some(view) = View::new(index, buffer).map_err(|error| failed(&error))? else {
            continue;
        };
        let machine = Machine::new(input.trace.subject(), job.plan, index, &view, &[]);
        let Some(machine) = machine.map_err(|error| failed(&error))? else { continue };
        return use_it(machine, &job, n + 1 == input.buffers.len());
    }
    Err(failed(&"no instruction was traced; `tracewright decode` states what lacks"))
}
