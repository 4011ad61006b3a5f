//! Locating the object of a proxy without endpoints: the proxy asks a locator.

use std::future::Future;
use std::pin::Pin;

use floe_wire::encoding::Encoder;
use floe_wire::message::OperationMode;
use floe_wire::reference::{Endpoint, Reference, Target};

use super::{OperationInfo, Proxy, TypedProxy};
use crate::communicator::Communicator;
use crate::error::{InvokeError, LocalError};
use crate::locator_cache::LocatorKey;

/// The location of an object.
pub(crate) struct LocatedEndpoints {
    /// At least one endpoint.
    pub(crate) endpoints: Vec<Endpoint>,
    /// True if part of the location came from the cache: the object may have moved since.
    pub(crate) is_cached: bool,
}

/// Boxed, because connecting to a locator is the same as connecting to any other object.
pub(crate) type Locate<'a> =
    Pin<Box<dyn Future<Output = Result<LocatedEndpoints, LocalError>> + Send + 'a>>;

impl Proxy {
    /// The proxy's endpoints or, if it has none, those that the locator returns.
    ///
    /// # Errors
    /// [`InvokeError::NotDispatched`] if there is no locator, it does not answer, or it does not know the object.
    pub async fn find_endpoints(&self) -> Result<Vec<Endpoint>, InvokeError> {
        if !self.is_located() {
            return Ok(self.reference().endpoints().to_vec());
        }
        let communicator = self.communicator();
        let communicator = communicator.ok_or(InvokeError::NotDispatched(LocalError::Unbound))?;
        let located = self.locate(communicator).await;
        let located = located.map_err(InvokeError::NotDispatched)?;
        Ok(located.endpoints)
    }

    /// Returns true if only a locator knows the endpoints.
    pub(crate) fn is_located(&self) -> bool {
        self.reference().endpoints().is_empty()
    }

    /// Returns true if a locator finds the object by its identity, so that proxies with other identities may lead elsewhere.
    pub(super) fn is_located_by_identity(&self) -> bool {
        self.is_located() && matches!(self.locator_key(), LocatorKey::Object(_))
    }

    /// Finds the endpoints of the object. The proxy names an adapter, or the locator knows the identity; its answer may
    /// name an adapter, too.
    pub(crate) fn locate<'a>(&'a self, communicator: &'a Communicator) -> Locate<'a> {
        Box::pin(async move {
            let locator = self.locator(communicator)?;
            let mut key = self.locator_key();
            let mut is_cached = false;
            loop {
                let timeout = self.inner.options.locator_cache_timeout;
                let cache = communicator.core().locator_cache();
                let target = match cache.find(&key, timeout) {
                    Some(target) => {
                        is_cached = true;
                        target
                    }
                    None => {
                        let target = match self.ask_locator(&locator, &key).await {
                            // The cache had the object in an adapter that is gone.
                            Err(LocalError::NotRegistered { .. }) if is_cached => {
                                self.forget_location();
                                key = self.locator_key();
                                is_cached = false;
                                continue;
                            }
                            asked => asked?,
                        };
                        cache.note(key.clone(), target.clone());
                        target
                    }
                };
                key = match (key, target) {
                    (_, Target::Direct(endpoints)) if !endpoints.is_empty() => {
                        return Ok(LocatedEndpoints {
                            endpoints,
                            is_cached,
                        });
                    }
                    (LocatorKey::Object(_), Target::Indirect { adapter_id }) => {
                        LocatorKey::Adapter(adapter_id)
                    }
                    (key, _) => {
                        cache.forget(&key);
                        return Err(self.not_registered(&key, &locator));
                    }
                };
            }
        })
    }

    /// The object was not at the cached location.
    pub(crate) fn forget_location(&self) {
        if let Some(communicator) = self.communicator() {
            communicator
                .core()
                .locator_cache()
                .forget(&self.locator_key());
        }
    }

    /// Checks that there is a locator to ask.
    pub(crate) fn check_locator(&self) -> Result<(), LocalError> {
        let communicator = self.communicator().ok_or(LocalError::Unbound)?;
        self.locator(communicator).map(drop)
    }

    /// The request uses the encoding of the proxy, as in Ice.
    fn locator(&self, communicator: &Communicator) -> Result<Proxy, LocalError> {
        let Some(locator) = &communicator.settings().locator else {
            return Err(self.no_endpoint("endpoints, or a locator to ask (`Settings::locator`)"));
        };
        let locator = Proxy::new(locator.clone(), Some(communicator.clone()));
        if locator.is_located() {
            return Err(locator.no_endpoint("endpoints, because it is the locator"));
        }
        let locator = locator.ice_twoway().ice_encoding(self.reference().encoding);
        Ok(locator)
    }

    fn locator_key(&self) -> LocatorKey {
        let reference = self.reference();
        match &reference.target {
            Target::Indirect { adapter_id } if !adapter_id.is_empty() => {
                LocatorKey::Adapter(adapter_id.clone())
            }
            _ => LocatorKey::Object(reference.identity.clone()),
        }
    }

    async fn ask_locator(&self, locator: &Proxy, key: &LocatorKey) -> Result<Target, LocalError> {
        let operation = match key {
            LocatorKey::Adapter(_) => &FIND_ADAPTER,
            LocatorKey::Object(_) => &FIND_OBJECT,
        };
        let encode = |encoder: &mut Encoder<'_>| match key {
            LocatorKey::Adapter(id) => encoder.put(id),
            LocatorKey::Object(id) => encoder.put(id),
        };
        let found = locator
            .call::<Option<Self>, InvokeError>(operation, encode, |decoder| decoder.get())
            .await;
        match found {
            Ok(Some(found)) => Ok(Reference::clone(found.reference()).target),
            Ok(None) => Err(self.not_registered(key, locator)),
            Err(InvokeError::UndeclaredException { type_id }) if is_not_found(&type_id) => {
                Err(self.not_registered(key, locator))
            }
            Err(error) => Err(self.not_asked(locator, error)),
        }
    }

    fn not_registered(&self, key: &LocatorKey, locator: &Proxy) -> LocalError {
        LocalError::NotRegistered {
            proxy: self.to_string(),
            what: match key {
                LocatorKey::Adapter(id) => format!("adapter \"{id}\""),
                LocatorKey::Object(id) => format!("object \"{id}\""),
            },
            locator: locator.to_string(),
        }
    }

    fn not_asked(&self, locator: &Proxy, error: InvokeError) -> LocalError {
        LocalError::Locator {
            proxy: self.to_string(),
            locator: locator.to_string(),
            source: Box::new(error),
        }
    }
}

/// Asks for an adapter. The contract is `contracts/Ice/Locator.ice`; its generated code is in a layer above this
/// module.
const FIND_ADAPTER: OperationInfo =
    OperationInfo::new("findAdapterById", OperationMode::Idempotent, true);
/// Asks for an object.
const FIND_OBJECT: OperationInfo =
    OperationInfo::new("findObjectById", OperationMode::Idempotent, true);

/// Returns true for the exceptions by which a locator says that it does not know the object or adapter. They have no
/// members that a caller needs.
fn is_not_found(type_id: &str) -> bool {
    matches!(
        type_id,
        "::Ice::AdapterNotFoundException" | "::Ice::ObjectNotFoundException"
    )
}
