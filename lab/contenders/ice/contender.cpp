// Ice, in C++: what an Ice program of a user would do, with Ice's default settings.
//
// The command line is that of all contenders: `server CASE`, or `client CASE MILLIS ADDRESS`.

#include <Ice/Ice.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <limits>
#include <memory>
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

void printSample(std::vector<long long> durations)
{
    std::sort(durations.begin(), durations.end());
    std::cout << "{\"calls\": [";
    for (std::size_t start = 0, end = 0; start < durations.size(); start = end)
    {
        while (end < durations.size() && durations[end] == durations[start])
        {
            ++end;
        }
        std::cout << (start > 0 ? "," : "") << '[' << durations[start] << ',' << end - start << ']';
    }
    std::cout << "]}" << std::endl;
}

// Times calls that follow one another: the end of one is the start of the next. Those of the warm-up,
// a quarter of the time, do not count; one call at least does.
void call(const std::shared_ptr<Ice::Communicator>& communicator, long millis, const std::string& address)
{
    auto calls = Ice::uncheckedCast<FloeLab::CallsPrx>(communicator->stringToProxy(address));
    calls->nothing();
    std::vector<long long> durations;
    durations.reserve(1 << 20);
    auto started = Clock::now();
    const auto measureFrom = started + std::chrono::milliseconds(millis) / 4;
    const auto measureUntil = measureFrom + std::chrono::milliseconds(millis);
    while (started < measureUntil || durations.empty())
    {
        calls->nothing();
        const auto ended = Clock::now();
        if (started >= measureFrom)
        {
            durations.push_back(std::chrono::nanoseconds(ended - started).count());
        }
        started = ended;
    }
    printSample(std::move(durations));
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
            call(communicator.communicator(), std::stol(argv[3]), argv[4]);
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
