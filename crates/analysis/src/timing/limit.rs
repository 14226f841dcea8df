//! Bounds of durations.

use std::fmt;
use std::str::FromStr;

use super::{Measure, Statistics};

/// A bound of a duration, such as `net(solve) <= 50us`.
///
/// ```text
/// limit   = measure "(" subject ")" ("<=" | ">=") number [unit]
/// measure = "gross" | "net" | "own" | "period" | "gap" | "interrupted"
/// subject = name of a function, in which * stands for any characters | "exception:" number
///         | "task:" name of a task
/// unit    = "ns" | "us" | "ms" | "s"
/// ```
///
/// A number without a unit is one of the clock: ticks, cycles or instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is measured.
    pub measure: Measure,
    /// The function or the exception, as it is written.
    pub subject: String,
    /// The bound is the most; otherwise the least.
    pub is_most: bool,
    bound: Bound,
    /// The bound by the clock, where it is known.
    value: Option<u64>,
    text: String,
}

/// A duration, such as `10ms`, or `1000` units of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(Bound);

impl FromStr for Span {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Span, LimitError> {
        match bound(text.trim()) {
            None => Err(LimitError::Number(text.to_owned())),
            Some(Bound::Units(0) | Bound::Picoseconds(0)) => Err(LimitError::Zero),
            Some(bound) => Ok(Span(bound)),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = match self.0 {
            Bound::Units(value) => return value.fmt(f),
            Bound::Picoseconds(time) => time,
        };
        let mut units = UNITS.iter().rev().filter(|(unit, _)| unit.is_ascii());
        let whole = units.find(|(_, scale)| time % scale == 0);
        match whole {
            Some((unit, scale)) => write!(f, "{}{unit}", time / scale),
            None => write!(f, "{}.{:03}ns", time / 1000, time % 1000),
        }
    }
}

impl Span {
    /// The duration by a clock with this frequency in hertz, at least 1. `None` if it is a time and
    /// the frequency is not known.
    pub fn at(self, frequency: Option<u64>) -> Option<u64> {
        let value = match (self.0, frequency) {
            (Bound::Units(value), _) => value,
            (Bound::Picoseconds(time), Some(frequency)) => {
                let ticks = time.checked_mul(frequency.into())? / UNITS[4].1;
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
            (Bound::Picoseconds(_), None) => return None,
        };
        Some(value.max(1))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Units(u64),
    Picoseconds(u128),
}

/// Whether a bound is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By every activation.
    Met,
    /// Not by one at least.
    Violated,
    /// Between two times that the trace has, or because trace was lost, it may be met or not.
    Open,
    /// There is no activation.
    Never,
}

impl Verdict {
    /// The name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Violated => "violated",
            Verdict::Open => "open",
            Verdict::Never => "no activation",
        }
    }
}

/// A text is no [`Limit`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// It has another form.
    Form,
    /// The measure has another name.
    Measure(String),
    /// The number or its unit is wrong.
    Number(String),
    /// The duration is 0.
    Zero,
    /// The own time of a task is not measured.
    OwnOfTask,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitError::Form => f.write_str("expected a form such as `net(solve) <= 50us`"),
            LimitError::Measure(name) => {
                let names = Measure::ALL.map(Measure::name).join(", ");
                write!(f, "`{name}` is none of {names}")
            }
            LimitError::Number(text) => {
                write!(f, "`{text}` is not a number with one of the units ns, us, ms, s, or none")
            }
            LimitError::Zero => f.write_str("the duration has to be greater than 0"),
            LimitError::OwnOfTask => f.write_str(
                "`own` is not measured of a task; `net` is without handlers and other tasks",
            ),
        }
    }
}

impl std::error::Error for LimitError {}

/// Picoseconds in a unit of time.
const UNITS: [(&str, u128); 5] = [
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];

