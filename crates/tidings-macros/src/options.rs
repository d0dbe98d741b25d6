//! What stands in the parentheses of attributes: `name = value`, and where `tidings` is.

use proc_macro2::{Punct, Spacing, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    AttrStyle, Attribute, Error, Expr, ExprLit, Ident, Lit, Path, Result, Token, parse_quote,
};

/// `name = value`; `crate` is a name too, although it is a keyword. `sim` is one without a value.
pub(crate) struct Assignment {
    pub(crate) name: Ident,
    pub(crate) value: Expr,
}

impl Parse for Assignment {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = Ident::parse_any(input)?;
        if name == "sim" && (input.is_empty() || input.peek(Token![,])) {
            let value = parse_quote!(true);
            return Ok(Self { name, value });
        }
        if input.parse::<Token![=]>().is_err() {
            return Err(Error::new(
                name.span(),
                format!("`{name}` needs a value: `{name} = ..`"),
            ));
        }
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

pub(crate) type Assignments = Punctuated<Assignment, Token![,]>;

/// Those that stand before an item, and those that stand in its body.
pub(crate) fn outer_and_inner(attributes: Vec<Attribute>) -> (Vec<Attribute>, Vec<Attribute>) {
    let is_outer = |attribute: &Attribute| matches!(attribute.style, AttrStyle::Outer);
    attributes.into_iter().partition(is_outer)
}

/// What lints these attributes allow, or expect: allowed of what is made of what they stand on, too.
pub(crate) fn allowed(attributes: &[Attribute]) -> Vec<TokenStream> {
    let said = attributes.iter().filter_map(|attribute| {
        let path = attribute.path();
        let lints = attribute.meta.require_list().ok()?;
        let allows = path.is_ident("allow") || path.is_ident("expect");
        let lints = &lints.tokens;
        allows.then(|| quote!(#[allow(#lints)]))
    });
    said.collect()
}

/// Each option is given once.
pub(crate) fn set<T>(option: &mut Option<T>, name: &Ident, value: Result<T>) -> Result<()> {
    if option.is_some() {
        return Err(Error::new(name.span(), format!("`{name}` is given twice")));
    }
    *option = Some(value?);
    Ok(())
}

/// The options of `name`: `flag`, a word by itself, and `crate = path`.
pub(crate) fn flag_and_crate_path(
    name: &str,
    flag: &str,
    tokens: TokenStream,
) -> Result<(bool, Path)> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    let is_flag = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == flag);
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut others: Vec<&[TokenTree]> = tokens.split(is_comma).collect();
    let all = others.len();
    others.retain(|option| !matches!(option, [word] if is_flag(word)));
    let given = all - others.len();
    if given > 1 {
        let twice = tokens.iter().rfind(|token| is_flag(token));
        return Err(Error::new_spanned(
            twice,
            format!("`{flag}` is given twice"),
        ));
    }
    for option in &others {
        match option.first() {
            Some(word) if is_flag(word) => {
                return Err(Error::new_spanned(
                    word,
                    format!("`{flag}` stands by itself"),
                ));
            }
            Some(TokenTree::Ident(word)) if word != "crate" => {
                return Err(Error::new(
                    word.span(),
                    format!("{name} has no option `{word}`; there are `{flag}` and `crate = path`"),
                ));
            }
            _ => {}
        }
    }
    let others = others.join(&TokenTree::Punct(Punct::new(',', Spacing::Alone)));
    let others = Assignments::parse_terminated.parse2(others.into_iter().collect())?;
    Ok((given == 1, only_crate_path(name, others)?))
}

/// Where `tidings` is for a derive: `#[schema(crate = path)]`, or the usual place.
pub(crate) fn derived(attributes: &[Attribute]) -> Result<Path> {
    let mut all = Assignments::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("schema")) {
        all.extend(attribute.parse_args_with(Assignments::parse_terminated)?);
    }
    only_crate_path("#[schema]", all)
}

/// The path of `crate = path`, the only option of `name`, or the usual one.
fn only_crate_path(name: &str, assignments: Assignments) -> Result<Path> {
    let mut tidings = None;
    for Assignment {
        name: option,
        value,
    } in assignments
    {
        if option != "crate" {
            return Err(Error::new(
                option.span(),
                format!("{name} has no option `{option}`; there is `crate = path`"),
            ));
        }
        set(&mut tidings, &option, crate_path(value))?;
    }
    Ok(tidings.unwrap_or_else(|| parse_quote!(::tidings)))
}

/// Paths, and where `tidings` is.
pub(crate) struct PathsAndCrate {
    pub(crate) paths: Vec<Path>,
    pub(crate) tidings: Path,
}

impl Parse for PathsAndCrate {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut paths, mut tidings) = (Vec::new(), None);
        while !input.is_empty() {
            if input.peek(Token![crate]) && input.peek2(Token![=]) {
                let Assignment { name, value } = input.parse()?;
                set(&mut tidings, &name, crate_path(value))?;
            } else {
                paths.push(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let tidings = tidings.unwrap_or_else(|| parse_quote!(::tidings));
        Ok(Self { paths, tidings })
    }
}

pub(crate) fn crate_path(value: Expr) -> Result<Path> {
    match value {
        Expr::Path(path) if path.qself.is_none() => Ok(path.path),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => text.parse_with(Path::parse_mod_style),
        other => Err(Error::new_spanned(
            other,
            "`crate` is a path, such as `::tidings`",
        )),
    }
}
