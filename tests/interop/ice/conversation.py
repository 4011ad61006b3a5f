"""Asks an event service whatever IceStorm and a Floe hub must answer alike, and prints the answers.

Usage: conversation.py MANAGER [ICE OPTIONS]

MANAGER is the proxy of a topic manager of the instance IceStorm without topics. Of failures that carry a text for people,
only the type is printed. The last line is `done`.
"""

import sys
import time

import Ice
import IceStorm

NOTHING = b"\x06\0\0\0\1\1"
OLD_PARAMETERS = b"\x0a\0\0\0\1\0\x01\0\0\0"
TEXTS = (Ice.UnknownException, Ice.UnknownLocalException, Ice.MarshalException)


def shown(value):
    if isinstance(value, Ice.ObjectPrx):
        return Ice.identityToString(value.ice_getIdentity())
    if isinstance(value, list) and value and isinstance(value[0], Ice.Identity):
        return [Ice.identityToString(identity) for identity in value]
    if isinstance(value, list) and value and isinstance(value[0], IceStorm.LinkInfo):
        return [(link.name, link.cost, shown(link.theTopic)) for link in value]
    return value


def failure(error):
    members = {} if isinstance(error, TEXTS) else vars(error)
    texts = [f"{key}={' '.join(str(value).split())}" for key, value in sorted(members.items())]
    return " ".join([type(error).__name__, *texts])


def ask(what, question):
    try:
        answer = shown(question())
    except Ice.Exception as error:
        answer = failure(error)
    print(f"{what}: {answer}", flush=True)


class Recorder(Ice.Blobject):
    """A subscriber that keeps what it gets, and answers `throw` with a user exception."""

    def __init__(self):
        self.events = []

    def ice_invoke(self, parameters, current):
        is_twoway = current.requestId != 0
        event = (current.operation, str(current.mode), bytes(parameters).hex(), dict(current.ctx), is_twoway)
        self.events.append(event)
        return (False, parameters) if current.operation == "throw" else (True, b"")

    def tell(self, name, count):
        deadline = time.monotonic() + 20
        while len(self.events) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        for event in self.events:
            print(f"{name} got {event}", flush=True)


class Faulty(Recorder):
    """One that fails at the first of each operation with `fail` in its name."""

    def ice_invoke(self, parameters, current):
        is_first = all(event[0] != current.operation for event in self.events)
        answer = super().ice_invoke(parameters, current)
        if "fail" in current.operation and is_first:
            raise Ice.UnknownException("it fails")
        return answer


