//! The operators of a decision, from its text: `&&`, `||`, `!` and parentheses between conditions.

use tracewright_symbols::{Place, Region};

/// What follows a condition with a certain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The condition at this position is evaluated.
    Condition(usize),
    /// The decision has this outcome.
    Outcome(bool),
}

/// What an expression consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Condition(usize),
    And,
    Or,
    Not,
    Open,
    Close,
}

/// An expression of conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The condition at this position.
    Condition(usize),
    /// `!`
    Not(Box<Tree>),
    /// `&&`
    And(Box<Tree>, Box<Tree>),
    /// `||`
    Or(Box<Tree>, Box<Tree>),
}

/// The deepest expression.
const DEPTH: usize = 256;

/// What follows each condition of the decision `text`, which begins at `start`, where it is false
/// and where it is true. `None` where there is something else between its conditions.
pub(super) fn order(text: &str, start: Place, conditions: &[Region]) -> Option<Vec<[Next; 2]>> {
    let tokens = tokens(text, start, conditions)?;
    let mut left = &tokens[..];
    let tree = either(&mut left, 0)?;
    let all = tokens.iter().filter(|token| matches!(token, Token::Condition(_))).count();
    (left.is_empty() && all == conditions.len()).then(|| tree.order(all))
}

fn tokens(text: &str, (mut line, mut column): Place, conditions: &[Region]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut left = text;
    while let Some(first) = left.chars().next() {
        let mut taken = first.len_utf8();
        let at = (line, column);
        if let Some(n) = conditions.iter().position(|own| own.start == at) {
            tokens.push(Token::Condition(n));
            let end = conditions.get(n)?.end;
            // Up to its end, which is on this line or a later one.
            while at < end && !left.is_empty() && (line, column) < end {
                let next = left.chars().next()?;
                left = left.get(next.len_utf8()..)?;
                (line, column) = after((line, column), next);
            }
            continue;
        }
        let words = [
            ("&&", Token::And),
            ("||", Token::Or),
            ("and", Token::And),
            ("or", Token::Or),
            ("not", Token::Not),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        if let Some((word, token)) = words.iter().find(|(word, _)| left.starts_with(word)) {
            tokens.push(*token);
            taken = word.len();
        } else if left.starts_with("//") {
            taken = left.find('\n').unwrap_or(left.len());
        } else if left.starts_with("/*") {
            taken = left.find("*/")? + 2;
        } else if !first.is_whitespace() && first != '\\' {
            return None;
        }
        for character in left.get(..taken)?.chars() {
            (line, column) = after((line, column), character);
        }
        left = left.get(taken..)?;
    }
    Some(tokens)
}

/// The place behind a character at this place.
const fn after((line, column): Place, character: char) -> Place {
    match character {
        '\n' => (line + 1, 1),
        _ => (line, column + character.len_utf8() as u32),
    }
}

fn either(left: &mut &[Token], depth: usize) -> Option<Tree> {
    let mut tree = both(left, depth)?;
    while let [Token::Or, rest @ ..] = *left {
        *left = rest;
        tree = Tree::Or(Box::new(tree), Box::new(both(left, depth)?));
    }
    Some(tree)
}

fn both(left: &mut &[Token], depth: usize) -> Option<Tree> {
    let mut tree = unary(left, depth)?;
    while let [Token::And, rest @ ..] = *left {
        *left = rest;
        tree = Tree::And(Box::new(tree), Box::new(unary(left, depth)?));
    }
    Some(tree)
}

fn unary(left: &mut &[Token], depth: usize) -> Option<Tree> {
    let (first, rest) = left.split_first().filter(|_| depth < DEPTH)?;
    *left = rest;
    Some(match first {
        Token::Condition(n) => Tree::Condition(*n),
        Token::Not => Tree::Not(Box::new(unary(left, depth + 1)?)),
        Token::Open => {
            let tree = either(left, depth + 1)?;
            let (Token::Close, rest) = left.split_first()? else { return None };
            *left = rest;
            tree
        }
        _ => return None,
    })
}

impl Tree {
    /// What follows each of `conditions` conditions where it is false and where it is true.
    pub fn order(&self, conditions: usize) -> Vec<[Next; 2]> {
        let mut all = vec![[Next::Outcome(false), Next::Outcome(true)]; conditions];
        self.follow([Next::Outcome(false), Next::Outcome(true)], &mut all);
        all
    }

    /// The first condition that is evaluated.
    fn first(&self) -> usize {
        match self {
            Tree::Condition(n) => *n,
            Tree::Not(own) => own.first(),
            Tree::And(left, _) | Tree::Or(left, _) => left.first(),
        }
    }

    fn follow(&self, next: [Next; 2], all: &mut [[Next; 2]]) {
        let [no, yes] = next;
        match self {
            Tree::Condition(n) => {
                if let Some(own) = all.get_mut(*n) {
                    *own = next;
                }
            }
            Tree::Not(own) => own.follow([yes, no], all),
            Tree::And(left, right) => {
                left.follow([no, Next::Condition(right.first())], all);
                right.follow(next, all);
            }
            Tree::Or(left, right) => {
                left.follow([Next::Condition(right.first()), yes], all);
                right.follow(next, all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of `text`, in which letters are conditions.
    fn of(text: &str) -> Option<String> {
        let letters: Vec<Region> = text
            .match_indices(|c: char| c.is_ascii_uppercase())
            .map(|(at, _)| {
                let line = 1 + text[..at].matches('\n').count() as u32;
                let column = (at - text[..at].rfind('\n').map_or(0, |n| n + 1)) as u32 + 1;
                Region { start: (line, column), end: (line, column + 1) }
            })
            .collect();
        let text = order(text, (1, 1), &letters)?;
        let next = |next: &Next| match next {
            Next::Condition(n) => n.to_string(),
            Next::Outcome(value) => if *value { "T" } else { "F" }.to_owned(),
        };
        let each = text.iter().map(|[no, yes]| format!("{}/{}", next(no), next(yes)));
        Some(each.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn operators_state_what_follows() {
        for (text, want) in [
            ("A", "F/T"),
            ("!A", "T/F"),
            ("A && B", "F/1 F/T"),
            ("A || B && C", "1/T F/2 F/T"),
            ("(A || B) &&\n C", "1/2 F/2 F/T"),
            ("!(A && B) || C", "T/1 T/2 F/T"),
            ("A and not (B /* && */ or C) // ||\n", "F/1 2/F T/F"),
        ] {
            assert_eq!(of(text).as_deref(), Some(want), "{text}");
        }
        for text in ["A ? B : C", "A &&", "(A", "A B", "A == B"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
