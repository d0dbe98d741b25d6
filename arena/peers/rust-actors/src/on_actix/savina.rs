//! savina: its actors as those of actix. They share the driver's arbiter, but for those that compute
//! much, which are spread over all.

use super::repeat;
use crate::cells::{Fault, Params, Sample};
use crate::savina::{Behaviour, Context, Next, Program, System, once};
use ::savina::Sizes;
use actix::{Actor, ActorContext, Addr, ArbiterHandle, Handler, Message};
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

#[derive(Clone)]
pub(super) struct Actix(Arc<[ArbiterHandle]>);

pub(super) struct Runs<B: Behaviour<Actix>> {
    behaviour: B,
    system: Actix,
    /// There once it has started.
    context: Option<Context<Actix, B>>,
}

impl<B: Behaviour<Actix>> Actor for Runs<B> {
    type Context = actix::Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.context = Some(Context {
            me: actix::AsyncContext::address(context),
            system: self.system.clone(),
        });
    }
}

struct Told<M>(M);

impl<M: Send + 'static> Message for Told<M> {
    type Result = ();
}

impl<B: Behaviour<Actix>> Handler<Told<B::Message>> for Runs<B> {
    type Result = ();

    fn handle(&mut self, Told(message): Told<B::Message>, context: &mut Self::Context) {
        let own = self.context.as_mut().expect("it has started");
        // Starting and telling need no waiting here, so it is ready at once.
        let next = pin!(self.behaviour.receive(message, own))
            .poll(&mut task::Context::from_waker(Waker::noop()));
        match next {
            Poll::Ready(Next::Go) => {}
            Poll::Ready(Next::End) => context.stop(),
            Poll::Pending => unreachable!("nothing in it waits"),
        }
    }
}

impl Actix {
    fn actor<B: Behaviour<Self>>(&self, behaviour: B) -> Runs<B> {
        Runs {
            behaviour,
            system: self.clone(),
            context: None,
        }
    }
}

impl System for Actix {
    type Ref<B: Behaviour<Self>> = Addr<Runs<B>>;

    async fn start<B: Behaviour<Self>>(&self, behaviour: B) -> Addr<Runs<B>> {
        self.actor(behaviour).start()
    }

    async fn start_apart<B: Behaviour<Self>>(&self, i: i64, behaviour: B) -> Addr<Runs<B>> {
        let actor = self.actor(behaviour);
        Runs::start_in_arbiter(&self.0[i as usize % self.0.len()], |_| actor)
    }

    fn tell<B: Behaviour<Self>>(to: &Addr<Runs<B>>, message: B::Message) {
        to.do_send(Told(message));
    }

    fn repeat<P: Program>(params: Params, sizes: Sizes) -> Result<Sample, Fault> {
        Ok(repeat(params, move |stage| {
            once::<Self, P>(Self(stage.handles.as_slice().into()), sizes)
        }))
    }
}
