"""The client of Runtime.ice."""

import re
import sys
import threading
import time

import Ice
import Runtime
from servant import IS_38, failure, link_of

PATIENCE = 20.0  # seconds
CALLS_IN_FLIGHT = 2_000


class Checks:
    """Counts what held, and ends the program at what did not."""

    def __init__(self):
        self.count = 0

    def equal(self, what, actual, expected):
        if actual != expected:
            sys.exit(f"failed: {what}: expected {expected!r}, got {actual!r}")
        self.count += 1

    def becomes(self, what, ask, expected):
        deadline = time.monotonic() + PATIENCE
        answer = ask()
        while answer != expected and time.monotonic() < deadline:
            time.sleep(0.002)
            answer = ask()
        self.equal(what, answer, expected)

    def raises(self, what, kind, call):
        try:
            result = call()
        except Ice.Exception as error:
            if type(error) is not kind:
                sys.exit(f"failed: {what}: expected {kind.__name__}, got {error!r}")
            self.count += 1
            return error
        sys.exit(f"failed: {what}: expected {kind.__name__}, got the result {result!r}")


class Callback(Runtime.Callback):
    def __init__(self):
        self.heard = []

    def called(self, number, current=None):
        return number + 1

    def told(self, number, current=None):
        self.heard.append(number)


def addressed(proxy, category, name):
    return Runtime.ProbePrx.uncheckedCast(proxy.ice_identity(Ice.Identity(name, category)))


def check_requests(checks, proxy):
    seen = proxy.see()
    checks.equal("request", seen, Runtime.Seen("", "probe", "", "see", 0, False, "1.1", {}, "probe"))
    old = proxy.ice_encodingVersion(Ice.Encoding_1_0)
    checks.equal("encoding", old.see().encoding, "1.0")
    implicit = proxy.ice_getCommunicator().getImplicitContext()
    implicit.put("a", "implicit")
    implicit.put("b", "implicit")
    bound = proxy.ice_context({"b": "proxy"})
    checks.equal("contexts", bound.see().context, {"a": "implicit", "b": "proxy"})
    checks.equal("context of a call", bound.see({"a": "call"}).context, {"a": "call"})
    implicit.remove("a")
    implicit.remove("b")


def check_modes(checks, proxy):
    """Ice 3.7 tells apart two modes of what may be repeated, Ice 3.8 sends one."""
    older = 2 if IS_38 else 1
    checks.equal("mode", proxy.see().mode, 0)
    checks.equal("mode of nonmutating", proxy.peek().mode, older)
    located = addressed(proxy, "located", "someone")
    for name in ("ice_ping", "ice_id", "ice_ids", "total"):
        getattr(located, name)()
        checks.equal(f"mode of {name}", proxy.locatedMode(), 2 if name == "total" else older)


def check_servants(checks, proxy):
    side = Runtime.ProbePrx.checkedCast(proxy, "side")
    seen = side.see()
    checks.equal("facet", (seen.servant, seen.facet), ("side", "side"))
    faceless = Runtime.ProbePrx.uncheckedCast(proxy, "none")
    error = checks.raises("no facet", Ice.FacetNotExistException, faceless.see)
    checks.equal("which facet", error.facet, "none")
    seen = addressed(proxy, "default", "anyone").see()
    checks.equal("default servant", (seen.servant, seen.category, seen.name), ("default", "default", "anyone"))
    before, _ = proxy.located()
    located = addressed(proxy, "located", "someone")
    checks.equal("servant locator", located.see().servant, "located")
    located.ice_ping()
    checks.raises("failure at a located servant", Runtime.Refused, lambda: located.fail("refused"))
    checks.becomes("servant locator finished", proxy.located, (before + 3, before + 3))
    missing = addressed(proxy, "located", "nobody")
    error = checks.raises("servant locator without it", Ice.ObjectNotExistException, missing.ice_ping)
    checks.equal("whom it did not find", Ice.identityToString(error.id), "located/nobody")


def text_of(error):
    return str(error) if IS_38 else error.unknown


def check_locator_failures(checks, proxy):
    for name, reason in (("refused", "locate"), ("unfinished", "finished")):
        located = addressed(proxy, "located", name)
        error = checks.raises(f"locator that fails: {name}", Runtime.Refused, lambda: located.fail("refused"))
        checks.equal(f"what the locator said: {name}", error.reason, reason)
        error = checks.raises(f"locator, undeclared: {name}", Ice.UnknownUserException, located.see)
        checks.equal(f"undeclared of locator: {text_of(error)}", "::Runtime::Refused" in text_of(error), True)


