//! Error enums: the user exceptions that an operation may fail with, and every other failure.

/// Declares an enum with a variant for each exception, and one `Invoke`, and makes it the error of operations.
///
/// `from` lists the other error enums whose exceptions this enum contains, with their variants.
#[doc(hidden)]
#[macro_export]
macro_rules! __errors {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($variant:ident($exception:path $(,)?)),+ $(,)? }
        $(from $subset:path { $($shared:ident),+ $(,)? })*
        $(classes $classes:path)?
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("User exception `", stringify!($exception), "`.")]
                $variant($exception),
            )+
            /// Any failure other than a declared user exception.
            Invoke($crate::InvokeError),
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(exception) => ::std::fmt::Display::fmt(exception, f),)+
                    Self::Invoke(error) => ::std::fmt::Display::fmt(error, f),
                }
            }
        }

        // `main` prints the error that it returns in this form.
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }

        impl ::std::error::Error for $name {
            fn source(&self) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    $(Self::$variant(exception) => ::std::error::Error::source(exception),)+
                    Self::Invoke(error) => ::std::error::Error::source(error),
                }
            }
        }

        $(
            impl ::std::convert::From<$exception> for $name {
                fn from(exception: $exception) -> Self {
                    Self::$variant(exception)
                }
            }
        )+

        $(
            impl ::std::convert::From<$subset> for $name {
                fn from(error: $subset) -> Self {
                    type Subset_ = $subset;
                    match error {
                        $(Subset_::$shared(exception) => exception.into(),)+
                        Subset_::Invoke(error) => Self::Invoke(error),
                    }
                }
            }
        )*

        impl ::std::convert::From<$crate::InvokeError> for $name {
            fn from(error: $crate::InvokeError) -> Self {
                Self::Invoke(error)
            }
        }

        impl $crate::OperationError for $name {
            fn decode(
                reader: &mut $crate::encoding::ExceptionReader<'_>,
            ) -> ::std::result::Result<::std::option::Option<Self>, $crate::DecodeError> {
                $(reader.know_classes(&$classes);)?
                match reader.type_id() {
                    $(<$exception as $crate::UserException>::TYPE_ID => {
                        let exception =
                            <$exception as $crate::UserException>::decode_slices(reader)?;
                        Ok(Some(Self::$variant(exception)))
                    })+
                    _ => Ok(None),
                }
            }

            fn into_invoke_error(self) -> ::std::result::Result<$crate::InvokeError, Self> {
                match self {
                    Self::Invoke(error) => Ok(error),
                    exception => Err(exception),
                }
            }

            fn encode_slices(&self, writer: &mut $crate::encoding::ExceptionWriter<'_, '_>) {
                match self {
                    $(Self::$variant(exception) => {
                        $crate::UserException::encode_slices(exception, writer);
                    })+
                    Self::Invoke(_) => {}
                }
            }
        }
    };
}
