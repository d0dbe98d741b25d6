//! `#[tidings::interface]`: a trait of `async fn`s becomes the trait that an actor implements, the
//! messages that stand for its methods, and the reference that sends them.
//!
//! Every name that the expansion adds begins with the trait's, or is a path into `tidings`, so that
//! nothing of the user's is captured; errors point at what the user wrote.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericParam, Ident, ItemTrait, Pat, Path, Result, ReturnType,
    Signature, TraitItem, TraitItemFn, Type, parse_quote,
};

use crate::entry::crate_path_option;

/// One method: its variant, its arguments, and what it answers.
struct Method {
    attributes: Vec<Attribute>,
    name: Ident,
    variant: Ident,
    arguments: Vec<(Ident, Type)>,
    /// `None`: one-way.
    reply: Option<Type>,
    /// As it stands in the trait.
    declared: TokenStream,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let parsed = crate_path_option("#[tidings::interface]", options)
        .and_then(|tidings| Ok((tidings, syn::parse2::<ItemTrait>(item.clone())?)))
        .and_then(|(tidings, item)| interface(&tidings, &item));
    parsed.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error)
    })
}

fn interface(tidings: &Path, item: &ItemTrait) -> Result<TokenStream> {
    let methods = methods(item)?;
    let declaration = declaration(item, &methods);
    let message = message(tidings, item, &methods);
    let reference = reference(tidings, item, &methods);
    Ok(quote!(#declaration #message #reference))
}

/// All methods, or all that is wrong with them.
fn methods(item: &ItemTrait) -> Result<Vec<Method>> {
    let mut problems: Option<Error> = None;
    let mut problem = |error: Error| match &mut problems {
        Some(all) => all.combine(error),
        None => problems = Some(error),
    };
    for parameter in &item.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            problem(Error::new_spanned(
                lifetime,
                "messages own what they carry: an interface has no lifetimes",
            ));
        }
    }
    let mut methods: Vec<Method> = Vec::new();
    for item in &item.items {
        match item {
            TraitItem::Fn(function) => match method(function) {
                Ok(method) => {
                    if let Some(twin) = methods.iter().find(|m| m.variant == method.variant) {
                        problem(Error::new(
                            method.name.span(),
                            format!(
                                "`{}` and `{}` give one message name, `{}`",
                                twin.name, method.name, method.variant
                            ),
                        ));
                    }
                    methods.push(method);
                }
                Err(error) => problem(error),
            },
            other => problem(Error::new_spanned(
                other,
                "an interface has `async fn`s only",
            )),
        }
    }
    match problems {
        Some(problems) => Err(problems),
        None => Ok(methods),
    }
}

fn method(function: &TraitItemFn) -> Result<Method> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(
            signature.fn_token,
            "an interface's methods are `async fn`s",
        ));
    }
    if let Some(parameter) = signature.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a message has one type: make the interface generic, not the method",
        ));
    }
    let mut inputs = signature.inputs.iter();
    match inputs.next() {
        Some(FnArg::Receiver(receiver))
            if receiver.reference.is_some() && receiver.colon_token.is_none() => {}
        other => {
            let at = other.map_or_else(|| signature.ident.span(), Spanned::span);
            return Err(Error::new(
                at,
                "an interface's methods take `&mut self` or `&self`",
            ));
        }
    }
    let arguments = inputs.map(argument).collect::<Result<Vec<_>>>()?;
    let name = signature.ident.clone();
    Ok(Method {
        attributes: function
            .attrs
            .iter()
            .filter(|attribute| {
                ["doc", "cfg", "deprecated"]
                    .iter()
                    .any(|kept| attribute.path().is_ident(kept))
            })
            .cloned()
            .collect(),
        variant: variant(&name),
        reply: match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, reply) => Some((**reply).clone()),
        },
        declared: declared(function),
        arguments,
        name,
    })
}

fn argument(input: &FnArg) -> Result<(Ident, Type)> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new_spanned(input, "`self` comes first"));
    };
    let Pat::Ident(name) = &*input.pat else {
        return Err(Error::new_spanned(&input.pat, "an argument needs a name"));
    };
    if let Type::Reference(reference) = &*input.ty
        && reference
            .lifetime
            .as_ref()
            .is_none_or(|lifetime| lifetime.ident != "static")
    {
        return Err(Error::new_spanned(
            reference,
            "messages own what they carry: take it by value",
        ));
    }
    Ok((name.ident.clone(), (*input.ty).clone()))
}

/// `get_and_reset` is `GetAndReset`.
fn variant(name: &Ident) -> Ident {
    let camel: String = name
        .unraw()
        .to_string()
        .split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters)
        })
        .collect();
    format_ident!("{camel}", span = name.span())
}

