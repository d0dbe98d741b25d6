//! The examples do what they show.

/// Includes an example as a module; its `main` is not called.
macro_rules! example {
    ($name:ident, $path:literal) => {
        #[path = $path]
        #[allow(dead_code, reason = "an example is a program of its own")]
        mod $name;
    };
}

#[cfg(unix)]
example!(chat, "../../examples/chat.rs");
example!(pipeline, "../../examples/pipeline.rs");
example!(supervised, "../../examples/supervised.rs");

#[cfg(unix)]
#[tidings::test]
async fn two_guests_of_a_chat_hear_each_other() {
    let [ann, bob] = chat::talk().await.unwrap();
    assert_eq!(ann, ["ann is here", "bob is here", "bob: anybody here?"]);
    assert_eq!(bob, ["bob is here", "bob: anybody here?", "ann: me"]);
}

#[tidings::test]
async fn a_pipeline_that_is_cancelled_finishes_what_is_under_way() {
    let squares = pipeline::squares(1000).await.unwrap();
    assert!(squares.len() >= 1000);
    assert!((0..).zip(&squares).all(|(n, square)| n * n == *square));
}

#[tidings::test]
async fn a_supervised_actor_that_crashes_lives_again() {
    let trees = supervised::crash().await.unwrap();
    let lives = trees.map(|tree| {
        let actors = tree.actors;
        let office = actors
            .iter()
            .find(|it| it.name.as_deref() == Some("office"));
        let below = office.unwrap().children.iter();
        below
            .map(|it| (it.name.clone().unwrap(), it.incarnation))
            .collect::<Vec<_>>()
    });
    let named = |log, calculator| {
        [
            ("log".to_owned(), log),
            ("calculator".to_owned(), calculator),
        ]
    };
    assert_eq!(lives[0], named(1, 1));
    assert_eq!(lives[1], named(1, 2));
}
