//! The peers that contenders are built with: detects which ones are installed, and says what to install.

use super::program::command;

/// An installed middleware.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The command that prints its version, on stdout or stderr.
    pub(crate) version: &'static [&'static str],
    /// The packages of Debian to install if something is missing, separated by spaces.
    pub(crate) install: &'static str,
}

impl Peer {
    /// The version of the translator, which comes with headers of the same version; or of the service.
    ///
    /// # Errors
    /// It is missing, and how to get it.
    pub(crate) fn installed_version(&self) -> Result<String, String> {
        let output = command(self.version).output();
        let program = self.version.first().unwrap_or(&"");
        let output = output
            .map_err(|error| format!("cannot start {program} ({error}); {}", self.advice()))?;
        if !output.status.success() {
            return Err(format!("{program} tells no version; {}", self.advice()));
        }
        // Some write their version to stderr.
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|line| !line.trim().is_empty());
        Ok(line.unwrap_or_default().trim().to_owned())
    }

    /// How to get it.
    pub(super) fn advice(&self) -> String {
        format!(
            "on Debian: apt-get install {}, or: floe lab setup",
            self.install
        )
    }
}

/// The name of a library's file tells its version: `libzmq.so.5.2.4`.
macro_rules! library {
    ($name:literal) => {
        &[
            "sh",
            "-c",
            concat!(
                "file=$(readlink -e $(g++ -print-file-name=lib",
                $name,
                ".so)) && basename $file"
            ),
        ]
    };
}
/// ZeroC Ice.
pub(crate) const ICE: Peer = Peer {
    version: &["slice2cpp", "--version"],
    // The first two come with zeroc-ice-all-dev, which the interop tests need.
    install: "zeroc-ice-compilers libzeroc-ice-dev g++",
};

/// Glacier2.
pub(crate) const GLACIER2: Peer = Peer {
    version: &["glacier2router", "--version"],
    install: "zeroc-glacier2",
};

/// IceStorm in an IceBox, with a C++ compiler for its publishers and subscribers.
pub(crate) const ICESTORM: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "command -v icebox >/dev/null && slice2cpp --version",
    ],
    install: "zeroc-icebox libzeroc-icestorm3.7 zeroc-ice-compilers libzeroc-ice-dev g++",
};

/// omniORB, whose translator tells no version.
pub(crate) const OMNIORB: Peer = Peer {
    version: library!("omniORB4"),
    install: "libomniorb4-dev omniidl g++",
};

/// Fast CDR of Fast DDS, which has no translator.
pub(crate) const FASTCDR: Peer = Peer {
    version: library!("fastcdr"),
    install: "libfastcdr-dev g++",
};

/// Protocol Buffers.
pub(crate) const PROTOBUF: Peer = Peer {
    version: &["protoc", "--version"],
    install: "libprotobuf-dev protobuf-compiler g++",
};

/// Cap'n Proto, with its RPC.
pub(crate) const CAPNP: Peer = Peer {
    version: &["capnp", "--version"],
    install: "libcapnp-dev capnproto g++",
};

/// Cyclone DDS.
pub(crate) const CYCLONEDDS: Peer = Peer {
    version: &["idlc", "-v"],
    install: "cyclonedds-dev cyclonedds-tools g++",
};

/// gSOAP.
pub(crate) const GSOAP: Peer = Peer {
    version: &["soapcpp2", "-V"],
    install: "gsoap libgsoap-dev g++",
};

/// ZeroMQ, which has no translator.
pub(crate) const ZEROMQ: Peer = Peer {
    version: library!("zmq"),
    install: "libzmq3-dev g++",
};

/// mosquitto, with its library.
pub(crate) const MOSQUITTO: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "PATH=$PATH:/usr/sbin; command -v mosquitto >/dev/null && mosquitto -h | head -n 1",
    ],
    install: "mosquitto libmosquitto-dev g++",
};

/// NATS, with its C client.
pub(crate) const NATS: Peer = Peer {
    version: &["nats-server", "--version"],
    install: "nats-server libnats-dev g++",
};

/// A NATS server that can sync each event, built with Go, since Debian's (2.9) cannot; with Debian's C client.
pub(crate) const NATS_FROM_SOURCE: Peer = Peer {
    version: &["sh", "-c", "go version >&2 && echo nats-server 2.14.9"],
    install: "libnats-dev g++ (and Go 1.25 or later from https://go.dev/dl)",
};

/// Redis, with hiredis.
pub(crate) const REDIS: Peer = Peer {
    version: &["redis-server", "--version"],
    install: "redis-server libhiredis-dev g++",
};

/// omniEvents, with omniORB.
pub(crate) const OMNIEVENTS: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "command -v eventc >/dev/null && /usr/sbin/omniEvents -V",
    ],
    install: "omnievents libomnievents-dev libomniorb4-dev g++",
};

/// Fast DDS, which Debian calls by its former name, with its translator, which is a program in Java.
pub(crate) const FASTDDS: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "command -v fastddsgen >&2 && file=$(readlink -e $(g++ -print-file-name=libfastrtps.so)) && basename $file",
    ],
    install: "libfastrtps-dev fastddsgen g++",
};