fn bound(text: &str) -> Option<Bound> {
    let unit = UNITS.into_iter().find_map(|(name, scale)| Some((text.strip_suffix(name)?, scale)));
    let (digits, scale) = match unit {
        Some((digits, scale)) => (digits.trim_end(), Some(scale)),
        None => (text, None),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(part) || part.len() > 12 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let Some(scale) = scale else {
        return part.is_empty().then_some(Bound::Units(whole));
    };
    let fraction: u128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let fraction = fraction * scale / 10u128.pow(part.len() as u32);
    Some(Bound::Picoseconds(u128::from(whole) * scale + fraction))
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Limit, LimitError> {
        let (left, is_most, right) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((left, right)), None) => (left, true, right),
            (None, Some((left, right))) => (left, false, right),
            _ => return Err(LimitError::Form),
        };
        let left = left.trim();
        let (measure, subject) = left.split_once('(').ok_or(LimitError::Form)?;
        let subject = subject.strip_suffix(')').map(str::trim).filter(|name| !name.is_empty());
        let subject = subject.ok_or(LimitError::Form)?.to_owned();
        let name = measure.trim();
        let measure = Measure::named(name).ok_or_else(|| LimitError::Measure(name.to_owned()))?;
        if measure == Measure::Own && subject.starts_with("task:") {
            return Err(LimitError::OwnOfTask);
        }
        let right = right.trim();
        let bound = bound(right).ok_or_else(|| LimitError::Number(right.to_owned()))?;
        let value = match bound {
            Bound::Units(value) => Some(value),
            Bound::Picoseconds(_) => None,
        };
        Ok(Limit { measure, subject, is_most, bound, value, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Limit {
    /// The number of the exception that is measured.
    pub fn exception(&self) -> Option<u16> {
        self.subject.strip_prefix("exception:")?.trim().parse().ok()
    }

    /// The name of the task that is measured.
    pub fn task(&self) -> Option<&str> {
        self.subject.strip_prefix("task:").map(str::trim)
    }

    /// The same limit for a clock with this frequency in hertz. `None` if the bound is a time and
    /// the frequency is not known.
    #[must_use]
    pub fn at(self, frequency: Option<u64>) -> Option<Limit> {
        let value = match (self.bound, frequency) {
            (Bound::Units(value), _) => value,
            (Bound::Picoseconds(time), Some(frequency)) => {
                let ticks = time.checked_mul(frequency.into())?;
                let ticks = match self.is_most {
                    true => ticks / UNITS[4].1,
                    false => ticks.div_ceil(UNITS[4].1),
                };
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
            (Bound::Picoseconds(_), None) => return None,
        };
        Some(Limit { value: Some(value), ..self })
    }

    /// Whether it is met. An activation in which trace was lost lasted what is known of it, or
    /// more.
    pub fn verdict(&self, statistics: &Statistics) -> Verdict {
        let Some(limit) = self.value else { return Verdict::Open };
        if statistics.count() + statistics.lost() == 0 {
            return Verdict::Never;
        }
        if self.is_most {
            let Some(max) = statistics.max() else { return Verdict::Never };
            return match max.most {
                _ if max.least > limit => Verdict::Violated,
                Some(most) if most <= limit => Verdict::Met,
                _ => Verdict::Open,
            };
        }
        match statistics.min() {
            Some(min) if min.most.is_some_and(|most| most < limit) => Verdict::Violated,
            Some(min) if min.least >= limit && statistics.lost() == 0 => Verdict::Met,
            _ => Verdict::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Place;
    use super::*;
    use tracewright_base::Interval;

    fn verdict(limit: &str, durations: &[Interval]) -> Verdict {
        let mut statistics = Statistics::default();
        durations.iter().for_each(|own| statistics.add(*own, Place::default()));
        statistics.finish();
        limit.parse::<Limit>().unwrap().at(Some(1_000_000)).unwrap().verdict(&statistics)
    }

    #[test]
    fn three_answers() {
        let durations = [Interval::new(10, 20), Interval::point(15)];
        let cases = [
            ("net(f) <= 20", Verdict::Met),
            ("net(f) <= 19", Verdict::Open),
            ("net(f) <= 15", Verdict::Open),
            ("net(f) <= 14", Verdict::Violated),
            ("net(f) >= 10", Verdict::Met),
            ("net(f) >= 12", Verdict::Open),
            ("net(f) >= 16", Verdict::Violated),
            ("net(f) <= 20us", Verdict::Met),
            ("net(f)<=0.0145 ms", Verdict::Violated),
            ("net(f) <= 19999ns", Verdict::Open),
        ];
        for (limit, expected) in cases {
            assert_eq!(verdict(limit, &durations), expected, "{limit}");
        }
        assert_eq!(verdict("net(f) <= 20", &[]), Verdict::Never);
        assert_eq!(verdict("net(f) <= 20", &[Interval::at_least(5)]), Verdict::Open);
    }

    #[test]
    fn a_loss_leaves_a_limit_open() {
        let mut statistics = Statistics::default();
        statistics.add(Interval::point(10), Place::default());
        statistics.finish();
        statistics.add_lost(12);
        let verdict = |text: &str| text.parse::<Limit>().unwrap().verdict(&statistics);
        assert_eq!(verdict("net(f) <= 20"), Verdict::Open);
        assert_eq!(verdict("net(f) <= 11"), Verdict::Violated);
        assert_eq!(verdict("net(f) >= 5"), Verdict::Open);
    }

    #[test]
    fn forms() {
        let limit: Limit = " period( exception:15 ) >= 1.5ms ".parse().unwrap();
        assert_eq!((limit.exception(), limit.measure), (Some(15), Measure::Period));
        assert_eq!(limit.clone().at(None), None);
        assert_eq!(limit.at(Some(1000)).unwrap().value, Some(2));
        let limit: Limit = "net(operator()(int)) <= 3".parse().unwrap();
        assert_eq!(limit.subject, "operator()(int)");
        for (text, error) in [
            ("net(f) < 3", LimitError::Form),
            ("net() <= 3", LimitError::Form),
            ("net f <= 3", LimitError::Form),
            ("brutto(f) <= 3", LimitError::Measure("brutto".to_owned())),
            ("net(f) <= 3 h", LimitError::Number("3 h".to_owned())),
            ("net(f) <= 1.5", LimitError::Number("1.5".to_owned())),
            ("net(f) <= -1", LimitError::Number("-1".to_owned())),
            ("own(task:a) <= 1", LimitError::OwnOfTask),
        ] {
            assert_eq!(text.parse::<Limit>(), Err(error), "{text}");
        }
        for text in ["0", "0ms", "0.0s"] {
            assert_eq!(text.parse::<Span>(), Err(LimitError::Zero), "{text}");
        }
        for (text, shown) in
            [("1000", "1000"), ("10ms", "10ms"), ("0.5 ms", "500us"), ("0.0015ns", "0.001ns")]
        {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), shown, "{text}");
        }
    }
}
