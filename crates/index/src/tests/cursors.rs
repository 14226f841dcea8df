//! The next and the previous match, compared with all elements.

use tracewright_testing::Random;

use super::searches::{Names, brute_force, is_item, items};
use super::{captures, making};
use crate::cursor::Cursor;
use crate::find::Finder;
use crate::query::{Condition, Query};

/// Next and previous elements, one after another, are all elements.
#[test]
fn elements_are_visited_both_ways() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        for plan in &case.plans {
            let items = items(&case, plan);
            let mut finder = Finder::new(case.subject(), plan, Some(&index)).expect("a finder");
            let conditions = [Condition::Any];
            let step = items.len() / 7 + 1;
            for n in (0..items.len()).step_by(step) {
                let next = finder.next(n as u64, &conditions).expect("an answer");
                assert_eq!(next.map(|f| f.number), (n + 1 < items.len()).then_some(n as u64 + 1));
                let previous = finder.previous(n as u64, &conditions).expect("an answer");
                assert_eq!(previous.map(|found| found.number), (n as u64).checked_sub(1));
            }
        }
    }
}

/// A cursor visits all matches in both directions, whichever way it turns.
#[test]
fn a_cursor_visits_all_matches_both_ways() {
    let (mut random, mut visited) = (Random::new(13), 0);
    for (n, case) in captures().into_iter().enumerate() {
        let index = case.index(&making(&case, false));
        for plan in &case.plans {
            let items = items(&case, plan);
            let names = Names { case: &case, plan };
            let texts = ["any", "address 0..", "access", "exception", "write", "gap"];
            let some: Vec<&str> = if tracewright_testing::is_long() {
                texts.to_vec()
            } else {
                vec![texts[0], texts[1 + n % (texts.len() - 1)]]
            };
            for text in some {
                let query = Query::parse(&[format!("all {text}")]).expect("a query");
                let want = brute_force(&case, &items, &query, &|s, name| names.starts(s, name));
                for index in [Some(&index), None] {
                    let finder = Finder::new(case.subject(), plan, index).expect("a finder");
                    let page = want.len() / 3 + 2;
                    let conditions = query.conditions.clone();
                    let mut cursor = Cursor::new(finder, conditions, 0).with_page(page);
                    assert_eq!(cursor.previous().expect("an answer"), None);
                    let mut forward = Vec::new();
                    while let Some(found) = cursor.next().expect("an answer") {
                        is_item(&found, &items);
                        forward.push(found.number);
                    }
                    assert_eq!(forward, want, "{} {text}", case.name);
                    let mut backward = Vec::new();
                    while let Some(found) = cursor.previous().expect("an answer") {
                        is_item(&found, &items);
                        backward.push(found.number);
                    }
                    backward.reverse();
                    assert_eq!(backward, want, "{} {text}", case.name);
                    // Any steps: `at` is the number of matches before the cursor.
                    let mut at = 0;
                    for _ in 0..20 {
                        let found = match random.below(5) {
                            0 => {
                                let number = random.below(items.len() as u64 + 1);
                                cursor.go(number);
                                at = want.partition_point(|own| *own < number);
                                continue;
                            }
                            1 | 2 => {
                                let found = cursor.next().expect("an answer");
                                assert_eq!(found.map(|f| f.number), want.get(at).copied());
                                at += usize::from(found.is_some());
                                found
                            }
                            _ => {
                                let found = cursor.previous().expect("an answer");
                                at = at.saturating_sub(usize::from(found.is_some()));
                                let own = want.get(at).copied().filter(|_| found.is_some());
                                assert_eq!(found.map(|f| f.number), own);
                                assert!(found.is_some() || at == 0);
                                found
                            }
                        };
                        visited += usize::from(found.is_some());
                    }
                }
            }
        }
    }
    assert!(visited > 100, "{visited}");
}
