//! Sizes: what the workloads may ask for.

pub(crate) use peer_protocol::within;

use crate::cells::{Fault, Params};

/// `(p, n, w)`, where `window` is that of the variant.
pub(crate) fn pingpong(params: Params, window: i64) -> Result<(i64, i64, i64), Fault> {
    let Params { p, n, w, .. } = params;
    let w = if w == 0 { window } else { w };
    within(&[("p", p, 1_000_000), ("n", n, 1 << 31), ("w", w, 1_000_000)])?;
    Ok((p, n, w))
}

pub(crate) fn chain(params: Params) -> Result<i64, Fault> {
    within(&[("A", params.A, 5_000_000)])?;
    Ok(params.A)
}

pub(crate) fn fan(params: Params) -> Result<i64, Fault> {
    within(&[("N", params.N, 100_000_000)])?;
    Ok(params.N)
}

/// `(P, n)`.
pub(crate) fn counter(params: Params) -> Result<(i64, i64), Fault> {
    within(&[("P", params.P, 100_000), ("n", params.n, 1 << 31)])?;
    Ok((params.P, params.n))
}

/// S, a power of ten.
pub(crate) fn skynet(params: Params) -> Result<i64, Fault> {
    within(&[("S", params.S, 100_000_000)])?;
    if 10_i64.pow(params.S.ilog10()) == params.S {
        Ok(params.S)
    } else {
        Err(Fault::Limit("S must be a power of 10".into()))
    }
}

pub(crate) fn spawn(params: Params) -> Result<i64, Fault> {
    within(&[("n", params.n, 1_000_000_000)])?;
    Ok(params.n)
}

/// `(N, M)`.
pub(crate) fn net(params: Params) -> Result<(i64, i64), Fault> {
    within(&[("N", params.N, 1_000_000), ("M", params.M, 1 << 31)])?;
    Ok((params.N, params.M))
}
