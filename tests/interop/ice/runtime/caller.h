// The client of Runtime.ice.

#pragma once

#include "servant.h"

#include <functional>
#include <future>
#include <limits>
#include <set>

using Probes = std::shared_ptr<Runtime::ProbePrx>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int callsInFlight = 2000;
constexpr auto patience = seconds(20);

struct Failed : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

// Counts what held, and throws at what did not.
class Checks
{
public:
    void that(const std::string& what, bool holds)
    {
        if (!holds)
        {
            throw Failed(what);
        }
        ++_count;
    }

    template<typename T, typename U> void equal(const std::string& what, const T& actual, const U& expected)
    {
        that(what + ": the value differs from the expected one", actual == expected);
    }

    // Asks until the answer holds.
    void becomes(const std::string& what, const std::function<bool()>& holds)
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        bool isSo = holds();
        while (!isSo && std::chrono::steady_clock::now() < deadline)
        {
            std::this_thread::sleep_for(milliseconds(2));
            isSo = holds();
        }
        that(what + ": it does not come about", isSo);
    }

    // Runs `call`, which must throw `E`; gives what it threw.
    template<typename E> E raises(const std::string& what, const std::function<void()>& call)
    {
        try
        {
            call();
        }
        catch (const E& error)
        {
            that(what + ": got the derived " + error.ice_id(), error.ice_id() == E::ice_staticId());
            return error;
        }
        catch (const Ice::Exception& error)
        {
            throw Failed(what + ": expected " + E::ice_staticId().data() + ", got " + error.what());
        }
        throw Failed(what + ": expected " + E::ice_staticId().data() + ", got a result");
    }

    int count() const { return _count; }

private:
    int _count = 0;
};

class CallbackServant : public Runtime::Callback
{
public:
    int called(int number, const Ice::Current&) override { return number + 1; }
    void told(int number, const Ice::Current&) override { heard = number; }

    std::atomic<int> heard{0};
};

inline Probes addressed(const Probes& proxy, const std::string& category, const std::string& name)
{
    return Ice::uncheckedCast<Runtime::ProbePrx>(proxy->ice_identity(Ice::Identity{name, category}));
}

inline void checkRequests(Checks& checks, const Probes& proxy)
{
    const Runtime::Seen expected{"", "probe", "", "see", 0, false, "1.1", {}, "probe"};
    checks.equal("request", proxy->see(), expected);
    checks.equal("encoding", proxy->ice_encodingVersion(Ice::Encoding_1_0)->see().encoding, "1.0");
    const auto implicit = proxy->ice_getCommunicator()->getImplicitContext();
    implicit->setContext({{"a", "implicit"}, {"b", "implicit"}});
    const auto bound = proxy->ice_context({{"b", "proxy"}});
    checks.equal("contexts", bound->see().context, Runtime::Texts{{"a", "implicit"}, {"b", "proxy"}});
    checks.equal("context of a call", bound->see({{"a", "call"}}).context, Runtime::Texts{{"a", "call"}});
    implicit->setContext({});
}

inline void checkModes(Checks& checks, const Probes& proxy)
{
    checks.equal("mode", proxy->see().mode, 0);
    checks.equal("mode of nonmutating", proxy->peek().mode, 1);
    const auto located = addressed(proxy, "located", "someone");
    located->ice_ping();
    checks.equal("mode of ice_ping", proxy->locatedMode(), 1);
    located->total();
    checks.equal("mode of idempotent", proxy->locatedMode(), 2);
    located->ice_ids();
    checks.equal("mode of ice_ids", proxy->locatedMode(), 1);
}

