//! What a user of the runtime can do, a file per capability; Floe on both sides.

mod close;
mod dispatching;
mod echo;
mod hostile;
mod oneway;
mod raw;
mod twoway;
