//! `#[tidings::main]` and `#[tidings::test]`: an `async fn` becomes a `fn` that blocks on it.
//!
//! The body stays an `async fn`, nested in the function it becomes. So the compiler checks it
//! against the return type the user wrote, with the spans the user knows, which an `async` block
//! handed to `block_on` would not give.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::{Error, Expr, ExprLit, ItemFn, Lit, Path, Result, parse_quote};

use crate::options::{Assignment, Assignments, crate_path, outer_and_inner, set};

/// How long it stands still before that is a deadlock: threads outside may be slow.
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
    /// A test watches for deadlocks, and a program does not, unless they say otherwise.
    deadlocks: bool,
    /// A test fails of a panic that nobody has heard of, unless it says otherwise.
    panics: bool,
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
    let assignments = Assignments::parse_terminated.parse2(tokens)?;
    let mut workers = None;
    let mut deadlocks = None;
    let mut panics = None;
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
            "deadlocks" => set(&mut deadlocks, &name, yes_or_no("deadlocks", &value)),
            "panics" if kind == Kind::Test => set(&mut panics, &name, yes_or_no("panics", &value)),
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
                        Kind::Main => "`deadlocks = true`, ",
                        Kind::Test => {
                            "`deadlocks = false`, `panics = false`, `sim` (with `seeds = N`, `with = |sim| ..`), "
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
        deadlocks: deadlocks.unwrap_or(kind == Kind::Test),
        panics: panics.unwrap_or(kind == Kind::Test),
        simulation: (sim == Some(true)).then_some(simulation),
        tidings: tidings.unwrap_or_else(|| parse_quote!(::tidings)),
    })
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
    let (attrs, inner) = outer_and_inner(attrs);
    // With the attributes that stand in its body.
    let body = ItemFn {
        attrs: inner,
        vis: syn::Visibility::Inherited,
        sig: sig.clone(),
        block,
    };
    let name = &sig.ident;
    let mut outer = sig.clone();
    outer.asyncness = None;
    // The names of ours hide none of the user's, whose function may be called `runtime`.
    let ours = Span::mixed_site();
    if let Some(simulation) = &options.simulation {
        // An error fails the run, and is in its report.
        outer.output = syn::ReturnType::Default;
        let default = parse_quote!(#SEEDS);
        let seeds = simulation.seeds.as_ref().unwrap_or(&default);
        let unchanged = parse_quote!(|sim| sim);
        let with = simulation.with.as_ref().unwrap_or(&unchanged);
        let ignores = (!options.panics).then(|| quote!(.ignores_panics()));
        return quote_spanned! {ours=>
            #[::core::prelude::v1::test]
            #(#attrs)*
            #vis #outer {
                #body
                let with: fn(::tidings_sim::Sim) -> ::tidings_sim::Sim = #with;
                let path = ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name));
                let sim = ::tidings_sim::Sim::of_test(path, ::core::env!("CARGO_PKG_NAME"));
                with(sim.seeds(#seeds)#ignores).run(#name);
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
    let hear = options.panics.then(|| quote!(.watch_panics()));
    let runtime = quote! {
        #tidings::Runtime::builder()
            #workers
            #watch
            #hear
            .build()
            .expect("the runtime of tidings could not be built")
    };
    let run = match options.panics {
        false => quote!(#runtime.block_on(#name())),
        // What the test gives is printed, if it is an error, before that is lost.
        true => quote_spanned! {ours=>
            let runtime = #runtime;
            let output = runtime.block_on(#name());
            if let ::core::result::Result::Err(unheard) = runtime.end() {
                let _ = ::std::process::Termination::report(output);
                ::core::panic!("{unheard}");
            }
            output
        },
    };
    let test = (kind == Kind::Test).then(|| quote!(#[::core::prelude::v1::test]));
    quote! {
        #test
        #(#attrs)*
        #vis #outer {
            #body
            #run
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
    fn a_test_watches_for_panics_unless_it_says_otherwise() {
        let expanded = |kind, options| {
            let function = quote!(
                async fn runs() {}
            );
            expand(kind, options, function).to_string()
        };
        for options in [quote!(), quote!(panics = true)] {
            let test = expanded(Kind::Test, options);
            assert!(test.contains(". watch_panics ()") && test.contains("runtime . end ()"));
        }
        for (kind, options) in [(Kind::Test, quote!(panics = false)), (Kind::Main, quote!())] {
            let test = expanded(kind, options);
            assert!(!test.contains("panics") && !test.contains("end ()"));
        }
        let ignores = "sim . seeds (100u64) . ignores_panics ()";
        assert!(expanded(Kind::Test, quote!(sim, panics = false)).contains(ignores));
        assert!(!expanded(Kind::Test, quote!(sim)).contains("ignores_panics"));
        assert!(expanded(Kind::Main, quote!(panics = false)).contains("has no option `panics`"));
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

    #[test]
    fn a_test_watches_for_deadlocks_and_main_does_not_unless_they_say_otherwise() {
        let watches = |kind, options| {
            let function = quote!(
                async fn runs() {}
            );
            let expanded = expand(kind, options, function).to_string();
            expanded.contains(". watch_deadlocks (")
        };
        for (kind, unless_told) in [(Kind::Main, false), (Kind::Test, true)] {
            assert_eq!(watches(kind, quote!()), unless_told);
            assert!(watches(kind, quote!(deadlocks = true)));
            assert!(!watches(kind, quote!(deadlocks = false)));
        }
    }
}