/// `async fn f(..) -> R` as a method of the trait: it gives a future that may be sent.
fn declared(function: &TraitItemFn) -> TokenStream {
    let Signature {
        ident,
        inputs,
        output,
        ..
    } = &function.sig;
    let attributes = &function.attrs;
    let output = match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    };
    let signature = quote_spanned! {ident.span()=>
        fn #ident(#inputs) -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
    };
    match &function.default {
        None => quote!(#(#attributes)* #signature;),
        Some(body) => quote!(#(#attributes)* #signature { async move #body }),
    }
}

fn declaration(item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait {
        attrs,
        vis,
        ident,
        generics,
        supertraits,
        ..
    } = item;
    let (parameters, _, condition) = generics.split_for_impl();
    let _ = parameters;
    let declared = methods.iter().map(|method| &method.declared);
    quote! {
        #(#attrs)*
        #vis trait #ident #generics: ::core::marker::Send + 'static + #supertraits #condition {
            #(#declared)*
        }
    }
}

/// The generics of the interface, all of whose types travel.
fn travelling(item: &ItemTrait) -> syn::Generics {
    let mut generics = item.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::core::marker::Send));
        parameter.bounds.push(parse_quote!('static));
    }
    generics
}

fn message_name(item: &ItemTrait) -> Ident {
    format_ident!("{}Message", item.ident)
}

fn message(tidings: &Path, item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait { vis, ident, .. } = item;
    let name = message_name(item);
    let generics = travelling(item);
    let (parameters, types, condition) = generics.split_for_impl();
    let doc = format!("The messages that stand for the methods of [`{ident}`].");
    let variants = methods.iter().map(|method| {
        let (attributes, variant) = (&method.attributes, &method.variant);
        let arguments = method
            .arguments
            .iter()
            .map(|(_, kind)| kind.to_token_stream());
        let reply = method
            .reply
            .iter()
            .map(|reply| quote!(#tidings::actor::Reply<#reply>));
        let fields = arguments.chain(reply);
        quote!(#(#attributes)* #variant(#(#fields),*))
    });
    // So that every parameter is used.
    let unused = unused(item, tidings);
    let arms = methods.iter().map(|method| {
        let (method_name, variant) = (&method.name, &method.variant);
        let arguments: Vec<_> = (0..method.arguments.len())
            .map(|n| format_ident!("argument_{n}"))
            .collect();
        if method.reply.is_some() {
            quote! {
                Self::#variant(#(#arguments,)* reply) => {
                    reply.is_held();
                    let answer = #ident::#method_name(actor #(, #arguments)*).await;
                    reply.answer(answer);
                }
            }
        } else {
            quote! {
                Self::#variant(#(#arguments),*) => {
                    #ident::#method_name(actor #(, #arguments)*).await;
                }
            }
        }
    });
    let mut dispatch = generics.clone();
    let item_types = item.generics.split_for_impl().1;
    dispatch
        .params
        .push(parse_quote!(TidingsActor: #ident #item_types));
    let (dispatch_parameters, _, dispatch_condition) = dispatch.split_for_impl();
    let unused_arm = unused
        .as_ref()
        .map(|_| quote!(Self::Unused(never, _) => match never {},));
    let unused_variant =
        unused.map(|kind| quote!(#[doc(hidden)] Unused(::core::convert::Infallible, #kind)));
    quote! {
        #[doc = #doc]
        #vis enum #name #parameters #condition {
            #(#variants,)*
            #unused_variant
        }

        impl #dispatch_parameters #tidings::actor::Dispatch<TidingsActor> for #name #types
        #dispatch_condition
        {
            async fn dispatch(self, actor: &mut TidingsActor) {
                match self {
                    #(#arms)*
                    #unused_arm
                }
            }
        }
    }
}

/// What uses every type parameter, if there is one.
fn unused(item: &ItemTrait, _: &Path) -> Option<TokenStream> {
    let types: Vec<_> = item.generics.type_params().map(|t| &t.ident).collect();
    (!types.is_empty()).then(|| quote!(::core::marker::PhantomData<fn() -> (#(#types,)*)>))
}

fn reference(tidings: &Path, item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait { vis, ident, .. } = item;
    let name = format_ident!("{ident}Ref");
    let message = message_name(item);
    let generics = travelling(item);
    let (parameters, types, condition) = generics.split_for_impl();
    let doc =
        format!("A reference to an actor that implements [`{ident}`]. Clones are the same actor.");
    let calls = methods.iter().map(|method| {
        let Method {
            attributes,
            name,
            variant,
            arguments,
            reply,
            ..
        } = method;
        let declared = arguments.iter().map(|(name, kind)| quote!(#name: #kind));
        let names: Vec<_> = arguments.iter().map(|(name, _)| name).collect();
        match reply {
            None => quote! {
                #(#attributes)*
                #vis fn #name(&self #(, #declared)*) -> #tidings::actor::Tell<'_, #message #types> {
                    self.recipient.send(#message::#variant(#(#names),*))
                }
            },
            Some(reply) => quote! {
                #(#attributes)*
                #vis fn #name(&self #(, #declared)*)
                    -> #tidings::actor::Call<'_, #message #types, #reply>
                {
                    self.recipient.call(|reply| #message::#variant(#(#names,)* reply))
                }
            },
        }
    });
    let mut from = generics.clone();
    from.params.push(parse_quote!(
        TidingsMessage: #tidings::actor::Carries<#message #types> + ::core::marker::Send + 'static
    ));
    let (from_parameters, _, from_condition) = from.split_for_impl();
    quote! {
        #[doc = #doc]
        #vis struct #name #parameters #condition {
            recipient: #tidings::actor::Recipient<#message #types>,
        }

        impl #parameters #name #types #condition {
            #(#calls)*
        }

        impl #parameters ::core::ops::Deref for #name #types #condition {
            type Target = #tidings::actor::Recipient<#message #types>;
            fn deref(&self) -> &Self::Target {
                &self.recipient
            }
        }

        impl #parameters ::core::clone::Clone for #name #types #condition {
            fn clone(&self) -> Self {
                Self { recipient: ::core::clone::Clone::clone(&self.recipient) }
            }
        }

        impl #parameters ::core::cmp::PartialEq for #name #types #condition {
            fn eq(&self, other: &Self) -> bool {
                self.recipient == other.recipient
            }
        }

        impl #parameters ::core::cmp::Eq for #name #types #condition {}

        impl #parameters ::core::hash::Hash for #name #types #condition {
            fn hash<TidingsHasher: ::core::hash::Hasher>(&self, state: &mut TidingsHasher) {
                ::core::hash::Hash::hash(&self.recipient, state);
            }
        }

        impl #parameters ::core::fmt::Debug for #name #types #condition {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.recipient, f)
            }
        }

        impl #from_parameters ::core::convert::From<&#tidings::actor::ActorRef<TidingsMessage>>
            for #name #types #from_condition
        {
            fn from(actor: &#tidings::actor::ActorRef<TidingsMessage>) -> Self {
                Self { recipient: actor.narrow() }
            }
        }

        impl #parameters ::core::convert::From<#tidings::actor::Recipient<#message #types>>
            for #name #types #condition
        {
            fn from(recipient: #tidings::actor::Recipient<#message #types>) -> Self {
                Self { recipient }
            }
        }

        impl #parameters #tidings::actor::Reference for #name #types #condition {
            type Message = #message #types;
            type Weak = #tidings::actor::WeakRecipient<#message #types>;
            fn of(actor: #tidings::actor::ActorRef<Self::Message>) -> Self {
                ::core::convert::From::from(&actor)
            }
            fn weak(&self) -> Self::Weak {
                self.recipient.downgrade()
            }
            fn strong(weak: &Self::Weak) -> ::core::option::Option<Self> {
                ::core::option::Option::map(weak.upgrade(), ::core::convert::From::from)
            }
            fn recipient(&self) -> #tidings::actor::Recipient<Self::Message> {
                ::core::clone::Clone::clone(&self.recipient)
            }
        }
    }
}

