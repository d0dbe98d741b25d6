//! Who may connect to NATS and do what there, asked of a nats-server: TLS, nkeys, permissions; and what it keeps on how many servers.

use std::path::PathBuf;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tidings::actor;
use tidings::time::Instant;
use tidings_nats::nats::ConnectOptions;
use tidings_nats::{Cluster, EngineError, JoinError, Options, Queue};

use crate::counter::{CounterRef, Tally};
use crate::server::NatsServer;

/// Files that go with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = format!("tidings-nats-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn node(nats: ConnectOptions) -> Options {
    Options::new("test", "one").nats(nats)
}

/// Why that node is refused: at once, and not when its patience is over.
pub(crate) async fn refused(url: &str, options: Options) -> String {
    let since = Instant::now();
    let patience = Duration::from_secs(60);
    let error = Cluster::join(url, options.patience(patience)).await;
    let error = error.unwrap_err();
    let JoinError::Engine(EngineError::Refused(why)) = error else {
        panic!("it is no matter of time: {error}");
    };
    assert!(since.elapsed() < patience);
    why
}

#[tidings::test(deadlocks = false)]
async fn over_tls_a_server_of_another_authority_is_refused_and_said_so() {
    let folder = Folder::new("tls");
    let (ours, others) = (authority(), authority());
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let certificate = folder.write("server.pem", &certificate.pem());
    let key = folder.write("server.key", &key.serialize_pem());
    let ours = folder.write("ours.pem", &ours.pem());
    let others = folder.write("others.pem", &others.pem());
    let file = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let arguments = [
        "--tls",
        "--tlscert",
        &file(&certificate),
        "--tlskey",
        &file(&key),
    ];
    let Some(server) = NatsServer::start_with(&arguments) else {
        return;
    };
    let url = server.url().replace("nats://", "tls://");
    let by = |authority: &PathBuf| {
        let nats = ConnectOptions::new().add_root_certificates(authority.clone());
        node(nats.require_tls(true))
    };
    let cluster = Cluster::join(&url, by(&ours)).await.unwrap();
    assert!(cluster.is_connected());
    let why = refused(&url, by(&others)).await;
    assert!(why.contains("certificate"), "{why}");
    // Nor does who knows no authority speak with it in clear.
    let why = refused(&server.url(), node(ConnectOptions::new())).await;
    assert!(why.contains("certificate"), "{why}");
}

#[tidings::test(deadlocks = false)]
async fn by_an_nkey_only_who_has_its_seed_joins() {
    let folder = Folder::new("nkey");
    let (ours, others) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
    let users = format!(
        "authorization {{ users = [ {{ nkey: {} }} ] }}",
        ours.public_key()
    );
    let config = folder.write("server.conf", &users);
    let Some(server) = NatsServer::start_with(&["-c", config.to_str().unwrap()]) else {
        return;
    };
    let by = |key: &nkeys::KeyPair| node(ConnectOptions::with_nkey(key.seed().unwrap()));
    let cluster = Cluster::join(&server.url(), by(&ours)).await.unwrap();
    assert!(cluster.is_connected());
    let why = refused(&server.url(), by(&others)).await;
    assert!(why.contains("authorization"), "{why}");
    let why = refused(&server.url(), node(ConnectOptions::new())).await;
    assert!(why.contains("authorization"), "{why}");
}

#[tidings::test(deadlocks = false)]
async fn by_what_stands_in_the_url_one_joins_and_it_is_not_shown() {
    let folder = Folder::new("url");
    for (config, good, bad) in [
        (
            "users = [ { user: one, password: \"p@ss:1\" } ]",
            "one:p%40ss%3a1",
            "one:secret",
        ),
        ("token: t0ken", "t0ken", "secret"),
    ] {
        let users = format!("authorization {{ {config} }}");
        let config = folder.write("server.conf", &users);
        let Some(server) = NatsServer::start_with(&["-c", config.to_str().unwrap()]) else {
            return;
        };
        let url = |by: &str| server.url().replace("://", &format!("://{by}@"));
        let anyone = || node(ConnectOptions::new());
        assert!(Cluster::join(&url(good), anyone()).await.is_ok());
        let several = format!("{},{}", server.url(), url(good));
        assert!(Cluster::join(&several, anyone()).await.is_ok());
        let why = refused(&url(bad), anyone()).await;
        assert!(
            why.contains("authorization") && !why.contains("secret"),
            "{why}"
        );
    }
}

