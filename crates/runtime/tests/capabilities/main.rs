//! What a user of the runtime can do, a file per capability; Floe on both sides.

mod bounds;
mod close;
mod datagrams;
mod dispatching;
mod echo;
mod failing;
mod hostile;
mod oneway;
mod raw;
mod routing;
mod transports;
mod twoway;
