//! What `#[tidings::interface]` makes to send an interface's messages: the reference, with a method for each of them.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, ItemTrait, Path, parse_quote};

use crate::interface::{message_name, of_messages};
use crate::method::Method;
use crate::options::allowed;

pub(crate) fn of(tidings: &Path, item: &ItemTrait, methods: &[Method]) -> TokenStream {
    let ItemTrait { vis, ident, .. } = item;
    let name = format_ident!("{ident}Ref");
    let message = message_name(item);
    let generics = of_messages(item);
    let (parameters, types, condition) = generics.split_for_impl();
    let doc =
        format!("A reference to an actor that implements [`{ident}`]. Clones are the same actor.");
    let calls = methods.iter().map(|method| {
        let Method {
            attributes,
            allowed,
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
                #(#allowed)*
                #vis fn #name(&self #(, #declared)*) -> #tidings::actor::Tell<'_, #message #types> {
                    self.recipient.send(#message::#variant(#(#names),*))
                }
            },
            Some(reply) => {
                // An argument may have its name.
                let sent = Ident::new("reply", Span::mixed_site());
                quote! {
                    #(#attributes)*
                    #(#allowed)*
                    #vis fn #name(&self #(, #declared)*)
                        -> #tidings::actor::Call<'_, #message #types, #reply>
                    {
                        self.recipient.call(|#sent| #message::#variant(#(#names,)* #sent))
                    }
                }
            }
        }
    });
    let allowed = allowed(&item.attrs);
    let mut from = generics.clone();
    from.params.push(parse_quote!(
        __Message: #tidings::actor::Carries<#message #types> + ::core::marker::Send + 'static
    ));
    let (from_parameters, _, from_condition) = from.split_for_impl();
    quote! {
        #[doc = #doc]
        #vis struct #name #generics #condition {
            recipient: #tidings::actor::Recipient<#message #types>,
        }

        // A method with a body may not use all of its arguments, and say so in their names.
        #[allow(deprecated, clippy::used_underscore_binding)]
        #(#allowed)*
        impl #parameters #name #types #condition {
            #(#calls)*

            /// A reference that does not keep the actor alive.
            #[must_use]
            #vis fn downgrade(&self) -> #tidings::actor::WeakOf<Self> {
                self.recipient.downgrade().typed()
            }
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
            fn hash<__Hasher: ::core::hash::Hasher>(&self, state: &mut __Hasher) {
                ::core::hash::Hash::hash(&self.recipient, state);
            }
        }

        impl #parameters ::core::fmt::Display for #name #types #condition {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.recipient, f)
            }
        }

        impl #parameters ::core::fmt::Debug for #name #types #condition {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.recipient, f)
            }
        }

        impl #from_parameters ::core::convert::From<&#tidings::actor::ActorRef<__Message>>
            for #name #types #from_condition
        {
            fn from(actor: &#tidings::actor::ActorRef<__Message>) -> Self {
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
            fn kind() -> ::core::any::TypeId {
                ::core::any::TypeId::of::<#tidings::actor::Recipient<#message #types>>()
            }
            fn of_recipient(
                recipient: #tidings::actor::Recipient<Self::Message>,
            ) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(::core::convert::From::from(recipient))
            }
        }
    }
}