/// `#[tidings::actor(A, B)]`: the set of interfaces of one actor.
pub(crate) fn expand_actor(options: TokenStream, item: TokenStream) -> TokenStream {
    match actor(options, &item) {
        Ok(set) => quote!(#item #set),
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}

fn actor(options: TokenStream, item: &TokenStream) -> Result<TokenStream> {
    use syn::parse::Parser;
    let interfaces =
        syn::punctuated::Punctuated::<Path, syn::Token![,]>::parse_terminated.parse2(options)?;
    if interfaces.is_empty() {
        return Err(Error::new(
            Span::call_site(),
            "name the actor's interfaces: `#[tidings::actor(Counter, Admin)]`",
        ));
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
    if let Some(parameter) = generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "the type of an actor's state has no parameters yet",
        ));
    }
    let tidings: Path = parse_quote!(::tidings);
    let message = format_ident!("{ident}Message");
    let reference = format_ident!("{ident}Ref");
    let variants: Vec<(Ident, Path)> = interfaces
        .iter()
        .map(|interface| {
            let mut messages = interface.clone();
            let last = messages.segments.last_mut().expect("a path has a segment");
            let name = last.ident.clone();
            last.ident = format_ident!("{name}Message");
            (name, messages)
        })
        .collect();
    let (names, messages): (Vec<_>, Vec<_>) = variants.into_iter().unzip();
    let message_doc = format!("The messages of all interfaces of [`{ident}`].");
    let reference_doc = format!("A reference to an actor whose state is a [`{ident}`].");
    Ok(quote! {
        #[doc = #message_doc]
        #vis enum #message {
            #(#[doc(hidden)] #names(#messages),)*
        }

        #[doc = #reference_doc]
        #vis type #reference = #tidings::actor::ActorRef<#message>;

        #(
            impl #tidings::actor::Carries<#messages> for #message {
                fn wrap(inner: #messages) -> Self {
                    Self::#names(inner)
                }
            }
        )*

        impl #tidings::actor::Dispatch<#ident> for #message {
            async fn dispatch(self, actor: &mut #ident) {
                match self {
                    #(Self::#names(message) => {
                        #tidings::actor::Dispatch::dispatch(message, actor).await;
                    })*
                }
            }
        }
    })
}
