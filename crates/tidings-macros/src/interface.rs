//! `#[tidings::interface]`: a trait of `async fn`s becomes the trait that an actor implements, the
//! messages that stand for its methods, and the reference that sends them (`reference.rs`).
//!
//! Every name that the expansion adds begins with the trait's or with `__`, or is a path into `tidings`, so that
//! nothing of the user's is captured; errors point at what the user wrote.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Generics, Ident, ItemTrait, Path, Result, Type, WherePredicate, parse_quote};

use crate::method::{Method, methods};
use crate::options::{allowed, flag_and_crate_path, outer_and_inner};
use crate::ways::ways;
use crate::{reference, remote};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let parsed = flag_and_crate_path("#[tidings::interface]", "remote", options)
        .and_then(|options| Ok((options, syn::parse2::<ItemTrait>(item.clone())?)))
        .and_then(|((remote, tidings), item)| interface(&tidings, remote, &item));
    parsed.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error)
    })
}

fn interface(tidings: &Path, remote: bool, item: &ItemTrait) -> Result<TokenStream> {
    let methods = methods(item)?;
    let wire = match remote {
        true => Some(remote::interface(tidings, item, &methods)?),
        false => None,
    };
    let declaration = declaration(item, &methods);
    let message = message(tidings, remote, item, &methods);
    let reference = reference::of(tidings, item, &methods);
    Ok(quote!(#declaration #message #reference #wire))
}

fn declaration(item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait {
        attrs,
        vis,
        unsafety,
        ident,
        supertraits,
        ..
    } = item;
    let generics = travelling(&item.generics);
    let condition = &generics.where_clause;
    let declared = methods.iter().map(|method| &method.declared);
    let (outer, inner) = outer_and_inner(attrs.clone());
    quote! {
        #(#outer)*
        #vis #unsafety trait #ident #generics:
            ::core::marker::Sized + ::core::marker::Send + 'static + #supertraits #condition
        {
            #(#inner)*
            #(#declared)*
        }
    }
}

fn is_type(kind: &Type, name: &Ident) -> bool {
    matches!(kind, Type::Path(path) if path.path.is_ident(name))
}

/// These generics, with all types able to travel.
pub(crate) fn travelling(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    let mut predicates = generics.where_clause.take();
    for parameter in generics.type_params_mut() {
        // Where the user wrote its bounds: clippy wants them in one place.
        let name = &parameter.ident;
        let elsewhere = predicates
            .iter_mut()
            .flat_map(|clause| &mut clause.predicates)
            .find_map(|predicate| match predicate {
                WherePredicate::Type(bounds) if is_type(&bounds.bounded_ty, name) => {
                    Some(&mut bounds.bounds)
                }
                _ => None,
            });
        let bounds = elsewhere.unwrap_or(&mut parameter.bounds);
        bounds.push(parse_quote!(::core::marker::Send));
        bounds.push(parse_quote!('static));
    }
    generics.where_clause = predicates;
    generics
}

/// The generics of the trait's messages and of its reference: what it asks of `Self` it asks of the actor.
pub(crate) fn of_messages(item: &ItemTrait) -> Generics {
    let mut generics = travelling(&item.generics);
    if let Some(condition) = &mut generics.where_clause {
        let predicates = std::mem::take(&mut condition.predicates);
        let of_any = |predicate: &WherePredicate| !names_self(predicate.to_token_stream());
        condition.predicates = predicates.into_iter().filter(of_any).collect();
    }
    generics
}

fn names_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "Self",
        TokenTree::Group(group) => names_self(group.stream()),
        _ => false,
    })
}

/// What is asked of `Self`, asked of `__Actor`. Bounds of `Self` alone need not be said: they are the trait's.
fn asked_of_the_actor(item: &ItemTrait) -> impl Iterator<Item = WherePredicate> {
    let predicates = item.generics.where_clause.iter();
    let predicates = predicates.flat_map(|condition| &condition.predicates);
    predicates.filter_map(|predicate| {
        let tokens = predicate.to_token_stream();
        let alone = match predicate {
            WherePredicate::Type(of) => {
                matches!(&of.bounded_ty, Type::Path(path) if path.path.is_ident("Self"))
            }
            _ => false,
        };
        let said = !alone && names_self(tokens.clone());
        said.then(|| {
            let tokens = of_the_actor(tokens);
            parse_quote!(#tokens)
        })
    })
}

fn of_the_actor(tokens: TokenStream) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(name) if name == "Self" => {
            TokenTree::Ident(Ident::new("__Actor", name.span()))
        }
        TokenTree::Group(group) => {
            let mut of = Group::new(group.delimiter(), of_the_actor(group.stream()));
            of.set_span(group.span());
            TokenTree::Group(of)
        }
        other => other,
    });
    replaced.collect()
}

