//! A method of an interface: what it is, and what it cannot be.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Block, Error, FnArg, GenericParam, Ident, ItemTrait, Meta, Result, ReturnType,
    Signature, TraitItem, TraitItemFn, Type,
};

use crate::argument::{argument, is_shared_self, owned, reply_of};
use crate::options::{allowed, outer_and_inner};

/// One method: its variant, its arguments, and what it answers.
pub(crate) struct Method {
    /// For people: they go to the message and to the reference, too.
    pub(crate) attributes: Vec<Attribute>,
    /// What lints are allowed there, too.
    pub(crate) allowed: Vec<TokenStream>,
    pub(crate) name: Ident,
    pub(crate) variant: Ident,
    pub(crate) arguments: Vec<(Ident, Type)>,
    /// `None`: one-way.
    pub(crate) reply: Option<Type>,
    /// It takes the `Reply` itself, and answers when it likes.
    pub(crate) answers: bool,
    /// It takes `this: Shared<Self>`.
    pub(crate) reentrant: bool,
    /// As it stands in the trait.
    pub(crate) declared: TokenStream,
}

impl Method {
    /// Those of its variant: what it does is said at the method, whose links and examples hold there.
    pub(crate) fn of_variant(&self, interface: &Ident) -> TokenStream {
        let doc = format!("Stands for [`{interface}::{}`].", self.name);
        let is_text =
            |meta: &Meta| matches!(meta, Meta::NameValue(_)) && meta.path().is_ident("doc");
        let attributes = self.attributes.iter();
        let others = attributes.filter(|attribute| !is_text(&attribute.meta));
        let allowed = &self.allowed;
        quote!(#(#others)* #(#allowed)* #[doc = #doc])
    }

    pub(crate) fn configured(&self) -> impl Iterator<Item = &Attribute> {
        let attributes = self.attributes.iter();
        attributes.filter(|attribute| attribute.path().is_ident("cfg"))
    }

    /// What the fields of its message are called, where that is taken apart: no name of the user's.
    pub(crate) fn fields(&self) -> Vec<Ident> {
        let places = 0..self.arguments.len();
        places.map(|n| format_ident!("argument_{n}")).collect()
    }

    /// Is never there together with the other, as far as can be seen here.
    fn excludes(&self, other: &Self) -> bool {
        let mut both = [self, other].into_iter();
        both.all(|method| method.configured().next().is_some())
    }
}

/// All methods, or all that is wrong with them.
pub(crate) fn methods(item: &ItemTrait) -> Result<Vec<Method>> {
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
                    let mut twins = methods.iter().filter(|m| m.variant == method.variant);
                    if let Some(twin) = twins.find(|twin| !twin.excludes(&method)) {
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

/// What no method can be, whatever it takes and answers.
fn refused(signature: &Signature) -> Result<()> {
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(
            signature.fn_token,
            "an interface's methods are `async fn`s",
        ));
    }
    if signature.unsafety.is_some() || signature.abi.is_some() {
        return Err(Error::new_spanned(
            signature.unsafety.as_ref().map_or_else(
                || signature.abi.to_token_stream(),
                ToTokens::to_token_stream,
            ),
            "anybody can send a message: a method is not `unsafe`, nor `extern`",
        ));
    }
    // Of the latter a method would hide the conversions: `CounterRef::from(&actor)`.
    if signature.ident == "downgrade" || signature.ident == "from" {
        let name = &signature.ident;
        return Err(Error::new(
            name.span(),
            format!("every reference has a `{name}`: give this method another name"),
        ));
    }
    if let Some(parameter) = signature.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a message has one type: make the interface generic, not the method",
        ));
    }
    if let Some(bounds) = &signature.generics.where_clause {
        return Err(Error::new_spanned(
            bounds,
            "bounds of a method belong to its interface: `trait Name: Sync`, or its `where`",
        ));
    }
    Ok(())
}

fn method(function: &TraitItemFn) -> Result<Method> {
    let signature = &function.sig;
    refused(signature)?;
    let mut inputs = signature.inputs.iter();
    let reentrant = match inputs.next() {
        Some(FnArg::Receiver(receiver))
            if receiver.reference.is_some() && receiver.colon_token.is_none() =>
        {
            false
        }
        Some(FnArg::Typed(this)) if is_shared_self(&this.ty) => true,
        other => {
            let at = other.map_or_else(|| signature.ident.span(), Spanned::span);
            return Err(Error::new(
                at,
                "an interface's methods take `&mut self`, `&self` or `this: Shared<Self>`",
            ));
        }
    };
    let mut arguments = inputs.map(argument).collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = arguments.iter().map(|(name, _)| name.clone()).collect();
    let answers = arguments.last().and_then(|(_, last)| reply_of(last));
    let reply = match (&signature.output, &answers) {
        (ReturnType::Type(_, output), Some(_)) => {
            return Err(Error::new_spanned(
                output,
                "a method answers by what it returns, or by its last argument, a `Reply`: not by both",
            ));
        }
        (ReturnType::Type(_, output), None) => {
            owned(output, "a reply owns what it carries")?;
            Some((**output).clone())
        }
        (ReturnType::Default, _) => answers.clone(),
    };
    if answers.is_some() {
        arguments.pop();
    }
    let name = signature.ident.clone();
    let (outer, inner) = outer_and_inner(function.attrs.clone());
    Ok(Method {
        attributes: outer
            .iter()
            .filter(|attribute| {
                ["doc", "cfg", "deprecated"]
                    .iter()
                    .any(|kept| attribute.path().is_ident(kept))
            })
            .cloned()
            .collect(),
        allowed: allowed(&outer),
        variant: variant(&name),
        reply,
        answers: answers.is_some(),
        reentrant,
        declared: declared(function, &outer, &inner, &names),
        arguments,
        name,
    })
}

