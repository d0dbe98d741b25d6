//! savina: its actors as those of kameo.

use crate::cells::{Fault, Params, Sample};
use crate::on_tokio;
use crate::savina::{Behaviour, Context, Next, Program, System, once};
use ::savina::Sizes;
use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox;
use kameo::message::{self, Message};

#[derive(Clone)]
pub(super) struct Kameo;

pub(super) struct Runs<B: Behaviour<Kameo>> {
    behaviour: B,
    context: Context<Kameo, B>,
}

impl<B: Behaviour<Kameo>> Actor for Runs<B> {
    type Args = B;
    type Error = Infallible;

    async fn on_start(behaviour: B, me: ActorRef<Self>) -> Result<Self, Infallible> {
        let system = Kameo;
        let context = Context { me, system };
        Ok(Self { behaviour, context })
    }
}

impl<B: Behaviour<Kameo>> Message<B::Message> for Runs<B> {
    type Reply = ();

    async fn handle(&mut self, message: B::Message, context: &mut message::Context<Self, ()>) {
        if self.behaviour.receive(message, &mut self.context).await == Next::End {
            context.stop();
        }
    }
}

impl System for Kameo {
    type Ref<B: Behaviour<Self>> = ActorRef<Runs<B>>;

    async fn start<B: Behaviour<Self>>(&self, behaviour: B) -> ActorRef<Runs<B>> {
        Runs::<B>::spawn_with_mailbox(behaviour, mailbox::unbounded())
    }

    fn tell<B: Behaviour<Self>>(to: &ActorRef<Runs<B>>, message: B::Message) {
        let _ = to.tell(message).try_send();
    }

    fn repeat<P: Program>(params: Params, sizes: Sizes) -> Result<Sample, Fault> {
        on_tokio::repeat(params.threads, move || once::<Self, P>(Self, sizes))
    }
}
