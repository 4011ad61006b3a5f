//! Where the object of a proxy without endpoints is: a locator is asked.

use std::future::Future;
use std::pin::Pin;

use floe_wire::reference::{Endpoint, Reference, Target};

use super::{Proxy, TypedProxy};
use crate::communicator::Communicator;
use crate::contracts::ice::{AdapterNotFoundError, LocatorProxy, ObjectNotFoundError};
use crate::directory::Sought;
use crate::error::{InvokeError, LocalError};

/// Where an object is.
pub(super) struct Located {
    /// There is at least one.
    pub(super) endpoints: Vec<Endpoint>,
    /// Whether some of it was said earlier: it may have moved since.
    pub(super) is_remembered: bool,
}

/// Boxed, for whoever asks a locator connects to it as to any other object.
pub(super) type Locating<'a> =
    Pin<Box<dyn Future<Output = Result<Located, LocalError>> + Send + 'a>>;

impl Proxy {
    /// Its endpoints or, if it has none, those that the locator says.
    ///
    /// # Errors
    /// [`InvokeError::NotDispatched`] if there is no locator, it cannot be asked, or it does not know the object.
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

    /// Whether a locator must say where its object is.
    pub(super) fn is_located(&self) -> bool {
        self.reference().endpoints().is_empty()
    }

    /// Finds endpoints of its object: of its adapter, or what the locator knows of its identity, which may be an
    /// adapter, too.
    pub(super) fn locate<'a>(&'a self, communicator: &'a Communicator) -> Locating<'a> {
        Box::pin(async move {
            let locator = self.locator(communicator)?;
            let mut sought = self.sought();
            let mut is_remembered = false;
            loop {
                let timeout = self.inner.options.locator_cache_timeout;
                let directory = communicator.core().directory();
                let target = match directory.find(&sought, timeout) {
                    Some(target) => {
                        is_remembered = true;
                        target
                    }
                    None => {
                        let target = match self.ask_locator(&locator, &sought).await {
                            // The object was remembered to be in an adapter that is gone.
                            Err(LocalError::NotRegistered { .. }) if is_remembered => {
                                self.forget_location();
                                sought = self.sought();
                                is_remembered = false;
                                continue;
                            }
                            asked => asked?,
                        };
                        directory.note(sought.clone(), target.clone());
                        target
                    }
                };
                sought = match (sought, target) {
                    (_, Target::Direct(endpoints)) if !endpoints.is_empty() => {
                        return Ok(Located {
                            endpoints,
                            is_remembered,
                        });
                    }
                    (Sought::Object(_), Target::Indirect { adapter_id }) => {
                        Sought::Adapter(adapter_id)
                    }
                    (sought, _) => {
                        directory.forget(&sought);
                        return Err(self.not_registered(&sought, &locator));
                    }
                };
            }
        })
    }

    /// It was not where the locator had said.
    pub(super) fn forget_location(&self) {
        if let Some(communicator) = self.communicator() {
            communicator.core().directory().forget(&self.sought());
        }
    }

    /// Whether there is somebody to ask.
    pub(super) fn check_locator(&self) -> Result<(), LocalError> {
        let communicator = self.communicator().ok_or(LocalError::Unbound)?;
        self.locator(communicator).map(drop)
    }

    /// Asked in the encoding of the proxy, as by Ice.
    fn locator(&self, communicator: &Communicator) -> Result<LocatorProxy, LocalError> {
        let Some(locator) = &communicator.settings().locator else {
            return Err(self.no_endpoint("endpoints, or a locator to ask (`Settings::locator`)"));
        };
        let locator = Proxy::new(locator.clone(), Some(communicator.clone()));
        if locator.is_located() {
            return Err(locator.no_endpoint("endpoints, for it is the locator"));
        }
        let locator = locator.ice_twoway().ice_encoding(self.reference().encoding);
        Ok(LocatorProxy::from_proxy(locator))
    }

    fn sought(&self) -> Sought {
        let reference = self.reference();
        match &reference.target {
            Target::Indirect { adapter_id } if !adapter_id.is_empty() => {
                Sought::Adapter(adapter_id.clone())
            }
            _ => Sought::Object(reference.identity.clone()),
        }
    }

    async fn ask_locator(
        &self,
        locator: &LocatorProxy,
        sought: &Sought,
    ) -> Result<Target, LocalError> {
        let found = match sought {
            Sought::Adapter(id) => match locator.find_adapter_by_id(id).await {
                Err(AdapterNotFoundError::AdapterNotFoundException(_)) => Ok(None),
                Err(AdapterNotFoundError::Invoke(error)) => Err(error),
                Ok(found) => Ok(found),
            },
            Sought::Object(id) => match locator.find_object_by_id(id).await {
                Err(ObjectNotFoundError::ObjectNotFoundException(_)) => Ok(None),
                Err(ObjectNotFoundError::Invoke(error)) => Err(error),
                Ok(found) => Ok(found),
            },
        };
        let target = |found: &Proxy| Reference::clone(found.reference()).target;
        match found {
            Ok(Some(found)) => Ok(target(&found)),
            Ok(None) => Err(self.not_registered(sought, locator)),
            Err(error) => Err(self.not_asked(locator, error)),
        }
    }

    fn not_registered(&self, sought: &Sought, locator: &LocatorProxy) -> LocalError {
        LocalError::NotRegistered {
            proxy: self.to_string(),
            what: match sought {
                Sought::Adapter(id) => format!("adapter \"{id}\""),
                Sought::Object(id) => format!("object \"{id}\""),
            },
            locator: locator.to_string(),
        }
    }

    fn not_asked(&self, locator: &LocatorProxy, error: InvokeError) -> LocalError {
        LocalError::Locator {
            proxy: self.to_string(),
            locator: locator.to_string(),
            source: Box::new(error),
        }
    }
}
