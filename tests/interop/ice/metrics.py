"""An unmodified Ice for Python program that reads the metrics of an event service, and says what it read.

Usage: metrics.py MANAGER ADMIN

MANAGER is the proxy of a topic manager, ADMIN that of an administrative object with the facet of the service's
metrics. The service has the views Each (by id), Sum (by service), Kind (of subscribers, by mode, state and link), Asked
(of subscribers, by what they asked for) and Off (disabled). Endpoints are left out of what is said, times too.
"""

import sys
import time

import Ice
import IceMX
import IceStorm

PATIENCE = 30


class Silent(Ice.Blobject):
    """Takes any event."""

    def ice_invoke(self, _parameters, _current):
        return True, b""


def without_endpoints(text):
    return text.split(":", 1)[0]


def measure(admin, view):
    maps, timestamp = admin.getMetricsView(view)
    assert abs(timestamp / 1000 - time.time()) < PATIENCE, timestamp
    return maps


def rows(maps):
    for name in sorted(maps):
        for metrics in sorted(maps[name], key=lambda metrics: metrics.id):
            members = {key: value for key, value in vars(metrics).items() if key[0] != "_" and key != "totalLifetime"}
            assert metrics.totalLifetime >= 0
            members["id"] = without_endpoints(members["id"])
            yield name, type(metrics).__name__, members


def show(admin, what, view):
    maps = measure(admin, view)
    print(what, view, *sorted(maps))
    for name, kind, members in rows(maps):
        print(" ", name, kind, *(f"{key}={members[key]}" for key in sorted(members)))


def wait_until_delivered(admin, count):
    """Waits until each subscriber that is there has so many events, or one that is dead none under way."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        maps = [members for name, _, members in rows(measure(admin, "Each")) if name == "Subscriber"]
        if maps and all(row["delivered"] == count and not row["outstanding"] for row in maps if row["current"]):
            return
        time.sleep(0.02)
    print("not delivered:", maps)


def fails(what, call):
    try:
        print(what, call())
    except Ice.Exception as error:
        print(what, type(error).__name__)


def modes(adapter):
    proxy = adapter.add(Silent(), Ice.stringToIdentity("cat/twoway"))
    yield proxy, {}
    yield adapter.add(Silent(), Ice.stringToIdentity("ordered")), {"reliability": "ordered"}
    yield adapter.add(Silent(), Ice.stringToIdentity("oneway")).ice_oneway(), {}
    yield adapter.add(Silent(), Ice.stringToIdentity("batch")).ice_batchOneway(), {}
    yield adapter.addFacet(Silent(), Ice.stringToIdentity("faceted"), "f a"), {}


def publish(publisher, admin, count, delivered):
    # One at a time: what comes over a link is counted by calls in one service, and by events in the other.
    for number in range(count):
        publisher.ice_invoke("tick", Ice.OperationMode.Normal, b"")
        wait_until_delivered(admin, delivered + number + 1)


def converse(communicator, manager, admin):
    print("facets", admin.ice_isA("::IceMX::MetricsAdmin"), admin.ice_ids())
    fails("names", admin.getMetricsViewNames)
    show(admin, "nothing", "Each")
    here, there = manager.create("here"), manager.create("there")
    show(admin, "topics", "Each")
    here.link(there, 3)
    adapter = communicator.createObjectAdapterWithEndpoints("Subscribers", "tcp -h 127.0.0.1 -p 0")
    adapter.activate()
    subscribers = list(modes(adapter))
    for subscriber, qos in subscribers:
        here.subscribeAndGetPublisher(qos, subscriber)
    show(admin, "subscribed", "Each")
    publisher = here.getPublisher()
    publish(publisher, admin, 5, 0)
    for view in ["Each", "Sum", "Kind", "Asked", "Off"]:
        show(admin, "published 5", view)
    first = subscribers[0][0]
    here.unsubscribe(first)
    show(admin, "unsubscribed", "Each")
    here.subscribeAndGetPublisher({}, first)
    show(admin, "subscribed again", "Each")
    here.unsubscribe(first)
    for name, call in [
        ("failures", lambda: admin.getMapMetricsFailures("Each", "Topic")),
        ("failures of one", lambda: admin.getMetricsFailures("Each", "Topic", "here").id),
        ("failures of none", lambda: admin.getMetricsFailures("Each", "Topic", "nowhere").id),
        ("no view", lambda: admin.getMetricsView("None")),
        ("no view to enable", lambda: admin.enableMetricsView("None")),
        ("no view to disable", lambda: admin.disableMetricsView("None")),
        ("no view with failures", lambda: admin.getMapMetricsFailures("None", "Topic")),
        ("no view with failures of one", lambda: admin.getMetricsFailures("None", "Topic", "here")),
        ("disabled", lambda: admin.disableMetricsView("Each")),
        ("disabled again", lambda: admin.disableMetricsView("Each")),
        ("names", admin.getMetricsViewNames),
        ("nothing", lambda: admin.getMetricsView("Each")[0]),
        ("enabled", lambda: admin.enableMetricsView("Each")),
        ("enabled again", lambda: admin.enableMetricsView("Each")),
        ("names", admin.getMetricsViewNames),
    ]:
        fails(name, call)
    show(admin, "from nothing", "Each")
    publish(publisher, admin, 2, 0)
    show(admin, "published 2", "Each")
    here.unlink(there)
    show(admin, "unlinked", "Each")
    here.destroy()
    there.destroy()
    show(admin, "destroyed", "Each")
    show(admin, "destroyed", "Sum")
    print("done")


def main():
    with Ice.initialize(sys.argv) as communicator:
        _, manager, admin = sys.argv
        manager = IceStorm.TopicManagerPrx.checkedCast(communicator.stringToProxy(manager))
        admin = IceMX.MetricsAdminPrx.uncheckedCast(communicator.stringToProxy(admin))
        converse(communicator, manager, admin)


main()
