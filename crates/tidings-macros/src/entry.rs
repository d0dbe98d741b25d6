//! `#[tidings::main]` and `#[tidings::test]`: an `async fn` becomes a `fn` that blocks on it.
//!
//! The body stays an `async fn`, nested in the function it becomes. So the compiler checks it
//! against the return type the user wrote, with the spans the user knows, which an `async` block
//! handed to `block_on` would not give.

use proc_macro2::{Punct, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, Path, Result, Token, parse_quote};

/// How long a test stands still before that is a deadlock: threads outside may be slow.
const DEADLOCK_SECS: u64 = 5;

/// Which of the two attributes is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Test,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Main => "#[tidings::main]",
            Self::Test => "#[tidings::test]",
        }
    }
}

/// What stands in the parentheses of the attribute.
struct Options {
    /// A number or a constant; `None` leaves it to the runtime.
    workers: Option<Expr>,
    /// Only a test watches for deadlocks, unless it says otherwise.
    deadlocks: bool,
    simulation: Option<Simulation>,
    tidings: Path,
}

/// A test runs in a simulation, by the crate `tidings-sim`.
#[derive(Default)]
struct Simulation {
    seeds: Option<Expr>,
    with: Option<Expr>,
}

/// How many schedules a simulated test tries when it does not say.
const SEEDS: u64 = 100;

/// `name = value`; `crate` is a name too, although it is a keyword. `sim` is one without a value.
struct Assignment {
    name: Ident,
    value: Expr,
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

/// Expands the attribute, or says what is wrong in front of a function that can stand in for it.
pub(crate) fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) if syn::parse2::<syn::Item>(item.clone()).is_ok_and(|item| !is_fn(&item)) => {
            let error = Error::new_spanned(&item, format!("{} needs an `async fn`", kind.name()));
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let options = parse_options(kind, options);
    match merge(check(kind, &function), options) {
        Ok(options) => entry(kind, &options, function),
        Err(error) => {
            let error = error.into_compile_error();
            let stand_in = stand_in(function);
            quote!(#error #stand_in)
        }
    }
}

fn is_fn(item: &syn::Item) -> bool {
    matches!(item, syn::Item::Fn(_))
}

fn parse_options(kind: Kind, tokens: TokenStream) -> Result<Options> {
    let assignments = Punctuated::<Assignment, Token![,]>::parse_terminated.parse2(tokens)?;
    let mut workers = None;
    let mut deadlocks = None;
    let mut tidings = None;
    let mut sim = None;
    let mut simulation = Simulation::default();
    let mut problems = Ok(());
    // What a simulation decides, and what only a simulation has.
    let (mut real, mut simulated) = (None, None);
    for Assignment { name, value } in assignments {
        match name.to_string().as_str() {
            "workers" | "deadlocks" => real = Some(name.clone()),
            "seeds" | "with" => simulated = Some(name.clone()),
            _ => {}
        }
        let outcome = match name.to_string().as_str() {
            "workers" => set(&mut workers, &name, worker_count(value)),
            "deadlocks" if kind == Kind::Test => {
                set(&mut deadlocks, &name, yes_or_no("deadlocks", &value))
            }
            "sim" if kind == Kind::Test => set(&mut sim, &name, yes_or_no("sim", &value)),
            "seeds" if kind == Kind::Test => set(&mut simulation.seeds, &name, Ok(value)),
            "with" if kind == Kind::Test => set(&mut simulation.with, &name, Ok(value)),
            "crate" => set(&mut tidings, &name, crate_path(value)),
            _ => Err(Error::new(
                name.span(),
                format!(
                    "{} has no option `{name}`; there are {}`workers = N` and `crate = path`",
                    kind.name(),
                    match kind {
                        Kind::Main => "",
                        Kind::Test => {
                            "`deadlocks = false`, `sim` (with `seeds = N`, `with = |sim| ..`), "
                        }
                    }
                ),
            )),
        };
        problems = merge(problems, outcome);
    }
    let (unfit, why) = match sim {
        Some(true) => (real, "is for real threads, and `sim` runs on one"),
        _ => (simulated, "is for a simulation: write `sim` too"),
    };
    if let Some(name) = unfit {
        let error = Error::new(name.span(), format!("`{name}` {why}"));
        problems = merge(problems, Err(error));
    }
    problems?;
    if kind == Kind::Test && workers.is_none() {
        workers = Some(parse_quote!(2));
    }
    Ok(Options {
        workers,
        deadlocks: kind == Kind::Test && deadlocks != Some(false),
        simulation: (sim == Some(true)).then_some(simulation),
        tidings: tidings.unwrap_or_else(|| parse_quote!(::tidings)),
    })
}

fn set<T>(option: &mut Option<T>, name: &Ident, value: Result<T>) -> Result<()> {
    if option.is_some() {
        return Err(Error::new(name.span(), format!("`{name}` is given twice")));
    }
    *option = Some(value?);
    Ok(())
}

/// Any expression will do, so that a constant can be named; what is plainly no count is refused.
fn worker_count(value: Expr) -> Result<Expr> {
    if let Expr::Lit(ExprLit { lit, .. }) = &value {
        let count = match lit {
            Lit::Int(number) => number.base10_parse::<usize>().ok(),
            _ => None,
        };
        if count.is_none_or(|count| count == 0) {
            return Err(Error::new_spanned(
                &value,
                "`workers` is a number, at least 1",
            ));
        }
    }
    Ok(value)
}

fn yes_or_no(name: &str, value: &Expr) -> Result<bool> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(yes),
            ..
        }) => Ok(yes.value),
        other => Err(Error::new_spanned(
            other,
            format!("`{name}` is `true` or `false`"),
        )),
    }
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
    let others = others.join(&TokenTree::Punct(Punct::new(',', Spacing::Alone)));
    let path = crate_path_option(name, others.into_iter().collect())?;
    Ok((given == 1, path))
}