#[tidings::test(deadlocks = false)]
async fn more_replicas_than_there_are_servers_are_refused_and_said_so() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let why = refused(&server.url(), node(ConnectOptions::new()).replicas(3)).await;
    assert!(why.contains("replicas"), "{why}");
}

/// A server whose only user may not do this with these subjects, and that user's node.
fn denies(folder: &Folder, what: &str, subjects: &str) -> Option<(NatsServer, Options)> {
    let permissions = format!("permissions: {{ {what}: {{ deny: {subjects:?} }} }}");
    let user = format!("{{ user: one, password: secret, {permissions} }}");
    let users = format!("authorization {{ users = [ {user} ] }}");
    let config = folder.write("server.conf", &users);
    let server = NatsServer::start_with(&["-c", config.to_str().unwrap()])?;
    let by = ConnectOptions::with_user_and_password("one".into(), "secret".into());
    Some((server, node(by)))
}

#[tidings::test(deadlocks = false)]
async fn who_may_not_subscribe_is_refused_and_hears_to_which_subject() {
    let folder = Folder::new("subscriptions");
    let Some((server, options)) = denies(&folder, "subscribe", "tidings.test.node.>") else {
        return;
    };
    let why = refused(&server.url(), options).await.to_lowercase();
    let said = "permissions violation for subscription to \"tidings.test.node.one.";
    assert!(why.contains(said), "{why}");
}

#[tidings::test(deadlocks = false)]
async fn who_may_not_publish_hears_to_which_subject() {
    let folder = Folder::new("permissions");
    for (denied, said) in [
        (
            "$JS.API.STREAM.CREATE.>",
            "$js.api.stream.create.kv_tidings-test\"",
        ),
        (
            "$JS.API.CONSUMER.CREATE.>",
            "$js.api.consumer.create.kv_tidings-test",
        ),
    ] {
        let Some((server, options)) = denies(&folder, "publish", denied) else {
            return;
        };
        // The first attempt has its time, the last has not.
        let options = options.patience(Duration::from_millis(2500));
        let error = Cluster::join(&server.url(), options).await.unwrap_err();
        let error = error.to_string().to_lowercase();
        let said = format!("permissions violation for publish to \"{said}");
        assert!(error.contains(&said), "{error}");
    }
}

#[tidings::test(deadlocks = false)]
async fn who_may_not_publish_to_others_is_refused_and_hears_to_which_subject() {
    let folder = Folder::new("others");
    let denied = "tidings.test.node.>";
    let Some((server, options)) = denies(&folder, "publish", denied) else {
        return;
    };
    let one = Cluster::join(&server.url(), options).await.unwrap();
    let by = ConnectOptions::with_user_and_password("one".into(), "secret".into());
    let two = Options::new("test", "two").nats(by);
    let two = Cluster::join(&server.url(), two).await.unwrap();
    let counter: CounterRef = actor::start(Tally::default());
    let _name = two.register("counter", &counter).await.unwrap();
    let error = one.lookup::<CounterRef>("counter").await.unwrap_err();
    let said = "Permissions Violation for Publish to \"tidings.test.node.two.";
    assert!(error.to_string().contains(said), "{error}");
}

#[tidings::test(deadlocks = false)]
async fn who_may_not_write_a_key_or_put_is_refused() {
    let folder = Folder::new("keys");
    let denied = "$KV.tidings-test.node.>";
    let Some((server, options)) = denies(&folder, "publish", denied) else {
        return;
    };
    let why = refused(&server.url(), options).await;
    assert!(why.contains("Publish to \"$KV.tidings-test.node."), "{why}");
    let Some((server, options)) = denies(&folder, "publish", "tidings-test.queue.>") else {
        return;
    };
    let one = Cluster::join(&server.url(), options).await.unwrap();
    let orders: Queue<u64> = one.queue("orders").await.unwrap();
    let put = orders.put("1", &1).await;
    assert!(matches!(put, Err(EngineError::Refused(_))), "{put:?}");
}
