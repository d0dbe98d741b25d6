//! Certificates for tests.

use rcgen::date_time_ymd;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tidings_link::Tls;

/// What a certificate for a node says. Without a name of its own it would look self-signed.
fn params(node: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![node.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, node);
    params
}

/// An authority that signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a node, and its key, in PEM.
    pub(crate) fn signed(&self, node: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = params(node).signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub(crate) fn identity(&self, node: &str, expired: bool) -> Tls {
        self.trusting(self, node, expired)
    }

    /// An identity of this authority, which trusts those of another.
    pub(crate) fn trusting(&self, other: &Self, node: &str, expired: bool) -> Tls {
        let mut params = params(node);
        if expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Tls::from_pem(
            other.0.pem().as_bytes(),
            certificate.pem().as_bytes(),
            key.serialize_pem().as_bytes(),
        )
        .unwrap()
    }
}
