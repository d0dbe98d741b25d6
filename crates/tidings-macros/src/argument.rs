//! What a method of an interface may take and give: types that own what they hold, and those that
//! the macro knows by their names.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericArgument, Ident, Pat, PathArguments, Result, Type};

/// The only type argument of `Name<..>`, whatever path leads there.
fn only_argument<'a>(kind: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = kind else { return None };
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
    let state = only_argument(kind, "Shared");
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
    owned(&input.ty, "messages own what they carry")?;
    Ok((name.ident.clone(), (*input.ty).clone()))
}

/// A type that travels has no borrow in it, and has a name.
pub(crate) fn owned(kind: &Type, rule: &str) -> Result<()> {
    fn look(tokens: TokenStream, rule: &str) -> Result<()> {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                // Where a function borrows is no borrow of its pointer.
                TokenTree::Ident(word)
                    if ["fn", "Fn", "FnMut", "FnOnce"].iter().any(|f| word == f) =>
                {
                    tokens.next();
                }
                TokenTree::Ident(word) if word == "for" => {
                    while tokens.next_if(|token| !is_punct(token, '>')).is_some() {}
                }
                TokenTree::Ident(word) if word == "impl" => {
                    return Err(Error::new(
                        word.span(),
                        format!(
                            "{rule}, as a type that has a name (a stream is a `Streaming<..>`)"
                        ),
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
                    Some(TokenTree::Ident(name)) if name != "static" => {
                        return Err(Error::new(name.span(), format!("{rule}: no lifetimes")));
                    }
                    _ => {}
                },
                TokenTree::Group(group) => look(group.stream(), rule)?,
                _ => {}
            }
        }
        Ok(())
    }
    look(kind.to_token_stream(), rule)
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}
