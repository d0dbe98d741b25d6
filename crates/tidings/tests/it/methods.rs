//! Methods of interfaces whose names, arguments and bodies are out of the ordinary.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::both::on_all;
use tidings::actor::{self, Builder, Reply, Shared, Strategy, Supervisor};

/// Notes when it is dropped.
struct Permit(Arc<AtomicBool>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[deny(clippy::used_underscore_binding)]
#[tidings::interface]
trait Work: Sync {
    /// Was the permit dropped while it ran?
    async fn work(&self, _permit: Permit, mut rounds: u32, dropped: Arc<AtomicBool>) -> bool {
        while rounds > 0 {
            rounds -= 1;
            tidings::yield_now().await;
        }
        dropped.load(Relaxed)
    }
}

struct Worker;
impl Work for Worker {}

#[test]
fn a_method_with_a_body_keeps_what_it_does_not_use_until_it_ends() {
    on_all(|| async {
        let worker: WorkRef = actor::start(Worker);
        let dropped = Arc::new(AtomicBool::new(false));
        let permit = Permit(Arc::clone(&dropped));
        let early = worker.work(permit, 3, Arc::clone(&dropped)).await;
        assert!(!early.unwrap());
        assert!(dropped.load(Relaxed));
    });
}

#[test]
fn a_reference_is_shown_as_reports_name_its_actor() {
    on_all(|| async {
        let named: WorkRef = Builder::new().name("the works").start(Worker);
        assert_eq!(named.to_string(), "the works");
        assert_eq!(format!("{:>10}", named.any()), " the works");
        assert_eq!(named.downgrade().to_string(), "the works");
        let nameless: actor::ActorRef<WorkMessage> = actor::start(Worker);
        let number = format!("actor {}", nameless.id());
        assert_eq!(nameless.to_string(), number);
        assert_eq!(nameless.downgrade().to_string(), number);
        let supervisor = Supervisor::new(Strategy::OneForOne).name("top").start();
        assert_eq!(supervisor.to_string(), "top");
    });
}

trait Pick<'a> {
    fn pick(&self, of: &'a [u8]) -> &'a u8;
}

struct First;
impl<'a> Pick<'a> for First {
    fn pick(&self, of: &'a [u8]) -> &'a u8 {
        &of[0]
    }
}

type Shortens = Box<dyn Fn(&str) -> &str + Send>;

#[tidings::interface]
trait Odd<T> {
    async fn unused(&self, value: T) -> T;
    async fn self_(&self) -> u8;
    async fn _1st(&self) -> u8;
    async fn __(&self) -> u8;
    async fn r#type(&self) -> u8;
    async fn shorten(&self, by: Box<dyn Fn(&str) -> &str + Send>, text: String) -> String;
    async fn again(&self, by: Shortens, of: Box<dyn for<'a> Pick<'a> + Send>) -> u8;
    async fn points(&self, by: fn(&str) -> Vec<&str>, to: for<'a> fn(&'a u8) -> &'a u8) -> usize;
    #[cfg(test)]
    async fn either(&self) -> u8;
    #[cfg(not(test))]
    async fn either(&self, there_is: NoSuchType) -> u8;
}

#[tidings::actor(Odd<u8>, Odd<u16>)]
struct State;

macro_rules! odd {
    ($($number:ty)*) => {$(
        impl Odd<$number> for State {
            async fn unused(&self, value: $number) -> $number {
                value + 1
            }
            async fn self_(&self) -> u8 {
                1
            }
            async fn _1st(&self) -> u8 {
                2
            }
            async fn __(&self) -> u8 {
                3
            }
            async fn r#type(&self) -> u8 {
                4
            }
            async fn shorten(&self, by: Shortens, text: String) -> String {
                by(&text).to_owned()
            }
            async fn again(&self, by: Shortens, of: Box<dyn for<'a> Pick<'a> + Send>) -> u8 {
                *of.pick(by("abc").as_bytes())
            }
            async fn points(
                &self,
                by: fn(&str) -> Vec<&str>,
                _: for<'a> fn(&'a u8) -> &'a u8,
            ) -> usize {
                by("a b c").len()
            }
            async fn either(&self) -> u8 {
                5
            }
        }
    )*};
}