inline void checkServants(Checks& checks, const Probes& proxy)
{
    const auto side = Ice::checkedCast<Runtime::ProbePrx>(proxy, "side");
    checks.that("facet", side->see().servant == "side" && side->see().facet == "side");
    checks.that("cast to no facet", !Ice::checkedCast<Runtime::ProbePrx>(proxy, "none"));
    const auto faceless = Ice::uncheckedCast<Runtime::ProbePrx>(proxy, "none");
    const auto noFacet = checks.raises<Ice::FacetNotExistException>("no facet", [&] { faceless->see(); });
    checks.equal("which facet", noFacet.facet, "none");
    const auto seen = addressed(proxy, "default", "anyone")->see();
    checks.that("default servant", seen.servant == "default" && seen.category == "default" && seen.name == "anyone");
    int finished = 0;
    const int before = proxy->located(finished);
    const auto located = addressed(proxy, "located", "someone");
    checks.equal("servant locator", located->see().servant, "located");
    located->ice_ping();
    checks.raises<Runtime::Refused>("failure at a located servant", [&] { located->fail("refused"); });
    checks.becomes("servant locator finished",
                   [&] { return proxy->located(finished) == before + 3 && finished == before + 3; });
    const auto missing = addressed(proxy, "located", "nobody");
    const auto error = checks.raises<Ice::ObjectNotExistException>("none located", [&] { missing->ice_ping(); });
    checks.equal("whom it did not find", Ice::identityToString(error.id), "located/nobody");
}

inline void checkLocatorFailures(Checks& checks, const Probes& proxy)
{
    for (const auto& [name, reason] : std::map<std::string, std::string>{{"refused", "locate"}, {"unfinished", "finished"}})
    {
        const auto located = addressed(proxy, "located", name);
        const auto error = checks.raises<Runtime::Refused>("locator: " + name, [&] { located->fail("refused"); });
        checks.equal("what the locator said: " + name, error.reason, reason);
        const auto other = checks.raises<Ice::UnknownUserException>("undeclared: " + name, [&] { located->see(); });
        checks.that("undeclared of locator: " + name, other.unknown.find("::Runtime::Refused") != std::string::npos);
    }
}

template<typename E> void checkMissing(Checks& checks, const Probes& proxy, const std::string& kind)
{
    const auto error = checks.raises<E>(kind, [&] { proxy->fail(kind); });
    checks.that("fields of " + kind, error.id.name == "probe" && error.facet == "side" && error.operation == "fail");
}

template<typename E> void checkText(Checks& checks, const Probes& proxy, const std::string& kind, const char* text)
{
    const auto error = checks.raises<E>(kind, [&] { proxy->fail(kind); });
    checks.that("text of " + kind + ": " + error.unknown, error.unknown.find(text) != std::string::npos);
}

inline void checkFailures(Checks& checks, const Probes& proxy)
{
    const auto side = Ice::uncheckedCast<Runtime::ProbePrx>(proxy, "side");
    checkMissing<Ice::ObjectNotExistException>(checks, side, "object");
    checkMissing<Ice::FacetNotExistException>(checks, side, "facet");
    checkMissing<Ice::OperationNotExistException>(checks, side, "operation");
    checkText<Ice::UnknownException>(checks, proxy, "unknown", "told so");
    checkText<Ice::UnknownLocalException>(checks, proxy, "local", "told so");
    checkText<Ice::UnknownUserException>(checks, proxy, "user", "told so");
    checkText<Ice::UnknownException>(checks, proxy, "other", "asked to fail");
    checkText<Ice::UnknownUserException>(checks, proxy, "undeclared", "::Runtime::Undeclared");
    const auto refused = checks.raises<Runtime::Refused>("refused", [&] { proxy->fail("refused"); });
    checks.equal("reason", refused.reason, "asked to");
    std::vector<Ice::Byte> answer;
    const auto error = checks.raises<Ice::OperationNotExistException>("no operation", [&] {
        proxy->ice_invoke("nothing", Ice::OperationMode::Normal, {6, 0, 0, 0, 1, 1}, answer);
    });
    checks.equal("which operation", error.operation, "nothing");
}

