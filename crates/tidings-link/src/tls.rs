//! Mutual TLS: both sides have a certificate of one authority, and the name of a node is a DNS name
//! in its certificate.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use futures_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tidings::time::timeout;

use crate::connect::ConnectError;
use crate::driver::{Driver, link_to};
use crate::intercept::Origin;
use crate::link::{Link, Options};

/// Who we are, and whom we trust: a certificate, its key, and an authority, for both directions.
///
/// Whoever has a certificate of the authority is let in; what it can reach is what is exported to
/// it. Its node must be called as its certificate says.
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
    client: TlsConnector,
    server: TlsAcceptor,
}

impl Tls {
    /// Of PEM texts: the authority's certificate (or several), our own with those between, our key.
    ///
    /// # Errors
    /// If one of them cannot be read, or they do not belong together.
    pub fn from_pem(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates = |pem| CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
        let mut roots = RootCertStore::empty();
        for root in certificates(authority).map_err(TlsError::new)? {
            roots.add(root).map_err(TlsError::new)?;
        }
        let chain = certificates(certificate).map_err(TlsError::new)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::new)?;
        Self::new(roots, chain, key)
    }

    fn new(
        roots: RootCertStore,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let (roots, provider) = (
            Arc::new(roots),
            Arc::new(rustls::crypto::ring::default_provider()),
        );
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let verifier = verifier.build().map_err(TlsError::new)?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::new)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(TlsError::new)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::new)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(TlsError::new)?;
        Ok(Self {
            client: TlsConnector::from(Arc::new(client)),
            server: TlsAcceptor::from(Arc::new(server)),
        })
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
        let (stream, names) = secured.await.map_err(|_| ConnectError::Late)??;
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
        let (stream, names) = secured.await.map_err(|_| ConnectError::Late)??;
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
        let name = ServerName::try_from(node.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsStream::from(self.client.connect(name, stream).await?);
        let names = names(&stream)?;
        Ok((stream, names))
    }

    /// As above, with whoever has come.
    pub(crate) async fn with_client<S>(&self, stream: S) -> io::Result<(TlsStream<S>, Vec<String>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stream = TlsStream::from(self.server.accept(stream).await?);
        let names = names(&stream)?;
        Ok((stream, names))
    }
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
pub struct TlsError(Box<dyn Error + Send + Sync>);

impl TlsError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for TlsError {}
