//! What is asked.

use std::ops::Range;
use std::str::FromStr;

use crate::reply::Problem;

/// A route, and parameters by name. A name may occur several times.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) route: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Request<'a> {
    /// Reads the route, then a name and a value for each parameter, all divided by zero bytes.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Request<'a>, Problem> {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| Problem::bad("a request is text in UTF-8"))?;
        let mut parts = text.split('\0');
        let route = parts.next().unwrap_or("");
        let mut parameters = Vec::new();
        while let Some(name) = parts.next() {
            let lacks = || Problem::bad(format!("`{name}` has no value"));
            parameters.push((name, parts.next().ok_or_else(lacks)?));
        }
        Ok(Request { route, parameters })
    }

    /// Fails where a parameter is none of `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.parameters.iter().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(Problem::bad(format!(
                "`{name}` is no parameter of `{}`; its parameters are {}",
                self.route,
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// The values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().filter(move |(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// The value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// The value of a parameter that must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&'a str, Problem> {
        self.get(name).ok_or_else(|| Problem::bad(format!("`{name}` is missing")))
    }

    /// Whether a parameter is `1`; without it, or with `0`, it is not.
    pub(crate) fn is(&self, name: &str) -> Result<bool, Problem> {
        match self.get(name) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(_) => Err(Problem::bad(format!("`{name}` has to be 0 or 1"))),
        }
    }

    /// A number.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse().map_err(|_| Problem::bad(format!("`{name}` has to be a number")));
        number.map(Some)
    }

    /// `A..B`.
    pub(crate) fn range(&self, name: &str) -> Result<Option<Range<u64>>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = |text: &str| text.parse::<u64>().ok();
        let ends = text.split_once("..").and_then(|(a, b)| Some(number(a)?..number(b)?));
        let ends = ends.filter(|range| range.start <= range.end);
        let bad = || Problem::bad(format!("`{name}` has to be A..B"));
        ends.map(Some).ok_or_else(bad)
    }
}