inline void checkForwarding(Checks& checks, const Probes& proxy)
{
    const auto forwarded = addressed(proxy, "forward", "probe");
    const auto seen = forwarded->see({{"key", "value"}});
    checks.that("forwarded", seen.name == "probe" && seen.category.empty() && seen.context.at("key") == "value");
    checks.raises<Runtime::Refused>("forwarded user exception", [&] { forwarded->fail("refused"); });
    const auto nobody = addressed(proxy, "forward", "nobody");
    const auto error = checks.raises<Ice::ObjectNotExistException>("forwarded to nobody", [&] { nobody->see(); });
    checks.equal("whom there is not", Ice::identityToString(error.id), "nobody");
    const std::vector<Ice::Byte> two{9, 0, 0, 0, 1, 1, 2, 'a', 'b'};
    std::vector<Ice::Byte> answer;
    checks.that("untyped", proxy->ice_invoke("echo", Ice::OperationMode::Normal, two, answer) && answer == two);
}

inline void checkOrder(Checks& checks, const Probes& proxy)
{
    std::mutex mutex;
    std::vector<int> order;
    const auto orderSoFar = [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        return order;
    };
    for (const int key : {1, 2, 3})
    {
        proxy->holdAsync(key, [&](int answer) {
            const std::lock_guard<std::mutex> lock(mutex);
            order.push_back(answer);
        });
    }
    std::vector<int> expected;
    for (const int key : {3, 1, 2})
    {
        checks.becomes("release", [&] { return proxy->release(key) == 1; });
        expected.push_back(key);
        checks.becomes("order of answers", [&] { return orderSoFar() == expected; });
    }
}

inline void checkGivingUp(Checks& checks, const Probes& proxy)
{
    std::promise<void> cancelled;
    const auto cancel = proxy->holdAsync(
        4, [](int) {}, [&](std::exception_ptr error) { cancelled.set_exception(error); });
    cancel();
    checks.raises<Ice::InvocationCanceledException>("cancelled", [&] { cancelled.get_future().get(); });
    const auto hasty = proxy->ice_invocationTimeout(50);
    checks.raises<Ice::InvocationTimeoutException>("too slow", [&] { hasty->hold(4); });
    checks.becomes("release of what nobody waits for", [&] { return proxy->release(4) > 0; });
    checks.equal("after late answers", proxy->echo({1}), Runtime::Bytes{1});
}

inline void checkMany(Checks& checks, const Probes& proxy)
{
    proxy->reset();
    std::vector<std::future<int>> futures;
    for (int i = 0; i < callsInFlight; ++i)
    {
        futures.push_back(proxy->addAsync(1));
    }
    std::set<int> answers;
    for (auto& future : futures)
    {
        answers.insert(future.get());
    }
    checks.that("calls in flight", answers.size() == callsInFlight && *answers.rbegin() == callsInFlight);
}

inline void checkBatches(Checks& checks, const Probes& proxy)
{
    proxy->reset();
    const auto batch = proxy->ice_batchOneway();
    for (int i = 0; i < 20; ++i)
    {
        batch->note(Runtime::Bytes(100));
    }
    checks.becomes("flushed by size", [&] { return proxy->total() >= 14; });
    checks.that("not all flushed by size", proxy->total() < 20);
    batch->ice_flushBatchRequests();
    checks.becomes("flush of a proxy", [&] { return proxy->total() == 20; });
    const auto connection = proxy->ice_getConnection();
    const auto fixed = proxy->ice_fixed(connection)->ice_batchOneway();
    fixed->note({});
    connection->flushBatchRequests(Ice::CompressBatch::BasedOnProxy);
    checks.becomes("flush of a connection", [&] { return proxy->total() == 21; });
    fixed->note({});
    proxy->ice_getCommunicator()->flushBatchRequests(Ice::CompressBatch::Yes);
    checks.becomes("flush of all", [&] { return proxy->total() == 22; });
}

