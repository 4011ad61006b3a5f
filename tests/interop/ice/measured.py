"""An unmodified Ice for Python server, 3.7 or 3.8, that measures itself.

Usage: measured.py

Calls itself once over a connection. Prints `ready PROXY` on standard output, PROXY being that of its metrics. Ends when
standard input does.
"""

import sys

import Ice

PROPERTIES = {
    "Ice.Admin.Endpoints": "tcp -h 127.0.0.1 -p 0",
    "Ice.Admin.InstanceName": "Measured",
    "Ice.Default.CollocationOptimized": "0",
    "IceMX.Metrics.All.GroupBy": "none",
}


class Anything(Ice.Blobject):
    def ice_invoke(self, parameters, current):
        return True, parameters


def main():
    settings = Ice.InitializationData()
    settings.properties = Ice.createProperties()
    for name, value in PROPERTIES.items():
        settings.properties.setProperty(name, value)
    is_38 = Ice.intVersion() >= 30800
    with Ice.initialize(initData=settings) if is_38 else Ice.initialize(settings) as communicator:
        adapter = communicator.createObjectAdapterWithEndpoints("Server", "tcp -h 127.0.0.1 -p 0")
        proxy = adapter.addWithUUID(Anything())
        adapter.activate()
        proxy.ice_invoke("echo", Ice.OperationMode.Normal, bytes([7, 0, 0, 0, 1, 1, 42]))
        print("ready", communicator.getAdmin().ice_facet("Metrics"), flush=True)
        sys.stdin.read()


main()