odd!(u8 u16);

#[test]
fn methods_have_any_names_and_take_functions_that_borrow() {
    on_all(|| async {
        let actor: StateRef = actor::start(State);
        let odd: OddRef<u8> = OddRef::from(&actor);
        let other: OddRef<u16> = OddRef::from(&actor);
        assert_eq!(odd.unused(7).await.unwrap(), 8);
        assert_eq!(other.unused(700).await.unwrap(), 701);
        assert_eq!(odd.self_().await.unwrap(), 1);
        assert_eq!(odd._1st().await.unwrap(), 2);
        assert_eq!(odd.__().await.unwrap(), 3);
        assert_eq!(odd.r#type().await.unwrap(), 4);
        let shortens = || -> Shortens { Box::new(|text| &text[1..]) };
        let short = odd.shorten(shortens(), "abc".to_owned()).await;
        assert_eq!(short.unwrap(), "bc");
        let first = odd.again(shortens(), Box::new(First)).await;
        assert_eq!(first.unwrap(), b'b');
        let words = odd.points(|text| text.split(' ').collect(), |n| n).await;
        assert_eq!(words.unwrap(), 3);
        assert_eq!(odd.either().await.unwrap(), 5);
    });
}

#[tidings::interface]
trait Copied<T>: Sync
where
    Self: Clone,
    Vec<Self>: Clone,
    T: Clone + PartialEq,
{
    async fn copy(&self, value: T) -> (T, usize) {
        #![expect(unused_variables, reason = "to see that this is heeded")]
        let unused = 1;
        let copies = vec![self.clone()];
        (value.clone(), [copies.clone(), copies].concat().len())
    }
}

#[derive(Clone)]
#[tidings::actor(Copied<u8>, crate = tidings)]
struct Twin;
impl Copied<u8> for Twin {}

#[tidings::test]
async fn bounds_of_the_actor_attributes_in_bodies_and_the_place_of_the_crate_are_heeded() {
    #![expect(unused_variables, reason = "to see that this is heeded")]
    let unused = 1;
    let twin: TwinRef = actor::start(Twin);
    let copied = CopiedRef::<u8>::from(&twin).copy(7).await.unwrap();
    assert_eq!(copied, (7, 2));
}

trait Shape: Send + Sync {
    fn sides(&self) -> u32;
}

struct Square;
impl Shape for Square {
    fn sides(&self) -> u32 {
        4
    }
}

#[derive(Debug)]
struct TooMany;
impl std::fmt::Display for TooMany {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many")
    }
}
impl Error for TooMany {}

#[tidings::interface]
trait Draw: Sync {
    async fn shape(&self) -> Arc<dyn Shape> {
        Arc::new(Square)
    }
    async fn sides(&self, early: bool) -> Result<u32, Box<dyn Error + Send + Sync>> {
        if early {
            return Err(Box::new(TooMany));
        }
        let shape = self.shape().await;
        match shape.sides() {
            0..4 => Ok(shape.sides()),
            _ => Err(Box::new(TooMany)),
        }
    }
    async fn never(&self) -> u32 {
        panic!("it is not called")
    }
}

struct Board;
impl Draw for Board {}

#[tidings::test]
async fn what_a_body_gives_becomes_the_type_that_its_method_says() {
    let draw: DrawRef = actor::start(Board);
    assert_eq!(draw.shape().await.unwrap().sides(), 4);
    for early in [true, false] {
        let error = draw.sides(early).await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "too many");
    }
}

#[tidings::interface]
trait Store<K = u32> {
    async fn keep(&mut self, key: K) -> usize;
}

#[tidings::actor(Store<K>)]
struct Shelf<K = u32>(Vec<K>);

