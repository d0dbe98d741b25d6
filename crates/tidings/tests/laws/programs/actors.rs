//! Actors: supervised lives with senders, callers, watchers and those who end them; and actors that
//! call each other around.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tidings::actor::{
    ActorRef, Builder, CallError, Child, Group, Mailbox, Registry, Reply, Restart, SendError,
    Strategy, Supervisor, SupervisorRef, WeakActorRef,
};
use tidings::sched::Handle;

use super::{Program, Setup};
use crate::history::{Act, Diary, Got, lock};
use crate::letter::Letter;
use crate::party::{Dies, Hand, Party};
use crate::waits::{Way, pause, wait};

/// Where answers are put and taken.
const REPLIES: u32 = 100;

/// What an actor is sent.
enum Post {
    Told(Letter),
    Asked(Letter, Reply<Letter>),
}

impl Post {
    fn letter(self) -> Letter {
        match self {
            Self::Told(letter) | Self::Asked(letter, _) => letter,
        }
    }
}

/// An actor of a program, whatever life it lives.
#[derive(Clone)]
struct Actor {
    to: ActorRef<Post>,
    source: u32,
    /// A stop is its end for good.
    stays_ended: bool,
    silence: Silence,
}

/// Requests whose replies a life dropped as it went on: these alone have no answer without an end.
type Silence = Arc<Mutex<HashSet<u64>>>;

/// One or two actors of one supervisor, which start anew in place.
pub(crate) fn actor(setup: &mut Setup) -> Program {
    let capacity = 1 + setup.dice.below(4);
    let strategies = [
        Strategy::OneForOne,
        Strategy::OneForAll,
        Strategy::RestForOne,
        Strategy::Dynamic,
    ];
    let strategy = strategies[usize::try_from(setup.dice.below(4)).unwrap()];
    let mut supervisor = Supervisor::new(strategy).intensity(1_000_000, Duration::from_secs(1));
    let mut actors = Vec::new();
    for source in 0..1 + u32::from(setup.one_in(2)) {
        let restart = match setup.dice.below(4) {
            0 => Restart::Permanent,
            1 => Restart::Temporary,
            _ => Restart::Transient,
        };
        let hand = Arc::new(Mutex::new(setup.hand()));
        let crashes = setup.one_in(2);
        let silence = Silence::default();
        let silent = Arc::clone(&silence);
        let child = Builder::new()
            .capacity(usize::try_from(capacity).unwrap())
            .child(move |mailbox| {
                life(
                    mailbox,
                    Arc::clone(&hand),
                    source,
                    crashes,
                    Arc::clone(&silent),
                )
            })
            .restart(restart);
        actors.push(Actor {
            to: child.actor_ref(),
            source,
            stays_ended: restart == Restart::Temporary,
            silence,
        });
        supervisor = supervisor.child(child);
    }
    let (registry, group) = (Registry::new(), Group::new());
    let mut parties: Vec<Party> = Vec::new();
    let home = setup.home();
    parties.push(Box::pin(keeper(setup.hand(), home, supervisor)));
    for n in 0..setup.crowd() {
        let hand = setup.hand();
        let actor = actors[usize::try_from(n).unwrap() % actors.len()].clone();
        parties.push(match setup.dice.below(6) {
            0 => Box::pin(watcher(hand, actor)),
            1 => Box::pin(ender(hand, actor)),
            2 => Box::pin(namer(hand, actor, registry.clone(), group.clone())),
            3 | 4 => Box::pin(caller(hand, actor)),
            _ => Box::pin(sender(hand, actor)),
        });
    }
    let weak: Vec<WeakActorRef<Post>> = actors.iter().map(|actor| actor.to.downgrade()).collect();
    let ids: Vec<u64> = actors.iter().map(|actor| actor.to.id()).collect();
    drop(actors);
    Program {
        parties,
        finish: Box::new(move |end| {
            let count = |n: usize| n as u64;
            let held = weak.iter().filter(|weak| weak.upgrade().is_some());
            end.gauge(
                "no-leak",
                "actors that are referred to",
                0,
                count(held.count()),
            );
            end.gauge("no-leak", "names", 0, count(registry.names().len()));
            end.gauge("no-leak", "members", 0, count(group.members().len()));
            let live = tidings::inspect().actors;
            let live = live.iter().filter(|actor| ids.contains(&actor.id));
            end.gauge("no-leak", "actors that live", 0, count(live.count()));
        }),
        capacity: Some(capacity),
        mortal: false,
    }
}

