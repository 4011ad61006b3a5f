//! User exceptions: their `Display` text, and their slices.

use std::fmt;

/// Writes the text of an exception: `::Demo::Rejected (reason = "rude")`.
///
/// # Errors
/// An error of the formatter.
pub fn write_exception(
    f: &mut fmt::Formatter<'_>,
    type_id: &str,
    members: &[(&str, &dyn fmt::Debug)],
) -> fmt::Result {
    f.write_str(type_id)?;
    for (index, (name, value)) in members.iter().enumerate() {
        let before = if index == 0 { " (" } else { ", " };
        write!(f, "{before}{name} = {value:?}")?;
    }
    match members {
        [] => Ok(()),
        _ => f.write_str(")"),
    }
}

/// Makes a struct with these members a user exception.
///
/// The members follow the order of the struct; a Slice name is added where it differs. An exception that extends
/// others, or has tagged members, lists its slices, most derived first. An exception with class instances names the
/// table of classes; `instances` says that in encoding 1.0 instances follow the slices. An exception declared
/// `["preserve-slice"]` names, in `keeps`, the field that keeps the slices of derived exceptions that this program does
/// not know.
#[doc(hidden)]
#[macro_export]
macro_rules! __exception {
    ($name:ident = $type_id:literal { $($member:ident $(= $spelled:literal)?),* $(,)? }) => {
        $crate::__exception!(@text $name $type_id $($member $(= $spelled)?),*);

        impl $crate::UserException for $name {
            const TYPE_ID: &'static str = $type_id;

            fn encode_slices(&self, writer: &mut $crate::encoding::ExceptionWriter<'_, '_>) {
                writer.slice($type_id, true, |_encoder| {
                    $(_encoder.put(&self.$member);)*
                });
            }

            fn decode_slices(
                reader: &mut $crate::encoding::ExceptionReader<'_>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                reader.members(|_decoder| Ok(Self { $($member: _decoder.get()?,)* }))
            }
        }
    };
    (
        $name:ident = $type_id:literal { $($member:ident $(= $spelled:literal)?),* $(,)? }
        slices { $($slice:literal { $($field:ident $(= $tag:literal)?),* $(,)? })+ }
        $(keeps $kept:ident)?
        $(classes $classes:path $(, $instances:ident)?)?
    ) => {
        $crate::__exception!(@text $name $type_id $($member $(= $spelled)?),*);

        impl $crate::UserException for $name {
            const TYPE_ID: &'static str = $type_id;

            fn encode_slices(&self, writer: &mut $crate::encoding::ExceptionWriter<'_, '_>) {
                const TYPE_IDS: &[&str] = &[$($slice),+];
                const LAST: &str = TYPE_IDS[TYPE_IDS.len() - 1];
                let slices = |writer: &mut $crate::encoding::ExceptionWriter<'_, '_>| {
                    $(writer.unknown_slices(&self.$kept);)?
                    $(writer.slice($slice, $slice == LAST, |_encoder| {
                        $($crate::__exception!(@put _encoder self $field $($tag)?);)*
                    });)+
                };
                $crate::__exception!(@write writer slices $($($instances)?)?);
            }

            fn decode_slices(
                reader: &mut $crate::encoding::ExceptionReader<'_>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                $(reader.know_classes(&$classes);)?
                let mut exception = <Self as ::std::default::Default>::default();
                $(exception.$kept = reader.take_unknown();)?
                $(reader.members(|_decoder| {
                    $(exception.$field = $crate::__exception!(@get _decoder $($tag)?);)*
                    Ok(())
                })?;)+
                Ok(exception)
            }
        }
    };
    (@text $name:ident $type_id:literal $($member:ident $(= $spelled:literal)?),*) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::codegen::write_exception(
                    f,
                    $type_id,
                    &[$(($crate::__exception!(@name $member $($spelled)?), &self.$member)),*],
                )
            }
        }

        impl ::std::error::Error for $name {}
    };
    (@name $member:ident) => { stringify!($member) };
    (@name $member:ident $spelled:literal) => { $spelled };
    (@write $writer:ident $slices:ident) => { $slices($writer) };
    (@write $writer:ident $slices:ident instances) => { $writer.with_classes($slices) };
    (@put $encoder:ident $self:ident $field:ident) => { $encoder.put(&$self.$field) };
    (@put $encoder:ident $self:ident $field:ident $tag:literal) => {
        $encoder.tagged($tag, $self.$field.as_ref())
    };
    (@get $decoder:ident) => { $decoder.get()? };
    (@get $decoder:ident $tag:literal) => { $decoder.tagged($tag)? };
}
