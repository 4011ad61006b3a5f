//! Payloads: what stands in an encapsulation behind its header of six bytes, as JSON and back.

use std::fmt;

use floe_slice::model::{DefinitionId, DefinitionKind};
use floe_wire::encoding::{ClassFormat, ENCAPSULATION_HEADER_LEN, ExceptionFormat};
use floe_wire::{Decoder, Encoder, EncodingVersion};
use serde_json::{Value as Json, json};

use crate::exception::{self, encode_exception};
use crate::ice::{IceWriter, Trail, decode_whole};
use crate::json::{JsonReader, JsonWriter, UNSET_KEY, only_json, parse_own};
use crate::layout::tag;
use crate::value::ValueWriter;
use crate::walk::{Subject, whole};
use crate::wording::quote;
use crate::{
    Contract, DataType, DecodeValueError, EXCEPTION_KEY, JsonError, LookupError, Operation,
    Problem, Record, Unsupported, Value,
};

/// The kind of payload: a value, a user exception, or the parameters or results of an operation.
///
/// ```
/// use floe_dynamic::{Contract, PayloadType};
/// use floe_slice::check_source;
/// use floe_wire::EncodingVersion;
/// use serde_json::json;
///
/// let slice = b"module M { struct Point { short x; short y; } }";
/// let contract = Contract::new(check_source(slice).model);
/// let point = PayloadType::named(&contract, "::M::Point", None)?;
///
/// let json = point.decode(&[1, 0, 2, 0], EncodingVersion::V1_1)?;
/// assert_eq!(json, json!({"x": 1, "y": 2}));
/// assert_eq!(point.encode(&json, EncodingVersion::V1_1, None)?, [1, 0, 2, 0]);
///
/// let cut = point.decode(&[1, 0, 2], EncodingVersion::V1_1).unwrap_err();
/// assert_eq!(
///     cut.to_string(),
///     "value.y: cannot decode short at byte 2: expected 2 more bytes, 1 are left"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PayloadType {
    contract: Contract,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Value(DataType),
    /// An optional value with this tag.
    Tagged(DataType, u32),
    /// This exception, or one that extends it.
    Exception(DefinitionId),
    Params(Operation),
    Results(Operation),
    /// The user exception of a reply.
    Thrown(Operation),
}

impl PayloadType {
    /// One value of the type of this name, as [`Contract::data_type`] finds it; or, if the name is
    /// that of an exception, this exception or one that extends it.
    ///
    /// With a tag the value is an optional one, as a parameter with this tag. Without a value it is
    /// an empty payload, and the object `{"$unset": true}`.
    ///
    /// # Errors
    /// [`LookupError::NoSuchType`], [`LookupError::Unsupported`]; an exception has no tag.
    pub fn named(contract: &Contract, name: &str, tag: Option<i32>) -> Result<Self, LookupError> {
        let content = match (exception::exception(contract, name), self::tag(tag)) {
            (Some(id), None) => {
                exception::check_members(contract, id)?;
                Content::Exception(id)
            }
            (Some(_), Some(_)) => return Err(Unsupported::NoDataType(name.to_owned()).into()),
            (None, None) => Content::Value(data_type(contract, name)?),
            (None, Some(tag)) => Content::Tagged(data_type(contract, name)?, tag),
        };
        Ok(Self {
            contract: contract.clone(),
            content,
        })
    }

    /// The in-parameters of an operation.
    pub fn params(operation: &Operation) -> Self {
        Self::of(operation, Content::Params)
    }

    /// The results of an operation that returned. What is encoded may also be a user exception:
    /// an object with [`EXCEPTION_KEY`] is one.
    pub fn results(operation: &Operation) -> Self {
        Self::of(operation, Content::Results)
    }

    /// The user exception that an operation threw.
    pub fn thrown(operation: &Operation) -> Self {
        Self::of(operation, Content::Thrown)
    }