// To each endpoint for them.
inline void checkDatagrams(Checks& checks, const Probes& proxy)
{
    for (const auto& endpoint : proxy->ice_getEndpoints())
    {
        if (!endpoint->getInfo()->datagram())
        {
            continue;
        }
        proxy->reset();
        const auto single = Ice::uncheckedCast<Runtime::ProbePrx>(proxy->ice_datagram()->ice_endpoints({endpoint}));
        const auto batch = single->ice_batchDatagram();
        for (int i = 0; i < 10; ++i)
        {
            single->note({1});
            batch->note({1});
        }
        batch->ice_flushBatchRequests();
        checks.becomes("datagrams to " + endpoint->toString(), [&] { return proxy->total() == 20; });
    }
}

inline void checkLinks(Checks& checks, const Probes& proxy)
{
    const auto own = linkOf(proxy->ice_getConnection());
    const auto theirs = proxy->linked();
    checks.that("directions", !own.isIncoming && theirs.isIncoming);
    checks.equal("transport", own.transport, theirs.transport);
    checks.that("ports", own.localPort == theirs.remotePort && own.remotePort == theirs.localPort);
    checks.that("hosts", own.localHost == theirs.remoteHost && own.remoteHost == theirs.localHost);
    const bool isEncrypted = own.transport == "ssl" || own.transport == "wss";
    checks.that("encrypted", own.isEncrypted == isEncrypted && theirs.isEncrypted == isEncrypted);
    checks.that("certificates",
                (own.certificateCount > 0) == isEncrypted && (theirs.certificateCount > 0) == isEncrypted);
    const auto other = proxy->ice_connectionId("other");
    checks.that("connection id", other->linked().remotePort != theirs.remotePort);
    checks.equal("the same id", proxy->ice_connectionId("other")->linked(), other->linked());
    std::string source = proxy->ice_toString();
    const std::string host = " -h 127.0.0.1 ";
    source.replace(source.find(host), host.size(), " -h 127.0.0.1 --sourceAddress 127.0.0.2 ");
    const auto parsed = proxy->ice_getCommunicator()->stringToProxy(source);
    // Another connection to one of the endpoints would be preferred.
    const auto ordered = parsed->ice_connectionId("source")->ice_endpointSelection(Ice::EndpointSelectionType::Ordered);
    const auto elsewhere = Ice::uncheckedCast<Runtime::ProbePrx>(ordered);
    checks.equal("source address", elsewhere->linked().remoteHost, "127.0.0.2");
}

inline int portOf(const std::shared_ptr<Ice::Endpoint>& endpoint)
{
    auto info = endpoint->getInfo();
    while (info->underlying)
    {
        info = info->underlying;
    }
    return std::dynamic_pointer_cast<Ice::IPEndpointInfo>(info)->port;
}

inline void checkSelection(Checks& checks, const Probes& original)
{
    std::vector<int> ports;
    for (const auto& endpoint : original->ice_getEndpoints())
    {
        if (!endpoint->getInfo()->datagram())
        {
            ports.push_back(portOf(endpoint));
        }
    }
    if (ports.size() < 2)
    {
        return;
    }
    const auto proxy = original->ice_connectionCached(false);
    const auto portsUsed = [&proxy](Ice::EndpointSelectionType selection, int count) {
        std::set<int> used;
        for (int i = 0; i < count; ++i)
        {
            used.insert(proxy->ice_endpointSelection(selection)->linked().localPort);
        }
        return used;
    };
    checks.equal("ordered", portsUsed(Ice::EndpointSelectionType::Ordered, 10), std::set<int>{ports[0]});
    checks.equal("random", portsUsed(Ice::EndpointSelectionType::Random, 60), std::set<int>(ports.begin(), ports.end()));
}

// The endpoints of a proxy behind another, where nobody listens.
inline Probes behindDead(const Probes& proxy)
{
    auto endpoints = proxy->ice_getEndpoints();
    auto dead = endpoints.front()->toString();
    const auto port = dead.find(" -p ");
    dead.replace(port, dead.find(' ', port + 4) - port, " -p 1");
    const auto nobody = proxy->ice_getCommunicator()->stringToProxy("probe:" + dead);
    endpoints.insert(endpoints.begin(), nobody->ice_getEndpoints().front());
    return Ice::uncheckedCast<Runtime::ProbePrx>(proxy->ice_endpoints(endpoints));
}

