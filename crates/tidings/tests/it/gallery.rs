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
#[cfg(unix)]
example!(graceful, "../../examples/graceful.rs");
example!(pipeline, "../../examples/pipeline.rs");
example!(supervised, "../../examples/supervised.rs");

#[cfg(unix)]
#[tidings::test]
async fn two_guests_of_a_chat_hear_each_other() {
    let [ann, bob] = chat::talk().await.unwrap();
    assert_eq!(ann, ["ann is here", "bob is here", "bob: anybody here?"]);
    assert_eq!(bob, ["bob is here", "bob: anybody here?", "ann: me"]);
}

#[cfg(unix)]
#[tidings::test(sim, seeds = 50)]
async fn a_server_that_stops_answers_who_has_asked_and_cuts_off_who_takes_too_long() {
    use futures::io::{AsyncReadExt, AsyncWriteExt};
    use std::time::Duration;
    use tidings::net::{TcpListener, TcpStream};

    let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let stop = tidings::CancellationToken::new();
    let patience = Duration::from_secs(10);
    let server = tidings::spawn(graceful::serve(listener, stop.clone(), patience));
    let guest = async |question: &str| {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(question.as_bytes()).await.unwrap();
        stream
    };
    // Who has asked nothing, who has gone, who waits for a while, and who waits for too long.
    let mut idle = guest("").await;
    drop(guest("").await);
    let (mut soon, mut never) = (guest("5\n").await, guest("3600\n").await);
    tidings::after(Duration::from_secs(1)).await;
    stop.cancel();
    let served = server.await.unwrap();
    let expected = graceful::Served {
        to_the_end: 3,
        cut_off: 1,
    };
    assert_eq!(served, expected);
    assert!(TcpStream::connect(at).await.is_err());
    let mut said = String::new();
    idle.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "");
    soon.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "5 seconds have passed\n");
    let _ = never.read_to_string(&mut said).await;
    assert_eq!(said, "5 seconds have passed\n");
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
