//! Composites: described lists whose values are the fields of a type.

use super::{CodecError, CodecErrorKind, Descriptor, Field, Reader, Writer};

/// A type that is a described list on the wire.
pub trait Composite: Sized {
    /// Its descriptor, as a number.
    const CODE: u64;
    /// Its descriptor, as a name.
    const NAME: &'static str;

    /// Reads the fields in their order.
    ///
    /// # Errors
    /// If a field is wrong.
    fn read_fields(fields: &mut FieldReader<'_>) -> Result<Self, CodecError>;

    /// Writes the fields in their order.
    fn write_fields(&self, fields: &mut FieldWriter<'_>);
}

/// Reads a composite whose descriptor has been read.
pub(crate) fn read_list<T: Composite>(reader: &mut Reader<'_>) -> Result<T, CodecError> {
    let (count, values) = reader.list(T::NAME)?;
    // Fields that a later version adds are passed over.
    T::read_fields(&mut FieldReader { values, count })
}

impl<T: Composite> Field for T {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.descriptor(reading)? {
            Descriptor::Code(code) if code == T::CODE => read_list(reader),
            Descriptor::Name(name) if name == T::NAME => read_list(reader),
            _ => Err(reader.error(reading, CodecErrorKind::UnknownDescriptor)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.descriptor(T::CODE);
        writer.list(|writer| {
            let mut fields = FieldWriter {
                count: 0,
                last: (0, writer.len()),
                writer,
            };
            self.write_fields(&mut fields);
            let (count, len) = fields.last;
            // Trailing nulls say nothing.
            writer.truncate(len);
            count
        });
    }
}

/// The fields of a composite, in turn.
#[derive(Debug)]
pub struct FieldReader<'a> {
    values: Reader<'a>,
    /// How many values are left.
    count: u32,
}

impl FieldReader<'_> {
    /// Reads the next field; one that is null or beyond the end has its default.
    ///
    /// # Errors
    /// If it is of another type, or has no default.
    pub fn field<T: Field>(&mut self, name: &'static str) -> Result<T, CodecError> {
        if self.count > 0 {
            self.count -= 1;
            if !self.values.take_null() {
                return T::decode(&mut self.values, name);
            }
        }
        T::absent().ok_or_else(|| self.values.error(name, CodecErrorKind::Missing))
    }
}

/// Writes the fields of a composite, in turn.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    writer: &'a mut Writer,
    count: u32,
    /// How many values there were behind the last one that is not null, and the length of the bytes there.
    last: (u32, usize),
}

impl FieldWriter<'_> {
    /// Writes the next field.
    pub fn field<T: Field>(&mut self, value: &T) {
        self.count += 1;
        if value.is_absent() {
            self.writer.null();
        } else {
            value.encode(self.writer);
            self.last = (self.count, self.writer.len());
        }
    }
}

/// Declares a composite: a struct, how it is read and how it is written.
macro_rules! composite {
    (
        $(#[$attribute:meta])*
        $name:ident = $code:literal $text:literal {
            $( $(#[$of_field:meta])* $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[$of_field])* pub $field: $type, )*
        }

        impl $crate::codec::Composite for $name {
            const CODE: u64 = $code;
            const NAME: &'static str = $text;

            #[allow(unused_variables)]
            fn read_fields(
                fields: &mut $crate::codec::FieldReader<'_>,
            ) -> Result<Self, $crate::codec::CodecError> {
                Ok(Self { $( $field: fields.field(stringify!($field))?, )* })
            }

            #[allow(unused_variables)]
            fn write_fields(&self, fields: &mut $crate::codec::FieldWriter<'_>) {
                $( fields.field(&self.$field); )*
            }
        }
    };
}

pub(crate) use composite;