/// One life: takes messages in several ways, answers or does not, and may end by itself.
async fn life(
    mut mailbox: Mailbox<Post>,
    hand: Arc<Mutex<Hand>>,
    source: u32,
    crashes: bool,
    silence: Silence,
) -> Result<(), &'static str> {
    let diary = lock(&hand).diary.clone();
    let dice = |n| lock(&hand).dice.below(n);
    loop {
        let way = dice(8);
        let polls = dice(3);
        let asked = diary.ask(source, Act::Take);
        let taken = match way {
            0 => match mailbox.try_recv() {
                Err(tidings::TryRecvError::Empty) => {
                    asked.got(Got::Nothing);
                    pause().await;
                    continue;
                }
                taken => taken.ok(),
            },
            1 => match wait(Way::GiveUp(polls), mailbox.recv()).await {
                None => continue,
                Some(taken) => taken.ok(),
            },
            2 => mailbox.scan(Ok).await.ok(),
            _ => mailbox.recv().await.ok(),
        };
        let Some(post) = taken else {
            asked.got(Got::Closed);
            return Ok(());
        };
        let (letter, reply) = match post {
            Post::Told(letter) => (letter, None),
            Post::Asked(letter, reply) => (letter, Some(reply)),
        };
        asked.got(Got::Value(letter.n));
        if dice(2) == 0 {
            pause().await;
        }
        let end = dice(24);
        if crashes && end == 0 {
            std::panic::resume_unwind(Box::new(Dies));
        }
        match reply {
            Some(reply) if end > 3 => {
                let letter = lock(&hand).letter();
                answer(&diary, reply, letter);
            }
            Some(reply) => {
                lock(&silence).insert(letter.n);
                drop(reply);
            }
            None => {}
        }
        if crashes && end == 1 {
            return Err("it had enough");
        }
    }
}

fn answer(diary: &Diary, reply: Reply<Letter>, letter: Letter) {
    let asked = diary.ask(REPLIES, Act::Put(letter.n));
    match reply.send(letter) {
        Ok(()) => asked.got(Got::Done),
        Err(_) => asked.got(Got::Back),
    }
}

/// Starts the supervisor, lets the others act, and ends it.
async fn keeper(mut hand: Hand, home: Handle, supervisor: Supervisor) {
    let supervisor: SupervisorRef = home
        .spawn(async move { supervisor.start() })
        .await
        .expect("a start does not panic");
    for _ in 0..hand.dice.below(3 + 4 * hand.acts) {
        pause().await;
    }
    supervisor.stop();
    supervisor.down().await;
}

async fn sender(mut hand: Hand, actor: Actor) {
    for _ in 0..hand.acts {
        hand.may_die();
        let tries = hand.dice.below(4) == 0;
        let mut offer = hand.offer(actor.source);
        let post = Post::Told(offer.give());
        let back = |error: SendError<Post>| error.into_message().letter();
        if tries {
            offer.back(actor.to.try_send(post).err().map(back));
        } else if let Some(sent) = hand.perform(actor.to.send(post)).await {
            offer.back(sent.err().map(back));
        }
    }
}

async fn caller(mut hand: Hand, actor: Actor) {
    for _ in 0..hand.acts {
        hand.may_die();
        let mut offer = hand.offer(actor.source);
        let letter = offer.give();
        let n = letter.n;
        let is_silent = || lock(&actor.silence).contains(&n);
        let asked = hand.diary.ask(REPLIES, Act::Take);
        let call = actor.to.call(|reply| Post::Asked(letter, reply));
        let Some(answer) = hand.perform(call).await else {
            // What it would have heard instead of an answer may be a dead letter as well.
            let _ = hand.offer(REPLIES).give();
            continue;
        };
        match answer {
            Ok(letter) => {
                offer.back(None);
                asked.got(Got::Value(letter.n));
            }
            Err(CallError::NotExecuted(_) | CallError::Full) => {
                offer.refused();
                asked.got(Got::Closed);
            }
            Err(error @ (CallError::Ended(_) | CallError::NoReply)) => {
                let is_end = matches!(error, CallError::Ended(_));
                assert_ne!(is_end, is_silent(), "{error}");
                offer.back(None);
                asked.got(Got::Closed);
            }
            Err(other) => panic!("nobody refuses it, and it has no deadline: {other}"),
        }
    }
}

/// Waits for the end, more than once perhaps.
async fn watcher(mut hand: Hand, actor: Actor) {
    loop {
        let asked = hand.diary.ask(actor.source, Act::Watch);
        let Some(exit) = hand.perform(actor.to.down()).await else {
            continue;
        };
        // One number for one reason.
        let reason = exit.to_string().bytes().map(u64::from).sum();
        asked.got(Got::Value(reason));
        let close = hand.diary.ask(actor.source, Act::Close);
        close.got(Got::Done);
        if hand.dice.below(2) == 0 {
            return;
        }
    }
}

