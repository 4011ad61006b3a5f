//! The traits that a servant implements, with async and without.

/// Adapts a blocking servant to the async servant trait: generated dispatchers wrap a servant that implements
/// `GreeterBlocking` in it.
#[derive(Debug, Clone, Default)]
pub struct Servant<S>(pub S);

/// Declares the servant trait of an interface, whose futures may move between threads, and implements it for a shared
/// servant.
///
/// The trait that `blocking` names has the same functions without async. It comes with the adapters that make a servant
/// and a dispatcher of its implementations.
#[doc(hidden)]
#[macro_export]
macro_rules! __servant {
    (
        $(#[$about:meta])*
        pub trait $name:ident $(: $($base:path),+)? {
            $(
                $(#[$doc:meta])*
                async fn $method:ident(&self $(, $parameter:ident: $type:ty)* $(,)?) -> $result:ty;
            )*
        }
    ) => {
        $(#[$about])*
        pub trait $name: $($($base +)+)? ::std::marker::Send + ::std::marker::Sync + 'static {
            $(
                $(#[$doc])*
                fn $method(&self $(, $parameter: $type)*)
                    -> impl ::std::future::Future<Output = $result> + ::std::marker::Send;
            )*
        }

        impl<Servant_: $name> $name for ::std::sync::Arc<Servant_> {
            $(
                fn $method(&self $(, $parameter: $type)*)
                    -> impl ::std::future::Future<Output = $result> + ::std::marker::Send
                {
                    <Servant_ as $name>::$method(self $(, $parameter)*)
                }
            )*
        }
    };
    (
        $(#[$about:meta])*
        pub trait $name:ident $(: $($base:path),+)? { $($functions:tt)* }
        blocking $blocking:ident $(: $($blocking_base:path),+)? { $dispatcher:ident }
    ) => {
        $crate::codegen::servant! {
            $(#[$about])*
            pub trait $name $(: $($base),+)? { $($functions)* }
        }
        $crate::__servant! {
            @blocking
            $(#[$about])*
            pub trait $blocking $(: $($blocking_base),+)? { $($functions)* }
            $name $dispatcher
        }
    };
    (
        @blocking
        $(#[$about:meta])*
        pub trait $blocking:ident $(: $($base:path),+)? {
            $(
                $(#[$doc:meta])*
                async fn $method:ident(&self $(, $parameter:ident: $type:ty)* $(,)?) -> $result:ty;
            )*
        }
        $name:ident $dispatcher:ident
    ) => {
        $(#[$about])*
        ///
        /// Its functions block the thread that reads the connection: for servers of
        /// `floe::blocking`.
        pub trait $blocking:
            $($($base +)+)? ::std::marker::Send + ::std::marker::Sync + 'static
        {
            $(
                $(#[$doc])*
                fn $method(&self $(, $parameter: $type)*) -> $result;
            )*
        }

        impl<Servant_: $blocking> $name for $crate::codegen::Servant<Servant_> {
            $(
                fn $method(&self $(, $parameter: $type)*)
                    -> impl ::std::future::Future<Output = $result> + ::std::marker::Send
                {
                    ::std::future::ready(
                        <Servant_ as $blocking>::$method(&self.0 $(, $parameter)*),
                    )
                }
            )*
        }

        impl<Servant_: $blocking> $dispatcher<$crate::codegen::Servant<Servant_>> {
            /// A dispatcher to this servant without async.
            pub fn blocking(servant: Servant_) -> Self {
                Self::new($crate::codegen::Servant(servant))
            }
        }
    };
}
