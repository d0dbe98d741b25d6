//! Mutual TLS: both sides have a certificate of one authority, and the name of a node is a DNS name
//! in its certificate.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use futures_io::{AsyncRead, AsyncWrite};
use futures_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tidings::time::timeout;

use crate::connect::ConnectError;
use crate::driver::{Driver, link_to};
use crate::intercept::Origin;
use crate::link::{Link, Options};
use crate::place::met_at;

/// Who we are, and whom we trust: a certificate, its key, and an authority, for both directions.
///
/// Whoever has a certificate of the authority is let in; what it can reach is what is exported to
/// it. Its node must be called as its certificate says.
///
/// Certificates are looked at when a link is made, each time: one that expires later ends no link that is there,
/// and none is made with it any more. [`renew`](Self::renew) puts another in its place.
///
/// ```
/// # use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
/// use tidings_link::{Connector, Listener, Options, Tls};
/// # let mut params = CertificateParams::default();
/// # params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
/// # let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
/// # let identity = |node: &str| {
/// #     let key = KeyPair::generate().unwrap();
/// #     let params = CertificateParams::new([node.to_owned()]).unwrap();
/// #     (params.signed_by(&key, &ca).unwrap().pem(), key.serialize_pem())
/// # };
/// # let authority = ca.pem();
/// # let ((certificate, key), (ours, our_key)) = (identity("server"), identity("client"));
/// # tidings::Runtime::new().unwrap().block_on(async {
/// // The texts of PEM files; the certificate is for the DNS name `server`.
/// let tls = Tls::from_pem(authority.as_bytes(), certificate.as_bytes(), key.as_bytes()).unwrap();
/// let listener = Listener::bind("tls://127.0.0.1:0", Options::new("server")).await.unwrap();
/// let server = listener.tls(tls).serve();
///
/// let tls = Tls::from_pem(authority.as_bytes(), ours.as_bytes(), our_key.as_bytes()).unwrap();
/// let connector = Connector::new(&server.address().to_string()).unwrap();
/// let connector = connector.tls(tls).node("server").options(Options::new("client"));
/// let link = connector.connect().await.unwrap();
/// assert_eq!(link.up().await.unwrap().node, "server");
/// assert_eq!(server.next().await.up().await.unwrap().node, "client");
/// # });
/// ```
#[derive(Clone)]
pub struct Tls {
    speaks: Arc<RwLock<Speaks>>,
}

/// As the side that connects, and as the other.
#[derive(Clone)]
struct Speaks {
    client: TlsConnector,
    server: TlsAcceptor,
}

impl Tls {
    /// Of PEM texts: the authority's certificate (or several), our own with those between, our key.
    ///
    /// # Errors
    /// If one of them cannot be read, or they do not belong together: it says which.
    pub fn from_pem(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for root in certificates(AUTHORITY, authority)? {
            roots
                .add(root)
                .map_err(|why| TlsError::of(AUTHORITY, why))?;
        }
        let chain = certificates(CERTIFICATE, certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|why| match why {
            pem::Error::NoItemsFound => TlsError::of(KEY, "there is none in it"),
            why => TlsError::of(KEY, why),
        })?;
        Self::new(roots, chain, key)
    }

    fn new(
        roots: RootCertStore,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let (client, server) = configs(roots, chain, key)?;
        Ok(Self::of(client, server))
    }

    fn of(client: ClientConfig, server: ServerConfig) -> Self {
        let speaks = Speaks {
            client: TlsConnector::from(Arc::new(client)),
            server: TlsAcceptor::from(Arc::new(server)),
        };
        Self {
            speaks: Arc::new(RwLock::new(speaks)),
        }
    }

    fn speaks(&self) -> Speaks {
        let speaks = self.speaks.read().unwrap_or_else(PoisonError::into_inner);
        speaks.clone()
    }

