// What the contenders of the scenario `rpc` in C++ have in common: the command line, the values, the clock.
//
// A program defines `lab::serve`, which prints one line with `lab::announce` and returns when its stdin ends
// (`lab::waitForEnd`), and `lab::call`, which measures one of the cases. The command line is that of
// `lab/src/contender/mod.rs`; the values are those of `lab/src/contender/codec/value.rs`.

#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace lab
{

const int IN_FLIGHT = 1000;
const int COUNTED_BATCH_LEN = 100;
const long PACED_CALLS = 7;
const std::chrono::milliseconds PACE(250);

// A message with a million doubles is shorter.
const int MESSAGE_LEN_MAX = 16 << 20;

enum class Work { Twoway, TwowayBlocking, Ami, AmiMany, Oneway, Batch, Echo, AckBytes, AckNested };

// The values of the numbers.
inline std::uint8_t byteAt(std::size_t index)
{
    return static_cast<std::uint8_t>(index * 31 + index / 256);
}

inline double doubleAt(std::size_t index)
{
    return static_cast<double>(index) * 0.001;
}

const std::size_t INNER_COUNT = 4;

inline std::int64_t integerAt(std::size_t outer, std::size_t inner)
{
    return static_cast<std::int64_t>(outer * INNER_COUNT + inner);
}

inline double numberAt(std::size_t outer, std::size_t inner)
{
    return static_cast<double>(integerAt(outer, inner)) * 0.25;
}

inline std::vector<std::uint8_t> bytes(std::size_t count)
{
    std::vector<std::uint8_t> values(count);
    for (std::size_t index = 0; index < count; ++index)
    {
        values[index] = byteAt(index);
    }
    return values;
}

inline std::vector<double> doubles(std::size_t count)
{
    std::vector<double> values(count);
    for (std::size_t index = 0; index < count; ++index)
    {
        values[index] = doubleAt(index);
    }
    return values;
}

// What acknowledges bytes: 256 times their number, plus the last one. Records are acknowledged with the sum of
// all integers and all doubles in them.
inline std::int64_t ackOfBytes(const void* data, std::size_t len)
{
    return 256 * static_cast<std::int64_t>(len) + (len > 0 ? static_cast<const std::uint8_t*>(data)[len - 1] : 0);
}

[[noreturn]] inline void fail(const std::string& message)
{
    throw std::runtime_error(message);
}

template<class T>
void expect(const char* what, const T& expected, const T& came)
{
    if (expected != came)
    {
        std::ostringstream text;
        text << std::setprecision(17) << "expected " << what << " to be " << expected << ", got " << came;
        fail(text.str());
    }
}

// What a server is reached by.
inline void announce(const std::string& address)
{
    std::cout << address << std::endl;
}

inline void waitForEnd()
{
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}

// For a server whose own loop never ends.
inline void endWithStdin()
{
    std::thread([] {
        waitForEnd();
        std::_Exit(0);
    }).detach();
}

// Where a server listens, in the folder that the lab gives to each process and removes with all that is in it.
inline std::string socketPath()
{
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/tmp") + "/floe-lab-" + std::to_string(getpid()) + ".socket";
}

// One case; and, in a client, how it is measured.
class Task
{
public:
    Task(const std::string& name, long millis) : name(name), millis_(millis)
    {
        std::string rest = name;
        isPolling = cut(rest, "-poll");
        isUnix = cut(rest, "-unix");
        const auto counted = rest.rfind("-x");
        if (counted != std::string::npos)
        {
            calls_ = std::stol(rest.substr(counted + 2));
            oneways = static_cast<int>(calls_);
            batchLen = COUNTED_BATCH_LEN;
            batches = oneways / batchLen;
            rest.resize(counted);
        }
        if (rest.rfind("rtt-", 0) == 0)
        {
            isPaced_ = true;
            calls_ = PACED_CALLS;
            rest = "echo-" + rest.substr(4);
        }
        if (rest == "twoway") { work = Work::Twoway; }
        else if (rest == "twoway-blocking") { work = Work::TwowayBlocking; }
        else if (rest == "ami") { work = Work::Ami; }
        else if (rest == "ami-1000") { work = Work::AmiMany; }
        else if (rest == "oneway") { work = Work::Oneway; }
        else if (rest == "batch") { work = Work::Batch; }
        else if (rest.rfind("echo-", 0) == 0) { sized(Work::Echo, rest); }
        else if (rest.rfind("ack-bytes-", 0) == 0) { sized(Work::AckBytes, rest); }
        else if (rest.rfind("ack-nested-", 0) == 0) { sized(Work::AckNested, rest); }
        else { fail("expected a case of the scenario rpc, got " + name); }
    }

    // `once()` makes `count` calls together, and another one of the same operation for each `uncounted`. Then
    // `counted()` asks the server how often the operation was called: none may be lost or doubled.
    template<class Once, class Counted>
    void measureCalls(int count, int uncounted, Once once, Counted counted)
    {
        once();
        const long repeated = 1 + repeat(count, once);
        const std::int64_t expected = static_cast<std::int64_t>(repeated) * (count + uncounted);
        expect<std::int64_t>("the count of calls", expected, counted());
        print();
    }

    // `call(check)` makes a call, and `check(count, at)` with the doubles that come back: how many, and a
    // function from index to value. All are compared before and after, and the last one in each call.
    template<class Call>
    void measureEcho(Call call)
    {
        const auto checkAll = [this](std::size_t came, auto at) {
            expect("the count of an echo", count, came);
            for (std::size_t index = 0; index < count; ++index)
            {
                expect("a number of an echo", doubleAt(index), static_cast<double>(at(index)));
            }
        };
        const auto checkEnd = [this](std::size_t came, auto at) {
            expect("the count of an echo", count, came);
            expect("the last number of an echo", doubleAt(count - 1), static_cast<double>(at(count - 1)));
        };
        call(checkAll);
        repeat(1, [&] { call(checkEnd); });
        call(checkAll);
        print();
    }

    // `call()` gives the acknowledgement.
    template<class Call>
    void measureAck(Call call)
    {
        const double expected = expectedAck();
        const auto once = [&] { expect("the acknowledgement", expected, static_cast<double>(call())); };
        once();
        repeat(1, once);
        print();
    }

    // For a case that this contender does not offer.
    [[noreturn]] void refuse() const { fail("this contender does not offer " + name); }

    const std::string name;
    Work work;
    bool isUnix;
    bool isPolling;
    // Doubles, bytes or records.
    std::size_t count = 0;
    // Calls without a reply between two with one.
    int oneways = 10000;
    // Calls of a batch, and batches between two calls with a reply.
    int batchLen = 1000;
    int batches = 100;

private:
    using Clock = std::chrono::steady_clock;

    static bool cut(std::string& text, const std::string& end)
    {
        if (text.size() < end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0)
        {
            return false;
        }
        text.resize(text.size() - end.size());
        return true;
    }

    void sized(Work kind, const std::string& text)
    {
        work = kind;
        count = std::stoul(text.substr(text.rfind('-') + 1));
    }

    double expectedAck() const
    {
        if (work == Work::AckBytes)
        {
            const std::uint8_t last = byteAt(count - 1);
            return static_cast<double>(256 * count + last);
        }
        double sum = 0;
        for (std::size_t outer = 0; outer < count; ++outer)
        {
            for (std::size_t inner = 0; inner < INNER_COUNT; ++inner)
            {
                sum += static_cast<double>(integerAt(outer, inner)) + numberAt(outer, inner);
            }
        }
        return sum;
    }

    // Times what follows one another: the end of one is the start of the next. `once` makes `count` calls, each of
    // which takes its share. Those of the warm-up, a quarter of the time, do not count. Where the case says how many calls
    // are made, all of them count, whatever time they take; paced calls are made at regular times. Returns how often.
    template<class Once>
    long repeat(long count, Once once)
    {
        durations_.reserve(1 << 18);
        long repeated = 0;
        auto started = Clock::now();
        auto due = started;
        const auto measureFrom = calls_ > 0 ? started : started + std::chrono::milliseconds(millis_) / 4;
        const auto measureUntil = measureFrom + std::chrono::milliseconds(millis_);
        while (calls_ > 0 ? repeated * count < calls_ : started < measureUntil || durations_.empty())
        {
            if (isPaced_)
            {
                due += PACE;
                std::this_thread::sleep_until(due);
                started = Clock::now();
            }
            once();
            ++repeated;
            const auto ended = Clock::now();
            if (started >= measureFrom)
            {
                const std::chrono::duration<double, std::nano> elapsed = ended - started;
                durations_.emplace_back(elapsed.count() / count, count);
            }
            started = ended;
        }
        return repeated;
    }

    void print() const
    {
        std::cout << "{\"calls\": [" << std::fixed << std::setprecision(2);
        const char* separator = "";
        for (const auto& [nanoseconds, count] : durations_)
        {
            std::cout << separator << '[' << nanoseconds << ',' << count << ']';
            separator = ",";
        }
        std::cout << "]}" << std::endl;
    }

    const long millis_;
    // 0 for as many as fit into the time.
    long calls_ = 0;
    bool isPaced_ = false;
    std::vector<std::pair<double, long>> durations_;
};

void serve(const Task& task);
void call(Task& task, const std::string& address);

}

int main(int argc, char* argv[])
{
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        if (role == "server" && argc == 3)
        {
            lab::serve(lab::Task(argv[2], 0));
            return 0;
        }
        if (role == "client" && argc == 5)
        {
            lab::Task task(argv[2], std::stol(argv[3]));
            lab::call(task, argv[4]);
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