def check_failures(checks, proxy):
    for kind in ("object", "facet", "operation"):
        side = Runtime.ProbePrx.uncheckedCast(proxy, "side")
        error = checks.raises(kind, type(failure(kind)), lambda: side.fail(kind))
        where = (Ice.identityToString(error.id), error.facet, error.operation)
        checks.equal(f"fields of {kind}", where, ("probe", "side", "fail"))
    for kind in ("unknown", "local", "user"):
        error = checks.raises(kind, type(failure(kind)), lambda: proxy.fail(kind))
        checks.equal(f"text of {kind}: {text_of(error)}", "told so" in text_of(error), True)
    error = checks.raises("undeclared", Ice.UnknownUserException, lambda: proxy.fail("undeclared"))
    checks.equal(f"text of undeclared: {text_of(error)}", "::Runtime::Undeclared" in text_of(error), True)
    error = checks.raises("refused", Runtime.Refused, lambda: proxy.fail("refused"))
    checks.equal("reason", error.reason, "asked to")
    error = checks.raises("other", Ice.UnknownException, lambda: proxy.fail("other"))
    checks.equal(f"text of other: {text_of(error)}", "asked to fail" in text_of(error), True)
    mode = Ice.OperationMode.Normal
    error = checks.raises(
        "no operation", Ice.OperationNotExistException, lambda: proxy.ice_invoke("nothing", mode, b"\6\0\0\0\1\1")
    )
    checks.equal("which operation", error.operation, "nothing")


def check_forwarding(checks, proxy):
    forwarded = addressed(proxy, "forward", "probe")
    seen = forwarded.see({"key": "value"})
    checks.equal("forwarded", (seen.name, seen.category, seen.context), ("probe", "", {"key": "value"}))
    checks.raises("forwarded user exception", Runtime.Refused, lambda: forwarded.fail("refused"))
    nobody = addressed(proxy, "forward", "nobody")
    error = checks.raises("forwarded to nobody", Ice.ObjectNotExistException, nobody.see)
    checks.equal("whom there is not", Ice.identityToString(error.id), "nobody")
    answer = proxy.ice_invoke("echo", Ice.OperationMode.Normal, b"\x09\0\0\0\1\1\2ab")
    checks.equal("untyped", (answer[0], bytes(answer[1])), (True, b"\x09\0\0\0\1\1\2ab"))


def check_order(checks, proxy):
    order = []
    futures = []
    for key in (1, 2, 3):
        future = proxy.holdAsync(key)
        future.add_done_callback(lambda future: order.append(future.result()))
        futures.append(future)
    for key in (3, 1, 2):
        checks.becomes("release", lambda: proxy.release(key), 1)
        futures[key - 1].result()
    checks.becomes("order of answers", lambda: order, [3, 1, 2])


def check_giving_up(checks, proxy):
    future = proxy.holdAsync(4)
    future.cancel()
    checks.raises("cancelled", Ice.InvocationCanceledException, future.result)
    hasty = proxy.ice_invocationTimeout(50)
    checks.raises("too slow", Ice.InvocationTimeoutException, lambda: hasty.hold(4))
    # What was cancelled before it left is never there.
    deadline = time.monotonic() + PATIENCE
    while proxy.release(4) == 0 and time.monotonic() < deadline:
        time.sleep(0.002)
    checks.equal("after late answers", proxy.echo(b"x"), b"x")


def check_many(checks, proxy):
    proxy.reset()
    futures = [proxy.addAsync(1) for _ in range(CALLS_IN_FLIGHT)]
    answers = sorted(future.result() for future in futures)
    checks.equal("calls in flight", answers, list(range(1, CALLS_IN_FLIGHT + 1)))


def check_batches(checks, proxy):
    proxy.reset()
    batch = proxy.ice_batchOneway()
    for _ in range(20):
        batch.note(bytes(100))
    deadline = time.monotonic() + PATIENCE
    while proxy.total() < 14 and time.monotonic() < deadline:
        time.sleep(0.002)
    checks.equal("flushed by size", 14 <= proxy.total() < 20, True)
    batch.ice_flushBatchRequests()
    checks.becomes("flush of a proxy", proxy.total, 20)
    connection = proxy.ice_getConnection()
    fixed = proxy.ice_fixed(connection).ice_batchOneway()
    fixed.note(b"")
    connection.flushBatchRequests(Ice.CompressBatch.BasedOnProxy)
    checks.becomes("flush of a connection", proxy.total, 21)
    fixed.note(b"")
    proxy.ice_getCommunicator().flushBatchRequests(Ice.CompressBatch.Yes)
    checks.becomes("flush of all", proxy.total, 22)


