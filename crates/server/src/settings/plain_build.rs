//! A file that asks for encryption, in a build without it: the hub serves what it can.

use super::Configuration;
use super::entry::Problem;
use crate::certificates::Certificates;
use crate::error::FULL_BUILD;

impl Configuration {
    /// Takes out of the settings what needs encryption, with warnings: endpoints `ssl` and `wss` beside others, and the
    /// files with certificates.
    ///
    /// # Errors
    /// Lists of endpoints that would be empty.
    pub(super) fn without_encryption(&mut self) -> Vec<Problem> {
        let missing = format!("this build has no encryption; {FULL_BUILD}");
        let (mut problems, mut told) = (Vec::new(), Vec::new());
        let hub = self.has_hub.then_some(&mut self.hub);
        let of_hub = hub.map(|hub| {
            let admin = hub.admin.as_mut().map(|admin| &mut admin.listen);
            [Some(&mut hub.listen), hub.publish_listen.as_mut(), admin]
        });
        let of_gateway = self.gateway.as_mut().map(|gateway| {
            let admin = gateway.admin.as_mut().map(|admin| &mut admin.listen);
            let (client, server) = (&mut gateway.client_listen, &mut gateway.server_listen);
            [Some(client), server.as_mut(), admin]
        });
        let lists = of_hub.into_iter().chain(of_gateway).flatten().flatten();
        for list in lists {
            let (left_out, served): (Vec<_>, Vec<_>) =
                parts(list).into_iter().partition(|part| is_encrypted(part));
            let served = match (left_out.is_empty(), served.is_empty()) {
                (true, _) => continue,
                (false, true) => {
                    let list = left_out.join(":");
                    let message = format!("expected an endpoint besides {list}: {missing}");
                    problems.push(Problem::new(0, message));
                    continue;
                }
                (false, false) => {
                    let each = left_out.into_iter();
                    let each = each.map(|part| format!("does not listen on {part}: {missing}"));
                    told.extend(each);
                    served.join(":")
                }
            };
            *list = served;
        }
        if self.tls.cert.is_some() || self.tls.key.is_some() || !self.tls.ca.is_empty() {
            told.push(format!("certificates and keys are ignored: {missing}"));
            self.tls = Certificates::default();
        }
        let warnings = told.into_iter().map(|message| Problem::new(0, message));
        self.warnings.extend(warnings);
        problems
    }
}

/// The endpoints of a list, as they stand in it.
pub(super) fn parts(endpoints: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = endpoints.split(|char| {
        is_quoted ^= char == '"';
        char == ':' && !is_quoted
    });
    parts.map(str::trim).collect()
}

fn is_encrypted(endpoint: &str) -> bool {
    let first = endpoint.split_whitespace().next();
    first.is_some_and(|first| ["ssl", "wss"].contains(&first))
}
