//! What a method of an interface may take and give: types that own what they hold, and those that
//! the macro knows by their names.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericArgument, Ident, Pat, PathArguments, Result, Type};

/// The type itself, without what a `macro_rules!` puts around one that it was given.
fn plain(mut kind: &Type) -> &Type {
    while let Type::Group(group) = kind {
        kind = &group.elem;
    }
    kind
}

/// The only type argument of `Name<..>`, whatever path leads there.
fn only_argument<'a>(kind: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = plain(kind) else {
        return None;
    };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match (
        last.ident == name,
        arguments.args.len(),
        arguments.args.first()?,
    ) {
        (true, 1, GenericArgument::Type(argument)) => Some(argument),
        _ => None,
    }
}

pub(crate) fn is_shared_self(kind: &Type) -> bool {
    let state = only_argument(kind, "Shared").map(plain);
    matches!(state, Some(Type::Path(state)) if state.path.is_ident("Self"))
}

pub(crate) fn reply_of(kind: &Type) -> Option<Type> {
    only_argument(kind, "Reply").cloned()
}

pub(crate) fn argument(input: &FnArg) -> Result<(Ident, Type)> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new_spanned(input, "`self` comes first"));
    };
    let Pat::Ident(name) = &*input.pat else {
        return Err(Error::new_spanned(&input.pat, "an argument needs a name"));
    };
    let mut attributes = input.attrs.iter();
    if let Some(attribute) = attributes.find(|attribute| attribute.path().is_ident("cfg")) {
        return Err(Error::new_spanned(
            attribute,
            "a message has the same arguments everywhere: `cfg` stands on methods, of which there may be two \
             of one name",
        ));
    }
    owned(&input.ty, "messages own what they carry")?;
    Ok((name.ident.clone(), (*input.ty).clone()))
}

/// A type that travels has no borrow in it, and has a name.
pub(crate) fn owned(kind: &Type, rule: &str) -> Result<()> {
    let mut bound = Vec::new();
    look(kind.to_token_stream(), rule, &mut bound)
}

/// `bound` are the lifetimes of functions that it has come by.
fn look(tokens: TokenStream, rule: &str, bound: &mut Vec<Ident>) -> Result<()> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            // What a function borrows is no borrow of its pointer.
            TokenTree::Ident(word) if ["fn", "Fn", "FnMut", "FnOnce"].iter().any(|f| word == f) => {
                tokens.next();
                pass_output(&mut tokens);
            }
            TokenTree::Ident(word) if word == "for" => {
                while let Some(token) = tokens.next_if(|token| !is_punct(token, '>')) {
                    if let TokenTree::Ident(lifetime) = token {
                        bound.push(lifetime);
                    }
                }
            }
            TokenTree::Ident(word) if word == "impl" => {
                return Err(Error::new(
                    word.span(),
                    format!("{rule}, as a type that has a name (a stream is a `Streaming<..>`)"),
                ));
            }
            TokenTree::Ident(word) if word == "Self" => {
                return Err(Error::new(
                    word.span(),
                    "`Self` is the actor's state, which its messages do not know: write the type itself",
                ));
            }
            TokenTree::Punct(ref and) if and.as_char() == '&' => {
                let is_static = match tokens.peek() {
                    Some(next) if is_punct(next, '\'') => {
                        tokens.next();
                        matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "static")
                    }
                    _ => false,
                };
                if !is_static {
                    return Err(Error::new(and.span(), format!("{rule}: give it by value")));
                }
            }
            TokenTree::Punct(ref quote) if quote.as_char() == '\'' => match tokens.next() {
                Some(TokenTree::Ident(name)) if name != "static" && !bound.contains(&name) => {
                    return Err(Error::new(name.span(), format!("{rule}: no lifetimes")));
                }
                _ => {}
            },
            TokenTree::Group(group) => look(group.stream(), rule, bound)?,
            _ => {}
        }
    }
    Ok(())
}

/// Passes over `-> R`, what a function gives.
fn pass_output(tokens: &mut Peekable<IntoIter>) {
    if tokens.next_if(|token| is_punct(token, '-')).is_none() {
        return;
    }
    tokens.next();
    let (mut depth, mut arrow) = (0, false);
    while let Some(token) = tokens.next_if(|token| {
        let ends = ['+', ',', '>', '='];
        depth > 0 || arrow || !ends.iter().any(|&end| is_punct(token, end))
    }) {
        if is_punct(&token, '<') {
            depth += 1;
        } else if is_punct(&token, '>') && !arrow {
            depth -= 1;
        }
        arrow = is_punct(&token, '-');
    }
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}