def check_datagrams(checks, proxy):
    """To each endpoint for them."""
    for endpoint in proxy.ice_getEndpoints():
        if not endpoint.getInfo().datagram():
            continue
        proxy.reset()
        single = proxy.ice_datagram().ice_endpoints([endpoint])
        batch = single.ice_batchDatagram()
        for _ in range(10):
            single.note(b"x")
            batch.note(b"x")
        batch.ice_flushBatchRequests()
        checks.becomes(f"datagrams to {endpoint}", proxy.total, 20)


def check_links(checks, proxy):
    own, theirs = link_of(proxy.ice_getConnection()), proxy.linked()
    checks.equal("directions", (own.isIncoming, theirs.isIncoming), (False, True))
    checks.equal("transport", own.transport, theirs.transport)
    checks.equal("ports", (own.localPort, own.remotePort), (theirs.remotePort, theirs.localPort))
    checks.equal("hosts", (own.localHost, own.remoteHost), (theirs.remoteHost, theirs.localHost))
    is_encrypted = own.transport in ("ssl", "wss")
    checks.equal("encrypted", (own.isEncrypted, theirs.isEncrypted), (is_encrypted, is_encrypted))
    checks.equal("certificates", (own.certificateCount > 0, theirs.certificateCount > 0), (is_encrypted, is_encrypted))
    other = proxy.ice_connectionId("other")
    checks.equal("connection id", other.linked().remotePort == theirs.remotePort, False)
    checks.equal("the same id", proxy.ice_connectionId("other").linked(), other.linked())
    source = re.sub(r" -h 127.0.0.1 ", " -h 127.0.0.1 --sourceAddress 127.0.0.2 ", proxy.ice_toString())
    elsewhere = Runtime.ProbePrx.uncheckedCast(proxy.ice_getCommunicator().stringToProxy(source))
    elsewhere = elsewhere.ice_connectionId("source").ice_endpointSelection(Ice.EndpointSelectionType.Ordered)
    checks.equal("source address", elsewhere.linked().remoteHost, "127.0.0.2")


def check_selection(checks, proxy):
    streams = [e for e in proxy.ice_getEndpoints() if not e.getInfo().datagram()]
    ports = [port_of(endpoint) for endpoint in streams]
    if len(ports) < 2:
        return
    proxy = proxy.ice_connectionCached(False)
    ordered = proxy.ice_endpointSelection(Ice.EndpointSelectionType.Ordered)
    checks.equal("ordered", {ordered.linked().localPort for _ in range(10)}, {ports[0]})
    at_random = proxy.ice_endpointSelection(Ice.EndpointSelectionType.Random)
    checks.equal("random", {at_random.linked().localPort for _ in range(60)}, set(ports))


def port_of(endpoint):
    info = endpoint.getInfo()
    while info.underlying is not None:
        info = info.underlying
    return info.port


def check_dead_endpoint(checks, original):
    """A proxy with the endpoints of another behind one where nobody listens."""
    endpoints = original.ice_getEndpoints()
    dead = re.sub(r" -p [0-9]+", " -p 1", endpoints[0].toString())
    nobody = original.ice_getCommunicator().stringToProxy(f"probe:{dead}")
    proxy = original.ice_endpoints(nobody.ice_getEndpoints() + endpoints)
    checks.equal("endpoints", len(proxy.ice_getEndpoints()), len(endpoints) + 1)
    ordered = proxy.ice_connectionId("dead").ice_endpointSelection(Ice.EndpointSelectionType.Ordered)
    checks.equal("the first is dead", ordered.linked().localPort, port_of(endpoints[0]))
    # A new id means that a connection must be made.
    for connection_id in "abcdefgh":
        at_random = proxy.ice_connectionId(connection_id).ice_endpointSelection(Ice.EndpointSelectionType.Random)
        checks.equal("one of them is dead", at_random.linked().localPort == 1, False)


def check_callbacks(checks, proxy):
    connection = proxy.ice_getConnection()
    fixed = proxy.ice_fixed(connection)
    error = checks.raises("no adapter", Ice.ObjectNotExistException, lambda: fixed.callBack("", "back", 1))
    checks.equal("whom it called", Ice.identityToString(error.id), "back")
    adapter = proxy.ice_getCommunicator().createObjectAdapter("")
    callback = Callback()
    adapter.add(callback, Ice.Identity("back", "client"))
    connection.setAdapter(adapter)
    checks.equal("called back", fixed.callBack("client", "back", 10), 65)
    checks.becomes("told back", lambda: callback.heard, [10])
    connection.setAdapter(None)
    checks.raises("no adapter any more", Ice.ObjectNotExistException, lambda: fixed.callBack("client", "back", 1))


