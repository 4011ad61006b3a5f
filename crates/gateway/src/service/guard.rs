//! The guard asks the rules before a client gets a session, and before a request of it goes on.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use floe::reference::Target;
use floe::regular_file;
use floe::{ConnectionInfo, Identity, Reference, SystemException};
use floe_access::{
    Access, Action, AuditLines, Called, Caller, Decision, DistinguishedName, Place, Reason,
    Refusal, check_name,
};

/// Asks the rules. They can change while a gateway runs, and hold for open sessions, too.
pub(super) struct Guard {
    access: RwLock<Arc<Access>>,
    /// Without rules nothing is asked, and a request costs nothing more.
    is_open: AtomicBool,
    /// Held while lines are written.
    audit: Mutex<Audit>,
}

#[derive(Default)]
struct Audit {
    /// `None` for the log of the process.
    file: Option<File>,
    lines: AuditLines,
}

/// The largest length of an identity or an operation that rules are asked about, in bytes. A longer one is refused, so
/// that no client makes the rules match long texts.
const TEXT_LEN_MAX: usize = 4096;

impl Guard {
    pub(super) fn new(access: Arc<Access>, audit: Option<&Path>) -> Self {
        let guard = Self {
            is_open: AtomicBool::new(access.is_open()),
            access: RwLock::new(access),
            audit: Mutex::default(),
        };
        guard.open_audit(audit);
        guard
    }

    /// Puts other rules in force, and opens the audit log again, which may have been moved away.
    pub(super) fn replace(&self, new: Arc<Access>, audit: Option<&Path>) {
        let mut access = self.access.write().unwrap_or_else(PoisonError::into_inner);
        self.is_open.store(new.is_open(), Ordering::Release);
        *access = new;
        drop(access);
        self.open_audit(audit);
    }

    /// Checks that the caller may have a session.
    ///
    /// # Errors
    /// The reason for the caller. The audit log has the rule.
    pub(super) fn check_login(&self, caller: &Caller) -> Result<(), String> {
        if self.is_open() {
            return Ok(());
        }
        let decision = self.access().decide(caller, Action::Login, "");
        self.admit(decision, |reason| {
            Refusal::of(caller, Action::Login, "", reason)
        })
    }

    /// Checks that the caller may call this operation of an object. `route` is the object's entry
    /// in the routing table.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_call(
        &self,
        caller: &Caller,
        identity: &Identity,
        operation: &str,
        route: &Reference,
    ) -> Result<(), SystemException> {
        if self.is_open() {
            return Ok(());
        }
        let text = identity.to_string();
        let adapter = match &route.target {
            Target::Indirect { adapter_id } => Some(adapter_id.as_str()),
            _ => None,
        };
        let called = Called {
            identity: &text,
            category: &identity.category,
            adapter,
            operation,
        };
        let is_long = text.len().max(operation.len()) > TEXT_LEN_MAX;
        let decision = match is_long {
            true => Decision {
                is_allowed: false,
                decided: floe_access::Decided::NoRule,
            },
            false => self.access().decide_call(caller, &called),
        };
        self.admit(decision, |reason| Refusal::of_call(caller, &called, reason))
            .map_err(SystemException::UnknownException)
    }

    fn admit(
        &self,
        decision: Decision,
        refusal: impl FnOnce(Reason) -> Refusal,
    ) -> Result<(), String> {
        if decision.is_allowed {
            return Ok(());
        }
        let refusal = refusal(Reason::Rules(decision.decided));
        self.write(&refusal);
        Err(refusal.to_string())
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    fn access(&self) -> Arc<Access> {
        let access = self.access.read();
        access.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open_audit(&self, path: Option<&Path>) {
        let opened = path.map(regular_file::open_log).transpose();
        self.lock_audit().file = opened.unwrap_or_else(|error| {
            tracing::error!("the audit log is written here: {error}");
            None
        });
    }

    fn write(&self, refusal: &Refusal) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_ms = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        let mut audit = self.lock_audit();
        for line in audit.lines.of(refusal, unix_ms) {
            let Some(file) = &mut audit.file else {
                tracing::warn!(target: "floe_gateway::audit", "{line}");
                continue;
            };
            if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
                tracing::error!("cannot write the audit log: {error}; {line}");
            }
        }
    }

    fn lock_audit(&self) -> std::sync::MutexGuard<'_, Audit> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the client of this connection, as the rules of access see it. `user` is the name that a verifier has
/// checked, if one has.
pub(super) fn caller(info: &ConnectionInfo, user: Option<&str>) -> Caller {
    let place = match (info.transport, info.remote_address) {
        ("unix", _) => Place::Here,
        // Anyone can forge the sender of a datagram.
        ("udp", _) | (_, None) => Place::Unknown,
        (_, Some(address)) => Place::At(address.ip()),
    };
    let mut caller = Caller::anonymous(place);
    // A name that no rule could contain counts as none.
    let user = user.filter(|user| check_name(user).is_ok());
    caller.user = user.map(str::to_owned);
    let certificate = info.peer_certificates.first();
    caller.certificate = certificate.and_then(|der| DistinguishedName::of_certificate(der));
    caller
}
