//! The smallest stream that shows a difference.

use super::Trial;

impl Trial {
    /// Leaves out packets, and the bytes of the program, for as long as there is a difference.
    #[must_use]
    pub fn minimised(&self) -> Trial {
        let mut least = self.clone();
        loop {
            let before = least.packets.len();
            let mut at = 0;
            while at < least.packets.len() {
                let mut fewer = least.clone();
                fewer.packets.remove(at);
                if fewer.compare().is_err() {
                    least = fewer;
                } else {
                    at += 1;
                }
            }
            if least.packets.len() == before {
                return least;
            }
        }
    }
}
