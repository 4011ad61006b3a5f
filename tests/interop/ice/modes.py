"""An unmodified Ice for Python client of the services of Ice, 3.7 or 3.8, with an object that notes how it is called.

Usage: modes.py

Calls every operation of every interface below that this Ice has once, and prints `INTERFACE OPERATION MODE` for each, the mode as the
number that travels.
"""

import Glacier2
import Ice
import IceMX
import IceStorm

IDENTITY = Ice.Identity("name", "category")
MESSAGE = Ice.LogMessage(Ice.LogMessageType.PrintMessage, 0, "", "")
CERTIFICATE = Glacier2.SSLInfo("", 0, "", 0, "", [])

CALLS = {
    Ice.LocatorPrx: [("findObjectById", IDENTITY), ("findAdapterById", ""), ("getRegistry",)],
    Ice.LocatorRegistryPrx: [
        ("setAdapterDirectProxy", "", None),
        ("setReplicatedAdapterDirectProxy", "", "", None),
        ("setServerProcessProxy", "", None),
    ],
    Ice.LocatorFinderPrx: [("getLocator",)],
    Ice.RouterPrx: [("getClientProxy",), ("getServerProxy",), ("addProxies", [])],
    Ice.RouterFinderPrx: [("getRouter",)],
    Ice.ProcessPrx: [("shutdown",), ("writeMessage", "", 1)],
    Ice.PropertiesAdminPrx: [("getProperty", ""), ("getPropertiesForPrefix", ""), ("setProperties", {})],
    Ice.RemoteLoggerPrx: [("init", "", []), ("log", MESSAGE)],
    Ice.LoggerAdminPrx: [("attachRemoteLogger", None, [], [], 0), ("detachRemoteLogger", None), ("getLog", [], [], 0)],
    IceMX.MetricsAdminPrx: [
        ("getMetricsViewNames",),
        ("enableMetricsView", ""),
        ("disableMetricsView", ""),
        ("getMetricsView", ""),
        ("getMapMetricsFailures", "", ""),
        ("getMetricsFailures", "", "", ""),
    ],
    IceStorm.TopicPrx: [
        ("getName",),
        ("getPublisher",),
        ("getNonReplicatedPublisher",),
        ("subscribeAndGetPublisher", {}, None),
        ("unsubscribe", None),
        ("link", None, 1),
        ("unlink", None),
        ("getLinkInfoSeq",),
        ("getSubscribers",),
        ("destroy",),
    ],
    IceStorm.TopicManagerPrx: [
        ("create", ""),
        ("createOrRetrieve", ""),
        ("retrieve", ""),
        ("retrieveAll",),
        ("getSliceChecksums",),
    ],
    IceStorm.FinderPrx: [("getTopicManager",)],
    Glacier2.PermissionsVerifierPrx: [("checkPermissions", "", "")],
    Glacier2.SSLPermissionsVerifierPrx: [("authorize", CERTIFICATE)],
    Glacier2.StringSetPrx: [("add", []), ("remove", []), ("get",)],
    Glacier2.IdentitySetPrx: [("add", []), ("remove", []), ("get",)],
    Glacier2.SessionControlPrx: [
        ("categories",),
        ("adapterIds",),
        ("identities",),
        ("getSessionTimeout",),
        ("destroy",),
    ],
    Glacier2.SessionPrx: [("destroy",)],
    Glacier2.SessionManagerPrx: [("create", "", None)],
    Glacier2.SSLSessionManagerPrx: [("create", CERTIFICATE, None)],
    Glacier2.RouterPrx: [
        ("getCategoryForClient",),
        ("createSession", "", ""),
        ("createSessionFromSecureConnection",),
        ("refreshSession",),
        ("destroySession",),
        ("getSessionTimeout",),
        ("getACMTimeout",),
    ],
}


class Noting(Ice.Blobject):
    def ice_invoke(self, parameters, current):
        self.seen = f"{current.operation} {current.mode.value}"
        raise Ice.OperationNotExistException()


def main():
    with Ice.initialize(["--Ice.Warn.Dispatch=0"]) as communicator:
        adapter = communicator.createObjectAdapterWithEndpoints("Noting", "tcp -h 127.0.0.1 -p 0")
        noting = Noting()
        proxy = adapter.addWithUUID(noting)
        adapter.activate()
        for interface, operations in CALLS.items():
            typed = interface.uncheckedCast(proxy)
            for name, *arguments in operations:
                try:
                    if hasattr(typed, name):
                        getattr(typed, name)(*arguments)
                except Ice.OperationNotExistException:
                    print(interface.ice_staticId(), noting.seen)


main()