    /// Decodes a whole payload. Offsets in the error count from its start.
    ///
    /// # Errors
    /// [`DecodePayloadError`]: the bytes are something else, or bytes are left over.
    pub fn decode(
        &self,
        payload: &[u8],
        encoding: EncodingVersion,
    ) -> Result<Json, DecodePayloadError> {
        let decoder = Decoder::new(payload, encoding);
        let json = match &self.content {
            Content::Value(r#type) => {
                let trail = Trail::default();
                let mut decoder = decoder.with_context(&trail);
                let layout = self.contract.layout_of(*r#type);
                let mut writer = JsonWriter::new(&self.contract);
                decode_whole(
                    &self.contract,
                    &Subject::Value(&layout),
                    &mut decoder,
                    &mut writer,
                )
                .map_err(|located| DecodeValueError::located(*located, VALUE))?;
                let ended = decoder.finish_exact("value");
                ended.map_err(|error| DecodeValueError::at_root(VALUE, error))?;
                parse_own(&writer.into_text())
            }
            Content::Tagged(r#type, tag) => self.decode_tagged(*r#type, *tag, decoder)?,
            Content::Exception(expected) => {
                let json = self.contract.decode_thrown(Ok(decoder))?;
                return self.expect_exception(*expected, json);
            }
            Content::Thrown(_) => self.contract.decode_thrown(Ok(decoder))?,
            Content::Params(operation) => operation.decode_params(Ok(decoder))?,
            Content::Results(operation) => operation.decode_results(Ok(decoder))?,
        };
        Ok(json)
    }

    /// Encodes a payload.
    ///
    /// A format of class instances and user exceptions in encoding 1.1 overrides that of the
    /// operation's metadata; without either, instances are compact and exceptions sliced.
    ///
    /// # Errors
    /// [`JsonError`] with everything that does not fit.
    pub fn encode(
        &self,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let thrown = |default| {
            let format = format.map_or(default, exception::of_classes);
            encode_exception(&self.contract, json, encoding, format)
        };
        let encapsulation = match &self.content {
            Content::Value(r#type) => {
                return self.encode_only(*r#type, None, json, encoding, format);
            }
            Content::Tagged(r#type, tag) => {
                return self.encode_only(*r#type, Some(*tag), json, encoding, format);
            }
            Content::Exception(expected) => {
                self.check_type_id(*expected, json)?;
                thrown(ExceptionFormat::Sliced)
            }
            Content::Thrown(operation) => thrown(operation.exception_format()),
            Content::Results(operation) if json.get(EXCEPTION_KEY).is_some() => {
                thrown(operation.exception_format())
            }
            Content::Params(operation) => operation.encode_params(json, encoding, format),
            Content::Results(operation) => operation.encode_results(json, encoding, format),
        };
        encapsulation.map(|mut bytes| bytes.split_off(ENCAPSULATION_HEADER_LEN))
    }

    fn of(operation: &Operation, content: impl FnOnce(Operation) -> Content) -> Self {
        Self {
            contract: operation.contract().clone(),
            content: content(operation.clone()),
        }
    }

    /// Refuses an exception that was decoded, and is another one.
    fn expect_exception(
        &self,
        expected: DefinitionId,
        json: Json,
    ) -> Result<Json, DecodePayloadError> {
        let found = json[EXCEPTION_KEY].as_str().unwrap_or_default();
        match self.extends(found, expected) {
            true => Ok(json),
            false => Err(DecodePayloadError::OtherException {
                expected: self.scoped(expected),
                found: found.to_owned(),
            }),
        }
    }

    /// Refuses an exception of the contract that is to be encoded, and is another one.
    fn check_type_id(&self, expected: DefinitionId, json: &Json) -> Result<(), JsonError> {
        let found = json.get(EXCEPTION_KEY).and_then(Json::as_str);
        let is_known = |id: &&str| exception::exception(&self.contract, id).is_some();
        match found.filter(is_known) {
            Some(found) if !self.extends(found, expected) => {
                let problem = Problem {
                    path: format!("{EXCEPTION}.{EXCEPTION_KEY}"),
                    expected: format!("{} or an exception that extends it", self.scoped(expected)),
                    found: quote(found),
                    help: None,
                };
                Err(JsonError::new(vec![problem], 0))
            }
            // What is no exception at all is found when it is read.
            _ => Ok(()),
        }
    }

    /// Returns true if a type id is that of an exception, or of one that extends it.
    fn extends(&self, type_id: &str, base: DefinitionId) -> bool {
        let id = exception::exception(&self.contract, type_id);
        let chain = id.map(|id| self.contract.model().exception_chain(id));
        chain.is_some_and(|chain| chain.contains(&base))
    }

    fn scoped(&self, id: DefinitionId) -> String {
        self.contract.model().definition(id).scoped.clone()
    }

    fn decode_tagged(
        &self,
        r#type: DataType,
        tag: u32,
        decoder: Decoder<'_>,
    ) -> Result<Json, DecodeValueError> {
        let record = self.only(r#type, Some(tag));
        let trail = Trail::default();
        let mut decoder = decoder.with_context(&trail);
        let mut writer = ValueWriter::default();
        decode_whole(
            &self.contract,
            &Subject::Record(&record),
            &mut decoder,
            &mut writer,
        )
        .map_err(|located| DecodeValueError::without_root(*located))?;
        let ended = decoder.finish();
        ended.map_err(|error| DecodeValueError::at_root(VALUE, error))?;
        Ok(match writer.into_members().pop() {
            None | Some(Value::Unset) => json!({ UNSET_KEY: true }),
            Some(value) => self.contract.value_to_json(r#type, &value),
        })
    }

    /// Encodes the one value of a payload.
    fn encode_only(
        &self,
        r#type: DataType,
        tag: Option<u32>,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, encoding);
        encoder.set_class_format(format.unwrap_or_default());
        let record = self.only(r#type, tag);
        let mut reader = JsonReader::only(&self.contract, VALUE, json);
        let mut writer = IceWriter::new(&mut encoder);
        whole(&Subject::Record(&record), &mut reader, &mut writer)
            .map_err(|lost| only_json(*lost))?;
        let finished = encoder.finish();
        finished.map_err(|error| JsonError::unencodable(VALUE, &error))?;
        Ok(bytes)
    }

    /// The one value of a payload, as a parameter.
    fn only(&self, r#type: DataType, tag: Option<u32>) -> Record {
        let (contract, model) = (&self.contract, self.contract.model());
        let member = contract
            .layouts()
            .parameter(VALUE, r#type.get(), tag, model);
        Record::new(VALUE, "member", vec![member], None)
    }
}

/// Bytes that are not the expected payload.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodePayloadError {
    /// The bytes make no sense.
    Value(DecodeValueError),
    /// The bytes are another user exception.
    OtherException {
        /// Type id of the exception that was asked for.
        expected: String,
        /// Type id in the bytes.
        found: String,
    },
}

impl fmt::Display for DecodePayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(error) => error.fmt(f),
            Self::OtherException { expected, found } => write!(
                f,
                "{EXCEPTION}: expected {expected} or an exception that extends it, got the type id {}",
                quote(found)
            ),
        }
    }
}

impl std::error::Error for DecodePayloadError {}

impl From<DecodeValueError> for DecodePayloadError {
    fn from(error: DecodeValueError) -> Self {
        Self::Value(error)
    }
}

/// Where the paths in a value begin.
const VALUE: &str = "value";

/// Where the paths in an exception begin.
const EXCEPTION: &str = exception::ROOT;

/// The data type of this name; if there is none, exceptions are among the suggestions.
fn data_type(contract: &Contract, name: &str) -> Result<DataType, LookupError> {
    contract.data_type(name).map_err(|error| match error {
        LookupError::NoSuchType { name, mut types } => {
            types.extend(contract.names(|kind| matches!(kind, DefinitionKind::Exception(_))));
            LookupError::NoSuchType { name, types }
        }
        error => error,
    })
}