    /// From here on links are made with that identity in the place of this one, by all clones of this: the
    /// connectors, listeners and servers that have it. Links that are there stay.
    ///
    /// For a certificate that is about to expire, or an authority that is trusted from now on beside another.
    ///
    /// ```no_run
    /// use tidings_link::Tls;
    /// # fn read(tls: &Tls) -> Result<(), Box<dyn std::error::Error>> {
    /// let file = |name: &str| std::fs::read(format!("/etc/shop/{name}.pem"));
    /// // If one of them cannot be read, all stays as it was.
    /// tls.renew(&Tls::from_pem(&file("authority")?, &file("certificate")?, &file("key")?)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn renew(&self, with: &Self) {
        let with = with.speaks();
        *self.speaks.write().unwrap_or_else(PoisonError::into_inner) = with;
    }

    /// Speaks TLS with the node of this name over a stream, and puts a link on that: [`link`](crate::link)
    /// over TLS, for any stream and any executor. It makes the checks that a
    /// [`Connector`](crate::Connector) makes: the peer's certificate is of the authority, for this node
    /// and for the name that the peer says is its own.
    ///
    /// The handshake of TLS takes [`Limits::handshake`](crate::Limits::handshake) at most; that of the link
    /// is the driver's.
    ///
    /// # Errors
    /// If the peer does not speak TLS, or its certificate is not good, or ours is not for it
    /// ([`ConnectError::Io`]); or if it takes too long ([`ConnectError::Late`]).
    ///
    /// ```
    /// # use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    /// use futures::executor::block_on;
    /// use std::thread;
    /// use tidings_link::{Options, Tls, memory};
    /// # let mut params = CertificateParams::default();
    /// # params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    /// # let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    /// # let identity = |node: &str| {
    /// #     let key = KeyPair::generate().unwrap();
    /// #     let certificate = CertificateParams::new([node.to_owned()]).unwrap().signed_by(&key, &ca).unwrap();
    /// #     let (ca, certificate, key) = (ca.pem(), certificate.pem(), key.serialize_pem());
    /// #     Tls::from_pem(ca.as_bytes(), certificate.as_bytes(), key.as_bytes()).unwrap()
    /// # };
    /// # let (server, client) = (identity("server"), identity("client"));
    /// // In place of a connection. The identities are from `Tls::from_pem`.
    /// let (here, there) = memory::pipe();
    /// let served = thread::spawn(move || {
    ///     let (link, driver) = block_on(server.accept(there, Options::new("server"))).unwrap();
    ///     thread::spawn(move || block_on(driver));
    ///     block_on(link.up().into_future()).unwrap().node
    /// });
    /// let connecting = client.connect(here, "server", Options::new("client"));
    /// let (link, driver) = block_on(connecting).unwrap();
    /// thread::spawn(move || block_on(driver));
    /// assert_eq!(block_on(link.up().into_future()).unwrap().node, "server");
    /// assert_eq!(served.join().unwrap(), "client");
    /// ```
    pub async fn connect<S>(
        &self,
        stream: S,
        node: &str,
        options: Options,
    ) -> Result<(Link, Driver), ConnectError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let secured = timeout(options.limits.handshake, self.with_server(node, stream));
        let (stream, names) = secured
            .await
            .map_err(|_| ConnectError::Late { at: of(node) })??;
        Ok(put_on(stream, names, options))
    }

    /// As [`connect`](Self::connect), for the side that the other has connected to: the peer's
    /// certificate is of the authority, and for the name that the peer says is its own. Which nodes may
    /// come, says [`Options::expect`].
    ///
    /// # Errors
    /// As above.
    pub async fn accept<S>(
        &self,
        stream: S,
        options: Options,
    ) -> Result<(Link, Driver), ConnectError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let secured = timeout(options.limits.handshake, self.with_client(stream));
        let late = |_| ConnectError::Late {
            at: "who has come".to_owned(),
        };
        let (stream, names) = secured.await.map_err(late)??;
        Ok(put_on(stream, names, options))
    }

    /// Speaks TLS with the node of this name. Gives the names that its certificate is for.
    pub(crate) async fn with_server<S>(
        &self,
        node: &str,
        stream: S,
    ) -> io::Result<(TlsStream<S>, Vec<String>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let secured = async {
            let name = ServerName::try_from(node.to_owned());
            let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let stream = TlsStream::from(self.speaks().client.connect(name, stream).await?);
            let names = names(&stream)?;
            Ok((stream, names))
        };
        secured.await.map_err(|error| met_at(of(node), error))
    }

    /// As above, with whoever has come.
    pub(crate) async fn with_client<S>(&self, stream: S) -> io::Result<(TlsStream<S>, Vec<String>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stream = TlsStream::from(self.speaks().server.accept(stream).await?);
        let names = names(&stream)?;
        Ok((stream, names))
    }
}

