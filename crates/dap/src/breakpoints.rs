//! Breakpoints of each kind: what is set, and whether it can be.

use serde_json::{Map, Value, json};
use tracewright::index::FindError;
use tracewright_replay::Watch;

use crate::address::{address, number};
use crate::breakpoint::{Breakpoint, Kind};
use crate::conditions::{Condition, HitCondition};
use crate::message::{Arguments, Refused, refused};
use crate::program::Line;
use crate::session::Session;

/// The most breakpoints of all kinds.
const MOST: usize = 1 << 12;

/// The most data breakpoints, each of which is a search.
const MOST_DATA: usize = 16;

impl Session<'_> {
    fn breakpoint(&mut self, kind: Kind, of: &Arguments) -> Result<Breakpoint, Refused> {
        self.breakpoints.last += 1;
        Ok(Breakpoint {
            id: self.breakpoints.last,
            kind,
            addresses: Vec::new(),
            watch: None,
            condition: None,
            hits: None,
            log: of.text("logMessage")?.filter(|text| !text.is_empty()).map(str::to_owned),
            message: None,
            line: None,
            count: None,
            place: None,
        })
    }

    /// Replaces the breakpoints of a kind. `place` states where each one is, or why nowhere.
    fn replace(
        &mut self,
        kind: &Kind,
        list: &[Arguments],
        mut place: impl FnMut(&mut Self, &Arguments, &mut Breakpoint) -> Result<(), Refused>,
    ) -> Result<Value, Refused> {
        let others = self.breakpoints.all.iter().filter(|one| one.kind != *kind).count();
        if others.saturating_add(list.len()) > MOST {
            return refused(format!("there are more than {MOST} breakpoints"));
        }
        let mut all = Vec::new();
        for of in list {
            let mut own = self.breakpoint(kind.clone(), of)?;
            match place(self, of, &mut own) {
                Ok(()) => {}
                Err(Refused::Why(why)) => own = own.cannot(why),
                Err(Refused::Failed(error @ FindError::Read(_))) => return Err(error.into()),
                Err(Refused::Failed(error)) => own = own.cannot(error.to_string()),
            }
            all.push(conditional(own, of)?);
        }
        self.breakpoints.all.retain(|one| one.kind != *kind);
        self.forget_work();
        let described: Vec<Value> = all.iter().map(|own| self.describe(own)).collect();
        for own in all {
            self.plan_work(&own);
            self.breakpoints.all.push(own);
        }
        Ok(json!({ "breakpoints": described }))
    }

    /// What describes a breakpoint to the client.
    pub(crate) fn describe(&self, own: &Breakpoint) -> Value {
        let mut body = Map::new();
        body.insert("id".into(), own.id.into());
        body.insert("verified".into(), own.is_verified().into());
        let count = own.count.map(|count| match count {
            0 => "never executed in the trace".to_owned(),
            1 => "executed once in the trace".to_owned(),
            count => format!("executed {count} times in the trace"),
        });
        let texts: Vec<String> = own.message.iter().cloned().chain(count).collect();
        if !texts.is_empty() {
            body.insert("message".into(), texts.join("; ").into());
        }
        if !own.is_verified() {
            body.insert("reason".into(), "failed".into());
        }
        if let Some(line) = own.line {
            body.insert("line".into(), self.client.line_out(line.line).into());
            body.insert("source".into(), self.sources.describe(&self.program, line.file));
        }
        if let [address, ..] = own.addresses.as_slice() {
            body.insert("instructionReference".into(), format!("{address:#x}").into());
        }
        Value::Object(body)
    }

    pub(crate) fn set_breakpoints(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let source = arguments.object("source")?;
        let files = self.sources.meant(&self.program, &source)?;
        let name = source.text("path")?.or(source.text("name")?).unwrap_or_default();
        let list = arguments.objects("breakpoints")?;
        self.replace(&Kind::Source(name.to_owned()), &list, |session, of, own| {
            let line = session.client.line_in(of.needed("line")?);
            session.place_at_line(&files, line, own)
        })
    }

    /// Places a breakpoint at a line, or at the next one of the file that has code.
    fn place_at_line(
        &mut self,
        files: &[usize],
        line: u32,
        own: &mut Breakpoint,
    ) -> Result<(), Refused> {
        if self.program.is_empty() {
            return refused(match self.program.is_mapped {
                true => "lines of programs that processes map have no fixed addresses",
                false => "no program of the capture has lines (DWARF)",
            });
        }
        if files.is_empty() {
            return refused("the program has no such source file");
        }
        let next = |file: &usize| {
            let lines = self.program.lines_of(*file);
            lines.into_iter().find(|own| *own >= line)
        };
        let nearest = files.iter().filter_map(next).min();
        let Some(nearest) = nearest else {
            return refused("no code was made of this line or a later one");
        };
        for &file in files {
            let found = self.program.addresses(Line { file, line: nearest });
            if !found.is_empty() {
                own.line.get_or_insert(Line { file, line: nearest });
                own.addresses.extend(found);
            }
        }
        own.addresses.sort_unstable();
        own.addresses.dedup();
        if nearest != line {
            own.message = Some(format!("no code was made of line {line}"));
        }
        Ok(())
    }

    pub(crate) fn set_function_breakpoints(
        &mut self,
        arguments: &Arguments,
    ) -> Result<Value, Refused> {
        let list = arguments.objects("breakpoints")?;
        self.replace(&Kind::Function, &list, |session, of, own| {
            let name = of.text("name")?.unwrap_or_default();
            own.addresses = session.function(name);
            if own.addresses.is_empty() {
                return refused(format!("no program has a function `{name}`"));
            }
            own.line = own
                .addresses
                .first()
                .and_then(|at| session.program.at(*at).row)
                .map(|row| row.line);
            Ok(())
        })
    }

    /// The addresses of the functions with a name, where they have fixed addresses.
    pub(crate) fn function(&self, name: &str) -> Vec<u64> {
        let code = self.machine.code();
        let named = |symbol: &str| tracewright::symbols::is_named(symbol, name);
        let known = code.functions().iter().filter(|known| known.module.is_none());
        let own = known.filter(|known| {
            !name.is_empty() && (known.function.name == name || named(&known.function.symbol))
        });
        let mut all: Vec<u64> = own.map(|known| known.function.start).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(crate) fn set_instruction_breakpoints(
        &mut self,
        arguments: &Arguments,
    ) -> Result<Value, Refused> {
        let list = arguments.objects("breakpoints")?;
        self.replace(&Kind::Instruction, &list, |session, of, own| {
            let reference = of.text("instructionReference")?.unwrap_or_default();
            let address = address(reference, of.integer("offset")?.unwrap_or(0))?;
            own.addresses = vec![address];
            own.line = session.program.at(address).row.map(|row| row.line);
            Ok(())
        })
    }

    pub(crate) fn set_data_breakpoints(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let list = arguments.objects("breakpoints")?;
        let mut count = 0;
        self.replace(&Kind::Data, &list, |session, of, own| {
            session.needs_accesses()?;
            count += 1;
            if count > MOST_DATA {
                return refused(format!("there are more than {MOST_DATA} data breakpoints"));
            }
            if of.text("hitCondition")?.is_some_and(|text| !text.trim().is_empty()) {
                return refused("accesses of data are not counted: use a condition");
            }
            let id = of.text("dataId")?.unwrap_or_default();
            let parts = id.split_once('+');
            let (Some(start), Some(size)) = (
                parts.and_then(|(start, _)| number(start)),
                parts.and_then(|(_, size)| number(size)).filter(|size| *size > 0),
            ) else {
                return refused(format!("`{id}` is not ADDRESS+SIZE"));
            };
            let Some(end) = start.checked_add(size) else { return refused("no such addresses") };
            let access = of.text("accessType")?.unwrap_or("write");
            let (reads, writes) = match access {
                "read" => (true, false),
                "write" => (false, true),
                "readWrite" => (true, true),
                other => return refused(format!("`{other}` is not a kind of access")),
            };
            own.watch = Some(Watch { addresses: start..end, reads, writes });
            Ok(())
        })
    }

    /// Fails where the trace has no data accesses whose instructions it states.
    pub(crate) fn needs_accesses(&mut self) -> Result<(), Refused> {
        match self.has_accesses()? {
            true => Ok(()),
            false => refused("the trace does not state data accesses and their instructions"),
        }
    }

    /// What a data breakpoint of a variable would watch.
    pub(crate) fn data_breakpoint_info(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let name = arguments.text("name")?.unwrap_or_default();
        let no = |why: String| Ok(json!({ "dataId": Value::Null, "description": why }));
        if let Err(Refused::Why(why)) = self.needs_accesses() {
            return no(why);
        }
        let bytes = arguments.count("bytes")?.map(|bytes| bytes as u64);
        let found = match arguments.flag("asAddress", false)? {
            true => number(name).map(|at| (at, bytes.unwrap_or(1))),
            false => self.objects.named(name).map(|own| (own.address, bytes.unwrap_or(own.size))),
        };
        match found.filter(|(_, size)| *size > 0) {
            None => no(format!("`{name}` is not a variable with an address and a size")),
            Some((start, size)) => Ok(json!({
                "dataId": format!("{start:#x}+{size}"),
                "description": format!("{name}, {size} bytes at {start:#x}"),
                "accessTypes": ["read", "write", "readWrite"],
                "canPersist": true,
            })),
        }
    }

    /// The addresses at which a run stops or looks at conditions.
    pub(crate) fn stopping_addresses(&self) -> Vec<u64> {
        let stops = |own: &&Breakpoint| {
            own.log.is_none() && !matches!(own.hits, Some(HitCondition::Equal(_)))
        };
        let all = self.breakpoints.all.iter().filter(stops);
        let mut all: Vec<u64> = all.flat_map(|own| own.addresses.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Adds the condition and the number of hits.
fn conditional(mut own: Breakpoint, of: &Arguments) -> Result<Breakpoint, Refused> {
    let text = |name: &str| Ok::<_, Refused>(of.text(name)?.filter(|text| !text.trim().is_empty()));
    if let Some(text) = text("condition")? {
        match Condition::parse(text) {
            Ok(condition) if condition.is_of_access() && own.kind != Kind::Data => {
                return Ok(own.cannot("`value` is that of an access, at a data breakpoint"));
            }
            Ok(condition) => own.condition = Some(condition),
            Err(why) => return Ok(own.cannot(why.to_string())),
        }
    }
    if own.kind == Kind::Data {
        return Ok(own);
    }
    if let Some(text) = text("hitCondition")? {
        match HitCondition::parse(text) {
            Ok(hits) => own.hits = Some(hits),
            Err(why) => return Ok(own.cannot(why.to_string())),
        }
        if own.condition.is_some() {
            return Ok(own.cannot("a number of executions and a condition do not go together"));
        }
    }
    Ok(own)
}
