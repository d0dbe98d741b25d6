//! Nodes with the credentials of an operator's account, confined to the subjects of their cluster: what
//! `nsc` makes, made here by hand.

use std::time::Duration;

use nkeys::KeyPair;
use serde_json::{Value, json};
use tidings::actor;
use tidings::time::sleep;
use tidings_nats::nats::ConnectOptions;
use tidings_nats::{Cluster, FeedOptions, Options, Queue};

use crate::counter::{CounterRef, Tally};
use crate::secure::{Folder, refused};
use crate::server::NatsServer;

/// As a JWT has its bytes.
fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(*three.get(place).unwrap_or(&0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=three.len() {
            let six = bits >> (18 - 6 * digit) & 63;
            text.push(char::from(DIGITS[six as usize]));
        }
    }
    text
}

/// What the issuer says of the subject.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: Value) -> String {
    let claims = json!({
        "jti": name,
        "iat": 1_767_225_600,
        "iss": issuer.public_key(),
        "name": name,
        "sub": subject.public_key(),
        "nats": nats,
    });
    let head = base64url(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let said = format!("{head}.{}", base64url(claims.to_string().as_bytes()));
    let signature = issuer.sign(said.as_bytes()).unwrap();
    format!("{said}.{}", base64url(&signature))
}

/// An account, in which JetStream has what it wants, and its token.
fn account(operator: &KeyPair, name: &str, storage: i64) -> (KeyPair, String) {
    let account = KeyPair::new_account();
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": storage, "disk_storage": storage,
        "streams": storage, "consumer": storage,
    });
    let nats = json!({ "type": "account", "version": 2, "limits": limits });
    let token = token(operator, &account, name, nats);
    (account, token)
}

/// A user's credentials, as they stand in a file of `nsc`: one that is confined to the cluster `shop`, as
/// docs/deploy.md says.
fn credentials(account: &KeyPair) -> String {
    let user = KeyPair::new_user();
    let allow = json!({ "allow": [
        "tidings.shop.>", "tidings-shop.queue.>", "$JS.API.>", "$JS.ACK.>", "$KV.tidings-shop.>",
        "_INBOX.>",
    ] });
    let nats = json!({
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
        "pub": allow, "sub": allow,
    });
    let token = token(account, &user, "node", nats);
    let seed = user.seed().unwrap();
    format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
}

#[tidings::test(deadlocks = false)]
async fn by_the_credentials_of_an_account_a_node_joins_and_is_confined_to_its_cluster() {
    let folder = Folder::new("jwt");
    let operator = KeyPair::new_operator();
    let nats = json!({ "type": "operator", "version": 2 });
    let said = token(&operator, &operator, "operator", nats);
    let (shop, shop_token) = account(&operator, "shop", -1);
    let (system, system_token) = account(&operator, "system", 0);
    let (shop_key, system_key) = (shop.public_key(), system.public_key());
    let config = format!(
        "operator: {said}\nsystem_account: {system_key}\nresolver: MEMORY\n\
         resolver_preload: {{ {shop_key}: {shop_token}, {system_key}: {system_token} }}\n"
    );
    let config = folder.write("server.conf", &config);
    let Some(server) = NatsServer::start_with(&["-c", config.to_str().unwrap()]) else {
        return;
    };
    let by = |account: &KeyPair| ConnectOptions::with_credentials(&credentials(account)).unwrap();
    let node = |name: &str| Options::new("shop", name).nats(by(&shop));
    let one = Cluster::join(&server.url(), node("one")).await.unwrap();
    let two = Cluster::join(&server.url(), node("two")).await.unwrap();
    // Names, a link through NATS, a queue: all that a node does.
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let there: CounterRef = two.lookup("counter").await.unwrap();
    assert_eq!(there.inc().await.unwrap(), 1);
    let orders: Queue<i64> = one.queue("orders").await.unwrap();
    orders.put("first", &6).await.unwrap();
    let fed = orders.feed(&counter, FeedOptions::new(), |counter, n| async move {
        counter.add(n).await
    });
    while there.get().await.unwrap() < 7 {
        sleep(Duration::from_millis(10)).await;
    }
    fed.stop(Duration::from_secs(1)).await;
    // Another account's user, who is not this server's, does not.
    let stranger = KeyPair::new_account();
    let other = Options::new("shop", "three").nats(by(&stranger));
    let why = refused(&server.url(), other).await;
    assert!(why.contains("authorization"), "{why}");
    // Nor does a node of another cluster, though it may connect.
    let elsewhere = Options::new("elsewhere", "one").nats(by(&shop));
    let elsewhere = elsewhere.patience(Duration::from_secs(3));
    assert!(Cluster::join(&server.url(), elsewhere).await.is_err());
}
