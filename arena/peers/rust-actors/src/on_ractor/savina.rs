//! savina: its actors as those of ractor.

use crate::cells::{Fault, Params, Sample};
use crate::on_tokio;
use crate::savina::{Behaviour, Context, Next, Program, System, once};
use ::savina::Sizes;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::marker::PhantomData;

#[derive(Clone)]
pub(super) struct Ractor;

struct Runs<B>(PhantomData<fn() -> B>);

impl<B: Behaviour<Ractor>> Actor for Runs<B> {
    type Msg = B::Message;
    type State = (B, Context<Ractor, B>);
    type Arguments = B;

    async fn pre_start(
        &self,
        me: ActorRef<B::Message>,
        behaviour: B,
    ) -> Result<Self::State, ActorProcessingErr> {
        let system = Ractor;
        Ok((behaviour, Context { me, system }))
    }

    async fn handle(
        &self,
        me: ActorRef<B::Message>,
        message: B::Message,
        (behaviour, context): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if behaviour.receive(message, context).await == Next::End {
            me.stop(None);
        }
        Ok(())
    }
}

impl System for Ractor {
    type Ref<B: Behaviour<Self>> = ActorRef<B::Message>;

    async fn start<B: Behaviour<Self>>(&self, behaviour: B) -> ActorRef<B::Message> {
        let started = Runs::<B>::spawn(None, Runs(PhantomData), behaviour).await;
        started.expect("it has no name that could be taken").0
    }

    fn tell<B: Behaviour<Self>>(to: &ActorRef<B::Message>, message: B::Message) {
        let _ = to.cast(message);
    }

    fn repeat<P: Program>(params: Params, sizes: Sizes) -> Result<Sample, Fault> {
        on_tokio::repeat(params.threads, move || once::<Self, P>(Self, sizes))
    }
}
