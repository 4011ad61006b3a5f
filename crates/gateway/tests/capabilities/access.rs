//! Rules of access: who gets a session, and what it may call.

use std::path::Path;
use std::sync::Arc;

use floe::contracts::glacier2::{
    CannotCreateSessionError, CannotCreateSessionOrPermissionDeniedError, SessionControlProxy,
    SessionManager, SessionManagerDispatcher, SessionProxy,
};
use floe::{Current, InvokeError, SystemException};
use floe_access::{Access, Settings};
use floe_gateway::PasswordVerifier;
use tokio::sync::Notify;

use crate::world::{BackEnd, Client, World, call, soon};

/// The rules of this text.
fn access(text: &str) -> Arc<Access> {
    let settings = Settings::parse(text).expect("rules");
    let no_files = |_: &Path, _| Err("there are no files".to_owned());
    Access::load(&settings, &no_files).expect("rules").into()
}

/// A gateway that verifies names.
async fn verifying() -> World {
    let back_end = BackEnd::start().await;
    let verifier = back_end.verifier();
    World::before(back_end, |settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier));
    })
    .await
}

fn refusal<T: std::fmt::Debug>(
    result: Result<T, CannotCreateSessionOrPermissionDeniedError>,
) -> String {
    match result {
        Err(CannotCreateSessionOrPermissionDeniedError::PermissionDeniedException(denied)) => {
            denied.reason
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn a_user_without_a_rule_gets_no_session() {
    let world = verifying().await;
    let rules = "[[access.rule]]\nallow = \"login\"\nusers = \"joe\"\n";
    world.gateway.set_access(access(rules), None);
    let _joe = world.client().await;
    let jane = Client::connect(&world.gateway).await;
    let refused = soon(jane.router.create_session("jane", "secret")).await;
    let expected = "access refused: jane may not login (this gateway)";
    assert_eq!(refusal(refused), expected);
    assert_eq!(world.gateway.status().sessions, 1);
    world.shut_down().await;
}

#[tokio::test]
async fn a_name_that_nobody_has_verified_is_no_name() {
    let world = World::start().await;
    let rules = "[[access.rule]]\nallow = \"login\"\nusers = \"joe\"\n";
    world.gateway.set_access(access(rules), None);
    let client = Client::connect(&world.gateway).await;
    let refused = soon(client.router.create_session("joe", "secret")).await;
    let expected = "access refused: anonymous may not login (this gateway)";
    assert_eq!(refusal(refused), expected);
    world.shut_down().await;
}

#[tokio::test]
async fn new_rules_hold_for_open_sessions_and_refusals_are_written() {
    let world = verifying().await;
    let client = world.client().await;
    let object = client.routed(&world.back_end.object("a/b")).await.unwrap();
    call(&object, "before").await.unwrap();
    let name = format!("floe-gateway-audit-{}.jsonl", std::process::id());
    let audit = std::env::temp_dir().join(name);
    let rules = "[[access.rule]]\ndeny = \"call\"\noperations = \"after\"\nanyone = true\n\
                 [[access.rule]]\nallow = [\"login\", \"call\"]\nusers = \"joe\"\n";
    world.gateway.set_access(access(rules), Some(&audit));
    call(&object, "between").await.unwrap();
    let refused = call(&object, "after").await.unwrap_err();
    match refused {
        InvokeError::System(SystemException::UnknownException(text)) => assert_eq!(
            text,
            r#"access refused: joe may not call "after" (object "a/b")"#
        ),
        other => panic!("expected a refusal, got {other}"),
    }
    let written = std::fs::read_to_string(&audit).unwrap();
    let part = r#""action":"call","topic":"","object":"a/b","operation":"after","rule":1,"line":1"#;
    assert!(written.contains(part), "{written}");
    assert_eq!(world.gateway.status().requests_refused, 1);
    assert_eq!(world.back_end.calls.operations(), ["before", "between"]);
    // Rules without the user end its session.
    let rules = "[[access.rule]]\nallow = \"*\"\nusers = \"jane\"\n";
    world.gateway.set_access(access(rules), None);
    soon(client.connection.closed()).await;
    assert_eq!(world.gateway.status().sessions, 0);
    std::fs::remove_file(audit).unwrap();
    world.shut_down().await;
}

/// Makes no sessions of its own, and takes its time.
#[derive(Clone, Default)]
struct SlowManager {
    entered: Arc<Notify>,
    leave: Arc<Notify>,
}

impl SessionManager for SlowManager {
    async fn create(
        &self,
        _user_id: String,
        _control: Option<SessionControlProxy>,
        _current: &Current,
    ) -> Result<Option<SessionProxy>, CannotCreateSessionError> {
        self.entered.notify_one();
        self.leave.notified().await;
        Ok(None)
    }
}

#[tokio::test]
async fn new_rules_hold_for_a_session_that_is_being_created() {
    let back_end = BackEnd::start().await;
    let verifier = back_end.verifier();
    let slow = SlowManager::default();
    let manager = SessionManagerDispatcher::new(slow.clone());
    let manager = back_end.adapter.add("manager", manager).expect("one");
    let world = World::before(back_end, |settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier));
        settings.session_manager = Some(manager.reference().clone());
    })
    .await;
    let client = Client::connect(&world.gateway).await;
    let router = client.router.clone();
    let created = tokio::spawn(async move { router.create_session("joe", "secret").await });
    soon(slow.entered.notified()).await;
    let rules = "[[access.rule]]\nallow = \"login\"\nusers = \"jane\"\n";
    world.gateway.set_access(access(rules), None);
    slow.leave.notify_one();
    let refused = soon(created).await.expect("it does not panic");
    let expected = "access refused: joe may not login (this gateway)";
    assert_eq!(refusal(refused), expected);
    assert_eq!(world.gateway.status().sessions, 0);
    world.shut_down().await;
}
