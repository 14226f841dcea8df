//! Names that occur often.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};

/// Texts with numbers. A text is added at the end, so that the numbers of earlier batches are those
/// of later ones.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    values: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, i32>,
    /// The values so far.
    array: Option<Arc<StringArray>>,
}

impl Dictionary {
    /// The number of `text`, which is added if it is not there.
    pub(crate) fn number(&mut self, text: &str) -> i32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        // There are fewer names than addresses of code.
        let number = i32::try_from(self.values.len()).unwrap_or(i32::MAX);
        let text: Arc<str> = text.into();
        self.values.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        self.array = None;
        number
    }

    /// The text with a number.
    pub(crate) fn text(&self, number: i32) -> Option<&str> {
        self.values.get(usize::try_from(number).ok()?).map(AsRef::as_ref)
    }

    /// All texts.
    pub(crate) fn values(&mut self) -> ArrayRef {
        let own = || Arc::new(StringArray::from_iter_values(self.values.iter()));
        let array = self.array.get_or_insert_with(own);
        Arc::clone(array) as ArrayRef
    }
}
