//! Bodies: what was written is read, and what is hostile costs no more than its size.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use tidings::remote::{Bytes, Limits, decode, encode};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Tree {
    Leaf,
    One(Box<Self>),
    Many(Vec<Self>, Option<u16>),
    Named { text: String, at: (i32, f64) },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct All {
    numbers: (u8, u16, u32, u64, u128, i8, i16, i32, i64, i128),
    flag: bool,
    letter: char,
    unit: (),
    map: BTreeMap<String, Vec<i64>>,
    result: Result<[u16; 3], String>,
    trees: Vec<Tree>,
}

fn body<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut body = Vec::new();
    encode(value, &mut body).unwrap();
    body
}

fn tree() -> impl Strategy<Value = Tree> {
    let named = (".{0,5}", any::<i32>(), any::<i16>());
    let leaf = prop_oneof![
        Just(Tree::Leaf),
        named.prop_map(|(text, a, b)| Tree::Named {
            text,
            at: (a, f64::from(b)),
        }),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        let many = (
            prop::collection::vec(inner.clone(), 0..4),
            any::<Option<u16>>(),
        );
        prop_oneof![
            inner.prop_map(|tree| Tree::One(Box::new(tree))),
            many.prop_map(|(trees, n)| Tree::Many(trees, n)),
        ]
    })
}

proptest! {
    #[test]
    fn what_postcard_writes_is_read(
        unsigned in any::<(u8, u16, u32, u64, u128)>(),
        signed in any::<(i8, i16, i32, i64, i128)>(),
        (flag, letter) in any::<(bool, char)>(),
        map in prop::collection::btree_map(".{0,4}", prop::collection::vec(any::<i64>(), 0..4), 0..4),
        result in prop::result::maybe_ok(any::<[u16; 3]>(), ".{0,6}"),
        trees in prop::collection::vec(tree(), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (a, b, c, d, e) = unsigned;
        let (f, g, h, i, j) = signed;
        let all = All {
            numbers: (a, b, c, d, e, f, g, h, i, j),
            flag,
            letter,
            unit: (),
            map,
            result,
            trees,
        };
        let mut bytes = body(&all);
        prop_assert_eq!(&decode::<All>(&bytes, Limits::default()).unwrap(), &all);
        // What ends early, and what goes on, is no such value.
        let early = &bytes[..cut.index(bytes.len())];
        prop_assert!(decode::<All>(early, Limits::default()).is_err());
        bytes.push(0);
        prop_assert!(decode::<All>(&bytes, Limits::default()).is_err());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode::<All>(&bytes, Limits::default());
        let _ = decode::<Vec<Tree>>(&bytes, Limits::default());
        let _ = decode::<(f32, Bytes, Option<Option<char>>)>(&bytes, Limits::default());
    }
}

#[test]
fn a_megabyte_of_nesting_is_an_error_and_not_the_end_of_the_process() {
    let nested = vec![1; 1 << 20];
    let error = decode::<Tree>(&nested, Limits::default()).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
    let mut deep = vec![1; 20];
    deep.push(0);
    assert!(decode::<Tree>(&deep, Limits::default()).is_ok());
    let shallow = Limits {
        depth: 10,
        ..Limits::default()
    };
    assert!(decode::<Tree>(&deep, shallow).is_err());
}

#[test]
fn elements_that_take_no_byte_are_counted_and_memory_grows_with_the_body() {
    let bomb = [0xff, 0xff, 0xff, 0xff, 0x07];
    let error = decode::<Vec<()>>(&bomb, Limits::default()).unwrap_err();
    assert!(error.to_string().contains("elements"), "{error}");
    assert_eq!(
        decode::<Vec<()>>(&body(&vec![(); 1000]), Limits::default())
            .unwrap()
            .len(),
        1000
    );
    // A mebibyte of empty vectors would be 24 of them.
    let empty: Vec<Vec<u8>> = vec![Vec::new(); 1 << 20];
    let error = decode::<Vec<Vec<u8>>>(&body(&empty), Limits::default()).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    let full: Vec<Vec<u8>> = vec![vec![1; 30]; 1 << 10];
    assert_eq!(
        decode::<Vec<Vec<u8>>>(&body(&full), Limits::default()).unwrap(),
        full
    );
    // A length that is a lie takes nothing.
    let lie = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert!(decode::<Vec<u64>>(&lie, Limits::default()).is_err());
    assert!(decode::<String>(&lie, Limits::default()).is_err());
    assert!(decode::<Bytes>(&lie, Limits::default()).is_err());
}

#[test]
fn numbers_beyond_their_width_are_refused() {
    assert!(decode::<u16>(&body(&65_536_u32), Limits::default()).is_err());
    assert!(decode::<u32>(&body(&u64::MAX), Limits::default()).is_err());
    assert!(decode::<i16>(&body(&i32::MIN), Limits::default()).is_err());
    assert!(decode::<u64>(&[0x80; 11], Limits::default()).is_err());
    assert_eq!(
        decode::<u64>(&body(&u64::MAX), Limits::default()),
        Ok(u64::MAX)
    );
}
