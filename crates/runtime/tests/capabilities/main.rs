//! What a user of the runtime can do, a file per capability; Floe on both sides.

mod bidirectional;
mod blocking;
mod blocking_combined;
mod blocking_ends;
mod blocking_long;
mod bounds;
mod close;
mod collocated;
mod compression;
mod datagrams;
mod dispatching;
mod echo;
mod failing;
mod hostile;
mod intercepting;
mod invoking;
mod locating;
mod oneway;
mod raw;
mod routing;
mod shutdown;
mod transports;
mod twoway;
