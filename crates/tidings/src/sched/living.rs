//! A list of what others own: for reports, and for the alarm.

use crate::primitive::{Arc, Mutex, Weak, lock};

/// Those that are still there of all that were added, the oldest first.
#[derive(Debug)]
pub(super) struct Living<T>(Mutex<Vec<Weak<T>>>);

impl<T> Default for Living<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Living<T> {
    pub(super) fn add(&self, one: &Arc<T>) {
        let mut all = lock(&self.0);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(one));
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }
}
