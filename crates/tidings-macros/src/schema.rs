//! `#[derive(Schema)]`: the shape of a type as text.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Result, parse_quote};

use crate::options::derived;

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let parsed = syn::parse2::<DeriveInput>(item).and_then(|item| derive(&item));
    parsed.unwrap_or_else(Error::into_compile_error)
}

fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let tidings = derived(&item.attrs)?;
    let (ident, name) = (&item.ident, item.ident.unraw().to_string());
    plain(&item.attrs)?;
    let body = match &item.data {
        Data::Struct(item) => fields(&item.fields)?,
        Data::Enum(item) => {
            let variants = item.variants.iter().map(|variant| {
                plain(&variant.attrs)?;
                let (name, rest) = (variant.ident.unraw().to_string(), fields(&variant.fields)?);
                Ok(quote!((#name, |to| { #rest })))
            });
            let variants = variants.collect::<Result<Vec<_>>>()?;
            quote!(to.parts("<", &[#(#variants),*], ">");)
        }
        Data::Union(item) => {
            return Err(Error::new_spanned(
                item.union_token,
                "serde knows no unions",
            ));
        }
    };
    let mut generics = item.generics.clone();
    if let Some(lifetime) = generics.lifetimes().next() {
        return Err(Error::new_spanned(
            lifetime,
            "what crosses a link owns what it holds: no lifetimes",
        ));
    }
    for parameter in generics.type_params_mut() {
        parameter
            .bounds
            .push(parse_quote!(#tidings::remote::Schema));
    }
    let (parameters, types, condition) = generics.split_for_impl();
    Ok(quote! {
        impl #parameters #tidings::remote::Schema for #ident #types #condition {
            fn describe(to: &mut #tidings::remote::Describe) {
                use #tidings::remote::Schema as TidingsSchema;
                to.named::<Self>(#name, |to| {
                    let _ = &to;
                    #body
                });
            }
        }
    })
}

/// `{x:i32,y:i32}`, `(i32,i32)`, or nothing.
fn fields(fields: &Fields) -> Result<TokenStream> {
    let parts = fields.iter().map(|field| {
        plain(&field.attrs)?;
        let name = field.ident.as_ref();
        let name = name.map_or_else(String::new, |name| format!("{}:", name.unraw()));
        let kind = &field.ty;
        Ok(quote!((#name, |to| <#kind as TidingsSchema>::describe(to))))
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Ok(match fields {
        Fields::Named(_) => quote!(to.parts("{", &[#(#parts),*], "}");),
        Fields::Unnamed(_) => quote!(to.parts("(", &[#(#parts),*], ")");),
        Fields::Unit => quote!(),
    })
}

/// What serde's attributes make of a type, only its author can say.
fn plain(attributes: &[Attribute]) -> Result<()> {
    match attributes.iter().find(|a| a.path().is_ident("serde")) {
        None => Ok(()),
        Some(attribute) => Err(Error::new_spanned(
            attribute,
            "`Schema` is of what serde derives by itself: implement it by hand for this type",
        )),
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::expand;

    #[test]
    fn a_shape_has_the_names_of_fields_and_variants_and_the_bounds_of_its_parameters() {
        let shape = expand(quote! {
            struct Point<T> { x: T, r#type: u8 }
        })
        .to_string();
        for part in [
            r#"("x:" , "#,
            r#"("type:" , "#,
            r#""{" , "#,
            "T : :: tidings :: remote :: Schema",
        ] {
            assert!(shape.contains(part), "{part} in {shape}");
        }
        let shape = expand(quote!(
            enum Way {
                Up,
                To(u8, Point),
            }
        ))
        .to_string();
        for part in [r#"("Up" , "#, r#"("To" , "#, r#"("" , "#, r#""(" , "#] {
            assert!(shape.contains(part), "{part} in {shape}");
        }
    }

    #[test]
    fn what_serde_makes_another_shape_of_is_refused_wherever_it_says_so() {
        for item in [
            quote!(
                #[serde(transparent)]
                struct A(u8);
            ),
            quote!(
                struct A {
                    #[serde(skip)]
                    x: u8,
                }
            ),
            quote!(
                enum A {
                    #[serde(rename = "b")]
                    B,
                }
            ),
            quote!(
                enum A {
                    B(#[serde(default)] u8),
                }
            ),
        ] {
            let said = expand(item.clone()).to_string();
            assert!(said.contains("implement it by hand"), "{item}: {said}");
        }
    }
}
