// An unmodified Ice for C++ client of Interop.ice.
//
// Usage: client PROXY [--shutdown] [ICE OPTIONS]
//
// PROXY is that of an object "everything". Exercises every operation and prints `ok N checks`, or says on standard
// error what differed and exits with 1. `--shutdown` ends the server afterwards.

#include <Ice/Ice.h>
#include <Interop.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <iostream>
#include <limits>
#include <sstream>
#include <thread>

using namespace Interop;
using namespace std::chrono;

namespace
{

const int callsInFlight = 10000;
const std::size_t blobLen = 900000;
const auto patience = seconds(10);

using EverythingProxy = std::shared_ptr<EverythingPrx>;

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

    template<typename T> void equal(const std::string& what, const T& actual, const T& expected)
    {
        that(what + ": the value differs from the expected one", actual == expected);
    }

    // Runs `call`, which must throw `E`, and hands the exception to `look`.
    template<typename E> void raises(
        const std::string& what, const std::function<void()>& call,
        const std::function<bool(const E&)>& look = [](const E&) { return true; })
    {
        try
        {
            call();
        }
        catch (const E& error)
        {
            that(what + ": got " + error.ice_id() + ", as expected, with other members", look(error));
            return that(what + ": got the derived " + error.ice_id(), error.ice_id() == E::ice_staticId());
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

// The client's own object, which the server calls back.
class CounterServant : public Counter
{
public:
    int value(const Ice::Current&) override { return _sum; }
    int add(int amount, const Ice::Current&) override { return _sum += amount; }

private:
    std::atomic<int> _sum{0};
};

// Sends each of `values` and compares result and out parameter.
#define CHECK_ECHO(Type, Name, ...) \
    for (const Type& value : std::vector<Type>{__VA_ARGS__}) \
    { \
        Type copy{}; \
        const Type result = proxy->echo##Name(value, copy); \
        checks.that("echo" #Name ": the result differs", same(result, value)); \
        checks.that("echo" #Name ": the out parameter differs", same(copy, value)); \
    }

template<typename T> bool same(const T& a, const T& b)
{
    return a == b;
}

// Proxies are compared and not their pointers.
template<typename P> bool same(const std::shared_ptr<P>& a, const std::shared_ptr<P>& b)
{
    return Ice::targetEqualTo(a, b);
}

bool same(const ObjectSeq& a, const ObjectSeq& b)
{
    const auto equal = [](const ObjectSeq::value_type& x, const ObjectSeq::value_type& y) { return same(x, y); };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal);
}

bool same(const StringObjectDict& a, const StringObjectDict& b)
{
    const auto equal = [](const StringObjectDict::value_type& x, const StringObjectDict::value_type& y)
    { return x.first == y.first && same(x.second, y.second); };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal);
}

template<typename T> std::vector<T> extremes()
{
    return {0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

Nested aNested()
{
    const Primitives values{false, 1, -2, -3, -4, 0.25f, 1e-9, "changed", Colour::red};
    return {Point{7, 8}, values, PointSeq{{0, 0}, {1, -1}}, Huge::all};
}

void checkPrimitives(Checks& checks, const EverythingProxy& proxy)
{
    CHECK_ECHO(std::string, String, "", "caf\u00e9 \u4f60\u597d", std::string(254, 'x'), std::string(255, 'x'),
               std::string("nul\0inside", 10))
    CHECK_ECHO(Ice::Byte, Byte, 0, 127, 128, 255)
    CHECK_ECHO(short, Short, extremes<short>())
    CHECK_ECHO(int, Int, extremes<int>())
    CHECK_ECHO(long long int, Long, extremes<long long int>())
    CHECK_ECHO(float, Float, 0.0f, -1.5f, std::numeric_limits<float>::denorm_min(), HUGE_VALF)
    CHECK_ECHO(double, Double, 0.0, 1.0 / 3, -2.5e100, -HUGE_VAL)
    for (const bool value : {true, false})
    {
        bool copy = !value;
        checks.equal("echoBool", proxy->echoBool(value, copy), value);
        checks.equal("copy of echoBool", copy, value);
    }
}

void checkEnumsAndStructs(Checks& checks, const EverythingProxy& proxy)
{
    CHECK_ECHO(Colour, Colour, Colour::red, Colour::green, Colour::blue)
    CHECK_ECHO(Sparse, Sparse, Sparse::first, Sparse::middle, Sparse::last)
    CHECK_ECHO(Wide, Wide, Wide::near, Wide::beyond, Wide::further)
    CHECK_ECHO(Huge, Huge, Huge::none, Huge::page, Huge::all)
    CHECK_ECHO(Point, Point, Point{-1, 2147483647})
    CHECK_ECHO(Primitives, Primitives, Primitives{}, aNested().values)
    CHECK_ECHO(Nested, Nested, Nested{}, aNested())
}

void checkSequences(Checks& checks, const EverythingProxy& proxy)
{
    CHECK_ECHO(BoolSeq, BoolSeq, {}, {true, false, true})
    CHECK_ECHO(ByteSeq, ByteSeq, {}, ByteSeq(300, 7))
    CHECK_ECHO(ShortSeq, ShortSeq, {}, extremes<short>())
    CHECK_ECHO(IntSeq, IntSeq, {}, extremes<int>(), IntSeq(300, -1))
    CHECK_ECHO(LongSeq, LongSeq, {}, LongSeq{0, -5000000000, 5000000000})
    CHECK_ECHO(FloatSeq, FloatSeq, {}, {0.5f, -0.25f})
    CHECK_ECHO(DoubleSeq, DoubleSeq, {}, {0.1, -1e300})
    CHECK_ECHO(StringSeq, StringSeq, StringSeq{}, StringSeq{"", "a", std::string(300, 'u')})
    CHECK_ECHO(ColourSeq, ColourSeq, {}, {Colour::blue, Colour::red})
    CHECK_ECHO(NestedSeq, NestedSeq, NestedSeq{}, NestedSeq{aNested(), Nested{}})
    CHECK_ECHO(ObjectSeq, ObjectSeq, ObjectSeq{}, ObjectSeq{proxy, nullptr, proxy->ice_oneway()})
    CHECK_ECHO(IntSeqSeq, IntSeqSeq, IntSeqSeq{}, IntSeqSeq{{1, 2}, {}, {3}})
    CHECK_ECHO(StringIntDictSeq, StringIntDictSeq, StringIntDictSeq{}, StringIntDictSeq{{{"a", 1}}, {}})
}

void checkDictionaries(Checks& checks, const EverythingProxy& proxy)
{
    StringIntDict many;
    for (int i = 0; i < 300; ++i)
    {
        many[std::to_string(i)] = i;
    }
    CHECK_ECHO(StringIntDict, StringIntDict, StringIntDict{}, many)
    CHECK_ECHO(ColourPointDict, ColourPointDict, {{Colour::green, Point{1, 2}}, {Colour::red, Point{}}})
    CHECK_ECHO(PointStringSeqDict, PointStringSeqDict, {{Point{1, 2}, {"a", "b"}}, {Point{2, 1}, {}}})
    CHECK_ECHO(LongDictDict, LongDictDict, {{-5000000000, {{"low", 1}}}, {5, {}}})
    CHECK_ECHO(StringObjectDict, StringObjectDict, {{"self", proxy}, {"none", nullptr}})
}

void checkProxies(Checks& checks, const EverythingProxy& proxy)
{
    CHECK_ECHO(std::shared_ptr<Ice::ObjectPrx>, Object, nullptr, proxy)
    for (const std::string text : {
             "plain:tcp -h 127.0.0.1 -p 1",
             "cat/name -f facet -o:tcp -h 10.0.0.1 -p 4061 -t 3000 -z:opaque -t 99 -e 1.1 -v AQIDBA==",
             "indirect -D @ adapter",
             "wellknown -O",
             "many:udp -h 239.1.1.1 -p 9:ws -h 127.0.0.1 -p 80 -r /chat",
         })
    {
        const auto parsed = proxy->ice_getCommunicator()->stringToProxy(text);
        CHECK_ECHO(std::shared_ptr<Ice::ObjectPrx>, Object, parsed->ice_encodingVersion(proxy->ice_getEncodingVersion()))
    }
    const auto counter = proxy->ice_identity(Ice::stringToIdentity("a counter"));
    CHECK_ECHO(std::shared_ptr<CounterPrx>, Counter, nullptr, Ice::uncheckedCast<CounterPrx>(counter))
}

void checkEveryType(Checks& checks, const EverythingProxy& original)
{
    for (const auto& encoding : {Ice::Encoding_1_1, Ice::Encoding_1_0})
    {
        // A proxy that travels in encoding 1.0 loses its own encoding and arrives with 1.0.
        const auto proxy = Ice::uncheckedCast<EverythingPrx>(original->ice_encodingVersion(encoding));
        checkPrimitives(checks, proxy);
        checkEnumsAndStructs(checks, proxy);
        checkSequences(checks, proxy);
        checkDictionaries(checks, proxy);
        checkProxies(checks, proxy);
    }
}

void checkResultsAndContext(Checks& checks, const EverythingProxy& proxy)
{
    proxy->nothing();
    int remainder = 0;
    double exact = 0;
    checks.equal("divide", proxy->divide(-7, 2, remainder, exact), -3);
    checks.that("the rest of divide", remainder == -1 && exact == -3.5);
    const StringStringDict context{{"a", "1"}, {"b", ""}};
    checks.equal("no context", proxy->context(), StringStringDict{});
    checks.equal("context of a call", proxy->context(context), context);
    const auto bound = Ice::uncheckedCast<EverythingPrx>(proxy->ice_context(context));
    checks.equal("context of a proxy", bound->context(), context);
}

void checkExceptions(Checks& checks, const EverythingProxy& original)
{
    for (const auto& encoding : {Ice::Encoding_1_1, Ice::Encoding_1_0})
    {
        const auto proxy = Ice::uncheckedCast<EverythingPrx>(original->ice_encodingVersion(encoding));
        const std::function<int(int)> calls[] = {
            [&](int depth) { return proxy->fail(depth); },
            [&](int depth) { return proxy->failAsBase(depth); },
        };
        for (const auto& call : calls)
        {
            checks.equal("no failure", call(0), 0);
            checks.raises<E1>("E1", [&] { call(1); }, [](const E1& e) { return e.code == 11; });
            checks.raises<E2>("E2", [&] { call(2); }, [](const E2& e) { return e.code == 22 && e.reason == "two"; });
            checks.raises<E3>("E3", [&] { call(3); }, [](const E3& e)
            { return e.code == 33 && e.reason == "three" && e.place == Point{3, -3}; });
        }
        checks.raises<Unrelated>("failUnrelated", [&] { proxy->failUnrelated(); });
    }
    checks.raises<Ice::UnknownUserException>("failUndeclared", [&] { original->failUndeclared(); });
    checks.raises<Ice::UnknownException>("failUnknown", [&] { original->failUnknown(); });
}

EverythingProxy addressedTo(const EverythingProxy& proxy, const std::string& name, const std::string& category)
{
    return Ice::uncheckedCast<EverythingPrx>(proxy->ice_identity(Ice::Identity{name, category}));
}

void checkWhatDoesNotExist(Checks& checks, const EverythingProxy& proxy)
{
    const auto nobody = addressedTo(proxy, "nobody", "nowhere");
    checks.raises<Ice::ObjectNotExistException>("no object", [&] { nobody->nothing(); },
        [](const Ice::ObjectNotExistException& e)
        { return e.id == Ice::Identity{"nobody", "nowhere"} && e.operation == "nothing"; });
    const auto faceless = Ice::uncheckedCast<EverythingPrx>(proxy->ice_facet("no facet"));
    checks.raises<Ice::FacetNotExistException>("no facet", [&] { faceless->nothing(); },
        [](const Ice::FacetNotExistException& e) { return e.facet == "no facet"; });
    const auto wrong = Ice::uncheckedCast<CounterPrx>(std::shared_ptr<Ice::ObjectPrx>(proxy));
    checks.raises<Ice::OperationNotExistException>("no operation", [&] { wrong->value(); },
        [](const Ice::OperationNotExistException& e) { return e.operation == "value"; });
    checks.raises<Ice::ObjectNotExistException>("ping of no object", [&] { nobody->ice_ping(); });
}

void checkBuiltInOperations(Checks& checks, const EverythingProxy& proxy)
{
    const StringSeq ids{"::Ice::Object", "::Interop::Calls", "::Interop::Echo", "::Interop::Everything",
                        "::Interop::Failing", "::Interop::Named"};
    proxy->ice_ping();
    checks.equal<std::string>("ice_id", proxy->ice_id(), "::Interop::Everything");
    checks.equal("ice_ids", proxy->ice_ids(), ids);
    for (const auto& id : ids)
    {
        checks.that("ice_isA " + id, proxy->ice_isA(id));
    }
    checks.that("ice_isA of another", !proxy->ice_isA("::Interop::Counter"));
    checks.that("cast to another", !Ice::checkedCast<CounterPrx>(std::shared_ptr<Ice::ObjectPrx>(proxy)));
}

void checkAddressing(Checks& checks, const EverythingProxy& proxy)
{
    const Ice::Byte normal = 0;
    const Ice::Byte idempotent = 2;
    checks.equal("arrival", proxy->arrivedAt(), Arrival{"", "everything", "", "arrivedAt", normal});
    checks.equal("idempotent arrival", proxy->arrivedAtIdempotently(),
                 Arrival{"", "everything", "", "arrivedAtIdempotently", idempotent});
    checks.equal<std::string>("name", proxy->name(), "everything");
    const auto facet = Ice::checkedCast<EverythingPrx>(proxy->ice_facet("facet1"));
    checks.equal<std::string>("name of the facet", facet->name(), "facet1");
    checks.equal<std::string>("facet of the facet", facet->arrivedAt().facet, "facet1");
    const auto anyone = addressedTo(proxy, "anyone", "default");
    checks.equal<std::string>("name of the default servant", anyone->name(), "default");
    checks.equal<std::string>("identity at the default servant", anyone->arrivedAt().name, "anyone");
}

void waitForTicks(Checks& checks, const EverythingProxy& proxy, int expected)
{
    const auto deadline = steady_clock::now() + patience;
    while (proxy->ticks() < expected && steady_clock::now() < deadline)
    {
        std::this_thread::sleep_for(milliseconds(10));
    }
    checks.equal("ticks", proxy->ticks(), expected);
}

void checkTicks(Checks& checks, const EverythingProxy& proxy)
{
    proxy->resetTicks();
    const auto oneway = Ice::uncheckedCast<EverythingPrx>(proxy->ice_oneway());
    for (int i = 0; i < 100; ++i)
    {
        oneway->tick();
    }
    waitForTicks(checks, proxy, 100);
    const auto batch = Ice::uncheckedCast<EverythingPrx>(proxy->ice_batchOneway());
    for (int i = 0; i < 50; ++i)
    {
        batch->tick();
    }
    checks.equal("ticks before the flush", proxy->ticks(), 100);
    batch->ice_flushBatchRequests();
    waitForTicks(checks, proxy, 150);
    if (proxy->ice_toString().find(":udp ") == std::string::npos)
    {
        return;
    }
    const auto datagram = Ice::uncheckedCast<EverythingPrx>(proxy->ice_datagram());
    for (int i = 0; i < 25; ++i)
    {
        datagram->tick();
    }
    waitForTicks(checks, proxy, 175);
    const auto batchDatagram = Ice::uncheckedCast<EverythingPrx>(proxy->ice_batchDatagram());
    for (int i = 0; i < 25; ++i)
    {
        batchDatagram->tick();
    }
    batchDatagram->ice_flushBatchRequests();
    waitForTicks(checks, proxy, 200);
}

void checkLoad(Checks& checks, const EverythingProxy& proxy)
{
    ByteSeq blob(blobLen);
    for (std::size_t i = 0; i < blob.size(); ++i)
    {
        blob[i] = static_cast<Ice::Byte>(i * 7 % 256);
    }
    checks.that("blob", proxy->blob(blob) == blob);
    std::vector<std::future<Echo::EchoIntResult>> futures;
    for (int i = 0; i < callsInFlight; ++i)
    {
        futures.push_back(proxy->echoIntAsync(i));
    }
    bool allAnswered = true;
    for (int i = 0; i < callsInFlight; ++i)
    {
        const auto result = futures[i].get();
        allAnswered = allAnswered && result.returnValue == i && result.copy == i;
    }
    checks.that("calls in flight", allAnswered);
}

void checkTime(Checks& checks, const EverythingProxy& proxy)
{
    const auto start = steady_clock::now();
    proxy->sleep(100);
    checks.that("sleep lasts", steady_clock::now() - start >= milliseconds(99));
    const auto hasty = Ice::uncheckedCast<EverythingPrx>(proxy->ice_invocationTimeout(100));
    checks.raises<Ice::InvocationTimeoutException>("timeout", [&] { hasty->sleep(1000); });
    proxy->nothing();
    const auto connection = proxy->ice_getConnection();
    connection->close(Ice::ConnectionClose::GracefullyWithWait);
    proxy->nothing();
    checks.that("a new connection", proxy->ice_getConnection() != connection);
}

void checkProxiesAtWork(Checks& checks, const EverythingProxy& proxy)
{
    const auto counter = proxy->makeCounter(40);
    checks.equal("the server's counter", counter->add(2), 42);
    checks.equal("the server's counter afterwards", counter->value(), 42);
    const auto communicator = proxy->ice_getCommunicator();
    const auto adapter = communicator->createObjectAdapterWithEndpoints("Client", "tcp -h 127.0.0.1 -p 0");
    const auto own = adapter->addWithUUID(std::make_shared<CounterServant>());
    adapter->activate();
    checks.equal("the client's counter", proxy->useCounter(Ice::uncheckedCast<CounterPrx>(own), 7), 7);
}

int callEverything(int argc, char* argv[])
{
    Ice::CommunicatorHolder communicator(argc, argv);
    if (argc < 2)
    {
        throw Failed("expected a proxy as the first argument, got none");
    }
    Checks checks;
    const auto proxy = Ice::checkedCast<EverythingPrx>(communicator->stringToProxy(argv[1]));
    checks.that("checked cast", proxy != nullptr);
    checkEveryType(checks, proxy);
    checkResultsAndContext(checks, proxy);
    checkExceptions(checks, proxy);
    checkWhatDoesNotExist(checks, proxy);
    checkBuiltInOperations(checks, proxy);
    checkAddressing(checks, proxy);
    checkTicks(checks, proxy);
    checkLoad(checks, proxy);
    checkTime(checks, proxy);
    checkProxiesAtWork(checks, proxy);
    if (argc > 2 && std::string(argv[2]) == "--shutdown")
    {
        proxy->shutdown();
    }
    std::cout << "ok " << checks.count() << " checks" << std::endl;
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return callEverything(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
