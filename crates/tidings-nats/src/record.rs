//! What stands under the keys of a cluster: records of nodes, and whose a name is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidings::remote::Interface;

use crate::member::Down;

/// A node's record, under `node.` and its name: JSON, for the eyes of operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) incarnation: u64,
    pub(crate) address: Option<String>,
    /// It is over.
    pub(crate) down: Option<Down>,
}

/// A life of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) node: String,
    pub(crate) incarnation: u64,
}

/// Whose a name is, and what it is the name of, under `name.` and the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registered {
    #[serde(flatten)]
    pub(crate) owner: Owner,
    pub(crate) interface: String,
    /// Which name it is that this life has asked for: one that was given back, and is asked for again at once
    /// for another actor, is another.
    #[serde(default)]
    pub(crate) number: u64,
    /// The hash of the shape of each of its methods. Not one of all: nodes whose interface has got
    /// another method beside the same old ones understand each other, as on any link.
    pub(crate) methods: BTreeMap<String, u32>,
}

impl Registered {
    pub(crate) fn new(owner: &Owner, interface: &Interface, number: u64) -> Self {
        let methods = interface.methods().iter();
        Self {
            owner: owner.clone(),
            interface: interface.name().to_owned(),
            number,
            methods: methods.map(|m| (m.name().to_owned(), m.number())).collect(),
        }
    }
}

/// Where the name of the cluster stands.
pub(crate) const CLUSTER: &str = "cluster";

pub(crate) fn node_key(node: &str) -> String {
    format!("node.{node}")
}

pub(crate) fn name_key(name: &str) -> String {
    format!("name.{name}")
}

pub(crate) fn json<T: Serialize>(value: &T) -> bytes::Bytes {
    serde_json::to_vec(value)
        .expect("all keys are strings")
        .into()
}