/// The path of `crate = path`, the only option of `name`, or the usual one.
fn crate_path_option(name: &str, tokens: TokenStream) -> Result<Path> {
    let assignments = Punctuated::<Assignment, Token![,]>::parse_terminated.parse2(tokens)?;
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

fn crate_path(value: Expr) -> Result<Path> {
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

/// What a function must be to run on a runtime of its own.
fn check(kind: Kind, function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let mut problems = Ok(());
    let mut refuse = |at: &dyn ToTokens, what: &str| {
        let error = Error::new_spanned(at.to_token_stream(), format!("{} {what}", kind.name()));
        problems = merge(std::mem::replace(&mut problems, Ok(())), Err(error));
    };
    if signature.asyncness.is_none() {
        refuse(
            &signature.fn_token,
            "needs an `async fn`: add `async` before `fn`",
        );
    }
    if !signature.inputs.is_empty() {
        refuse(
            &signature.inputs,
            "calls the function itself, so it takes no arguments",
        );
    }
    if !signature.generics.params.is_empty() {
        refuse(
            &signature.generics,
            "calls the function itself, so it cannot be generic",
        );
    }
    if let (Kind::Test, Some(twin)) = (kind, function.attrs.iter().find(|a| is_test(a.path()))) {
        refuse(
            twin,
            "makes the function a test already: remove this attribute",
        );
    }
    problems
}

fn is_test(attribute: &Path) -> bool {
    attribute.is_ident("test")
}

/// Both errors if both went wrong, so that one build shows all.
fn merge<T, U>(first: Result<T>, second: Result<U>) -> Result<U> {
    match (first, second) {
        (Ok(_), second) => second,
        (Err(first), Ok(_)) => Err(first),
        (Err(mut first), Err(second)) => {
            first.combine(second);
            Err(first)
        }
    }
}

fn entry(kind: Kind, options: &Options, function: ItemFn) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = function;
    let name = &sig.ident;
    let mut outer = sig.clone();
    outer.asyncness = None;
    if let Some(simulation) = &options.simulation {
        // An error fails the run, and is in its report.
        outer.output = syn::ReturnType::Default;
        let default = parse_quote!(#SEEDS);
        let seeds = simulation.seeds.as_ref().unwrap_or(&default);
        let unchanged = parse_quote!(|sim| sim);
        let with = simulation.with.as_ref().unwrap_or(&unchanged);
        return quote! {
            #[::core::prelude::v1::test]
            #(#attrs)*
            #vis #outer {
                #sig #block
                let with: fn(::tidings_sim::Sim) -> ::tidings_sim::Sim = #with;
                let path = ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name));
                let sim = ::tidings_sim::Sim::of_test(path, ::core::env!("CARGO_PKG_NAME"));
                with(sim.seeds(#seeds)).run(#name);
            }
        };
    }
    let tidings = &options.tidings;
    let workers = options
        .workers
        .as_ref()
        .map(|workers| quote!(.workers(#workers)));
    let watch = options
        .deadlocks
        .then(|| quote!(.watch_deadlocks(::core::time::Duration::from_secs(#DEADLOCK_SECS))));
    let test = (kind == Kind::Test).then(|| quote!(#[::core::prelude::v1::test]));
    quote! {
        #test
        #(#attrs)*
        #vis #outer {
            #sig #block
            #tidings::Runtime::builder()
                #workers
                #watch
                .build()
                .expect("the runtime of tidings could not be built")
                .block_on(#name())
        }
    }
}

/// The function with its async, arguments and body gone: errors about `main` missing, or about
/// what an async `main` may be, would only hide the one that matters.
fn stand_in(mut function: ItemFn) -> TokenStream {
    function.sig.asyncness = None;
    function.sig.inputs.clear();
    function.sig.generics = syn::Generics::default();
    function.sig.output = syn::ReturnType::Default;
    function.attrs.clear();
    function.block = parse_quote!({});
    function.into_token_stream()
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{Kind, expand};

    #[test]
    fn main_keeps_attributes_visibility_and_return_type() {
        let expanded = expand(
            Kind::Main,
            quote!(workers = 3),
            quote! {
                /// Said once.
                #[inline]
                pub async fn main() -> Result<(), String> { run().await }
            },
        );
        let expected = quote! {
            /// Said once.
            #[inline]
            pub fn main() -> Result<(), String> {
                async fn main() -> Result<(), String> { run().await }
                ::tidings::Runtime::builder()
                    .workers(3)
                    .build()
                    .expect("the runtime of tidings could not be built")
                    .block_on(main())
            }
        };
        assert_eq!(expanded.to_string(), expected.to_string());
    }

    #[test]
    fn a_test_has_two_workers_unless_it_says_otherwise() {
        let expanded = expand(
            Kind::Test,
            quote!(),
            quote!(
                async fn answers() {}
            ),
        )
        .to_string();
        assert!(expanded.starts_with("# [:: core :: prelude :: v1 :: test] fn answers ()"));
        assert!(expanded.contains(". workers (2)"));
    }

    #[test]
    fn a_simulated_test_runs_under_seeds() {
        let test = |options| {
            expand(
                Kind::Test,
                options,
                quote!(
                    async fn answers() -> Result<(), String> {}
                ),
            )
            .to_string()
        };
        let expanded = test(quote!(sim, seeds = 7));
        assert!(expanded.starts_with("# [:: core :: prelude :: v1 :: test] fn answers () {"));
        assert!(
            expanded.contains("with (sim . seeds (7)) . run (answers)"),
            "{expanded}"
        );
        assert!(test(quote!(sim)).contains("sim . seeds (100u64)"));
        assert!(test(quote!(sim, workers = 2)).contains("is for real threads"));
        assert!(test(quote!(seeds = 7)).contains("write `sim` too"));
    }

    #[test]
    fn main_without_workers_leaves_the_number_to_the_runtime() {
        let expanded = expand(
            Kind::Main,
            quote!(),
            quote!(
                async fn main() {}
            ),
        )
        .to_string();
        assert!(!expanded.contains("workers"));
    }
}