/// Ends lives, or the actor.
async fn ender(mut hand: Hand, actor: Actor) {
    for _ in 0..hand.acts {
        for _ in 0..hand.dice.below(6) {
            pause().await;
        }
        match hand.dice.below(6) {
            0 => actor.to.stop(),
            1 if actor.stays_ended => {
                let asked = hand.diary.ask(actor.source, Act::Stop);
                actor.to.stop_now();
                asked.got(Got::Done);
            }
            2 => actor.to.fail("it was told to"),
            _ => actor.to.kill(),
        }
    }
}

/// Gives it names and memberships, and takes some back.
async fn namer(mut hand: Hand, actor: Actor, registry: Registry, group: Group<ActorRef<Post>>) {
    for _ in 0..hand.acts {
        let name = format!("name {}", hand.dice.below(2));
        match hand.dice.below(4) {
            0 => drop(registry.unregister(&name)),
            1 => drop(group.leave(&actor.to)),
            2 => drop(group.join(&actor.to)),
            _ => drop(registry.register(name, &actor.to)),
        }
        pause().await;
    }
}

/// Goes around: whoever gets it calls the next of its route, and answers when that has.
struct Visit {
    route: Vec<usize>,
    reply: Reply<()>,
}

type Node = (ActorRef<Visit>, Diary);

/// All who call each other, with their diaries: known when all are made.
#[derive(Clone, Default)]
struct Around(Arc<OnceLock<Vec<Node>>>);

impl Around {
    fn all(&self) -> &[Node] {
        self.0.get().expect("all are made before one is called")
    }

    /// A call by `caller`, written down.
    async fn visit(&self, caller: &Diary, next: usize, route: Vec<usize>) {
        let (to, callee) = &self.all()[next];
        let asked = caller.ask(callee.party, Act::Call);
        match to.call(|reply| Visit { route, reply }).await {
            Ok(()) => asked.got(Got::Done),
            Err(CallError::Cycle(_)) => asked.got(Got::Refused),
            // A request whose call was refused may be handled late, when all come to their end.
            Err(CallError::NotExecuted(_) | CallError::Ended(_)) => asked.got(Got::Closed),
            Err(other) => panic!("they answer: {other}"),
        }
    }

    async fn node(self, mut mailbox: Mailbox<Visit>, me: Diary) {
        while let Ok(Visit { mut route, reply }) = mailbox.recv().await {
            if let Some(next) = route.pop() {
                self.visit(&me, next, route).await;
            }
            let _ = reply.send(());
        }
    }
}

/// Actors that call each other, themselves too.
pub(crate) fn calls(setup: &mut Setup) -> Program {
    let n = 2 + setup.dice.below(2);
    let around = Around::default();
    let mut nodes = Vec::new();
    let mut parties: Vec<Party> = Vec::new();
    // Closed when the last visitor has gone.
    let (visiting, visited) = tidings::unbounded::<()>();
    for _ in 0..n {
        let (known, me) = (around.clone(), setup.log.diary());
        let diary = me.clone();
        let child = Child::new(move |mailbox| known.clone().node(mailbox, me.clone()));
        nodes.push((child.actor_ref(), diary));
        // Each where it likes, if there are several homes.
        let (home, visited) = (setup.home(), visited.clone());
        parties.push(Box::pin(async move {
            let supervisor = Supervisor::new(Strategy::OneForOne).child(child);
            let started = home.spawn(async move { supervisor.start() });
            let supervisor = started.await.expect("a start does not panic");
            let _ = visited.recv().await;
            supervisor.stop();
            supervisor.down().await;
        }));
    }
    around.0.set(nodes).expect("once");
    for _ in 0..setup.crowd() {
        let (mut hand, around, visiting) = (setup.hand(), around.clone(), visiting.clone());
        parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                let mut drawn = || usize::try_from(hand.dice.below(n)).unwrap();
                let (first, route) = (drawn(), vec![drawn(), drawn(), drawn()]);
                around.visit(&hand.diary, first, route).await;
            }
            drop(visiting);
        }));
    }
    Program {
        parties,
        finish: Box::new(move |end| {
            let live = around.all().iter().filter(|node| node.0.exit().is_none());
            let live = live.count();
            end.gauge("no-leak", "actors that live", 0, live as u64);
        }),
        capacity: None,
        mortal: false,
    }
}
