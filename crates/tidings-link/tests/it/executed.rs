//! What a caller knows of a request whose answer it does not have.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use tidings::actor::{self, CallError};
use tidings::remote::{Describe, Schema};
use tidings_link::Exports;

use crate::nodes::pair;

#[tidings::interface(remote)]
trait Maker {
    /// So many that take no byte.
    async fn units(&mut self, n: u32) -> Vec<()>;
    /// So many bytes.
    async fn bytes(&mut self, n: u32, of: Vec<u8>) -> Vec<u8>;
    /// How many requests there were.
    async fn made(&self) -> u32;
    async fn lend(&self, others: Vec<MakerRef>) -> usize;
    async fn borrow(&self, n: u32) -> Vec<MakerRef>;
    async fn own(&self, it: Own) -> ();
    /// So many that take no byte.
    async fn count(&self, units: Vec<()>) -> usize;
}

/// What cannot be written.
#[derive(Deserialize)]
struct Own;

impl Serialize for Own {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("it is mine"))
    }
}

impl Schema for Own {
    fn describe(to: &mut Describe) {
        to.word("()");
    }
}

#[derive(Default)]
struct Made(u32);

impl Maker for Made {
    async fn units(&mut self, n: u32) -> Vec<()> {
        self.0 += 1;
        vec![(); n as usize]
    }
    async fn bytes(&mut self, n: u32, of: Vec<u8>) -> Vec<u8> {
        self.0 += 1;
        vec![of[0]; n as usize]
    }
    async fn made(&self) -> u32 {
        self.0
    }
    async fn lend(&self, others: Vec<MakerRef>) -> usize {
        others.len()
    }
    async fn borrow(&self, n: u32) -> Vec<MakerRef> {
        vec![actor::start(Self::default()); n as usize]
    }
    async fn own(&self, _: Own) {}
    async fn count(&self, units: Vec<()>) -> usize {
        units.len()
    }
}

fn refused(error: &CallError) -> Option<bool> {
    assert!(matches!(error, CallError::Refused(_)), "{error}");
    error.executed()
}

#[tidings::test]
async fn who_calls_knows_of_what_a_link_refuses_whether_it_was_executed() {
    let maker: MakerRef = actor::start(Made::default());
    let (_server, client) = pair(Exports::new().add("maker", &maker));
    let maker: MakerRef = client.get("maker").await.unwrap();
    let unsent = maker.bytes(1, vec![7; 2 << 20]).await.unwrap_err();
    assert_eq!(refused(&unsent), Some(false));
    assert_eq!(maker.made().await.unwrap(), 0);
    let unread = maker.units(5_000).await.unwrap_err();
    assert_eq!(refused(&unread), Some(true));
    assert_eq!(maker.made().await.unwrap(), 1);
    // Of an answer that is not sent only the other end knows.
    let unanswered = maker.bytes(2 << 20, vec![7]).await.unwrap_err();
    assert_eq!(refused(&unanswered), None);
    assert_eq!(maker.made().await.unwrap(), 2);
}

#[tidings::test]
async fn who_hears_that_a_message_cannot_be_written_hears_why() {
    let maker: MakerRef = actor::start(Made::default());
    let (_server, client) = pair(Exports::new().add("maker", &maker));
    let there: MakerRef = client.get("maker").await.unwrap();
    let says = |error: CallError, why: &str, executed| {
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(refused(&error), executed);
    };
    let many = there.lend(vec![maker.clone(); 1_025]).await.unwrap_err();
    says(many, "too many references", Some(false));
    let many = there.borrow(1_025).await.unwrap_err();
    says(many, "too many references", None);
    // What is written next has its own reason.
    let own = there.own(Own).await.unwrap_err();
    says(own, "`Serialize`", Some(false));
    assert_eq!(there.lend(vec![maker.clone()]).await.unwrap(), 1);
}

#[tidings::test]
async fn who_hears_that_something_cannot_be_read_hears_what_and_where() {
    let maker: MakerRef = actor::start(Made::default());
    let (_server, client) = pair(Exports::new().add("maker", &maker));
    let there: MakerRef = client.get("maker").await.unwrap();
    let unread = there.units(5_000).await.unwrap_err().to_string();
    assert!(unread.contains("the answer cannot be read: "), "{unread}");
    let unread = there.count(vec![(); 5_000]).await.unwrap_err().to_string();
    assert!(
        unread.contains("the arguments cannot be read there: "),
        "{unread}"
    );
}
