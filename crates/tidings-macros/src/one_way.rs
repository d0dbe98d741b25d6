//! How one-way messages reach their methods: by the futures of these, as `serve` in `tidings` takes them.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Path};

use crate::interface::Method;

/// What handles one-way messages: the method's own future, without a match around it. Not of methods that the
/// configuration may leave out: the type of the whole would depend on it.
pub(crate) fn one_way(
    tidings: &Path,
    interface: &Ident,
    methods: &[&Method],
) -> Option<TokenStream> {
    let methods: Vec<_> = methods
        .iter()
        .filter(|method| method.reply.is_none() && method.configured().next().is_none())
        .collect();
    let variants = methods.iter().map(|method| &method.variant);
    let one_ways = quote!(#(Self::#variants(..))|*);
    let arms = methods.iter().enumerate().map(|(index, method)| {
        let (name, variant) = (&method.name, &method.variant);
        let arguments: Vec<_> = (0..method.arguments.len())
            .map(|n| format_ident!("argument_{n}"))
            .collect();
        let future = quote!(#interface::#name(actor, #(#arguments),*));
        let future = one_of(tidings, index, methods.len(), future);
        quote!(Self::#variant(#(#arguments),*) => #future,)
    });
    (!methods.is_empty()).then(|| {
        quote! {
            #[inline(always)]
            fn way(&self) -> #tidings::actor::Way {
                match self {
                    #one_ways => #tidings::actor::Way::First,
                    #[allow(unreachable_patterns)]
                    _ => #tidings::actor::Way::Any,
                }
            }
            #[inline(always)]
            fn dispatch_first(
                self,
                actor: &mut TidingsActor,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                match self {
                    #(#arms)*
                    #[allow(unreachable_patterns)]
                    _ => ::core::unreachable!("it is not one-way"),
                }
            }
        }
    })
}

/// A future as that with this index of `n`, which are the leaves of a tree.
pub(crate) fn one_of(tidings: &Path, index: usize, n: usize, future: TokenStream) -> TokenStream {
    let first = n / 2;
    if n == 1 {
        future
    } else if index < first {
        let future = one_of(tidings, index, first, future);
        quote!(#tidings::actor::OneOf::First { future: #future })
    } else {
        let future = one_of(tidings, index - first, n - first, future);
        quote!(#tidings::actor::OneOf::Second { future: #future })
    }
}
