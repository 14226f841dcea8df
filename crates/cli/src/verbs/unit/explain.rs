//! `tracewright unit explain` and `tracewright unit lint`

use std::fmt::Write as _;

use tracewright::units::finding::Finding;
use tracewright::units::unit::View;
use tracewright::views::json::{self, Object};

use super::finding;
use super::subject::{self, Subject};
use crate::args::{InfoFormat, UnitExplainArgs};
use crate::fail::Fail;
use crate::output::Output;

/// Explains registers field by field, and the program in sentences.
pub fn explain(args: &UnitExplainArgs) -> Result<bool, Fail> {
    let subjects = subject::read(&args.what)?;
    let mut output = Output::standard()?;
    if args.format == InfoFormat::Json {
        output.json(&json::head("unit explain"))?;
    }
    for subject in &subjects {
        match args.format {
            InfoFormat::Text => output.print(&text(subject))?,
            InfoFormat::Json => output.json(&json_lines(subject))?,
        }
    }
    output.close()?;
    Ok(true)
}

/// Checks registers.
pub fn lint(args: &UnitExplainArgs) -> Result<bool, Fail> {
    let subjects = subject::read(&args.what)?;
    let mut output = Output::standard()?;
    if args.format == InfoFormat::Json {
        output.json(&json::head("unit lint"))?;
    }
    let mut good = true;
    for subject in &subjects {
        let findings = subject.unit.lint(&subject.values);
        good &= !findings.iter().any(Finding::is_error);
        let mut text = String::new();
        match args.format {
            InfoFormat::Text => {
                text += &title(subject);
                for finding in &findings {
                    let _ = writeln!(text, "  {finding}");
                }
                if findings.is_empty() {
                    text += "  no finding\n";
                }
                output.print(&text)?;
            }
            InfoFormat::Json => {
                findings.iter().for_each(|f| finding::line(&subject.label, f, &mut text));
                output.json(&text)?;
            }
        }
    }
    output.close()?;
    Ok(good)
}

/// The line that names the unit.
fn title(subject: &Subject) -> String {
    match subject.label.as_str() {
        "" => format!("{}\n", subject.unit.name()),
        label => format!("{label}: {}\n", subject.unit.name()),
    }
}

/// The registers with known values, in the order of the unit's table.
fn registers(subject: &Subject) -> Vec<(View, u64)> {
    let all = subject.unit.registers().into_iter();
    all.filter_map(|register| {
        let value = subject.values.get(&register.name)?;
        Some((register, value))
    })
    .collect()
}

/// The fields of a register with names and words.
fn fields(subject: &Subject, register: &View, value: u64) -> Vec<(String, String, u64, String)> {
    let rows = register.fields.iter().map(|field| {
        let bits = match field.high == field.low {
            true => format!("[{}]", field.low),
            false => format!("[{}:{}]", field.high, field.low),
        };
        let part = field.of(value);
        let own = subject.unit.field(register, field, part);
        let word = own.or_else(|| field.word(part).map(str::to_owned));
        let about = match word {
            Some(word) => format!("{}: {word}", field.about),
            None => field.about.to_owned(),
        };
        (bits, field.name.to_owned(), part, about)
    });
    let mut rows: Vec<_> = rows.collect();
    let unknown = register.unknown_bits(value);
    if unknown != 0 {
        rows.push((String::new(), "reserved".into(), unknown, "bits without a meaning".into()));
    }
    rows
}

fn text(subject: &Subject) -> String {
    let mut text = title(subject);
    for line in subject.unit.about() {
        let _ = writeln!(text, "  {line}");
    }
    for (register, value) in registers(subject) {
        let offset = register.offset.map_or(String::new(), |offset| format!(" ({offset:#05x})"));
        let _ = writeln!(
            text,
            "\n{}{offset} = {value:#x}: {} ({})",
            register.name, register.about, register.section
        );
        for (bits, name, part, about) in fields(subject, &register, value) {
            let part = format!("{part:#x}");
            let _ = writeln!(text, "  {bits:<8}{name:<17} {part:<11} {about}");
        }
    }
    for (name, value) in &subject.unknown {
        let _ = writeln!(text, "\n{name} = {value:#x}: not a register of this unit");
    }
    text += "\nprogram\n";
    for line in subject.unit.explain(&subject.values) {
        let _ = writeln!(text, "  {line}");
    }
    let findings = subject.unit.lint(&subject.values);
    if !findings.is_empty() {
        text += "\nfindings\n";
    }
    for finding in findings {
        let _ = writeln!(text, "  {finding}");
    }
    text
}

fn json_lines(subject: &Subject) -> String {
    let mut text = String::new();
    let unit = subject.unit.as_ref();
    Object::new(&mut text)
        .text("type", "unit")
        .text("source", &subject.label)
        .text("name", &unit.name())
        .list("about", unit.about(), |line, out| json::object::string(&line, out))
        .list("program", unit.explain(&subject.values), |line, out| {
            json::object::string(&line, out);
        })
        .end();
    text.push('\n');
    for (register, value) in registers(subject) {
        Object::new(&mut text)
            .text("type", "register")
            .text("source", &subject.label)
            .text("name", &register.name)
            .maybe_number("offset", register.offset.map(u64::from))
            .hex("value", value)
            .text("about", &register.about)
            .text("section", register.section)
            .list("fields", fields(subject, &register, value), |(bits, name, part, about), out| {
                Object::new(out)
                    .text("bits", bits.trim_matches(['[', ']']))
                    .text("name", &name)
                    .hex("value", part)
                    .text("about", &about)
                    .end();
            })
            .end();
        text.push('\n');
    }
    for (name, value) in &subject.unknown {
        Object::new(&mut text)
            .text("type", "unknown")
            .text("source", &subject.label)
            .text("name", name)
            .hex("value", *value)
            .end();
        text.push('\n');
    }
    for finding in unit.lint(&subject.values) {
        finding::line(&subject.label, &finding, &mut text);
    }
    text
}
