//! The conversations of this folder between clients and a back end of Ice 3.8 for Python, which Debian does not have:
//! `cargo xtask interop-38` provides it. The real router is that of Ice 3.7, because the one of 3.8 has no queues.

use super::{LOGIN, UNBUFFERED, assert_line, converse, with_login};
use crate::values::ice38::ice;

#[test]
fn ice_3_8_clients_and_back_ends_find_in_a_gateway_what_they_find_in_a_glacier2() {
    let ice = ice();
    let (filters, batches) = (
        "Glacier2.Filter.Category.Accept=open also\nGlacier2.Filter.Identity.Accept=shut/named \"a b\"\n\
         Glacier2.Filter.Category.AcceptUser=1\n",
        "Glacier2.Client.AlwaysBatch=1\nGlacier2.Client.SleepTime=20\n",
    );
    let conversations = [
        ("login", ""),
        ("calls", ""),
        ("calls", UNBUFFERED),
        ("batches", batches),
        ("callbacks", ""),
        ("callbacks", UNBUFFERED),
        ("evictions", "Glacier2.RoutingTable.MaxSize=2\n"),
        ("sessions", "Glacier2.SessionManager=manager:@\n"),
        ("filters", filters),
        ("addresses", "Glacier2.Filter.Address.Reject=*:[1-3]\n"),
        ("overrides", "Glacier2.Client.SleepTime=200\n"),
        (
            "contexts",
            "Glacier2.AddConnectionContext=1\nGlacier2.Client.ForwardContext=1\n",
        ),
    ];
    for (name, properties) in conversations {
        converse(&ice, name, &with_login(properties), &[]);
    }
    let lines = converse(&ice, "replaced", LOGIN, &[]);
    assert_line(&lines, "told: True");
}
