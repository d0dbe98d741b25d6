//! Names of tasks, for people, in a table beside them: a task without a name has no room for one, and costs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use super::waker::gets_name;
use crate::primitive::{Arc, Mutex, MutexGuard, lock};

/// By the addresses that waits know tasks by. A task's name is out before its place is another's.
static NAMES: Mutex<Names> = Mutex::new(Names::new());

type Names = BTreeMap<usize, Arc<str>>;

/// A future by whose name its task goes in reports: of [deadlocks](crate::sched::Builder::watch_deadlocks), of
/// [who waits](crate::Handle::who_waits), of long polls, and in [`inspect`](crate::inspect()).
///
/// It may be started in any way: by [`spawn`](crate::spawn), [`spawn_local`](crate::spawn_local),
/// [`Scope::spawn`](crate::Scope::spawn), a [`JoinSet`](crate::JoinSet), and it may be the future of
/// [`block_on`](crate::Runtime::block_on). The task has the name from its first poll until the future is dropped,
/// for a lock at each of the two, and as the task ends. Names need not be unique; of several in one task the first
/// counts.
///
/// ```
/// use tidings::task::named;
///
/// #[tidings::main(deadlocks = true)]
/// async fn main() {
///     let (requests, served) = tidings::channel::<u32>();
///     for n in 0..1000 {
///         let served = served.clone();
///         let serve = async move { while served.recv().await.is_ok() {} };
///         tidings::spawn(named(format!("connection {n}"), serve));
///     }
///     let name = "the task \"connection 7\" started at";
///     while !tidings::Handle::current().who_waits().contains(name) {
///         tidings::yield_now().await;
///     }
///     requests.send(1).await.unwrap();
/// }
/// ```
pub fn named<F: Future>(name: impl Into<Arc<str>>, future: F) -> Named<F> {
    Named {
        future,
        tag: Tag {
            name: name.into(),
            task: 0,
        },
    }
}

pin_project! {
    /// The future of [`named`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Named<F> {
        #[pin]
        future: F,
        // After the future, whose drop may wait, or take long.
        tag: Tag,
    }
}

impl<F: Future> Future for Named<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.tag.is_of(cx.waker());
        this.future.poll(cx)
    }
}

impl<F> fmt::Debug for Named<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named")
            .field("name", &self.tag.name)
            .finish_non_exhaustive()
    }
}

/// A name, and whose it is: 0, nobody's yet.
struct Tag {
    name: Arc<str>,
    task: usize,
}

impl Tag {
    #[inline]
    fn is_of(&mut self, waker: &Waker) {
        if self.task != waker.data().addr() {
            self.goes_to(waker);
        }
    }

    #[cold]
    fn goes_to(&mut self, waker: &Waker) {
        let mut names = self.leave();
        self.task = waker.data().addr();
        if gets_name(waker) {
            // Another around this one was first.
            names
                .entry(self.task)
                .or_insert_with(|| Arc::clone(&self.name));
        }
    }

    fn leave(&self) -> MutexGuard<'static, Names> {
        let mut names = lock(&NAMES);
        let its = names.get(&self.task);
        if its.is_some_and(|name| Arc::ptr_eq(name, &self.name)) {
            names.remove(&self.task);
        }
        names
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

/// A task ends that had a name: one that is left is that of a future which it has given away.
#[cold]
pub(super) fn ended(task: usize) {
    let left = lock(&NAMES).remove(&task);
    drop(left);
}

/// The name of the task that waits know by this address.
pub(crate) fn name_of(task: usize) -> Option<Arc<str>> {
    lock(&NAMES).get(&task).cloned()
}

/// That task in words; it was started there.
pub(crate) fn in_words(task: usize, at: &Location<'_>) -> String {
    words(name_of(task).as_deref(), at)
}

/// The task of this name, if it has one, which was started there.
pub(crate) fn words(name: Option<&str>, at: &Location<'_>) -> String {
    match name {
        Some(name) => format!("task {name:?} started at {at}"),
        None => format!("task started at {at}"),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::task::Wake;

    use super::*;

    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }

    /// Says what the name of a task is as this is dropped.
    struct Asks(usize, std::sync::mpsc::Sender<Option<Arc<str>>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.1.send(name_of(self.0)).unwrap();
        }
    }

    #[test]
    fn a_task_has_the_first_name_until_its_future_is_dropped_or_goes_elsewhere() {
        let wakers = [(); 2].map(|()| Waker::from(Arc::new(Nothing)));
        let [one, other] = wakers.each_ref().map(|waker| waker.data().addr());
        let mut contexts = wakers.each_ref().map(Context::from_waker);
        let names = || [one, other].map(|task| name_of(task).map(|name| name.to_string()));
        let (said, says) = std::sync::mpsc::channel();
        let asks = Asks(other, said);
        let within = Box::pin(named("within", pending::<()>()));
        let (given, takes) = std::sync::mpsc::channel();
        let mut task = Box::pin(named("task", async {
            let _asks = asks;
            let mut within = within;
            let polled = std::future::poll_fn(|cx| Poll::Ready(within.as_mut().poll(cx)));
            assert!(polled.await.is_pending());
            given.send(within).unwrap();
            pending::<()>().await;
        }));
        assert_eq!(names(), [None, None], "it was not polled");
        assert!(task.as_mut().poll(&mut contexts[0]).is_pending());
        assert_eq!(names(), [Some("task".to_owned()), None]);
        let within = takes.recv().unwrap();
        drop(within);
        assert_eq!(names(), [Some("task".to_owned()), None], "it was not its");
        assert!(task.as_mut().poll(&mut contexts[1]).is_pending());
        assert_eq!(names(), [None, Some("task".to_owned())]);
        drop(task);
        assert_eq!(says.recv().unwrap().as_deref(), Some("task"));
        assert_eq!(names(), [None, None]);
    }

    #[test]
    fn a_task_without_a_name_begins_and_ends_without_the_table() {
        let mut named = pin!(named("waits", pending::<()>()));
        let waker = Waker::from(Arc::new(Nothing));
        let polled = named.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let runtime = crate::Runtime::builder().workers(1).build().unwrap();
        let names = lock(&NAMES);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        drop(names);
    }

    /// The future whose name its task has given away, and that the first task has.
    type Kept = Pin<Box<Named<std::future::Pending<()>>>>;

    /// All of one size, so that they have places in common. Gives its place and its name.
    async fn task(give: Option<std::sync::mpsc::Sender<Kept>>) -> (usize, Option<String>) {
        if let Some(give) = give {
            let mut kept = Box::pin(named("kept", pending()));
            assert!(futures::poll!(kept.as_mut()).is_pending());
            give.send(kept).unwrap();
        }
        let at = crate::sched::running().id;
        (at, name_of(at).map(|name| name.to_string()))
    }

    #[test]
    fn a_task_in_the_place_of_one_that_has_given_its_name_away_has_none() {
        let runtime = crate::Runtime::builder().workers(1).build().unwrap();
        let (give, given) = std::sync::mpsc::channel();
        let (place, name) = runtime.block_on(runtime.spawn(task(Some(give)))).unwrap();
        let kept = given.recv().unwrap();
        assert_eq!(name.as_deref(), Some("kept"));
        // As many as it takes to have its place.
        let there = std::iter::repeat_with(|| runtime.block_on(runtime.spawn(task(None))).unwrap())
            .take(10_000)
            .find(|(at, _)| *at == place);
        assert_eq!(there, Some((place, None)));
        drop(kept);
    }
}
