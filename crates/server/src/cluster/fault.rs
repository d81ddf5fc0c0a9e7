//! Points at which a test kills this server in the middle of a commit over nodes.
//!
//! `STEPPE_KILL_AT=POINT:REQUEST` in the environment ends the process with SIGKILL the first time that
//! such a request is at this point, as a failure of the machine would. For tests only.

use std::sync::Arc;

use steppe_cluster::NodeId;
use steppe_cluster::commit::Request;
use steppe_cluster::transaction::{FaultPoint, Faults};

const VARIABLE: &str = "STEPPE_KILL_AT";

struct KillAt {
    point: FaultPoint,
    request: String,
}

impl Faults for KillAt {
    fn breaks(&self, point: FaultPoint, _: NodeId, request: &Request) -> bool {
        if point == self.point && name_of(request) == self.request {
            let own = nix::unistd::getpid();
            let _ = nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGKILL);
        }
        false
    }
}

/// The point that the environment names.
pub(super) fn fault_points() -> Option<Arc<dyn Faults>> {
    let named = std::env::var(VARIABLE).ok()?;
    let (point, request) = named.split_once(':')?;
    let point = match point {
        "BeforeSend" => FaultPoint::BeforeSend,
        "AfterSend" => FaultPoint::AfterSend,
        "BeforeRead" => FaultPoint::BeforeRead,
        _ => return None,
    };
    Some(Arc::new(KillAt { point, request: request.to_owned() }))
}

fn name_of(request: &Request) -> &'static str {
    match request {
        Request::Prepare(_) => "Prepare",
        Request::Decide(..) => "Decide",
        Request::Finish { .. } => "Finish",
        Request::Commit => "Commit",
        Request::Forget(_) => "Forget",
        _ => "",
    }
}
