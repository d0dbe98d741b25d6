//! What lets the messages of an interface cross a link: `#[tidings::interface(remote)]`, and
//! `#[derive(Remote)]` for a message type of the user's own.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, Error, ItemTrait, Path, Result};

use crate::interface::{Unused, message_name, of_messages, travelling};
use crate::method::Method;
use crate::options::derived;

/// The messages and the reference of an interface, for serde and for links.
pub(crate) fn interface(
    tidings: &Path,
    item: &ItemTrait,
    methods: &[Method],
) -> Result<TokenStream> {
    if let Some(attribute) = methods.iter().find_map(|method| method.configured().next()) {
        return Err(Error::new_spanned(
            attribute,
            "the methods of a remote interface are the same on both sides of a link: no `cfg`",
        ));
    }
    let name = item.ident.unraw().to_string();
    let (message, reference) = (message_name(item), format_ident!("{}Ref", item.ident));
    let generics = of_messages(item);
    let (parameters, types, condition) = generics.split_for_impl();
    let remote = quote!(#tidings::remote);
    let described = methods.iter().map(|method| {
        let name = method.name.unraw().to_string();
        let arguments = arguments(method);
        let known = method
            .arguments
            .iter()
            .map(|(name, _)| name.unraw().to_string());
        match &method.reply {
            None => quote!(methods.one_way::<#arguments>(#name, &[#(#known),*]);),
            Some(reply) => quote!(methods.call::<#arguments, #reply>(#name, &[#(#known),*]);),
        }
    });
    let sent = methods.iter().enumerate().map(|(place, method)| {
        let (variant, names) = (&method.variant, method.fields());
        let reply = method.reply.as_ref().map(|_| quote!(reply));
        let fields = names.iter().map(ToTokens::to_token_stream).chain(reply);
        let sent = match &method.reply {
            None => quote!(way.tell(#place, &(#(#names,)*))),
            Some(_) => quote!(way.call(#place, &(#(#names,)*), reply)),
        };
        quote!(Self::#variant(#(#fields),*) => #sent,)
    });
    let received = methods.iter().enumerate().map(|(place, method)| {
        let (variant, names, arguments) = (&method.variant, method.fields(), arguments(method));
        let reply = method.reply.as_ref().map(|_| quote!(way.reply()?));
        let fields = names.iter().map(ToTokens::to_token_stream).chain(reply);
        let pattern = match names.is_empty() {
            true => quote!(()),
            false => quote!((#(#names,)*)),
        };
        quote! {
            #place => {
                let #pattern = way.arguments::<#arguments>()?;
                ::core::result::Result::Ok(Self::#variant(#(#fields),*))
            }
        }
    });
    let unused = Unused::of(&generics).arm;
    let mut reading = generics.clone();
    reading.params.insert(0, syn::parse_quote!('de));
    let (reading_parameters, _, reading_condition) = reading.split_for_impl();
    Ok(quote! {
        #[allow(deprecated)]
        impl #parameters #remote::Remote for #message #types #condition {
            const NAME: &'static str = #name;

            fn describe(methods: &mut #remote::Methods) {
                #(#described)*
            }

            #[allow(clippy::unused_unit)]
            fn send(self, way: &mut #remote::Outgoing) {
                match self {
                    #(#sent)*
                    #unused
                }
            }

            #[allow(clippy::let_unit_value)]
            fn receive(
                method: usize,
                way: &mut #remote::Incoming<'_>,
            ) -> ::core::result::Result<Self, #remote::Malformed> {
                match method {
                    #(#received)*
                    _ => ::core::result::Result::Err(#remote::Malformed::new("no such method")),
                }
            }
        }

        impl #parameters #remote::Schema for #reference #types #condition {
            fn describe(to: &mut #remote::Describe) {
                to.reference::<#message #types>();
            }
        }

        impl #parameters #remote::serde::Serialize for #reference #types #condition {
            fn serialize<TidingsSerializer: #remote::serde::Serializer>(
                &self,
                serializer: TidingsSerializer,
            ) -> ::core::result::Result<TidingsSerializer::Ok, TidingsSerializer::Error> {
                #remote::serialize_reference(self, serializer)
            }
        }

        impl #reading_parameters #remote::serde::Deserialize<'de> for #reference #types
        #reading_condition
        {
            fn deserialize<TidingsDeserializer: #remote::serde::Deserializer<'de>>(
                deserializer: TidingsDeserializer,
            ) -> ::core::result::Result<Self, TidingsDeserializer::Error> {
                #remote::deserialize_reference(deserializer)
            }
        }
    })
}

/// The tuple of a method's arguments.
fn arguments(method: &Method) -> TokenStream {
    let kinds = method.arguments.iter().map(|(_, kind)| kind);
    quote!((#(#kinds,)*))
}

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let parsed = syn::parse2::<DeriveInput>(item).and_then(|item| derive(&item));
    parsed.unwrap_or_else(Error::into_compile_error)
}

fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let tidings = derived(&item.attrs)?;
    let (ident, name) = (&item.ident, item.ident.unraw().to_string());
    let generics = travelling(&item.generics);
    let (parameters, types, condition) = generics.split_for_impl();
    Ok(quote! {
        impl #parameters #tidings::remote::Remote for #ident #types #condition {
            const NAME: &'static str = #name;

            fn describe(methods: &mut #tidings::remote::Methods) {
                methods.one_way::<(Self,)>("send", &["message"]);
            }

            fn send(self, way: &mut #tidings::remote::Outgoing) {
                way.tell(0, &(&self,));
            }

            fn receive(
                _: usize,
                way: &mut #tidings::remote::Incoming<'_>,
            ) -> ::core::result::Result<Self, #tidings::remote::Malformed> {
                let (message,) = way.arguments::<(Self,)>()?;
                ::core::result::Result::Ok(message)
            }
        }
    })
}
