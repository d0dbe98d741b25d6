//! `#[tidings::actor(A, B)]`: the interfaces of one actor, as one type of messages.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, GenericParam, Ident, Path, Result};

use crate::interface::{Unused, travelling};
use crate::options::PathsAndCrate;
use crate::ways::one_of;

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    match actor(options, &item) {
        Ok(set) => quote!(#item #set),
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}

fn actor(options: TokenStream, item: &TokenStream) -> Result<TokenStream> {
    let PathsAndCrate {
        paths: interfaces,
        tidings,
    } = syn::parse2(options)?;
    if interfaces.is_empty() {
        return Err(Error::new(
            Span::call_site(),
            "name the actor's interfaces: `#[tidings::actor(Counter, Admin)]`",
        ));
    }
    let text = |interface: &Path| interface.to_token_stream().to_string();
    for (place, interface) in interfaces.iter().enumerate() {
        let mut before = interfaces.iter().take(place);
        if before.any(|before| text(before) == text(interface)) {
            return Err(Error::new_spanned(interface, "it is given twice"));
        }
    }
    let (vis, ident, generics) = match syn::parse2::<syn::Item>(item.clone())? {
        syn::Item::Struct(item) => (item.vis, item.ident, item.generics),
        syn::Item::Enum(item) => (item.vis, item.ident, item.generics),
        other => {
            return Err(Error::new_spanned(
                other,
                "#[tidings::actor] stands on the type of the actor's state",
            ));
        }
    };
    if let Some(lifetime) = generics.lifetimes().next() {
        return Err(Error::new_spanned(
            lifetime,
            "the state of an actor owns what it holds: it has no lifetimes",
        ));
    }
    let generics = travelling(&generics);
    let (parameters, types, condition) = generics.split_for_impl();
    let unused = Unused::of(&generics);
    let (unused_variant, unused_arm) = (&unused.variant, &unused.arm);
    let unused_ref_arm = unused_arm
        .as_ref()
        .map(|_| quote!(Self::_Unused(never, _) => match *never {},));
    let arguments = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(parameter) => &parameter.ident,
        GenericParam::Const(parameter) => &parameter.ident,
        GenericParam::Lifetime(_) => unreachable!("refused above"),
    });
    // An alias has no bounds.
    let declared = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Const(parameter) => parameter.to_token_stream(),
        GenericParam::Type(parameter) => {
            let (name, default) = (&parameter.ident, &parameter.default);
            let default = default.as_ref().map(|default| quote!(= #default));
            quote!(#name #default)
        }
        GenericParam::Lifetime(_) => unreachable!("refused above"),
    });
    let (arguments, declared) = (quote!(#(#arguments),*), quote!(#(#declared),*));
    let message = format_ident!("{ident}Message");
    let reference = format_ident!("{ident}Ref");
    let variants = interfaces.iter().enumerate().map(|(place, interface)| {
        let mut messages = interface.clone();
        let last = messages.segments.last_mut().expect("a path has a segment");
        let name = last.ident.clone();
        last.ident = format_ident!("{name}Message");
        // As `Store<u8>` and `Store<u16>`.
        let twin = interfaces
            .iter()
            .take(place)
            .any(|before| is_called(before, &name));
        let name = if twin {
            format_ident!("_{place}{name}")
        } else {
            name
        };
        (name, messages)
    });
    let (names, messages): (Vec<Ident>, Vec<Path>) = variants.unzip();
    let future = |index, n, method: &Ident| {
        let handled = quote!(#tidings::actor::Dispatch::#method(message, actor));
        one_of(&tidings, index, n, handled)
    };
    let all = (0..names.len()).map(|index| future(index, names.len(), &format_ident!("dispatch")));
    // The ways of messages, each with a future that chooses among fewer.
    let first = names.len().div_ceil(2);
    let ways = [
        ("dispatch_first", "dispatch_first", 0..first),
        ("dispatch_second", "dispatch_first", first..names.len()),
        ("answer_first", "answer_first", 0..first),
        ("answer_second", "answer_first", first..names.len()),
    ];
    let ways = ways.into_iter().filter(|(_, _, way)| !way.is_empty());
    let dispatches = ways.map(|(method, of_interface, way)| {
        let (method, of_interface) = (format_ident!("{method}"), format_ident!("{of_interface}"));
        let (names, n) = (&names[way.clone()], way.len());
        let futures = (0..n).map(|index| future(index, n, &of_interface));
        quote! {
            #[inline(always)]
            fn #method(
                self,
                actor: &mut #ident #types,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                match self {
                    #(Self::#names(message) => #futures,)*
                    #[allow(unreachable_patterns)]
                    _ => ::core::unreachable!("it goes another way"),
                }
            }
        }
    });
    let goes = (0..names.len()).map(|index| match index < first {
        true => quote!(#tidings::actor::Way::First),
        false => quote!(#tidings::actor::Way::Second),
    });
    let answers = (0..names.len()).map(|index| match index < first {
        true => quote!(#tidings::actor::Way::AnswerFirst),
        false => quote!(#tidings::actor::Way::AnswerSecond),
    });
    let message_doc = format!("The messages of all interfaces of [`{ident}`].");
    let reference_doc = format!("A reference to an actor whose state is a [`{ident}`].");
    Ok(quote! {
        #[doc = #message_doc]
        #vis enum #message #generics #condition {
            #(#[doc(hidden)] #names(#messages),)*
            #unused_variant
        }

        #[doc = #reference_doc]
        #vis type #reference<#declared> = #tidings::actor::ActorRef<#message<#arguments>>;

        #(
            impl #parameters #tidings::actor::Carries<#messages> for #message #types #condition {
                fn wrap(inner: #messages) -> Self {
                    Self::#names(inner)
                }
            }
        )*

        impl #parameters ::core::fmt::Debug for #message #types #condition {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    #(Self::#names(message) => ::core::fmt::Debug::fmt(message, f),)*
                    #unused_ref_arm
                }
            }
        }

        impl #parameters #tidings::actor::Dispatch<#ident #types> for #message #types #condition {
            const REENTRANT: bool = false
                #(|| <#messages as #tidings::actor::Dispatch<#ident #types>>::REENTRANT)*;

            fn dispatch(
                self,
                actor: &mut #ident #types,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                match self {
                    #(Self::#names(message) => #all,)*
                    #unused_arm
                }
            }
            #[inline]
            fn stands_for(
                &self,
            ) -> ::core::option::Option<(&'static str, &'static str)> {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::<#ident #types>::stands_for(message)
                    })*
                    #unused_ref_arm
                }
            }
            #[inline(always)]
            fn way(&self) -> #tidings::actor::Way {
                match self {
                    #(Self::#names(message) => {
                        match #tidings::actor::Dispatch::<#ident #types>::way(message) {
                            #tidings::actor::Way::First => #goes,
                            #tidings::actor::Way::AnswerFirst => #answers,
                            _ => #tidings::actor::Way::Any,
                        }
                    })*
                    #unused_ref_arm
                }
            }
            #(#dispatches)*
            fn is_reentrant(&self) -> bool {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::<#ident #types>::is_reentrant(message)
                    })*
                    #unused_ref_arm
                }
            }
            async fn reenter(self, this: #tidings::actor::Shared<#ident #types>) {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::reenter(message, this).await;
                    })*
                    #unused_arm
                }
            }
        }
    })
}

fn is_called(path: &Path, name: &Ident) -> bool {
    path.segments.last().is_some_and(|last| last.ident == *name)
}
