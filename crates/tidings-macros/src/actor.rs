//! `#[tidings::actor(A, B)]`: the interfaces of one actor, as one type of messages.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, GenericParam, Generics, Ident, Item, Path, Result, Visibility};

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
    let (vis, ident, generics) = state(item)?;
    let (parameters, types, condition) = generics.split_for_impl();
    let Unused { variant, arm } = Unused::of(&generics);
    let ref_arm = arm
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
    let (names, messages) = variants(&interfaces);
    let all = (0..names.len()).map(|index| future(&tidings, index, names.len(), "dispatch"));
    let ways = ways(&tidings, &quote!(#ident #types), &names, ref_arm.as_ref());
    let message_doc = format!("The messages of all interfaces of [`{ident}`].");
    let reference_doc = format!("A reference to an actor whose state is a [`{ident}`].");
    Ok(quote! {
        #[doc = #message_doc]
        #vis enum #message #generics #condition {
            #(#[doc(hidden)] #names(#messages),)*
            #variant
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
                    #ref_arm
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
                    #arm
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
                    #ref_arm
                }
            }
            #ways
            fn is_reentrant(&self) -> bool {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::<#ident #types>::is_reentrant(message)
                    })*
                    #ref_arm
                }
            }
            async fn reenter(self, this: #tidings::actor::Shared<#ident #types>) {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::reenter(message, this).await;
                    })*
                    #arm
                }
            }
        }
    })
}

/// The type that it stands on: all it may be is the state of an actor.
fn state(item: &TokenStream) -> Result<(Visibility, Ident, Generics)> {
    let (vis, ident, generics) = match syn::parse2::<Item>(item.clone())? {
        Item::Struct(item) => (item.vis, item.ident, item.generics),
        Item::Enum(item) => (item.vis, item.ident, item.generics),
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
    Ok((vis, ident, travelling(&generics)))
}

/// For each interface: what its variant is called, and the messages that are in it.
fn variants(interfaces: &[Path]) -> (Vec<Ident>, Vec<Path>) {
    let variants = interfaces.iter().enumerate().map(|(place, interface)| {
        let mut messages = interface.clone();
        let last = messages.segments.last_mut().expect("a path has a segment");
        let name = last.ident.clone();
        last.ident = format_ident!("{name}Message");
        // As `Store<u8>` and `Store<u16>`.
        let mut before = interfaces.iter().take(place);
        let name = match before.any(|before| is_called(before, &name)) {
            true => format_ident!("_{place}{name}"),
            false => name,
        };
        (name, messages)
    });
    variants.unzip()
}

/// The future of a message of the `index`th of `n` interfaces, by this method of theirs.
fn future(tidings: &Path, index: usize, n: usize, method: &str) -> TokenStream {
    let method = format_ident!("{method}");
    let handled = quote!(#tidings::actor::Dispatch::#method(message, actor));
    one_of(tidings, index, n, handled)
}

/// The ways of messages, each with a future that chooses among fewer.
fn ways(
    tidings: &Path,
    state: &TokenStream,
    names: &[Ident],
    ref_arm: Option<&TokenStream>,
) -> TokenStream {
    let first = names.len().div_ceil(2);
    let ways = [
        ("dispatch_first", "dispatch_first", 0..first),
        ("dispatch_second", "dispatch_first", first..names.len()),
        ("answer_first", "answer_first", 0..first),
        ("answer_second", "answer_first", first..names.len()),
    ];
    let ways = ways.into_iter().filter(|(_, _, way)| !way.is_empty());
    let dispatches = ways.map(|(method, of_interface, way)| {
        let (method, names, n) = (format_ident!("{method}"), &names[way.clone()], way.len());
        let futures = (0..n).map(|index| future(tidings, index, n, of_interface));
        quote! {
            #[inline(always)]
            fn #method(
                self,
                actor: &mut #state,
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
    quote! {
        #[inline(always)]
        fn way(&self) -> #tidings::actor::Way {
            match self {
                #(Self::#names(message) => {
                    match #tidings::actor::Dispatch::<#state>::way(message) {
                        #tidings::actor::Way::First => #goes,
                        #tidings::actor::Way::AnswerFirst => #answers,
                        _ => #tidings::actor::Way::Any,
                    }
                })*
                #ref_arm
            }
        }
        #(#dispatches)*
    }
}

fn is_called(path: &Path, name: &Ident) -> bool {
    path.segments.last().is_some_and(|last| last.ident == *name)
}