pub(crate) fn message_name(item: &ItemTrait) -> Ident {
    format_ident!("{}Message", item.ident)
}

fn message(tidings: &Path, remote: bool, item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait { vis, ident, .. } = item;
    let name = message_name(item);
    let generics = of_messages(item);
    let (parameters, types, condition) = generics.split_for_impl();
    let doc = format!("The messages that stand for the methods of [`{ident}`].");
    let variants = methods.iter().map(|method| {
        let (attributes, variant) = (method.of_variant(ident), &method.variant);
        let arguments = method
            .arguments
            .iter()
            .map(|(_, kind)| kind.to_token_stream());
        let reply = method
            .reply
            .iter()
            .map(|reply| quote!(#tidings::actor::Reply<#reply>));
        let fields = arguments.chain(reply);
        quote!(#attributes #variant(#(#fields),*))
    });
    let allowed = allowed(&item.attrs);
    let unused = Unused::of(&generics);
    let (unused_variant, unused_arm) = (&unused.variant, &unused.arm);
    let in_time = remote.then(|| quote!(#tidings::remote::in_time));
    let (reentrant, exclusive): (Vec<_>, Vec<_>) =
        methods.iter().partition(|method| method.reentrant);
    let arms = exclusive
        .iter()
        .map(|method| arm(tidings, ident, method, &quote!(actor), in_time.as_ref()));
    let refused_arms = reentrant.iter().map(|method| {
        let (configured, variant) = (method.configured(), &method.variant);
        let text = format!(
            "`{}` takes `this: Shared<Self>`: `actor::start` and `actor::serve` run such methods",
            method.name
        );
        quote!(#(#configured)* Self::#variant(..) => ::core::panic!(#text),)
    });
    let reenters =
        (!reentrant.is_empty()).then(|| reenters(tidings, ident, &reentrant, in_time.as_ref()));
    let ways = ways(tidings, remote, ident, &exclusive);
    let interface = ident.unraw().to_string();
    let stand_for = methods.iter().map(|method| {
        let (configured, variant) = (method.configured(), &method.variant);
        let name = method.name.unraw().to_string();
        quote!(#(#configured)* Self::#variant(..) => ::core::option::Option::Some((#interface, #name)),)
    });
    let tell_names = methods.iter().map(|method| {
        let (configured, variant) = (method.configured(), &method.variant);
        let name = format!("{interface}::{}", method.name.unraw());
        quote!(#(#configured)* Self::#variant(..) => #name,)
    });
    let mut dispatch = generics.clone();
    let item_types = item.generics.split_for_impl().1;
    dispatch
        .params
        .push(parse_quote!(__Actor: #ident #item_types));
    let asked = asked_of_the_actor(item);
    dispatch.make_where_clause().predicates.extend(asked);
    let (dispatch_parameters, _, dispatch_condition) = dispatch.split_for_impl();
    let travels = travels(tidings, remote, &generics, item, methods);
    quote! {
        #[doc = #doc]
        #(#allowed)*
        #vis enum #name #generics #condition {
            #(#variants,)*
            #unused_variant
        }

        #travels

        // What it carries need not have it.
        #[allow(deprecated)]
        impl #parameters ::core::fmt::Debug for #name #types #condition {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(match self {
                    #(#tell_names)*
                    #[allow(unreachable_patterns)]
                    _ => #interface,
                })
            }
        }

        #[allow(deprecated)]
        impl #dispatch_parameters #tidings::actor::Dispatch<__Actor> for #name #types
        #dispatch_condition
        {
            // The future of an `async fn` would keep its arguments twice.
            #[allow(clippy::manual_async_fn)]
            fn dispatch(
                self,
                actor: &mut __Actor,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                async move {
                    match self {
                        #(#arms)*
                        #(#refused_arms)*
                        #unused_arm
                    }
                }
            }
            #[inline]
            fn stands_for(
                &self,
            ) -> ::core::option::Option<(&'static str, &'static str)> {
                match self {
                    #(#stand_for)*
                    #[allow(unreachable_patterns)]
                    _ => ::core::option::Option::None,
                }
            }
            #ways
            #reenters
        }
    }
}

/// How those of its methods are run that are handed a way to the state.
fn reenters(
    tidings: &Path,
    interface: &Ident,
    reentrant: &[&Method],
    in_time: Option<&TokenStream>,
) -> TokenStream {
    let is_reentrant = reentrant.iter().map(|method| {
        let (configured, variant) = (method.configured(), &method.variant);
        quote!(#(#configured)* Self::#variant(..) => true,)
    });
    let arms = reentrant
        .iter()
        .map(|method| arm(tidings, interface, method, &quote!(this), in_time));
    quote! {
        const REENTRANT: bool = true;
        fn is_reentrant(&self) -> bool {
            match self {
                #(#is_reentrant)*
                #[allow(unreachable_patterns)]
                _ => false,
            }
        }
        async fn reenter(self, this: #tidings::actor::Shared<__Actor>) {
            match self {
                #(#arms)*
                #[allow(unreachable_patterns)]
                _ => ::core::unreachable!("it is not reentrant"),
            }
        }
    }
}

/// Nothing that runs: if a type cannot travel, one of the errors stands at that type.
fn travels(
    tidings: &Path,
    remote: bool,
    generics: &Generics,
    item: &ItemTrait,
    methods: &[Method],
) -> TokenStream {
    let (parameters, _, condition) = generics.split_for_impl();
    let lines = methods.iter().flat_map(|method| {
        let kinds = method.arguments.iter().map(|(_, kind)| kind);
        kinds.chain(&method.reply).map(|kind| {
            let (configured, allowed) = (method.configured(), &method.allowed);
            let line = quote_spanned!(kind.span()=> travels::<#kind>(););
            quote!(#(#configured)* #(#allowed)* #line)
        })
    });
    let allowed = allowed(&item.attrs);
    let crosses = remote.then(|| {
        let remote = quote!(#tidings::remote);
        quote!(+ #remote::Schema + #remote::serde::Serialize + #remote::serde::de::DeserializeOwned)
    });
    quote! {
        const _: () = {
            fn travels<T: ::core::marker::Send #crosses + 'static>() {}
            #[allow(dead_code)]
            #(#allowed)*
            fn all #parameters() #condition {
                #(#lines)*
            }
        };
    }
}

/// Takes a message apart and hands it to its method; `first` is the state, or a way to it. What
/// `in_time` takes the reply of is not handed to it.
fn arm(
    tidings: &Path,
    interface: &Ident,
    method: &Method,
    first: &TokenStream,
    in_time: Option<&TokenStream>,
) -> TokenStream {
    let (name, variant) = (&method.name, &method.variant);
    let configured = method.configured();
    let arguments = method.fields();
    let reply = method.reply.as_ref().map(|_| quote!(reply));
    let fields = arguments.iter().map(ToTokens::to_token_stream).chain(reply);
    let call = if method.answers {
        quote!(#interface::#name(#first, #(#arguments,)* reply).await;)
    } else if method.reply.is_some() {
        quote! {
            reply.is_held();
            let answer = #interface::#name(#first, #(#arguments,)*);
            #tidings::actor::Answering::new(reply, answer).await;
        }
    } else {
        quote!(#interface::#name(#first, #(#arguments,)*).await;)
    };
    let call = match in_time.filter(|_| method.reply.is_some()) {
        Some(in_time) => {
            quote!(if let ::core::option::Option::Some(reply) = #in_time(reply) { #call })
        }
        None => call,
    };
    quote!(#(#configured)* Self::#variant(#(#fields),*) => { #call })
}

/// What uses every type parameter of an enum, if it has any: a variant that cannot be, by a name that no
/// method's has.
pub(crate) struct Unused {
    pub(crate) variant: Option<TokenStream>,
    pub(crate) arm: Option<TokenStream>,
}

impl Unused {
    pub(crate) fn of(generics: &Generics) -> Self {
        let types: Vec<_> = generics.type_params().map(|t| &t.ident).collect();
        let used = !types.is_empty();
        Self {
            variant: used.then(|| {
                quote! {
                    #[doc(hidden)]
                    _Unused(
                        ::core::convert::Infallible,
                        ::core::marker::PhantomData<(#(fn() -> ::core::marker::PhantomData<#types>,)*)>,
                    )
                }
            }),
            arm: used.then(|| quote!(Self::_Unused(never, _) => match never {},)),
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::expand;

    fn expanded(item: &str) -> String {
        expand(quote!(), item.parse().unwrap()).to_string()
    }

    #[test]
    fn a_trait_that_is_unsafe_to_implement_stays_so_and_a_method_is_not_unsafe_to_call() {
        let all = expanded("pub unsafe trait Odd { async fn get(&self) -> u8; }");
        assert!(all.contains("pub unsafe trait Odd"), "{all}");
        let all = expanded("trait Odd { async unsafe fn get(&self) -> u8; }");
        assert!(all.contains("a method is not `unsafe`"), "{all}");
    }

    #[test]
    fn a_remote_method_is_sent_and_received_by_the_same_number() {
        let item =
            "trait Shop { async fn tell(&mut self, what: String); async fn ask(&self) -> u8; }";
        let all = expand(quote!(remote), item.parse().unwrap()).to_string();
        for part in [
            "Self :: Tell (argument_0) => way . tell (0usize , & (argument_0 ,)) ,",
            "Self :: Ask (reply) => way . call (1usize , & () , reply) ,",
            "0usize => { let (argument_0 ,) = way . arguments :: <",
            "1usize => { let () = way . arguments :: <",
            "Ok (Self :: Ask (way . reply () ?))",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
        // What stands first is told first, by its name and those of its arguments.
        let told = all.find(r#"("tell" , & ["what"])"#).unwrap();
        assert!(told < all.find(r#"("ask" , & [])"#).unwrap());
    }

    #[test]
    fn a_remote_interface_has_no_methods_under_cfg_and_others_may() {
        let item = "trait Shop { #[cfg(unix)] async fn ask(&self) -> u8; }";
        let remote = expand(quote!(remote), item.parse().unwrap()).to_string();
        assert!(remote.contains("no `cfg`"), "{remote}");
        assert!(!expanded(item).contains("compile_error"));
    }

    #[test]
    fn an_option_is_given_once_and_by_itself() {
        for (options, says) in [
            (quote!(remote, remote), "`remote` is given twice"),
            (quote!(remote = true), "`remote` stands by itself"),
            (quote!(crate = a, crate = b), "`crate` is given twice"),
            (quote!(local), "has no option `local`"),
        ] {
            let all = expand(
                options.clone(),
                quote!(
                    trait A {
                        async fn a(&self);
                    }
                ),
            )
            .to_string();
            assert!(all.contains(says), "{options}: {all}");
        }
    }
}