inline void checkDeadEndpoint(Checks& checks, const Probes& original)
{
    const auto proxy = behindDead(original);
    checks.equal("endpoints", proxy->ice_getEndpoints().size(), original->ice_getEndpoints().size() + 1);
    const auto port = portOf(original->ice_getEndpoints().front());
    const auto ordered = proxy->ice_connectionId("dead")->ice_endpointSelection(Ice::EndpointSelectionType::Ordered);
    checks.equal("the first is dead", ordered->linked().localPort, port);
    // A new id means that a connection must be made.
    for (const auto* id : {"a", "b", "c", "d", "e", "f", "g", "h"})
    {
        const auto random = proxy->ice_connectionId(id)->ice_endpointSelection(Ice::EndpointSelectionType::Random);
        checks.that("one of them is dead", random->linked().localPort != 1);
    }
}

inline void checkCallbacks(Checks& checks, const Probes& proxy)
{
    const auto connection = proxy->ice_getConnection();
    const auto fixed = proxy->ice_fixed(connection);
    const auto call = [&] { return fixed->callBack("client", "back", 10); };
    const auto error = checks.raises<Ice::ObjectNotExistException>("no adapter", [&] { call(); });
    checks.equal("whom it called", Ice::identityToString(error.id), "client/back");
    const auto adapter = proxy->ice_getCommunicator()->createObjectAdapter("");
    const auto callback = std::make_shared<CallbackServant>();
    adapter->add(callback, Ice::Identity{"back", "client"});
    connection->setAdapter(adapter);
    checks.equal("called back", call(), 65);
    checks.becomes("told back", [&] { return callback->heard == 10; });
    connection->setAdapter(nullptr);
    checks.raises<Ice::ObjectNotExistException>("no adapter any more", [&] { call(); });
}

// What the server has not begun when it closes is sent again, and executed once.
inline void checkServerCloses(Checks& checks, const Probes& proxy)
{
    const auto aside = proxy->ice_connectionId("aside");
    auto held = proxy->holdAsync(5);
    proxy->reset();
    const auto before = proxy->linked();
    std::vector<std::future<int>> futures;
    const auto add = [&](int count) {
        for (int i = 0; i < count; ++i)
        {
            futures.push_back(proxy->addAsync(1));
        }
    };
    add(50);
    auto closing = proxy->closeAsync(true);
    add(50);
    std::this_thread::sleep_for(milliseconds(50));
    checks.becomes("release while closing", [&] { return aside->release(5) == 1; });
    closing.get();
    checks.equal("answer while closing", held.get(), 5);
    for (auto& future : futures)
    {
        future.get();
    }
    checks.equal("each once", proxy->total(), 100);
    checks.that("a new connection", proxy->linked().remotePort != before.remotePort);
}

// A graceful close waits for the replies that are due.
inline void checkClientCloses(Checks& checks, const Probes& proxy)
{
    const auto connection = proxy->ice_getConnection();
    auto slow = proxy->sleepAsync(100);
    proxy->ice_ping();
    connection->close(Ice::ConnectionClose::GracefullyWithWait);
    slow.get();
    proxy->ice_ping();
    checks.that("closed by the client", proxy->ice_getConnection() != connection);
}

// A close that does not wait ends what is waited for, at this end alone.
inline void checkClientDrops(Checks& checks, const Probes& proxy)
{
    for (const auto how : {Ice::ConnectionClose::Forcefully, Ice::ConnectionClose::Gracefully})
    {
        const auto connection = proxy->ice_getConnection();
        auto held = proxy->holdAsync(6);
        proxy->ice_ping();
        connection->close(how);
        const auto error = checks.raises<Ice::ConnectionManuallyClosedException>("dropped", [&] { held.get(); });
        checks.equal("how it was dropped", error.graceful, how == Ice::ConnectionClose::Gracefully);
        checks.becomes("it was begun", [&] { return proxy->release(6) == 1; });
    }
}