/// gRPC in C++, whose translator tells no version.
pub(crate) const GRPC: Peer = Peer {
    version: library!("grpc++"),
    install: "libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler g++",
};

/// tonic, from Rust's registry in the version of its lock file, and what it is built with.
pub(crate) const TONIC: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "cargo --version >&2 && protoc --version >&2 && echo tonic 0.14.9",
    ],
    install: "protobuf-compiler (and the Rust toolchain, from rustup.rs)",
};

/// zenoh, from Rust's registry in the version of its lock file.
pub(crate) const ZENOH: Peer = Peer {
    version: &["sh", "-c", "cargo --version >&2 && echo zenoh 1.10.2"],
    install: "gcc (and the Rust toolchain, from rustup.rs)",
};

/// iceoryx2, from Rust's registry in the version of its lock file.
pub(crate) const ICEORYX2: Peer = Peer {
    version: &["sh", "-c", "cargo --version >&2 && echo iceoryx2 0.10.0"],
    install: "gcc (and the Rust toolchain, from rustup.rs)",
};

/// ActiveMQ Artemis, from Maven's registry in the version of its `pom.xml`.
pub(crate) const ARTEMIS: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "javac -version >&2 && mvn --version >&2 && echo artemis 2.44.0",
    ],
    install: "default-jdk-headless maven",
};

/// Artemis with the library that its journal needs. The library that it calls is made for x86-64 alone.
pub(crate) const ARTEMIS_JOURNAL: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "PATH=$PATH:/usr/sbin:/sbin; uname -m | grep x86_64 >&2 && ldconfig -p | grep libaio.so.1 >&2 && javac -version >&2 && mvn --version >&2 && echo artemis 2.44.0",
    ],
    install: "libaio1 default-jdk-headless maven",
};

/// JacORB, from Maven's registry in the version of its `pom.xml`.
pub(crate) const JACORB: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "javac -version >&2 && mvn --version >&2 && echo jacorb 3.9",
    ],
    install: "default-jdk-headless maven",
};

/// Apache CXF, from Maven's registry in the version of the `pom.xml` of WS-Notification: 4.1 lacks a part of its broker there.
pub(crate) const WSN: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "javac -version >&2 && mvn --version >&2 && echo cxf 3.5.10",
    ],
    install: "default-jdk-headless maven",
};

/// Qpid JMS, from Maven's registry in the version of the `pom.xml` of JMS.
pub(crate) const QPID: Peer = Peer {
    version: &[
        "sh",
        "-c",
        "javac -version >&2 && mvn --version >&2 && echo qpid-jms 2.6.1",
    ],
    install: "default-jdk-headless maven",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_needs_is_what_xtask_installs() {
        let installed = include_str!("../../../xtask/src/packages.rs");
        for peer in [
            ICE,
            ICESTORM,
            GLACIER2,
            OMNIORB,
            FASTCDR,
            PROTOBUF,
            CAPNP,
            CYCLONEDDS,
            FASTDDS,
            GSOAP,
            ZEROMQ,
            GRPC,
            MOSQUITTO,
            NATS,
            REDIS,
            OMNIEVENTS,
            ARTEMIS,
            ARTEMIS_JOURNAL,
        ] {
            for package in peer.install.split(' ') {
                // The headers of Ice come with a package that stands for all of them.
                let package = package.replace("libzeroc-ice-dev", "zeroc-ice-all-dev");
                assert!(installed.contains(&format!("\"{package}\"")), "{package}");
            }
        }
    }

    /// The output of the command that prints the version.
    fn told(peer: &Peer) -> &'static str {
        peer.version.last().unwrap().rsplit(' ').next().unwrap()
    }

    #[test]
    fn the_version_of_a_rust_package_is_that_of_its_lock_file() {
        for (peer, name, lock) in [
            (
                TONIC,
                "tonic",
                include_str!("../../contenders/tonic/Cargo.lock"),
            ),
            (
                ZENOH,
                "zenoh",
                include_str!("../../contenders/zenoh/Cargo.lock"),
            ),
            (
                ICEORYX2,
                "iceoryx2",
                include_str!("../../contenders/iceoryx2/Cargo.lock"),
            ),
        ] {
            let version = told(&peer);
            let locked = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&locked), "{name} {version}");
        }
    }

    #[test]
    fn the_version_of_a_java_package_is_that_of_its_project() {
        let jms = include_str!("../../contenders/java/jms.xml");
        let jacorb = include_str!("../../contenders/java/jacorb.xml");
        let wsn = include_str!("../../contenders/java/wsn.xml");
        for (peer, project, property) in [
            (ARTEMIS, jms, "artemis.version"),
            (ARTEMIS_JOURNAL, jms, "artemis.version"),
            (QPID, jms, "qpid.version"),
            (JACORB, jacorb, "jacorb.version"),
            (WSN, wsn, "cxf.version"),
        ] {
            let version = format!("<{property}>{}</{property}>", told(&peer));
            assert!(project.contains(&version), "{version}");
        }
    }
}