/// `get_and_reset` is `GetAndReset`.
fn variant(name: &Ident) -> Ident {
    let text = name.unraw().to_string();
    let words = text.split('_').flat_map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters)
    });
    let camel: String = words.collect();
    let camel = match camel.chars().next() {
        // It is all underscores.
        None => text,
        Some('0'..='9') => format!("_{camel}"),
        Some(_) if camel == "Self" => "Self_".to_owned(),
        Some(_) => camel,
    };
    Ident::new(&camel, name.span())
}

/// `async fn f(..) -> R` as a method of the trait: it gives a future that may be sent.
fn declared(
    function: &TraitItemFn,
    attributes: &[Attribute],
    inner: &[Attribute],
    arguments: &[Ident],
) -> TokenStream {
    let Signature {
        ident,
        inputs,
        output,
        ..
    } = &function.sig;
    let (output, says) = match output {
        ReturnType::Default => (quote!(()), false),
        ReturnType::Type(_, output) => (output.to_token_stream(), true),
    };
    let signature = quote_spanned! {ident.span()=>
        fn #ident(#inputs) -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
    };
    let Some(Block { brace_token, stmts }) = &function.default else {
        return quote!(#(#attributes)* #signature;);
    };
    let mut body = TokenStream::new();
    brace_token.surround(&mut body, |body| {
        // Also those that it does not use live until it ends.
        quote! {
            #[allow(clippy::used_underscore_binding)]
            let _ = (#(&#arguments,)*);
        }
        .to_tokens(body);
        let stmts = quote!(#(#stmts)*);
        body.extend(match says {
            true => typed(&output, &stmts),
            false => stmts,
        });
    });
    quote!(#(#attributes)* #signature { #(#inner)* async move #body })
}

/// What the body gives becomes the type that the method says, as in an `async fn`: an `async` block has no place
/// for a type. What is returned early is measured by the first `return`, which never runs.
fn typed(output: &TokenStream, body: &TokenStream) -> TokenStream {
    let output_of_body = Ident::new("output", Span::mixed_site());
    quote! {
        if let ::core::option::Option::Some(#output_of_body) =
            ::core::option::Option::None::<#output>
        {
            #[allow(unreachable_code)]
            return #output_of_body;
        }
        #[allow(clippy::diverging_sub_expression, clippy::let_unit_value)]
        let #output_of_body: #output = { #body };
        #[allow(unreachable_code)]
        #output_of_body
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;
    use syn::{Ident, parse_quote};

    use super::{methods, variant};

    #[test]
    fn every_name_of_a_method_gives_a_message_a_name() {
        for (method, message) in [
            ("get_and_reset", "GetAndReset"),
            ("_get", "Get"),
            ("r#type", "Type"),
            ("self_", "Self_"),
            ("_1st", "_1st"),
            ("__", "__"),
            ("\u{fc}ber", "\u{dc}ber"),
        ] {
            let method = match method.strip_prefix("r#") {
                Some(raw) => Ident::new_raw(raw, Span::call_site()),
                None => Ident::new(method, Span::call_site()),
            };
            assert_eq!(variant(&method), message);
        }
    }

    #[test]
    fn what_is_said_of_a_method_beside_its_text_is_said_of_its_message_too() {
        let interface = parse_quote! {
            trait Door {
                /// Opens it.
                #[doc(hidden)]
                #[deprecated]
                async fn open(&mut self);
            }
        };
        let methods = methods(&interface).unwrap();
        let attributes = methods[0].of_variant(&parse_quote!(Door));
        let expected = r#"# [doc (hidden)] # [deprecated] # [doc = "Stands for [`Door::open`]."]"#;
        assert_eq!(attributes.to_string(), expected);
    }

    #[test]
    fn a_method_answers_if_it_says_what_be_it_nothing() {
        let interface = parse_quote! {
            trait Door {
                async fn open(&mut self);
                async fn close(&mut self) -> ();
                async fn knock(&self, times: u8, reply: Reply<bool>);
            }
        };
        let methods = methods(&interface).unwrap();
        let answers: Vec<_> = methods
            .iter()
            .map(|method| {
                (
                    method.reply.is_some(),
                    method.answers,
                    method.arguments.len(),
                )
            })
            .collect();
        assert_eq!(
            answers,
            [(false, false, 0), (true, false, 0), (true, true, 1)]
        );
    }

    #[test]
    fn two_methods_of_one_message_name_may_stand_under_cfgs_only() {
        let two = |one: &str, other: &str| {
            let text =
                format!("trait A {{ {one} async fn a_b(&self); {other} async fn aB(&self); }}");
            methods(&syn::parse_str(&text).unwrap()).is_ok()
        };
        assert!(two("#[cfg(unix)]", "#[cfg(windows)]"));
        assert!(!two("", "") && !two("#[cfg(unix)]", "") && !two("", "#[cfg(unix)]"));
    }
}
