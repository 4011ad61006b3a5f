"""An unmodified Ice for Python peer of Runtime.ice, with Ice 3.7 or 3.8.

Usage: peer.py serve [ICE OPTIONS]
       peer.py call PROXY [ICE OPTIONS]
       peer.py ping PROXY [ICE OPTIONS]
       peer.py tell PROXY [ICE OPTIONS]

`serve` prints `ready PROXY` on standard output, PROXY being that of the object "probe", and ends when standard input
does; `--Server.Endpoints=...` listens elsewhere than on a free port of loopback. `call` tries every line with such an
object and prints `ok N checks`, or says on standard error what differed and exits with 1. `ping` prints `pong`, or
`failed` and the exception's name; `--Ping.Sleep=MS` sleeps at the server first, `--Ping.Idle=MS` at the client,
`--Ping.Length=N` has so many bytes sent back, and `--Ping.Paused` prints `paused` after a first ping and waits for the end
of standard input. `tell` sends a note, as the proxy says.
"""

import pathlib
import sys

import Ice

IS_38 = Ice.intVersion() >= 30800
CONTRACT = str(pathlib.Path(__file__).with_name("Runtime.ice"))
if IS_38:
    Ice.loadSlice([CONTRACT])
else:
    Ice.loadSlice("", [CONTRACT])
import caller  # noqa: E402  (uses what the line above has loaded)
import servant  # noqa: E402


def initialize(arguments, **defaults):
    """A communicator in which the arguments count for more than the defaults."""
    settings = Ice.InitializationData()
    settings.properties = Ice.createProperties(arguments)
    for prefix in ("Server", "Ping"):
        settings.properties.parseCommandLineOptions(prefix, arguments)
    for name, value in defaults.items():
        name = "Ice." + name.replace("_", ".")
        if settings.properties.getProperty(name) in ("", "0"):
            settings.properties.setProperty(name, value)
    return Ice.initialize(initData=settings) if IS_38 else Ice.initialize(settings)


def main():
    role, *arguments = sys.argv[1:] or sys.exit(__doc__)
    if role == "serve":
        # Held and paused calls must not hold up the others.
        with initialize(arguments, ThreadPool_Server_Size="8", ThreadPool_Server_SizeMax="32") as communicator:
            communicator.getProperties().setProperty("Ice.Warn.Dispatch", "0")
            servant.serve(communicator)
    else:
        with initialize(arguments, BatchAutoFlushSize="1", ImplicitContext="Shared") as communicator:
            caller.ROLES[role](communicator, arguments[0])


main()