class Conversation:
    def __init__(self, communicator, manager):
        self.communicator = communicator
        self.manager = IceStorm.TopicManagerPrx.checkedCast(communicator.stringToProxy(manager))
        self.adapter = communicator.createObjectAdapterWithEndpoints("Subscribers", "tcp -h 127.0.0.1 -p 0")
        self.adapter.activate()

    def ask_manager(self):
        manager = self.manager
        ask("types", manager.ice_ids)
        ask("type", manager.ice_id)
        for name in ["a", "a", "x/y z"]:
            ask(f"create `{name}'", lambda: manager.create(name))
        ask("create 489", lambda: len(shown(manager.create("n" * 489))))
        ask("create 490", lambda: manager.create("n" * 490))
        ask("retrieve", lambda: manager.retrieve("none"))
        ask("all", lambda: sorted(name[:9] for name in manager.retrieveAll()))
        ask("facet", lambda: manager.ice_facet("x").ice_ping())
        finder = manager.ice_identity(Ice.stringToIdentity("IceStorm/Finder"))
        ask("finder", IceStorm.FinderPrx.uncheckedCast(finder).getTopicManager)
        ask("finder types", finder.ice_ids)

    def ask_topic(self, topic):
        ask("types", topic.ice_ids)
        ask("name", topic.getName)
        ask("publisher", topic.getPublisher)
        ask("this publisher", topic.getNonReplicatedPublisher)
        ask("links", topic.getLinkInfoSeq)
        ask("facet", lambda: topic.ice_facet("x").ice_ping())
        ask("operation", lambda: topic.ice_invoke("none", Ice.OperationMode.Normal, NOTHING))
        ask("none", lambda: topic.ice_identity(Ice.stringToIdentity("IceStorm/topic.none")).ice_ping())
        publisher = topic.getPublisher()
        ask("ping", publisher.ice_ping)
        ask("publisher types", publisher.ice_ids)
        ask("publisher facet", lambda: publisher.ice_facet("x").ice_ping())

    def subscribe(self, topic, name, mode=lambda proxy: proxy, qos={}):
        recorder = Recorder()
        proxy = mode(self.adapter.add(recorder, Ice.stringToIdentity(name)))
        ask(f"subscribe {name}", lambda: topic.subscribeAndGetPublisher(qos, proxy))
        return recorder, proxy

    def ask_refusals(self, topic, proxy):
        self.subscribe(topic, "wrong", qos={"reliability": "sometimes"})
        self.subscribe(topic, "disordered", lambda p: p.ice_oneway(), {"reliability": "ordered"})
        self.subscribe(topic, "cached", qos={"retryCount": "1", "unknown": "x"})
        self.subscribe(topic, "uncached", qos={"connectionCached": "0", "locatorCacheTimeout": "10"})
        for key, value in [("connectionCached", ""), ("connectionCached", "x"), ("locatorCacheTimeout", "5x")]:
            self.subscribe(topic, f"refused {key} {value}", qos={key: value})
        several = {"reliability": "ordered", "connectionCached": "x"}
        self.subscribe(topic, "wrong twice", lambda p: p.ice_oneway(), several)
        for qos in [{}, {"reliability": "sometimes"}, {"locatorCacheTimeout": "-5"}]:
            ask(f"again with {qos}", lambda: topic.subscribeAndGetPublisher(qos, proxy.ice_oneway()))
        ask("null", lambda: topic.subscribeAndGetPublisher({}, None))
        ask("unsubscribe null", lambda: topic.unsubscribe(None))
        ask("too long", lambda: topic.subscribeAndGetPublisher({}, proxy.ice_identity(Ice.Identity("s" * 512, ""))))
        ask("unsubscribe nobody", lambda: topic.unsubscribe(proxy.ice_identity(Ice.Identity("nobody", ""))))

    def ask_delivery(self, topic):
        publisher = topic.getPublisher()
        twoway, proxy = self.subscribe(topic, "twoway")
        oneway, oneway_proxy = self.subscribe(topic, "c/oneway", lambda p: p.ice_oneway())
        batch, _ = self.subscribe(topic, "batch", lambda p: p.ice_batchOneway())
        ordered, _ = self.subscribe(topic, "ordered", qos={"reliability": "ordered"})
        self.subscribe(topic, "faceless", lambda p: p.ice_facet("none"))
        for text in ["nowhere", "elsewhere -o @ adapter", "deaf -d:tcp -h 127.0.0.1 -p 1"]:
            unreachable = self.communicator.stringToProxy(text)
            ask(f"subscribe {text}", lambda: topic.subscribeAndGetPublisher({}, unreachable))
        self.ask_refusals(topic, proxy)
        ask("subscribers", topic.getSubscribers)
        old = publisher.ice_encodingVersion(Ice.Encoding_1_0)
        context = {"cost": "3"}
        ask("publish old", lambda: old.ice_invoke("old", Ice.OperationMode.Idempotent, OLD_PARAMETERS, context))
        ask("publish throw", lambda: publisher.ice_invoke("throw", Ice.OperationMode.Normal, NOTHING))
        # The one without that facet and those out of reach have failed by then, and go with the next event.
        time.sleep(1)
        ask("publish oneway", lambda: publisher.ice_oneway().ice_invoke("last", Ice.OperationMode.Normal, NOTHING))
        for name, recorder in [("twoway", twoway), ("oneway", oneway), ("batch", batch), ("ordered", ordered)]:
            recorder.tell(name, 3)
        ask("subscribers", topic.getSubscribers)
        self.ask_unsubscription(topic, oneway_proxy)

    def ask_unsubscription(self, topic, proxy):
        topic.unsubscribe(proxy)
        one, _ = self.subscribe(topic, "one")
        to_one = topic.getPublisher().ice_identity(Ice.stringToIdentity("IceStorm/topic.a.publish.one"))
        ask("publish to one", lambda: to_one.ice_invoke("private", Ice.OperationMode.Normal, NOTHING))
        one.tell("one", 1)
        former = to_one.ice_identity(Ice.Identity("topic.a.publish.c/oneway", "IceStorm"))
        ask("publish to a former one", former.ice_ping)
        ask("subscribers", topic.getSubscribers)
        leaving, batch = self.subscribe(topic, "leaving", lambda p: p.ice_batchOneway())
        ask("publish", lambda: topic.getPublisher().ice_invoke("collected", Ice.OperationMode.Normal, NOTHING))
        ask("unsubscribe", lambda: topic.unsubscribe(batch))
        leaving.tell("leaving", 1)

    def ask_failures(self):
        topic = self.manager.create("failures")
        publisher = topic.getPublisher()
        weak = Faulty()
        proxy = self.adapter.add(weak, Ice.stringToIdentity("weak"))
        to_weak = topic.subscribeAndGetPublisher({"reliability": "ordered"}, proxy)
        for operation in ["fail", "behind"]:
            publisher.ice_invoke(operation, Ice.OperationMode.Idempotent, NOTHING)
        weak.tell("weak", 3)
        ask("subscribers", topic.getSubscribers)
        publisher.ice_invoke("fail for good", Ice.OperationMode.Normal, NOTHING)
        # It has failed a second later, and goes with the next event that is not for it alone.
        time.sleep(1)
        for _ in range(2):
            ask("publish to one that has failed", lambda: to_weak.ice_invoke("own", Ice.OperationMode.Normal, NOTHING))
        ask("subscribers", topic.getSubscribers)
        ask("subscribe again", lambda: topic.subscribeAndGetPublisher({}, proxy))
        publisher.ice_invoke("last", Ice.OperationMode.Normal, NOTHING)
        ask("subscribers", topic.getSubscribers)
        ask("publish to one that is gone", to_weak.ice_ping)
        weak.tell("weak", 4)
        topic.destroy()

    def ask_links(self, topic):
        other, third = self.manager.create("b"), self.manager.create("c")
        ask("link", lambda: topic.link(other, 5))
        ask("link again", lambda: topic.link(other, 0))
        ask("link to itself", lambda: third.link(third, -3))
        ask("link to a third", lambda: other.link(third, 0))
        ask("link to null", lambda: topic.link(None, 0))
        ask("unlink null", lambda: topic.unlink(None))
        ask("unlink nothing", lambda: topic.unlink(third))
        for identity in ["IceStorm/topic.none", "IceStorm/TopicManager", "nothing"]:
            no_topic = IceStorm.TopicPrx.uncheckedCast(topic.ice_identity(Ice.stringToIdentity(identity)))
            ask(f"link to {identity}", lambda: topic.link(no_topic, 0))
        for unusable in [other.ice_oneway(), other.ice_facet("f")]:
            ask("link", lambda: topic.link(IceStorm.TopicPrx.uncheckedCast(unusable), 0))
        ask("link far away", lambda: other.link(IceStorm.TopicPrx.uncheckedCast(self.communicator.stringToProxy("IceStorm/topic.a")), 0))
        ask("unlink", lambda: other.unlink(topic))
        for linked in [topic, other, third]:
            ask("links", linked.getLinkInfoSeq)
            ask("subscribers", linked.getSubscribers)
        ask("subscribe a linked topic", lambda: topic.subscribeAndGetPublisher({}, other))
        self.ask_receiver(topic)
        self.ask_forwarding(topic, other, third)
        self.ask_unlinking(topic, other)

    def ask_receiver(self, topic):
        receiver = topic.getPublisher().ice_identity(Ice.stringToIdentity("IceStorm/b.link"))
        ask("receiver types", receiver.ice_ids)
        ask("receiver type", receiver.ice_id)
        ask("receiver", receiver.ice_ping)
        ask("receiver facet", lambda: receiver.ice_facet("x").ice_ping())
        ask("receiver of nothing", lambda: receiver.ice_identity(Ice.Identity("none.link", "IceStorm")).ice_ping())
        publisher = receiver.ice_identity(Ice.Identity("topic.a.publish.IceStorm/topic.b", "IceStorm"))
        ask("publisher of a link", publisher.ice_ping)

    def ask_forwarding(self, topic, other, third):
        publisher = topic.getPublisher()
        ordered = {"reliability": "ordered"}
        near, _ = self.subscribe(other, "near", qos=ordered)
        far, _ = self.subscribe(third, "far", qos=ordered)
        for cost in ["", "x", "5", "6", "6x", " 6", "-7", "5.9", "99999999999"]:
            context = {"z": "1", "cost": cost}
            publisher.ice_invoke(f"at {cost}", Ice.OperationMode.Idempotent, NOTHING, context)
            time.sleep(0.05)
        publisher.ice_encodingVersion(Ice.Encoding_1_0).ice_invoke("old", Ice.OperationMode.Normal, OLD_PARAMETERS)
        near.tell("near", 6)
        other.getPublisher().ice_invoke("second", Ice.OperationMode.Normal, NOTHING)
        far.tell("far", 1)

    def ask_unlinking(self, topic, other):
        ask("unlink", lambda: topic.unlink(other))
        ask("unlink again", lambda: topic.unlink(other))
        ask("link", lambda: topic.link(other, 1))
        ask("unsubscribe a link", lambda: topic.unsubscribe(other))
        ask("links", topic.getLinkInfoSeq)
        ask("link", lambda: topic.link(other, 0))
        ask("destroy", other.destroy)
        ask("links", topic.getLinkInfoSeq)
        # The link has failed a second after an event, and goes with the next one.
        for _ in range(2):
            topic.getPublisher().ice_invoke("gone", Ice.OperationMode.Normal, NOTHING)
            time.sleep(1)
            ask("links", topic.getLinkInfoSeq)
            ask("subscribers", topic.getSubscribers)

    def ask_destruction(self, topic):
        publisher = topic.getPublisher()
        ask("destroy", topic.destroy)
        ask("destroy again", topic.destroy)
        ask("publish", publisher.ice_ping)
        ask("create", lambda: self.manager.create("a"))
        ask("subscribers", topic.getSubscribers)


def main():
    with Ice.initialize(sys.argv) as communicator:
        conversation = Conversation(communicator, sys.argv[1])
        conversation.ask_manager()
        topic = conversation.manager.retrieve("a")
        conversation.ask_topic(topic)
        conversation.ask_delivery(topic)
        conversation.ask_failures()
        conversation.ask_links(topic)
        conversation.ask_destruction(topic)
        print("done", flush=True)


main()
