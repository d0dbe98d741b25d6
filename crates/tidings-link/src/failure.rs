//! What a call's end and an actor's end are on the wire, and what they are here.

use tidings::actor::{CallError, Exit};
use tidings::remote::{Method, refused, unfit};

use crate::frame::{End, Failure};

/// So much of an actor's end is kept for references that come when it is known.
const BRIEF: usize = 64;

/// The same end in few words: who says that very many actors have ended fills no memory by it.
pub(crate) fn brief(end: &End) -> End {
    let brief = |text: &String| text[..text.floor_char_boundary(BRIEF)].to_owned();
    match end {
        End::Panicked(message) => End::Panicked(brief(message)),
        End::Failed(error) => End::Failed(brief(error)),
        End::Linked(actor, exit) => End::Linked(brief(actor), brief(exit)),
        End::Disconnected(why) => End::Disconnected(brief(why)),
        End::Normal | End::Stopped | End::Killed | End::NoSuchActor => end.clone(),
    }
}

impl From<&Exit> for End {
    fn from(exit: &Exit) -> Self {
        match exit {
            Exit::Normal => Self::Normal,
            Exit::Stopped => Self::Stopped,
            Exit::Killed => Self::Killed,
            Exit::Panicked(message) => Self::Panicked(message.to_string()),
            Exit::Failed(error) => Self::Failed(error.to_string()),
            Exit::Linked { actor, exit } => Self::Linked(actor.to_string(), exit.to_string()),
            Exit::NoSuchActor => Self::NoSuchActor,
            Exit::Disconnected(why) => Self::Disconnected(why.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<End> for Exit {
    fn from(end: End) -> Self {
        match end {
            End::Normal => Self::Normal,
            End::Stopped => Self::Stopped,
            End::Killed => Self::Killed,
            End::Panicked(message) => Self::Panicked(message.into()),
            End::Failed(error) => failed(error),
            End::Linked(actor, exit) => Self::Linked {
                actor: actor.into(),
                exit: failed(exit).into(),
            },
            End::NoSuchActor => Self::NoSuchActor,
            End::Disconnected(why) => Self::Disconnected(why.into()),
        }
    }
}

fn failed(error: String) -> Exit {
    Exit::Failed(Box::<dyn std::error::Error + Send + Sync>::from(error).into())
}

impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Full => Self::Full,
            CallError::NotExecuted(exit) => Self::NotExecuted(exit.into()),
            CallError::Ended(exit) => Self::Ended(exit.into()),
            CallError::NoReply => Self::NoReply,
            CallError::Refused(why) => Self::Refused(why.to_string()),
            CallError::Cycle(cycle) => Self::Cycle(cycle.to_string()),
            CallError::Timeout => Self::Timeout,
            other => Self::Refused(other.to_string()),
        }
    }
}

impl Failure {
    /// What the caller of this method hears, if it is known.
    pub(crate) fn of(self, method: Option<&Method>) -> CallError {
        match (self, method) {
            (Self::NoSuchMethod, Some(method)) => {
                let method = method.name();
                refused(format_args!(
                    "the actor has no method {method:?}, or one of another shape"
                ))
            }
            (failure, _) => failure.into(),
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Full | Failure::Overloaded => Self::Full,
            Failure::NotExecuted(end) => Self::NotExecuted(end.into()),
            Failure::Ended(end) => Self::Ended(end.into()),
            Failure::NoReply => Self::NoReply,
            // By an interceptor, by its handler, or because the answer could not be sent; and the actors of a
            // cycle elsewhere are none of those here.
            Failure::Refused(why) | Failure::Cycle(why) => unfit(None, why),
            Failure::Malformed(why) => {
                refused(format_args!("the arguments cannot be read there: {why}"))
            }
            Failure::Timeout => Self::Timeout,
            Failure::NoSuchMethod => {
                refused("the actor has no such method, or one of another shape")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of PROTOCOL.md ("What an ANSWER says, when, and what that means for the caller").
    #[test]
    fn of_each_failure_a_caller_knows_whether_the_request_was_executed() {
        let why = || "this".to_owned();
        let all = [
            (Failure::Full, "Full", Some(false)),
            (Failure::Overloaded, "Full", Some(false)),
            (
                Failure::NotExecuted(End::Normal),
                "NotExecuted",
                Some(false),
            ),
            (Failure::NoSuchMethod, "Refused", Some(false)),
            (Failure::Malformed(why()), "Refused", Some(false)),
            (Failure::Ended(End::Killed), "Ended", None),
            (Failure::NoReply, "NoReply", None),
            (Failure::Refused(why()), "Refused", None),
            (Failure::Cycle(why()), "Refused", None),
            // It was not; the same error says that somebody here has waited long enough.
            (Failure::Timeout, "Timeout", None),
        ];
        for (failure, name, executed) in all {
            let told = CallError::from(failure.clone());
            assert!(format!("{told:?}").starts_with(name), "{told:?}");
            assert_eq!(told.executed(), executed, "{failure:?}");
            // And who passes it on says no more than he was told.
            let passed_on = CallError::from(Failure::from(&told));
            assert!(passed_on.executed().is_none_or(|it| Some(it) == executed));
        }
    }
}