inline void checkRetries(Checks& checks, const Probes& proxy)
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto key = std::to_string(now);
    checks.raises<Ice::ConnectionLostException>("not repeated", [&] { proxy->stumble(key); });
    checks.equal("executed once", proxy->executions(key), 1);
    checks.equal("repeated", proxy->stumbleIdempotently(key + "i"), 2);
}

inline void checkFlow(Checks& checks, const Probes& proxy)
{
    proxy->reset();
    const auto oneway = proxy->ice_oneway();
    proxy->pause(200);
    std::atomic<int> waited{0};
    std::atomic<int> sent{0};
    for (int i = 0; i < 100; ++i)
    {
        oneway->noteAsync(Runtime::Bytes(200000), [] {}, nullptr, [&](bool isSynchronous) {
            waited += !isSynchronous;
            ++sent;
        });
    }
    checks.becomes("all arrives", [&] { return proxy->total() == 100 && sent == 100; });
    checks.that("made to wait", waited > 0);
}

inline void call(const std::shared_ptr<Ice::Communicator>& communicator, const std::string& text)
{
    Checks checks;
    const auto proxy = Ice::checkedCast<Runtime::ProbePrx>(communicator->stringToProxy(text));
    checks.that("checked cast", proxy != nullptr);
    checkRequests(checks, proxy);
    checkModes(checks, proxy);
    checkServants(checks, proxy);
    checkLocatorFailures(checks, proxy);
    checkFailures(checks, proxy);
    checkForwarding(checks, proxy);
    checkOrder(checks, proxy);
    checkGivingUp(checks, proxy);
    checkMany(checks, proxy);
    checkBatches(checks, proxy);
    checkDatagrams(checks, proxy);
    checkLinks(checks, proxy);
    checkSelection(checks, proxy);
    checkDeadEndpoint(checks, proxy);
    checkCallbacks(checks, proxy);
    checkServerCloses(checks, proxy);
    checkClientCloses(checks, proxy);
    checkClientDrops(checks, proxy);
    checkRetries(checks, proxy);
    checkFlow(checks, proxy);
    std::cout << "ok " << checks.count() << " checks" << std::endl;
}

inline void ping(const std::shared_ptr<Ice::Communicator>& communicator, const std::string& text)
{
    const auto properties = communicator->getProperties();
    const auto proxy = Ice::uncheckedCast<Runtime::ProbePrx>(communicator->stringToProxy(text));
    const int idle = properties->getPropertyAsInt("Ping.Idle");
    const int sleep = properties->getPropertyAsInt("Ping.Sleep");
    const int length = properties->getPropertyAsInt("Ping.Length");
    try
    {
        if (idle > 0)
        {
            proxy->ice_ping();
            std::this_thread::sleep_for(milliseconds(idle));
        }
        if (properties->getPropertyAsInt("Ping.Paused") > 0)
        {
            proxy->ice_ping();
            std::cout << "paused" << std::endl;
            std::cin.ignore(std::numeric_limits<std::streamsize>::max());
        }
        if (length > 0)
        {
            proxy->echo(Runtime::Bytes(static_cast<std::size_t>(length)));
        }
        if (sleep > 0)
        {
            proxy->sleep(sleep);
        }
        proxy->ice_ping();
        std::cout << "pong" << std::endl;
    }
    catch (const Ice::Exception& error)
    {
        std::cout << "failed " << error.ice_id().substr(error.ice_id().rfind(':') + 1) << std::endl;
    }
}

inline void tell(const std::shared_ptr<Ice::Communicator>& communicator, const std::string& text)
{
    Ice::uncheckedCast<Runtime::ProbePrx>(communicator->stringToProxy(text))->note({1});
    std::cout << "told" << std::endl;
}
