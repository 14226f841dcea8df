//! Colours of text.

use std::fmt::Write;

use anstyle::{AnsiColor, Effects, Style};
use tracewright_base::{Element, Gap};

/// The emphasis of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No colour.
    Plain,
    /// Dimmed.
    Quiet,
    /// The name of a source.
    Name,
    /// An event or an exception.
    Event,
    /// Output of the program.
    Output,
    /// Information is missing.
    Lost,
    /// An error.
    Wrong,
}

impl Tone {
    /// The tone of an element.
    pub const fn of(element: &Element) -> Tone {
        match element {
            Element::Undecodable { .. } | Element::Inconsistency(_) => Tone::Wrong,
            Element::NoCode { .. } | Element::Unknown { .. } => Tone::Lost,
            Element::Gap(Gap::Start | Gap::Reset) | Element::End => Tone::Quiet,
            Element::Gap(_) => Tone::Lost,
            Element::Exception(_)
            | Element::ExceptionReturn
            | Element::Trigger
            | Element::Events(_)
            | Element::Transaction(_) => Tone::Event,
            Element::SoftwareWrite(_) | Element::DwtEvent(_) | Element::Instrumentation { .. } => {
                Tone::Output
            }
            Element::Timestamp { .. }
            | Element::Cycles(_)
            | Element::LocalTimestamp(_)
            | Element::GlobalTimestamp { .. }
            | Element::Marker => Tone::Quiet,
            _ => Tone::Plain,
        }
    }

    const fn style(self) -> Style {
        let style = Style::new();
        match self {
            Tone::Plain => style,
            Tone::Quiet => style.effects(Effects::DIMMED),
            Tone::Name => colour(AnsiColor::Cyan),
            Tone::Event => colour(AnsiColor::Magenta),
            Tone::Output => colour(AnsiColor::Green),
            Tone::Lost => colour(AnsiColor::Yellow),
            Tone::Wrong => colour(AnsiColor::Red).effects(Effects::BOLD),
        }
    }

    /// Colours the text in `out` from `start` on.
    pub fn paint(self, start: usize, out: &mut String) {
        if self == Tone::Plain {
            return;
        }
        let text = out.split_off(start);
        let style = self.style();
        let _ = write!(out, "{style}{text}{style:#}");
    }
}

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}
