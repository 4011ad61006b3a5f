//! Contracts that include what contracts for Ice 3.7 include, where no Ice is installed.

use floe_codegen::{Build, Language};

use crate::vectors::out_dir;

/// Makes a contract for each file of Ice, which uses what the file brings, and `includes.rs` with what becomes of them.
pub(crate) fn compile_all() {
    let folder = out_dir().join("includes");
    std::fs::create_dir_all(&folder).expect("a writable directory");
    let mut modules = String::new();
    for (file, types) in FILES {
        let name = file.replace('/', "_");
        let parameters: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(index, one)| format!("{one} p{index}"))
            .collect();
        let parameters = parameters.join(", ");
        let contract = format!(
            "#include <{file}.ice>\n\
             module Client {{ interface Uses {{ void use({parameters}); }} struct Empty {{ int i; }} }}\n"
        );
        let path = folder.join(&name).with_extension("ice");
        std::fs::write(&path, contract).expect("a writable directory");
        let is_of_37 = !ONLY_38.contains(file);
        let languages = [Language::Any, Language::V37];
        for language in languages.into_iter().take(1 + usize::from(is_of_37)) {
            let output = format!("{name}_{language:?}");
            let build = Build::new().file(&path).out_dir(&folder);
            super::compile(build.language(language).output(&output));
            modules.push_str(&format!(
                "#[allow(non_snake_case)]\n\
                 mod {output} {{ include!(concat!(env!(\"OUT_DIR\"), \"/includes/{output}.rs\")); }}\n"
            ));
        }
    }
    std::fs::write(out_dir().join("includes.rs"), modules).expect("a writable directory");
}

/// Those that Ice 3.7 lacks.
const ONLY_38: &[&str] = &["Ice/Context", "Ice/OperationMode"];

/// The files of Ice 3.7, and some types that each is included for. A file without types declares only what is local
/// to a process of Ice.
const FILES: &[(&str, &[&str])] = &[
    (
        "Ice/BuiltinSequences",
        &["Ice::StringSeq", "Ice::ObjectProxySeq", "Ice::ObjectSeq"],
    ),
    ("Ice/Communicator", &["Ice::Identity", "Ice::Context"]),
    ("Ice/CommunicatorF", &[]),
    ("Ice/Connection", &["Ice::Context"]),
    ("Ice/ConnectionF", &[]),
    ("Ice/Context", &["Ice::Context"]),
    (
        "Ice/Current",
        &[
            "Ice::Identity",
            "Ice::OperationMode",
            "Ice::EncodingVersion",
        ],
    ),
    ("Ice/Endpoint", &["Ice::EncodingVersion"]),
    ("Ice/EndpointF", &[]),
    ("Ice/EndpointTypes", &[]),
    ("Ice/FacetMap", &[]),
    ("Ice/Identity", &["Ice::Identity", "Ice::IdentitySeq"]),
    ("Ice/ImplicitContext", &["Ice::Context"]),
    ("Ice/ImplicitContextF", &[]),
    ("Ice/Instrumentation", &[]),
    ("Ice/InstrumentationF", &[]),
    (
        "Ice/LocalException",
        &["Ice::Identity", "Ice::ProtocolVersion"],
    ),
    (
        "Ice/Locator",
        &[
            "Ice::Locator*",
            "Ice::LocatorRegistry*",
            "Ice::LocatorFinder*",
        ],
    ),
    ("Ice/LocatorF", &["Ice::Locator*"]),
    ("Ice/Logger", &[]),
    ("Ice/LoggerF", &[]),
    (
        "Ice/Metrics",
        &[
            "IceMX::MetricsView",
            "IceMX::MetricsAdmin*",
            "IceMX::ConnectionMetrics",
            "IceMX::InvocationMetrics",
            "IceMX::ThreadMetrics",
            "IceMX::DispatchMetrics",
        ],
    ),
    ("Ice/ObjectAdapter", &["Ice::Identity"]),
    ("Ice/ObjectAdapterF", &[]),
    ("Ice/ObjectFactory", &[]),
    ("Ice/Plugin", &[]),
    ("Ice/PluginF", &[]),
    ("Ice/Process", &["Ice::Process*"]),
    ("Ice/ProcessF", &["Ice::Process*"]),
    (
        "Ice/Properties",
        &["Ice::PropertiesAdmin*", "Ice::PropertyDict"],
    ),
    (
        "Ice/PropertiesAdmin",
        &["Ice::PropertiesAdmin*", "Ice::PropertyDict"],
    ),
    ("Ice/PropertiesF", &[]),
    (
        "Ice/RemoteLogger",
        &[
            "Ice::LogMessageSeq",
            "Ice::LoggerAdmin*",
            "Ice::RemoteLogger*",
        ],
    ),
    ("Ice/Router", &["Ice::Router*", "Ice::RouterFinder*"]),
    ("Ice/RouterF", &["Ice::Router*"]),
    ("Ice/ServantLocator", &["Ice::Identity"]),
    ("Ice/ServantLocatorF", &[]),
    ("Ice/SliceChecksumDict", &["Ice::SliceChecksumDict"]),
    ("Ice/ValueFactory", &[]),
    (
        "Ice/Version",
        &["Ice::ProtocolVersion", "Ice::EncodingVersion"],
    ),
    (
        "Glacier2/PermissionsVerifier",
        &["Glacier2::PermissionsVerifier*"],
    ),
    (
        "Glacier2/PermissionsVerifierF",
        &["Glacier2::PermissionsVerifier*"],
    ),
    ("Glacier2/Router", &["Glacier2::Router*"]),
    ("Glacier2/RouterF", &["Glacier2::Router*"]),
    ("Glacier2/SSLInfo", &["Glacier2::SSLInfo"]),
    (
        "Glacier2/Session",
        &["Glacier2::Session*", "Glacier2::SessionControl*"],
    ),
    (
        "IceStorm/IceStorm",
        &[
            "IceStorm::Topic*",
            "IceStorm::QoS",
            "IceStorm::TopicManager*",
        ],
    ),
    (
        "IceStorm/Metrics",
        &["IceMX::TopicMetrics", "IceMX::SubscriberMetrics"],
    ),
];
