//! What a peer can reach: the actors that were exported to its link, by name.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tidings::actor::Reference;
use tidings::remote::{self, Interface, Malformed, Port, Remote, interface};

use crate::frame::Unbound;
use crate::session::Bind;

/// Names, and the actors that they give a peer: its capabilities. What is not among them, nor was
/// sent to it in a message, a peer cannot reach. Clones are the same exports: what is added to one, or
/// taken from it, links that are there see when they are asked next.
///
/// ```
/// use tidings::actor;
/// use tidings_link::Exports;
///
/// #[tidings::interface(remote)]
/// trait Counter {
///     async fn add(&mut self, n: u32);
/// }
/// # struct Tally(u32);
/// # impl Counter for Tally {
/// #     async fn add(&mut self, n: u32) {
/// #         self.0 += n;
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter: CounterRef = actor::start(Tally(0));
/// let exports = Exports::new()
///     .add("counter", &counter)
///     .add_with_token("admin", "open sesame", &counter);
/// # drop(exports);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Exports {
    names: Arc<RwLock<HashMap<String, Named>>>,
}

type Give = Arc<dyn Fn(&mut dyn Port) -> Result<u32, Malformed> + Send + Sync>;

#[derive(Clone)]
struct Named {
    token: Vec<u8>,
    interface: &'static Interface,
    give: Give,
}

impl Exports {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An actor, under a name. It is kept alive by this.
    #[must_use]
    pub fn add<R>(self, name: impl Into<String>, reference: &R) -> Self
    where
        R: Reference<Message: Remote>,
    {
        self.add_with_token(name, [], reference)
    }

    /// An actor, under a name that only who has the token can ask for.
    #[must_use]
    pub fn add_with_token<R>(
        self,
        name: impl Into<String>,
        token: impl Into<Vec<u8>>,
        reference: &R,
    ) -> Self
    where
        R: Reference<Message: Remote>,
    {
        let reference = reference.clone();
        let named = Named {
            token: token.into(),
            interface: interface::<R::Message>(),
            give: Arc::new(move |port| remote::export(port, &reference)),
        };
        let before = self.write(|names| names.insert(name.into(), named));
        // What it exported may end by that, and does so outside of the lock.
        drop(before);
        self
    }

    /// Takes a name back. References that a peer has by it stay good.
    pub fn remove(&self, name: &str) {
        let gone = self.write(|names| names.remove(name));
        drop(gone);
    }

    fn write<R>(&self, change: impl FnOnce(&mut HashMap<String, Named>) -> R) -> R {
        change(&mut self.names.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a peer gets that asks so.
    pub(crate) fn find(&self, bind: &Bind) -> Result<Give, Unbound> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let named = names.get(&bind.name);
        let named = named.filter(|named| same(&named.token, &bind.token));
        let named = named.ok_or(Unbound::NoSuchName)?;
        if named.interface.name() != bind.interface {
            return Err(Unbound::OtherInterface(named.interface.name().to_owned()));
        }
        // One that it does not have is refused when it is called: newer clients may have more.
        let methods = named.interface.methods();
        let changed = bind.methods.iter().find(|(name, number)| {
            let same = methods.iter().find(|method| method.name() == name);
            same.is_some_and(|method| method.number() != *number)
        });
        match changed {
            Some((name, _)) => Err(Unbound::Schema(name.clone())),
            None => Ok(Arc::clone(&named.give)),
        }
    }
}

/// In a time that does not say where they differ.
fn same(token: &[u8], given: &[u8]) -> bool {
    let differ = token.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
    token.len() == given.len() && std::hint::black_box(differ) == 0
}

impl fmt::Debug for Exports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(names.keys()).finish()
    }
}
