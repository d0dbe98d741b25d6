//! An actor that is called and answers by the reply port of the call.

use super::start;
use crate::cells::Fault;
use crate::on_tokio::echo::Echo;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

pub(super) struct Call(i64, RpcReplyPort<i64>);

struct Server;

impl Actor for Server {
    type Msg = Call;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Call>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Call>,
        Call(number, reply): Call,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(reply.send(number)?)
    }
}

impl Echo for ActorRef<Call> {
    async fn start() -> Result<Self, Fault> {
        start(Server, ()).await
    }

    async fn ask(&self, number: i64) -> Result<i64, Fault> {
        let answer = self.call(|reply| Call(number, reply), None).await;
        let answer = answer.map_err(|_| Fault::bug("the server is gone"))?;
        answer.success_or(()).map_err(|()| Fault::bug("no answer"))
    }

    fn end(self) {
        self.stop(None);
    }
}
