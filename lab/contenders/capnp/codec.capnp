# The types of the scenario `codec`: those of `lab/contracts/Codec.ice`.

@0xb7d2b8a8a1a45f31;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("floe_lab");

struct Bytes {
  value @0 :Data;
}

struct Doubles {
  value @0 :List(Float64);
}

struct Lines {
  lines @0 :List(Text);
}

struct Inner {
  l @0 :Int64;
  d @1 :Float64;
}

struct Outer {
  inner @0 :List(Inner);
}

struct Nested {
  outer @0 :List(Outer);
}

struct Author {
  lastname @0 :Text;
  initials @1 :Text;
}

struct PageRange {
  start @0 :Int16;
  end @1 :Int16;
}

struct Entry {
  authors @0 :List(Author);
  title @1 :Text;
  journal @2 :Text;
  year @3 :Int16;
  publisher @4 :Text;
  location @5 :Text;
  edition @6 :Text;
  hyperlink @7 :Text;
  volume @8 :Int16;
  issue @9 :Int16;
  page @10 :PageRange;
}

struct Bibliography {
  entries @0 :List(Entry);
}
