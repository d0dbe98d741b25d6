//! Which of `Send`, `Sync` and `Unpin` a type has, and which types a snapshot of a public API lists.
//! For the surface tests of all libraries of this workspace.

/// What a type has that does not have the trait in question.
pub(crate) trait No {
    const IS: bool = false;
}

/// Does a type have a trait? An inherent constant comes before that of [`No`], which must be in scope.
macro_rules! is {
    ($type:ty, $trait:ident) => {{
        #[allow(dead_code, reason = "it stands for the type, and is never made")]
        struct Of<T: ?Sized>(std::marker::PhantomData<T>);
        impl<T: ?Sized> No for Of<T> {}
        #[allow(dead_code, reason = "not used for a type without the trait")]
        impl<T: ?Sized + $trait> Of<T> {
            const IS: bool = true;
        }
        <Of<$type>>::IS
    }};
}

/// `S` for `Send`, `Y` for `Sync`, `U` for `Unpin`, `-` for what it is not.
macro_rules! traits {
    ($type:ty) => {{
        let mut found = String::new();
        found.push(if is!($type, Send) { 'S' } else { '-' });
        found.push(if is!($type, Sync) { 'Y' } else { '-' });
        found.push(if is!($type, Unpin) { 'U' } else { '-' });
        found
    }};
}

/// A path of a type, what it has, and what it is to have.
pub(crate) type Row = (&'static str, String, &'static str);

/// A path and a type without a parameter, and its traits.
macro_rules! plain {
    ($($path:literal: $type:ty => $traits:literal;)*) => {
        [$(($path, traits!($type), $traits)),*]
    };
}

/// All rows are as they are to be.
pub(crate) fn agree(rows: &[Row]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, found, listed)| found != listed)
        .map(|(path, found, listed)| format!("{path}: {found}, not {listed}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows have every type of the snapshot of `library`, of which there are so many at least; but for those under `absent`,
/// which stand behind features that are not there.
pub(crate) fn are_complete(rows: &[Row], api: &str, library: &str, least: usize, absent: &[&str]) {
    let types: Vec<&str> = ["pub struct ", "pub enum "]
        .into_iter()
        .flat_map(|word| api.lines().filter_map(move |line| line.split_once(word)))
        .filter_map(|(_, after)| after.strip_prefix(library)?.strip_prefix("::"))
        .filter_map(|path| path.split(['<', '(', ' ']).next())
        .collect();
    let n = types.len();
    assert!(n >= least, "the snapshot lists {n} types only");
    let is_absent = |path: &&str| absent.iter().any(|absent| path.contains(absent));
    for path in types.into_iter().filter(|path| !is_absent(path)) {
        // The root names again what the modules have.
        let known = |row: &Row| row.0 == path || row.0.ends_with(&format!("::{path}"));
        assert!(rows.iter().any(known), "{path} is not in the list");
    }
}

#[test]
fn the_probe_tells_traits_apart() {
    assert_eq!(traits!(u8), "SYU");
    assert_eq!(traits!(std::cell::Cell<u8>), "S-U");
    assert_eq!(traits!(std::rc::Rc<u8>), "--U");
    assert_eq!(traits!(std::marker::PhantomPinned), "SY-");
}

#[test]
#[should_panic(expected = "b::B is not in the list")]
fn a_type_that_is_not_listed_is_told() {
    let rows = [("a::A", traits!(u8), "SYU")];
    are_complete(
        &rows,
        "pub struct lib::A<T>\npub enum lib::b::B\n",
        "lib",
        2,
        &[],
    );
}
