//! Addresses of servers: credentials that stand in them, and how they are shown without.

use async_nats::{ConnectOptions, ServerAddr};

/// With the credentials of the first address that has some: a name and a password, or, of what is alone before the
/// `@`, a token. The client leaves them out.
pub(super) fn authorized(options: ConnectOptions, url: &str) -> ConnectOptions {
    let servers = url.split(',').filter_map(|server| server.parse().ok());
    let mut named = servers.filter(|server: &ServerAddr| server.username().is_some());
    let Some(server) = named.next() else {
        return options;
    };
    let name = decoded(server.username().unwrap_or_default());
    match server.password() {
        Some(password) => options.user_and_password(name, decoded(password)),
        None => options.token(name),
    }
}

/// What stands in an address, where `%` and two digits are a byte.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).map(|digits| u8::from_str_radix(digits, 16));
        rest = match byte {
            Some(Ok(byte)) => {
                bytes.push(byte);
                &after[2..]
            }
            _ => {
                bytes.push(b'%');
                after
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Without the passwords that may stand in them.
pub(crate) fn shown(url: &str) -> String {
    let without = |url: &str| match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => url.to_owned(),
    };
    url.split(',').map(without).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn what_stands_in_an_address_is_decoded() {
        for (text, said) in [
            ("plain", "plain"),
            ("a%40b%3Ac", "a@b:c"),
            ("%C3%A9%2f", "é/"),
            ("5%", "5%"),
            ("%zz%4", "%zz%4"),
            ("%%41é%é", "%Aé%é"),
        ] {
            assert_eq!(decoded(text), said);
        }
    }
}
