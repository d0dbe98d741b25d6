//! How messages reach their methods soonest: by the futures of these, as `serve` in `tidings` takes them.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Path};

use crate::method::Method;

/// What handles messages: the method's own future, without a match around it. Not of methods that the
/// configuration may leave out: the type of the whole would depend on it. Those that are answered by what they return
/// go another way than the one-way ones.
pub(crate) fn ways(
    tidings: &Path,
    remote: bool,
    interface: &Ident,
    methods: &[&Method],
) -> TokenStream {
    let methods = || {
        let methods = methods.iter().copied();
        methods.filter(|method| method.configured().next().is_none())
    };
    let one_way: Vec<_> = methods().filter(|method| method.reply.is_none()).collect();
    // The reply of a remote interface may be taken from its method (`in_time`).
    let answered = methods().filter(|method| method.reply.is_some() && !method.answers && !remote);
    let answered: Vec<_> = answered.collect();
    let ways = [
        ("First", "dispatch_first", &one_way),
        ("AnswerFirst", "answer_first", &answered),
    ];
    let ways = ways
        .into_iter()
        .filter(|(_, _, methods)| !methods.is_empty());
    let goes = ways.clone().map(|(way, _, methods)| {
        let (way, variants) = (format_ident!("{way}"), methods.iter().map(|m| &m.variant));
        quote!(#(Self::#variants(..))|* => #tidings::actor::Way::#way,)
    });
    let dispatches = ways.map(|(_, name, methods)| {
        let name = format_ident!("{name}");
        let arms = methods.iter().enumerate().map(|(index, method)| {
            let (name, variant) = (&method.name, &method.variant);
            let arguments = method.fields();
            let mut future = quote!(#interface::#name(actor, #(#arguments),*));
            let reply = method.reply.as_ref().map(|_| quote!(reply));
            if reply.is_some() {
                future = quote!({
                    reply.is_held();
                    let answer = #future;
                    #tidings::actor::Answering::new(reply, answer)
                });
            }
            let future = one_of(tidings, index, methods.len(), future);
            quote!(Self::#variant(#(#arguments,)* #reply) => #future,)
        });
        quote! {
            #[inline(always)]
            fn #name(
                self,
                actor: &mut __Actor,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                match self {
                    #(#arms)*
                    #[allow(unreachable_patterns)]
                    _ => ::core::unreachable!("it goes another way"),
                }
            }
        }
    });
    quote! {
        #[inline(always)]
        fn way(&self) -> #tidings::actor::Way {
            match self {
                #(#goes)*
                #[allow(unreachable_patterns)]
                _ => #tidings::actor::Way::Any,
            }
        }
        #(#dispatches)*
    }
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