impl<K: Send + 'static> Store<K> for Shelf<K> {
    async fn keep(&mut self, key: K) -> usize {
        self.0.push(key);
        self.0.len()
    }
}

#[tidings::test]
async fn what_a_type_parameter_is_by_default_holds_for_messages_and_references() {
    let shelf: ShelfRef = actor::start(Shelf(Vec::new()));
    let store: StoreRef = StoreRef::from(&shelf);
    assert_eq!(store.keep(7).await.unwrap(), 1);
    let message = |reply| StoreMessage::Keep(8, reply);
    let of_store: actor::Recipient<StoreMessage> = shelf.narrow();
    assert_eq!(of_store.call(message).await.unwrap(), 2);
}

/// What a macro is given is in a group of its own.
macro_rules! interface {
    ($name:ident, $this:ty, $reply:ty, $value:ty) => {
        #[tidings::interface]
        trait $name {
            async fn beside(this: $this) -> $value;
            async fn later(&mut self, reply: $reply);
        }
    };
}

interface!(Made, Shared<Self>, Reply<u32>, u32);

struct Three;

impl Made for Three {
    async fn beside(_: Shared<Self>) -> u32 {
        3
    }
    async fn later(&mut self, reply: Reply<u32>) {
        let _ = reply.send(33);
    }
}

#[test]
fn an_interface_may_be_made_by_a_macro() {
    on_all(|| async {
        let three: MadeRef = actor::start(Three);
        assert_eq!(three.beside().await.unwrap(), 3);
        assert_eq!(three.later().await.unwrap(), 33);
    });
}

#[tidings::interface]
trait Ledger<K: ?Sized, V> {
    async fn put(&mut self, key: Box<K>, value: V) -> usize;
}

#[derive(Default)]
struct Books(Vec<(Box<str>, u32)>);

impl Ledger<str, u32> for Books {
    async fn put(&mut self, key: Box<str>, value: u32) -> usize {
        self.0.push((key, value));
        self.0.len()
    }
}

#[test]
fn an_interface_may_have_a_parameter_without_a_size() {
    on_all(|| async {
        let shelf: LedgerRef<str, u32> = actor::start(Books::default());
        assert_eq!(shelf.put("a".into(), 1).await.unwrap(), 1);
        assert_eq!(shelf.put("b".into(), 2).await.unwrap(), 2);
    });
}

#[deny(deprecated)]
mod old {
    #[deprecated]
    pub(super) struct Old(pub(super) u8);

    /// What a method allows is allowed of its message, and of the reference's method.
    #[tidings::interface]
    pub(super) trait Takes {
        #[allow(deprecated, reason = "it is about that")]
        async fn take(&self, old: Old) -> u8;
    }

    /// And what the trait allows, of all.
    #[tidings::interface]
    #[expect(deprecated, reason = "it is about that")]
    pub(super) trait Gives {
        async fn give(&self) -> Old;
    }
}

#[expect(deprecated, reason = "the old is what it has")]
mod taken {
    use super::old::{Gives, Old, Takes};

    pub(super) struct Box;
    impl Takes for Box {
        async fn take(&self, old: Old) -> u8 {
            old.0
        }
    }
    impl Gives for Box {
        async fn give(&self) -> Old {
            Old(7)
        }
    }
}

mod own {
    //! An interface that is called as names of the macro begin.

    #[tidings::interface]
    pub(super) trait Tidings {
        async fn good(&self) -> bool;
    }

    pub(super) struct Paper;
    impl Tidings for Paper {
        async fn good(&self) -> bool {
            true
        }
    }
}

#[test]
fn an_interface_may_be_of_what_is_deprecated_and_be_called_as_we_are() {
    on_all(|| async {
        let gives: old::GivesRef = actor::start(taken::Box);
        let takes: old::TakesRef = actor::start(taken::Box);
        let old = gives.give().await.unwrap();
        assert_eq!(takes.take(old).await.unwrap(), 7);
        let paper: own::TidingsRef = actor::start(own::Paper);
        assert!(paper.good().await.unwrap());
    });
}
