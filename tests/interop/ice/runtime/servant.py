"""The servants of Runtime.ice."""

import sys
import threading
import time

import Ice
import Runtime

IS_38 = Ice.intVersion() >= 30800


def link_of(connection):
    """What is known of a connection, its layers taken together."""
    link = Runtime.Link(transport=connection.type(), isIncoming=connection.getInfo().incoming)
    info = connection.getInfo()
    while info is not None:
        if hasattr(info, "localAddress"):
            link.localHost, link.localPort = info.localAddress, info.localPort
            link.remoteHost, link.remotePort = info.remoteAddress, info.remotePort
        if isinstance(info, Ice.SSLConnectionInfo):
            # Ice 3.8 for Python tells the peer's own certificate and no cipher.
            link.isEncrypted = IS_38 or info.cipher != ""
            link.certificateCount = int(info.peerCertificate != "") if IS_38 else len(info.certs)
        info = info.underlying
    return link


def failure(kind):
    """The exception for `fail`."""
    missing = {
        "object": Ice.ObjectNotExistException,
        "facet": Ice.FacetNotExistException,
        "operation": Ice.OperationNotExistException,
    }
    told = {
        "unknown": Ice.UnknownException,
        "local": Ice.UnknownLocalException,
        "user": Ice.UnknownUserException,
    }
    if kind in missing:
        return missing[kind]()
    if kind in told:
        return told[kind]("told so")
    if kind == "undeclared":
        return Runtime.Undeclared("asked to")
    return Runtime.Refused("asked to") if kind == "refused" else RuntimeError("asked to fail")


class Shared:
    """What all servants of a server have in common."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sum = 0
        self.held = {}
        self.executions = {}
        self.located = 0
        self.finished = 0
        self.located_mode = 0


class Probe(Runtime.Probe):
    def __init__(self, name, shared):
        self._name = name
        self._shared = shared

    def see(self, current=None):
        identity = current.id
        is_oneway = current.requestId == 0
        encoding = f"{current.encoding.major}.{current.encoding.minor}"
        mode = current.mode.value
        where = (identity.category, identity.name, current.facet, current.operation, mode)
        return Runtime.Seen(*where, is_oneway, encoding, current.ctx, self._name)

    peek = see

    def add(self, amount, current=None):
        with self._shared.lock:
            self._shared.sum += amount
            return self._shared.sum

    def total(self, current=None):
        return self._shared.sum

    def reset(self, current=None):
        with self._shared.lock:
            self._shared.sum = 0

    def note(self, ballast, current=None):
        self.add(1)

    def echo(self, data, current=None):
        return data

    def linked(self, current=None):
        return link_of(current.con)

    def hold(self, key, current=None):
        answer = Ice.Future()
        with self._shared.lock:
            self._shared.held.setdefault(key, []).append(answer)
        return answer

    def release(self, key, current=None):
        with self._shared.lock:
            answers = self._shared.held.pop(key, [])
        for answer in answers:
            answer.set_result(key)
        return len(answers)

    def sleep(self, duration, current=None):
        time.sleep(duration / 1000)

    def pause(self, duration, current=None):
        current.adapter.hold()
        threading.Timer(duration / 1000, current.adapter.activate).start()

    def close(self, gracefully, current=None):
        if IS_38:
            current.con.close() if gracefully else current.con.abort()
        else:
            kind = Ice.ConnectionClose
            current.con.close(kind.Gracefully if gracefully else kind.Forcefully)

    def stumble(self, key, current=None):
        with self._shared.lock:
            count = self._shared.executions.get(key, 0) + 1
            self._shared.executions[key] = count
        if count == 1:
            self.close(False, current)
        return count

    stumbleIdempotently = stumble

    def executions(self, key, current=None):
        return self._shared.executions.get(key, 0)

    def callBack(self, category, name, count, current=None):
        callback = Runtime.CallbackPrx.uncheckedCast(current.con.createProxy(Ice.Identity(name, category)))
        total = sum(callback.called(number) for number in range(1, count + 1))
        callback.ice_oneway().told(count)
        return total

    def fail(self, kind, current=None):
        raise failure(kind)

    def located(self, current=None):
        return self._shared.located, self._shared.finished

    def locatedMode(self, current=None):
        return self._shared.located_mode


class Locator(Ice.ServantLocator):
    def __init__(self, servant, shared):
        self._servant = servant
        self._shared = shared

    def locate(self, current):
        if current.id.name == "nobody":
            return None
        with self._shared.lock:
            self._shared.located += 1
            self._shared.located_mode = current.mode.value
        return self._servant, "cookie"

    def finished(self, current, servant, cookie):
        with self._shared.lock:
            self._shared.finished += cookie == "cookie"

    def deactivate(self, category):
        pass


class Forwarder(Ice.Blobject):
    def ice_invoke(self, parameters, current):
        target = current.adapter.createDirectProxy(Ice.Identity(current.id.name, ""))
        return target.ice_invoke(current.operation, current.mode, parameters, current.ctx)


def serve(communicator):
    properties = communicator.getProperties()
    endpoints = properties.getPropertyWithDefault("Server.Endpoints", "tcp -h 127.0.0.1 -p 0")
    properties.setProperty("Server.Endpoints", endpoints)
    adapter = communicator.createObjectAdapter("Server")
    shared = Shared()
    identity = Ice.Identity("probe", "")
    proxy = adapter.add(Probe("probe", shared), identity)
    adapter.addFacet(Probe("side", shared), identity, "side")
    adapter.addDefaultServant(Probe("default", shared), "default")
    adapter.addServantLocator(Locator(Probe("located", shared), shared), "located")
    adapter.addDefaultServant(Forwarder(), "forward")
    adapter.activate()
    print("ready", proxy, flush=True)
    sys.stdin.read()
