//! Where the object of a proxy without endpoints is: a locator is asked.

use std::future::Future;
use std::pin::Pin;

use floe_wire::encoding::{DecodeError, Encoder, ExceptionReader, ExceptionWriter};
use floe_wire::message::OperationMode;
use floe_wire::reference::{Endpoint, Reference, Target};

use super::{OperationInfo, Proxy, TypedProxy};
use crate::communicator::Communicator;
use crate::error::{InvokeError, LocalError, OperationError};
use crate::locator_cache::LocatorKey;

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
            let mut sought = self.locator_key();
            let mut is_remembered = false;
            loop {
                let timeout = self.inner.options.locator_cache_timeout;
                let cache = communicator.core().locator_cache();
                let target = match cache.find(&sought, timeout) {
                    Some(target) => {
                        is_remembered = true;
                        target
                    }
                    None => {
                        let target = match self.ask_locator(&locator, &sought).await {
                            // The object was remembered to be in an adapter that is gone.
                            Err(LocalError::NotRegistered { .. }) if is_remembered => {
                                self.forget_location();
                                sought = self.locator_key();
                                is_remembered = false;
                                continue;
                            }
                            asked => asked?,
                        };
                        cache.note(sought.clone(), target.clone());
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
                    (LocatorKey::Object(_), Target::Indirect { adapter_id }) => {
                        LocatorKey::Adapter(adapter_id)
                    }
                    (sought, _) => {
                        cache.forget(&sought);
                        return Err(self.not_registered(&sought, &locator));
                    }
                };
            }
        })
    }

    /// It was not where the locator had said.
    pub(super) fn forget_location(&self) {
        if let Some(communicator) = self.communicator() {
            communicator
                .core()
                .locator_cache()
                .forget(&self.locator_key());
        }
    }

    /// Whether there is somebody to ask.
    pub(super) fn check_locator(&self) -> Result<(), LocalError> {
        let communicator = self.communicator().ok_or(LocalError::Unbound)?;
        self.locator(communicator).map(drop)
    }

    /// Asked in the encoding of the proxy, as by Ice.
    fn locator(&self, communicator: &Communicator) -> Result<Proxy, LocalError> {
        let Some(locator) = &communicator.settings().locator else {
            return Err(self.no_endpoint("endpoints, or a locator to ask (`Settings::locator`)"));
        };
        let locator = Proxy::new(locator.clone(), Some(communicator.clone()));
        if locator.is_located() {
            return Err(locator.no_endpoint("endpoints, for it is the locator"));
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

    async fn ask_locator(
        &self,
        locator: &Proxy,
        sought: &LocatorKey,
    ) -> Result<Target, LocalError> {
        let found = match sought {
            LocatorKey::Adapter(id) => {
                let encode = |encoder: &mut Encoder<'_>| encoder.put(id);
                locator
                    .call::<Option<Self>, FindError>(&FIND_ADAPTER, encode, |decoder| decoder.get())
                    .await
            }
            LocatorKey::Object(id) => {
                let encode = |encoder: &mut Encoder<'_>| encoder.put(id);
                locator
                    .call::<Option<Self>, FindError>(&FIND_OBJECT, encode, |decoder| decoder.get())
                    .await
            }
        };
        match found {
            Ok(Some(found)) => Ok(Reference::clone(found.reference()).target),
            Ok(None) | Err(FindError::NotFound) => Err(self.not_registered(sought, locator)),
            Err(FindError::Invoke(error)) => Err(self.not_asked(locator, error)),
        }
    }

    fn not_registered(&self, sought: &LocatorKey, locator: &Proxy) -> LocalError {
        LocalError::NotRegistered {
            proxy: self.to_string(),
            what: match sought {
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

/// Asks where an adapter is. `contracts/Ice/Locator.ice` has the contract, whose generated code stands above this module.
const FIND_ADAPTER: OperationInfo = find("findAdapterById");
/// Asks where an object is.
const FIND_OBJECT: OperationInfo = find("findObjectById");

const fn find(name: &'static str) -> OperationInfo {
    OperationInfo {
        name,
        mode: OperationMode::Idempotent,
        returns_data: true,
    }
}

/// Why a locator gave no proxy.
enum FindError {
    /// It knows no such object, or no such adapter.
    NotFound,
    Invoke(InvokeError),
}

impl From<InvokeError> for FindError {
    fn from(error: InvokeError) -> Self {
        Self::Invoke(error)
    }
}

impl OperationError for FindError {
    fn decode(reader: &mut ExceptionReader<'_>) -> Result<Option<Self>, DecodeError> {
        match reader.type_id() {
            "::Ice::AdapterNotFoundException" | "::Ice::ObjectNotFoundException" => {
                reader.members(|_| Ok(Some(Self::NotFound)))
            }
            _ => Ok(None),
        }
    }

    fn into_invoke_error(self) -> Result<InvokeError, Self> {
        match self {
            Self::Invoke(error) => Ok(error),
            Self::NotFound => Err(self),
        }
    }

    fn encode_slices(&self, _writer: &mut ExceptionWriter<'_, '_>) {}
}
