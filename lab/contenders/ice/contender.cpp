// Ice, in C++: what an Ice program of a user would do, with Ice's default settings.
//
// The command line is that of all contenders: `server CASE`, or `client CASE MILLIS ADDRESS`.

#include <Ice/Ice.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Calls.h"

namespace
{

using Clock = std::chrono::steady_clock;

class CallsServant : public FloeLab::Calls
{
public:
    void nothing(const Ice::Current&) override {}
};

// Lives until its stdin ends.
void serve(const std::shared_ptr<Ice::Communicator>& communicator)
{
    auto adapter = communicator->createObjectAdapterWithEndpoints("Lab", "tcp -h 127.0.0.1 -p 0");
    auto proxy = adapter->add(std::make_shared<CallsServant>(), Ice::stringToIdentity("calls"));
    adapter->activate();
    std::cout << proxy->ice_toString() << std::endl;
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}

void printSample(const std::vector<std::pair<double, long>>& durations)
{
    std::cout << "{\"calls\": [" << std::fixed << std::setprecision(2);
    for (std::size_t i = 0; i < durations.size(); ++i)
    {
        std::cout << (i > 0 ? "," : "") << '[' << durations[i].first << ',' << durations[i].second << ']';
    }
    std::cout << "]}" << std::endl;
}

// Times what follows one another: the end of one is the start of the next. `work` makes `count` calls, each of
// which takes its share. Those of the warm-up, a quarter of the time, do not count.
template<typename Work> void measure(long millis, long count, Work work)
{
    std::vector<std::pair<double, long>> durations;
    durations.reserve(1 << 20);
    auto started = Clock::now();
    const auto measureFrom = started + std::chrono::milliseconds(millis) / 4;
    const auto measureUntil = measureFrom + std::chrono::milliseconds(millis);
    while (started < measureUntil || durations.empty())
    {
        work();
        const auto ended = Clock::now();
        if (started >= measureFrom)
        {
            const std::chrono::duration<double, std::nano> elapsed = ended - started;
            durations.emplace_back(elapsed.count() / count, count);
        }
        started = ended;
    }
    printSample(std::move(durations));
}

void call(const std::shared_ptr<Ice::Communicator>& communicator, const std::string& name, long millis, const std::string& address)
{
    auto calls = Ice::uncheckedCast<FloeLab::CallsPrx>(communicator->stringToProxy(address));
    calls->nothing();
    if (name == "twoway" || name == "twoway-blocking")
    {
        measure(millis, 1, [&] { calls->nothing(); });
    }
    else if (name == "ami")
    {
        measure(millis, 1, [&] { calls->nothingAsync().get(); });
    }
    else if (name == "ami-1000")
    {
        std::vector<std::future<void>> inFlight(1000);
        measure(millis, 1000, [&] {
            for (auto& call : inFlight)
            {
                call = calls->nothingAsync();
            }
            for (auto& call : inFlight)
            {
                call.get();
            }
        });
    }
    else if (name == "oneway")
    {
        auto oneway = calls->ice_oneway();
        measure(millis, 10000, [&] {
            for (int i = 0; i < 10000; ++i)
            {
                oneway->nothing();
            }
            calls->nothing();
        });
    }
    else if (name == "batch")
    {
        auto batch = calls->ice_batchOneway();
        measure(millis, 100 * 1000, [&] {
            for (int i = 0; i < 100; ++i)
            {
                for (int k = 0; k < 1000; ++k)
                {
                    batch->nothing();
                }
                batch->ice_flushBatchRequests();
            }
            calls->nothing();
        });
    }
    else
    {
        throw std::invalid_argument("expected a case of the scenario rpc, got " + name);
    }
}

}

int main(int argc, char* argv[])
{
    try
    {
        Ice::CommunicatorHolder communicator(argc, argv);
        const std::string role = argc > 1 ? argv[1] : "";
        if (role == "server" && argc == 3)
        {
            serve(communicator.communicator());
            return 0;
        }
        if (role == "client" && argc == 5)
        {
            call(communicator.communicator(), argv[2], std::stol(argv[3]), argv[4]);
            return 0;
        }
        std::cerr << "expected: server CASE, or client CASE MILLIS ADDRESS" << std::endl;
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << std::endl;
    }
    return 1;
}
