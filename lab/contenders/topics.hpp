// What the contenders of the scenario `pubsub-rtt` in C++ have in common: the command line, the values, the clock.
//
// A program defines `lab::ping` and `lab::reply`, which connect, and block for as long as the process lives. The command line
// is that of `lab/src/contender/topics/mod.rs`; `pinger.rs` there does the same in Rust.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace lab
{

const std::int32_t PRIMERS = 100;
const std::int32_t MEASURED = 700;
const std::int32_t PROBE = -1;
const std::chrono::milliseconds PROBE_INTERVAL(5);
const std::size_t INNER_COUNT = 4;

[[noreturn]] inline void fail(const std::string& what)
{
    throw std::runtime_error(what);
}

// For threads that nobody catches.
[[noreturn]] inline void die(const std::string& what)
{
    std::cerr << what << std::endl;
    _exit(1);
}

inline void announce(const std::string& line)
{
    std::cout << line << std::endl;
}

inline void announceService(const std::string& address)
{
    announce("{\"address\": \"" + address + "\", \"pid\": " + std::to_string(getpid()) + "}");
}

// One case.
struct Task
{
    explicit Task(const std::string& name)
    {
        const auto dash = name.find('-');
        if (dash == std::string::npos)
        {
            fail("expected a case of the scenario pubsub-rtt, got " + name);
        }
        isNested = name.substr(0, dash) == "nested";
        count = std::stoul(name.substr(dash + 1));
    }

    std::vector<std::uint8_t> bytes() const
    {
        std::vector<std::uint8_t> values(count);
        for (std::size_t index = 0; index < count; ++index)
        {
            values[index] = static_cast<std::uint8_t>(index * 31 + index / 256);
        }
        return values;
    }

    bool isNested;
    // Bytes or records.
    std::size_t count;
};

// A number in front of bytes, for those whose messages are bytes.
inline std::vector<std::uint8_t> message(std::int32_t number, const std::vector<std::uint8_t>& payload)
{
    std::vector<std::uint8_t> message(sizeof number + payload.size());
    std::memcpy(message.data(), &number, sizeof number);
    std::memcpy(message.data() + sizeof number, payload.data(), payload.size());
    return message;
}

// The number of a message, which is checked to be one of the case.
inline std::int32_t numberOf(const void* data, std::size_t len, const std::vector<std::uint8_t>& payload)
{
    std::int32_t number = 0;
    if (len != sizeof number + payload.size() ||
        std::memcmp(static_cast<const std::uint8_t*>(data) + sizeof number, payload.data(), payload.size()) != 0)
    {
        die("expected the message of the case, got another");
    }
    std::memcpy(&number, data, sizeof number);
    return number;
}

// Publishes a message of the case with this number.
using Publish = std::function<void(std::int32_t)>;

// Publishes each message when the one before was answered, in the thread that gets the answer.
class Pinger
{
public:
    explicit Pinger(Publish publish) : publish_(std::move(publish)) { nanoseconds_.reserve(MEASURED); }

    // Until the way is open.
    void probe()
    {
        while (pending_ == PROBE)
        {
            publish_(PROBE);
            std::this_thread::sleep_for(PROBE_INTERVAL);
        }
    }

    // For a program with one thread, which looks for an answer between two probes.
    bool isOpen() const { return pending_ != PROBE; }

    void answered(std::int32_t number)
    {
        const auto now = Clock::now();
        if (number != pending_)
        {
            if (number == PROBE)
            {
                return;
            }
            die("expected an answer to message " + std::to_string(pending_) + ", got one to " + std::to_string(number));
        }
        if (number >= PRIMERS)
        {
            nanoseconds_.push_back(std::chrono::duration<double, std::nano>(now - published_).count());
        }
        const std::int32_t next = number + 1;
        if (next == PRIMERS + MEASURED)
        {
            print();
            return;
        }
        published_ = Clock::now();
        pending_ = next;
        publish_(next);
    }

private:
    using Clock = std::chrono::steady_clock;

    void print() const
    {
        std::ostringstream line;
        line << "{\"calls\": [" << std::fixed << std::setprecision(2);
        const char* separator = "";
        for (const auto nanoseconds : nanoseconds_)
        {
            line << separator << '[' << nanoseconds << ",1]";
            separator = ",";
        }
        line << "]}";
        announce(line.str());
    }

    Publish publish_;
    std::atomic<std::int32_t> pending_{PROBE};
    Clock::time_point published_;
    std::vector<double> nanoseconds_;
};

void ping(const Task& task, const std::string& address);
void reply(const Task& task, const std::string& address);

#ifdef LAB_SERVICE
// Runs the service, and prints where it is reached with `announceService`.
void service();
#endif

}

int main(int argc, char* argv[])
{
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        const bool isClient = argc == 6 && (role == "pinger" || role == "replier");
        if (!isClient && !(argc == 3 && role == "service"))
        {
            std::cerr << "expected: pinger or replier, CASE MILLIS ADDRESS INDEX" << std::endl;
            return 1;
        }
        // The end says that all is over.
        std::thread([] {
            std::string line;
            while (std::getline(std::cin, line))
            {
            }
            _exit(0);
        }).detach();
        const lab::Task task(argv[2]);
        if (role == "pinger")
        {
            lab::ping(task, argv[4]);
        }
        else if (role == "replier")
        {
            lab::reply(task, argv[4]);
        }
#ifdef LAB_SERVICE
        else
        {
            lab::service();
        }
#endif
        while (true)
        {
            pause();
        }
    }
    catch (const std::exception& error)
    {
        lab::die(error.what());
    }
}
