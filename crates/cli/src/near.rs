//! Suggests an identity when an object does not exist. Only a hub or an IceStorm can tell which objects there are.

use floe::contracts::ice_storm::FinderProxy;
use floe::{Identity, Proxy, TypedProxy};

use crate::exit::Failure;
use floe::hub::nearest_name as nearest;

/// The failure, with the most similar identity as help if an object does not exist.
pub(crate) async fn explained(failure: Failure, proxy: &Proxy) -> Failure {
    if !failure.is_missing_object() {
        return failure;
    }
    match similar(proxy).await {
        Some(identity) => failure.help(format_args!("did you mean `{identity}`?")),
        None => failure,
    }
}

/// The object at the proxy's endpoints whose identity is most like the proxy's, if one is like it.
async fn similar(proxy: &Proxy) -> Option<String> {
    let at = |identity| proxy.ice_twoway().ice_facet("").ice_identity(identity);
    let finder = FinderProxy::from_proxy(at(Identity::with_category("Finder", "IceStorm")));
    let manager = finder.get_topic_manager().await.ok()?;
    let topics = manager.retrieve_all().await.ok()?;
    let topics = topics.into_values();
    let mut known: Vec<_> = topics.map(|topic| identity_of(topic.as_proxy())).collect();
    known.push(identity_of(manager.as_proxy()));
    known.push("Floe/HubAdmin".to_owned());
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    nearest(&identity_of(proxy), &known).map(str::to_owned)
}

fn identity_of(proxy: &Proxy) -> String {
    proxy.reference().identity.to_string()
}