/// The node to which a stream leads, for errors.
fn of(node: &str) -> String {
    format!("node {node:?}")
}

/// What an identity is made of, for errors.
const AUTHORITY: &str = "the authority";
const CERTIFICATE: &str = "the certificate";
const KEY: &str = "the key";
const BOTH: &str = "the certificate and the key";

/// Those in a PEM text, of which there is one at least.
fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|why| TlsError::of(what, why))?;
    match all.is_empty() {
        true => Err(TlsError::of(what, "there is none in it")),
        false => Ok(all),
    }
}

/// What each side speaks, the one that connects and the other. No handshake takes up an earlier one: who does
/// shows no certificate, and would come again and again with one that has expired since.
fn configs(
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<(ClientConfig, ServerConfig), TlsError> {
    let (roots, provider) = (
        Arc::new(roots),
        Arc::new(rustls::crypto::ring::default_provider()),
    );
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
    let verifier = verifier
        .build()
        .map_err(|why| TlsError::of(AUTHORITY, why))?;
    let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|why| TlsError::of("TLS", why))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(|why| TlsError::of(BOTH, why))?;
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| TlsError::of("TLS", why))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(|why| TlsError::of(BOTH, why))?;
    client.resumption = Resumption::disabled();
    Ok((client, server))
}

/// A link whose peer may only be called so.
fn put_on<S>(stream: TlsStream<S>, names: Vec<String>, mut options: Options) -> (Link, Driver)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    options.only(Some(names));
    let origin = |stream: &TlsStream<S>| Origin {
        addr: None,
        certificate: shown(stream),
    };
    link_to(stream, options, false, None, origin, |_| {})
}

/// The certificate that the peer has shown, in DER.
pub(crate) fn shown<S>(stream: &TlsStream<S>) -> Option<Vec<u8>> {
    certificate(stream).map(|der| der.to_vec())
}

/// The peer's certificate.
fn certificate<S>(stream: &TlsStream<S>) -> Option<&CertificateDer<'static>> {
    let (_, connection) = stream.get_ref();
    connection.peer_certificates()?.first()
}

/// The DNS names in the peer's certificate.
fn names<S>(stream: &TlsStream<S>) -> io::Result<Vec<String>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let none = || invalid("the peer has no certificate".into());
    let certificate = certificate(stream).ok_or_else(none)?;
    let certificate = webpki::EndEntityCert::try_from(certificate);
    let certificate =
        certificate.map_err(|error| invalid(Box::<dyn Error + Send + Sync>::from(error)))?;
    Ok(certificate.valid_dns_names().map(str::to_owned).collect())
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// Why certificates and key are no identity.
#[derive(Debug)]
pub struct TlsError(String);

