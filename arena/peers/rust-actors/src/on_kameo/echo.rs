//! An actor that is asked; the answer is what its handler returns.

use super::{lost, start};
use crate::cells::Fault;
use crate::on_tokio::echo::Echo;
use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};

#[derive(Actor)]
pub(super) struct Server;

struct Number(i64);

impl Message<Number> for Server {
    type Reply = i64;

    async fn handle(&mut self, Number(number): Number, _: &mut Context<Self, i64>) -> i64 {
        number
    }
}

/// Has `ROOM` places; 0 is unbounded. It ends with the only reference to it.
pub(super) struct Asked<const ROOM: usize>(ActorRef<Server>);

pub(super) type Unbounded = Asked<0>;
pub(super) type Bounded = Asked<1>;

impl<const ROOM: usize> Echo for Asked<ROOM> {
    async fn start() -> Result<Self, Fault> {
        Ok(Self(start(Server, ROOM)))
    }

    async fn ask(&self, number: i64) -> Result<i64, Fault> {
        let answer = self.0.ask(Number(number)).send().await;
        answer.map_err(|_| lost())
    }

    fn end(self) {}
}
