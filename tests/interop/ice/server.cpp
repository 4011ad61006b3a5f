// An unmodified Ice for C++ server of Interop.ice.
//
// Usage: server [ICE OPTIONS]
//
// Prints `ready PROXY` on standard output, PROXY being that of the object "everything". Ends when standard input does,
// or when the operation `shutdown` is called. `--Server.Endpoints=...` listens elsewhere than on a free port of loopback.

#include <Ice/Ice.h>
#include <Interop.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace Interop;

namespace
{

// A sum that callers add to.
class CounterServant : public Counter
{
public:
    explicit CounterServant(int start) : _sum(start) {}

    int value(const Ice::Current&) override { return _sum; }
    int add(int amount, const Ice::Current&) override { return _sum += amount; }

private:
    std::atomic<int> _sum;
};

// Returns a parameter as result and as out parameter.
#define ECHO(Type, Name) \
    Type echo##Name(Type value, Type& copy, const Ice::Current&) override { copy = value; return value; }

class EverythingServant : public Everything
{
public:
    explicit EverythingServant(std::string name) : _name(std::move(name)) {}

    std::string name(const Ice::Current&) override { return _name; }

    ECHO(bool, Bool)
    ECHO(Ice::Byte, Byte)
    ECHO(short, Short)
    ECHO(int, Int)
    ECHO(long long int, Long)
    ECHO(float, Float)
    ECHO(double, Double)
    ECHO(std::string, String)
    ECHO(Colour, Colour)
    ECHO(Sparse, Sparse)
    ECHO(Wide, Wide)
    ECHO(Huge, Huge)
    ECHO(Point, Point)
    ECHO(Primitives, Primitives)
    ECHO(Nested, Nested)
    ECHO(BoolSeq, BoolSeq)
    ECHO(ByteSeq, ByteSeq)
    ECHO(ShortSeq, ShortSeq)
    ECHO(IntSeq, IntSeq)
    ECHO(LongSeq, LongSeq)
    ECHO(FloatSeq, FloatSeq)
    ECHO(DoubleSeq, DoubleSeq)
    ECHO(StringSeq, StringSeq)
    ECHO(ColourSeq, ColourSeq)
    ECHO(NestedSeq, NestedSeq)
    ECHO(ObjectSeq, ObjectSeq)
    ECHO(IntSeqSeq, IntSeqSeq)
    ECHO(StringIntDictSeq, StringIntDictSeq)
    ECHO(StringIntDict, StringIntDict)
    ECHO(ColourPointDict, ColourPointDict)
    ECHO(PointStringSeqDict, PointStringSeqDict)
    ECHO(LongDictDict, LongDictDict)
    ECHO(StringObjectDict, StringObjectDict)
    ECHO(std::shared_ptr<Ice::ObjectPrx>, Object)
    ECHO(std::shared_ptr<CounterPrx>, Counter)

    ByteSeq blob(ByteSeq data, const Ice::Current&) override { return data; }

    int fail(int depth, const Ice::Current&) override
    {
        switch (depth)
        {
        case 1:
            throw E1(11);
        case 2:
            throw E2(22, "two");
        case 3:
            throw E3(33, "three", Point{3, -3});
        default:
            return depth;
        }
    }

    int failAsBase(int depth, const Ice::Current& current) override { return fail(depth, current); }
    void failUnrelated(const Ice::Current&) override { throw Unrelated(); }
    void failUndeclared(const Ice::Current&) override { throw Unrelated(); }
    void failUnknown(const Ice::Current&) override { throw std::runtime_error("asked to fail"); }

    void nothing(const Ice::Current&) override {}

    int divide(int dividend, int divisor, int& remainder, double& exact, const Ice::Current&) override
    {
        remainder = dividend % divisor;
        exact = static_cast<double>(dividend) / divisor;
        return dividend / divisor;
    }

    StringStringDict context(const Ice::Current& current) override { return current.ctx; }

    Arrival arrivedAt(const Ice::Current& current) override
    {
        const auto mode = static_cast<Ice::Byte>(current.mode);
        return {current.id.category, current.id.name, current.facet, current.operation, mode};
    }

    Arrival arrivedAtIdempotently(const Ice::Current& current) override { return arrivedAt(current); }

    void tick(const Ice::Current&) override { ++_ticks; }
    int ticks(const Ice::Current&) override { return _ticks; }
    void resetTicks(const Ice::Current&) override { _ticks = 0; }

    void sleep(int duration, const Ice::Current&) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(duration));
    }

    std::shared_ptr<CounterPrx> makeCounter(int start, const Ice::Current& current) override
    {
        auto servant = std::make_shared<CounterServant>(start);
        return Ice::uncheckedCast<CounterPrx>(current.adapter->addWithUUID(servant));
    }

    int useCounter(std::shared_ptr<CounterPrx> counter, int times, const Ice::Current&) override
    {
        for (int i = 0; i < times; ++i)
        {
            counter->add(1);
        }
        return counter->value();
    }

    void shutdown(const Ice::Current& current) override { current.adapter->getCommunicator()->shutdown(); }

private:
    const std::string _name;
    std::atomic<int> _ticks{0};
};

void shutDownAtEndOfInput(std::shared_ptr<Ice::Communicator> communicator)
{
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
    communicator->shutdown();
}

int serve(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    settings.properties->parseCommandLineOptions("Server", Ice::StringSeq(argv, argv + argc));
    // A sleeping operation must not hold up the others.
    settings.properties->setProperty("Ice.ThreadPool.Server.Size", "4");
    settings.properties->setProperty("Ice.ThreadPool.Server.SizeMax", "16");
    settings.properties->setProperty("Ice.Warn.Dispatch", "0");
    Ice::CommunicatorHolder holder(settings);
    const auto communicator = holder.communicator();
    const auto endpoints =
        settings.properties->getPropertyWithDefault("Server.Endpoints", "tcp -h 127.0.0.1 -p 0");
    const auto adapter = communicator->createObjectAdapterWithEndpoints("Server", endpoints);
    const auto identity = Ice::stringToIdentity("everything");
    const auto proxy = adapter->add(std::make_shared<EverythingServant>("everything"), identity);
    adapter->addFacet(std::make_shared<EverythingServant>("facet1"), identity, "facet1");
    adapter->addDefaultServant(std::make_shared<EverythingServant>("default"), "default");
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    std::thread(shutDownAtEndOfInput, communicator).detach();
    communicator->waitForShutdown();
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return serve(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
