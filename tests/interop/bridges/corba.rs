//! Stock programs of CORBA at a bridge.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use floe_bridges::corba::{Corba, Settings};
use floe_codegen::{Idl, generate_idl};
use floe_tests::hub::Data;
use floe_tests::peer::Peer;
use floe_tests::skip;

use crate::event;

/// The world on a free port.
pub(crate) fn world() -> Box<Corba> {
    Box::new(Corba::new(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Settings::default()
    }))
}

/// A Python with omniORB, and the contract as IDL.
pub(crate) struct OmniOrb {
    program: PathBuf,
    /// The folder in which the wheel has its libraries and programs.
    prefix: PathBuf,
    idl: Data,
}

impl OmniOrb {
    /// The Python that can import omniORB; `None` is a visible skip. The gate says by an empty name that PyPI is out of reach,
    /// which fails nothing.
    pub(crate) fn or_skip() -> Option<Self> {
        let program = env::var_os("FLOE_OMNIORB_PYTHON");
        if program.is_none() {
            skip::report(
                "omniORB",
                "FLOE_OMNIORB_PYTHON names no Python: cargo xtask interop-corba provides one",
            );
        }
        let program = PathBuf::from(program.filter(|program| !program.is_empty())?);
        let code = "import cmeel, os, sysconfig; print(os.path.join(sysconfig.get_path('purelib'), 'cmeel.prefix'))";
        let output = Command::new(&program).args(["-c", code]).output();
        let output = output.expect("FLOE_OMNIORB_PYTHON can be started");
        assert!(output.status.success(), "{output:?}");
        let prefix = String::from_utf8(output.stdout).expect("a path is text");
        let prefix = PathBuf::from(prefix.trim());
        let idl = Data::unique("worlds-idl");
        std::fs::create_dir_all(idl.path()).expect("there is room");
        let (text, _) =
            generate_idl(event::contract().model(), Idl::Corba).expect("it has no class");
        std::fs::write(idl.path().join("Worlds.idl"), text).expect("there is room");
        Some(Self {
            program,
            prefix,
            idl,
        })
    }

    /// Starts the peer with its arguments.
    pub(crate) fn peer(&self, arguments: &[&str]) -> Peer {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/bridges/peers/corba/peer.py");
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.prefix.join("bin")].into_iter();
        let path: OsString = env::join_paths(folders.chain(env::split_paths(&path)))
            .expect("folders of PATH hold no separator");
        let mut command = Command::new(&self.program);
        command
            .arg(script)
            .args(arguments)
            .env("PATH", path)
            .env("LD_LIBRARY_PATH", self.prefix.join("lib"))
            .env("WORLDS_IDL", self.idl.path().join("Worlds.idl"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONIOENCODING", "utf-8");
        Peer::start("omniORB for Python", &mut command)
    }
}

mod tests {
    use crate::corba::{OmniOrb, world};
    use crate::fixture::Joined;
    use crate::{event, ice};

    #[test]
    fn events_pass_between_omniorb_and_ice_both_ways() {
        let Some(omniorb) = OmniOrb::or_skip() else {
            return;
        };
        let joined = Joined::start(world());
        let Some(mut ice) = ice::peer(&["subscribe", &joined.manager(), "4"]) else {
            return;
        };
        let mut consumer = omniorb.peer(&["subscribe", &joined.address(), "4"]);
        ice.ready();
        consumer.ready();
        let own = ["publish", &joined.manager(), "ice", "1", "2"];
        ice::peer(&own).expect("it is installed").succeed();
        omniorb
            .peer(&["publish", &joined.address(), "corba", "3", "4"])
            .succeed();
        for (world, seed) in [("ice", 1), ("ice", 2), ("corba", 3), ("corba", 4)] {
            assert_eq!(event::parse(&ice.line()), event::json(world, seed));
            assert_eq!(event::parse(&consumer.line()), event::json(world, seed));
        }
        ice.succeed();
        consumer.succeed();
        let counts = joined.counts();
        assert_eq!((counts.taken_in, counts.not_crossed), (2, vec![]));
    }
}
