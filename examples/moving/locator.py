"""A locator: knows where adapters are, because they tell it, with Ice for Python.

Usage: locator.py [ENDPOINT]
"""

import sys

import Ice


class Locator(Ice.Locator):
    """What clients ask."""

    def __init__(self, places, registry):
        self.places = places
        self.registry = registry

    def findAdapterById(self, id, current=None):
        if id not in self.places:
            raise Ice.AdapterNotFoundException()
        return self.places[id]

    def findObjectById(self, id, current=None):
        # Adapters do not tell which objects they have.
        raise Ice.ObjectNotFoundException()

    def getRegistry(self, current=None):
        return self.registry


class Registry(Ice.LocatorRegistry):
    """What adapters tell."""

    def __init__(self, places):
        self.places = places

    def setAdapterDirectProxy(self, id, place, current=None):
        if place is None:
            print(f"{id} is away", flush=True)
            self.places.pop(id, None)
        else:
            print(f"{id} is at {place}", flush=True)
            self.places[id] = place

    def setReplicatedAdapterDirectProxy(self, id, group, place, current=None):
        raise Ice.InvalidReplicaGroupIdException()

    def setServerProcessProxy(self, id, process, current=None):
        raise Ice.ServerNotFoundException()


endpoint = sys.argv[1] if len(sys.argv) > 1 else "tcp -h 127.0.0.1 -p 4068"
with Ice.initialize() as communicator:
    adapter = communicator.createObjectAdapterWithEndpoints("Locator", endpoint)
    places = {}
    registry = adapter.add(Registry(places), Ice.stringToIdentity("registry"))
    registry = Ice.LocatorRegistryPrx.uncheckedCast(registry)
    locator = adapter.add(Locator(places, registry), Ice.stringToIdentity("locator"))
    adapter.activate()
    print("ready", locator, flush=True)
    communicator.waitForShutdown()
