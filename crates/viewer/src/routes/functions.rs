//! `api/functions`: the functions that were executed.

use tracewright::analysis::stacks::FunctionId;
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered};
use crate::request::Request;
use crate::shown::{LONGEST, shown};
use crate::work::Worker;

pub(super) fn run(worker: &Worker<'_>, request: &Request) -> Answered {
    let buffer = worker.served_buffer(worker.buffer(request)?)?;
    let program = worker.served.program();
    let mut out = String::new();
    let functions = buffer.view.names().functions().iter().enumerate();
    Object::new(&mut out)
        .list("functions", functions, |(n, function), out| {
            let name = shown(&buffer.code.name(*function), LONGEST);
            let symbol = buffer.code.symbol(*function).map(|symbol| shown(symbol, LONGEST));
            let (address, module) = match function {
                FunctionId::Known(number) => {
                    let known = buffer.code.get(*number);
                    let module = known.and_then(|known| known.module.clone());
                    (known.map(|known| known.function.start), module)
                }
                FunctionId::At(address) => (Some(*address), None),
                FunctionId::Handler(_) | FunctionId::Unknown => (None, None),
            };
            // Addresses of a file that processes map are not those in memory.
            let place = address.filter(|_| module.is_none()).and_then(|at| program.at(at));
            Object::new(out)
                .number("id", n as u64)
                .text("name", &name)
                .maybe_text("symbol", symbol.as_deref().filter(|symbol| *symbol != name))
                .maybe_hex("address", address)
                .maybe_text("module", module.map(|path| shown(&path, LONGEST)).as_deref())
                .maybe_number("file", place.map(|(file, _)| file.into()))
                .maybe_number("line", place.map(|(_, line)| line.into()))
                .end();
        })
        .end();
    Ok(Answer::Json(out))
}