def check_server_closes(checks, proxy):
    """What the server has not begun when it closes is sent again, and executed once."""
    aside = proxy.ice_connectionId("aside")
    held = proxy.holdAsync(5)
    proxy.reset()
    before = proxy.linked()
    futures = [proxy.addAsync(1) for _ in range(50)]
    closing = proxy.closeAsync(True)
    futures += [proxy.addAsync(1) for _ in range(50)]
    threading.Timer(0.05, lambda: checks.becomes("release while closing", lambda: aside.release(5), 1)).start()
    closing.result()
    checks.equal("answer while closing", held.result(), 5)
    for future in futures:
        future.result()
    checks.equal("each once", proxy.total(), 100)
    checks.equal("a new connection", proxy.linked().remotePort == before.remotePort, False)


def check_client_closes(checks, proxy):
    """A graceful close waits for the replies that are due."""
    connection = proxy.ice_getConnection()
    slow = proxy.sleepAsync(100)
    proxy.ice_ping()
    if IS_38:
        connection.close().result()
    else:
        connection.close(Ice.ConnectionClose.GracefullyWithWait)
    slow.result()
    proxy.ice_ping()
    checks.equal("closed by the client", proxy.ice_getConnection() == connection, False)


def check_client_drops(checks, proxy):
    """A close that does not wait ends what is waited for, at this end alone."""
    for is_graceful in (False,) if IS_38 else (False, True):
        connection = proxy.ice_getConnection()
        held = proxy.holdAsync(6)
        proxy.ice_ping()
        if IS_38:
            connection.abort()
            checks.raises("dropped", Ice.ConnectionAbortedException, held.result)
        else:
            kind = Ice.ConnectionClose
            connection.close(kind.Gracefully if is_graceful else kind.Forcefully)
            error = checks.raises("dropped", Ice.ConnectionManuallyClosedException, held.result)
            checks.equal("how it was dropped", error.graceful, is_graceful)
        checks.becomes("it was begun", lambda: proxy.release(6), 1)


def check_retries(checks, proxy):
    key = f"{time.time()}"
    checks.raises("not repeated", Ice.ConnectionLostException, lambda: proxy.stumble(key))
    checks.equal("executed once", proxy.executions(key), 1)
    checks.equal("repeated", proxy.stumbleIdempotently(key + "i"), 2)


def check_flow(checks, proxy):
    proxy.reset()
    oneway = proxy.ice_oneway()
    proxy.pause(200)
    futures = [oneway.noteAsync(bytes(200_000)) for _ in range(100)]
    checks.equal("made to wait", all(future.is_sent_synchronously() for future in futures), False)
    checks.becomes("all arrives", proxy.total, 100)


def call(communicator, text):
    checks = Checks()
    proxy = Runtime.ProbePrx.checkedCast(communicator.stringToProxy(text))
    checks.equal("checked cast", proxy is not None, True)
    check_requests(checks, proxy)
    check_modes(checks, proxy)
    check_servants(checks, proxy)
    check_locator_failures(checks, proxy)
    check_failures(checks, proxy)
    check_forwarding(checks, proxy)
    check_order(checks, proxy)
    check_giving_up(checks, proxy)
    check_many(checks, proxy)
    check_batches(checks, proxy)
    check_datagrams(checks, proxy)
    check_links(checks, proxy)
    check_selection(checks, proxy)
    check_dead_endpoint(checks, proxy)
    check_callbacks(checks, proxy)
    check_server_closes(checks, proxy)
    check_client_closes(checks, proxy)
    check_client_drops(checks, proxy)
    check_retries(checks, proxy)
    check_flow(checks, proxy)
    print(f"ok {checks.count} checks", flush=True)


def ping(communicator, text):
    properties = communicator.getProperties()
    proxy = Runtime.ProbePrx.uncheckedCast(communicator.stringToProxy(text))
    try:
        if properties.getPropertyAsInt("Ping.Idle") > 0:
            proxy.ice_ping()
            time.sleep(properties.getPropertyAsInt("Ping.Idle") / 1000)
        if properties.getPropertyAsInt("Ping.Paused") > 0:
            proxy.ice_ping()
            print("paused", flush=True)
            sys.stdin.read()
        if properties.getPropertyAsInt("Ping.Length") > 0:
            proxy.echo(bytes(properties.getPropertyAsInt("Ping.Length")))
        if properties.getPropertyAsInt("Ping.Sleep") > 0:
            proxy.sleep(properties.getPropertyAsInt("Ping.Sleep"))
        proxy.ice_ping()
        print("pong", flush=True)
    except Ice.Exception as error:
        print("failed", type(error).__name__, flush=True)


def tell(communicator, text):
    Runtime.ProbePrx.uncheckedCast(communicator.stringToProxy(text)).note(b"x")
    print("told", flush=True)


ROLES = {"call": call, "ping": ping, "tell": tell}