impl TlsError {
    /// Of one of them.
    fn of(what: &str, why: impl fmt::Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TlsError {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    use rustls::pki_types::UnixTime;
    use rustls::time_provider::TimeProvider;

    use super::*;
    use crate::memory;

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// The beginning of 2050, in seconds of Unix time.
    const END: u64 = 2_524_608_000;

    #[derive(Debug)]
    struct Clock(AtomicU64);

    impl TimeProvider for Clock {
        fn current_time(&self) -> Option<UnixTime> {
            let now = Duration::from_secs(self.0.load(Ordering::Relaxed));
            Some(UnixTime::since_unix_epoch(now))
        }
    }

    /// An identity until the beginning of that year, as of this clock.
    fn identity(
        authority: &CertifiedIssuer<'static, KeyPair>,
        node: &str,
        until: i32,
        clock: &Arc<Clock>,
    ) -> Tls {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([node.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, node);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, authority).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let chain = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let (mut client, mut server) = configs(roots, chain, key).unwrap();
        client.time_provider = Arc::clone(clock) as Arc<dyn TimeProvider>;
        server.time_provider = Arc::clone(clock) as Arc<dyn TimeProvider>;
        Tls::of(client, server)
    }

    /// Does the server let the client in, and the client the server?
    async fn meet(server: &Tls, client: &Tls) -> bool {
        let (here, there) = memory::pipe();
        let server = server.clone();
        let accepted = tidings::spawn(async move {
            let (link, driver) = server.accept(there, Options::new("server")).await?;
            drop(tidings::spawn(driver));
            let up = link.up().await;
            link.down().await;
            let at = String::new();
            up.map_err(|why| ConnectError::Broken { at, why })
        });
        let connected = client.connect(here, "server", Options::new("client"));
        let connected = match connected.await {
            Ok((link, driver)) => {
                drop(tidings::spawn(driver));
                let up = link.up().await;
                link.drain();
                link.down().await;
                up.is_ok()
            }
            Err(_) => false,
        };
        accepted.await.unwrap().is_ok() && connected
    }

    #[test]
    fn of_texts_that_are_no_identity_it_is_said_which() {
        let authority = authority();
        let signed = |node: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([node.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        let ((certificate, key), (_, other)) = (signed("one"), signed("other"));
        let authority = authority.pem();
        let made = |texts: [&str; 3]| {
            let [authority, certificate, key] = texts.map(str::as_bytes);
            Tls::from_pem(authority, certificate, key)
        };
        let texts = [&*authority, &certificate, &key];
        made(texts).unwrap();
        // As files are of which a disk that was full has taken a part, or nothing.
        for (place, of) in [AUTHORITY, CERTIFICATE, KEY].into_iter().enumerate() {
            for length in [0, texts[place].len() / 2] {
                let mut cut = texts;
                cut[place] = &texts[place][..length];
                let why = made(cut).unwrap_err().to_string();
                assert!(why.starts_with(&format!("{of}: ")), "{length}: {why}");
            }
        }
        let why = made([&authority, &certificate, &other]).unwrap_err();
        assert!(why.to_string().starts_with(&format!("{BOTH}: ")), "{why}");
    }

    #[test]
    fn a_name_for_which_there_is_no_certificate_is_said() {
        let clock = Arc::new(Clock(0.into()));
        let client = identity(&authority(), "client", 2050, &clock);
        let (here, _there) = memory::pipe();
        let connecting = client.connect(here, "no name", Options::new("client"));
        let why = futures::executor::block_on(connecting).unwrap_err();
        assert!(why.to_string().contains("\"no name\""), "{why}");
        assert!(!why.may_pass());
    }

    #[test]
    fn who_has_been_let_in_is_not_again_with_a_certificate_that_has_expired_since() {
        let authority = authority();
        tidings::Runtime::new().unwrap().block_on(async {
            for (server, client) in [(2060, 2050), (2050, 2060)] {
                let clock = Arc::new(Clock((END - 1800).into()));
                let server = identity(&authority, "server", server, &clock);
                let client = identity(&authority, "client", client, &clock);
                assert!(meet(&server, &client).await && meet(&server, &client).await);
                clock.0.store(END + 1800, Ordering::Relaxed);
                assert!(!meet(&server, &client).await);
            }
        });
    }
}
