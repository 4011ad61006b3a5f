"""A client of an event service that it finds by a locator alone.

    registered.py LOCATOR MANAGER

LOCATOR is the locator's proxy and MANAGER the topic manager's, which names an adapter. It says what the proxies of the service
look like, and which events came.
"""

import sys
import threading

import Ice
import IceStorm


class Subscriber(Ice.Blobject):
    """Says what came."""

    def __init__(self):
        self.came = threading.Semaphore(0)

    def ice_invoke(self, _parameters, current):
        print("event", current.operation)
        self.came.release()
        return True, b""


def converse(communicator, manager):
    manager = IceStorm.TopicManagerPrx.checkedCast(communicator.stringToProxy(manager))
    here, there = manager.create("here"), manager.create("there")
    print("topics", here, there, *(f"{name}: {topic}" for name, topic in sorted(manager.retrieveAll().items())))
    print("publishers", here.getPublisher(), here.getNonReplicatedPublisher())
    # By a proxy that names the adapter, the topic is found to be one of this service.
    here.link(there, 3)
    for link in here.getLinkInfoSeq():
        print("link", link.name, link.cost, link.theTopic)
    adapter = communicator.createObjectAdapterWithEndpoints("Subscribers", "tcp -h 127.0.0.1 -p 0")
    adapter.activate()
    servant = Subscriber()
    subscriber = adapter.add(servant, Ice.stringToIdentity("subscriber"))
    own = there.subscribeAndGetPublisher({}, subscriber)
    print("own publisher", own)
    for publisher, event in [(here.getPublisher(), "linked"), (there.getNonReplicatedPublisher(), "one"), (own, "own")]:
        publisher.ice_invoke(event, Ice.OperationMode.Normal, b"")
        assert servant.came.acquire(timeout=10), event
    there.unsubscribe(subscriber)
    here.destroy()
    there.destroy()
    print("done")


def main():
    with Ice.initialize(sys.argv) as communicator:
        _, locator, manager = sys.argv
        communicator.setDefaultLocator(Ice.LocatorPrx.uncheckedCast(communicator.stringToProxy(locator)))
        converse(communicator, manager)


main()
