# The operations of `lab/contracts/Calls.ice`, for Cap'n Proto.

@0xd1c29e6cf1b0a45d;

using Cxx = import "/capnp/c++.capnp";
using Codec = import "codec.capnp";
$Cxx.namespace("floe_calls");

interface Calls {
  nothing @0 () -> ();

  # Nobody waits for the end of one; the library limits how many are on their way.
  tell @1 () -> stream;

  # How often `nothing` and `tell` were called.
  count @2 () -> (value :Int64);

  echo @3 (values :List(Float64)) -> (values :List(Float64));
  takeBytes @4 (payload :Data) -> (value :Int64);
  takeRecords @5 (records :List(Codec.Outer)) -> (value :Float64);
}
