// What the contenders of the scenario `events` in C++ have in common: the command line, the numbers, the clock.
//
// A program defines `lab::publisher`, which connects and gives what publishes, and `lab::subscriber`, which hands each
// number to a tally and returns or blocks. The command line and the numbers are those of
// `lab/src/contender/events/`: `mod.rs`, `number.rs`, `publishing.rs` and `tally.rs` have the same in Rust.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <time.h>
#include <unistd.h>

namespace lab
{

const int BATCH_LEN = 1000;
const int SMALL_BATCH_LEN = 100;
const std::chrono::milliseconds INTERVAL(2);
const std::chrono::milliseconds PROBE_INTERVAL(5);

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<std::int64_t>;

// Publishes the events of a batch, or one where events are acknowledged; returns when the service has acknowledged
// it, or has taken the batch.
using Publish = std::function<void(const Numbers&)>;

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

// Nanoseconds on the one clock that all processes of a host share.
inline std::uint64_t now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

enum class What : std::uint64_t { Probe, Tick, Mark, End };

inline std::int64_t encode(What what, int publisher, std::uint64_t value)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(what) << 61 |
                                     static_cast<std::uint64_t>(publisher) << 56 | value);
}

// What a process shall do.
struct Task
{
    Task(const std::string& name, long millis, int index) : millis(millis), index(index)
    {
        const auto first = name.find('-');
        const auto second = name.find('-', first + 1);
        if (first == std::string::npos || second == std::string::npos)
        {
            fail("expected a case of the scenario events, got " + name);
        }
        work = name.substr(0, first);
        publishers = std::stoi(name.substr(first + 1, second - first - 1));
        subscribers = std::stoi(name.substr(second + 1));
    }

    bool isLatency() const { return work == "latency"; }
    // Events say when they were published.
    bool isTimed() const { return isLatency() || work == "load"; }
    bool isBatched() const { return work == "batched" || work == "batched100"; }
    // Events that a publisher hands over together.
    int batchLen() const { return !isBatched() ? 1 : work == "batched" ? BATCH_LEN : SMALL_BATCH_LEN; }

    std::string work;
    int publishers;
    int subscribers;
    long millis;
    int index;
};

// Counts the events of a subscriber. It is not for several threads at a time.
class Tally
{
public:
    explicit Tally(const Task& task)
        : task_(task), heard_(static_cast<std::size_t>(task.publishers)), unheard_(task.publishers), unended_(task.publishers)
    {
        delays_.reserve(1 << 16);
    }

    void take(std::int64_t number)
    {
        const auto bits = static_cast<std::uint64_t>(number);
        const auto value = bits & ((1ULL << 56) - 1);
        const auto index = static_cast<std::size_t>(bits >> 56 & 31);
        if (index >= heard_.size())
        {
            die("expected " + std::to_string(heard_.size()) + " publishers, got number " + std::to_string(index));
        }
        Heard& heard = heard_[index];
        switch (static_cast<What>(bits >> 61 & 3))
        {
        case What::Probe:
            if (!heard.isHeard)
            {
                heard.isHeard = true;
                if (--unheard_ == 0)
                {
                    announce("ready");
                }
            }
            break;
        case What::Tick:
            tick(heard, index, value);
            break;
        case What::Mark:
            expectCount(heard, index, value);
            heard.isMeasured = true;
            if (from_ == 0)
            {
                from_ = now();
            }
            break;
        case What::End:
            expectCount(heard, index, value);
            if (--unended_ == 0)
            {
                report();
            }
            break;
        }
    }

private:
    struct Heard
    {
        bool isHeard = false;
        bool isMeasured = false;
        std::uint64_t count = 0;
        std::uint64_t last = 0;
    };

    void tick(Heard& heard, std::size_t index, std::uint64_t value)
    {
        if (task_.isTimed() ? value <= heard.last : value != heard.count)
        {
            const auto expected = task_.isTimed() ? heard.last + 1 : heard.count;
            die("expected tick " + std::to_string(expected) + " of publisher " + std::to_string(index) + ", got " +
                std::to_string(value) + ": events were lost, or came twice or out of order");
        }
        ++heard.count;
        heard.last = value;
        if (task_.isTimed())
        {
            if (heard.isMeasured)
            {
                delays_.push_back(now() - value);
            }
            return;
        }
        if (from_ == 0 || until_ != 0)
        {
            return;
        }
        // What comes after the time of a round is not counted, and how much later says nothing. To read the clock takes
        // as long as the rest of it.
        if (counted_ % 32 == 0 && now() >= end())
        {
            until_ = end();
            return;
        }
        ++counted_;
    }

    std::uint64_t end() const
    {
        return from_ + static_cast<std::uint64_t>(task_.millis) * 1000000;
    }

    void expectCount(const Heard& heard, std::size_t index, std::uint64_t count) const
    {
        if (heard.count != count)
        {
            die("expected " + std::to_string(count) + " ticks of publisher " + std::to_string(index) + ", got " +
                std::to_string(heard.count) + ": events were lost");
        }
    }

    void report()
    {
        std::uint64_t delivered = 0;
        for (const Heard& heard : heard_)
        {
            delivered += heard.count;
        }
        std::ostringstream line;
        line << "{\"calls\": [" << std::fixed << std::setprecision(2);
        if (task_.isTimed())
        {
            const char* separator = "";
            for (const auto delay : delays_)
            {
                line << separator << '[' << delay << ",1]";
                separator = ",";
            }
        }
        else
        {
            if (until_ == 0)
            {
                until_ = std::min<std::uint64_t>(now(), end());
            }
            line << '[' << static_cast<double>(counted_) * 1e9 / static_cast<double>(until_ - from_ + 1) << ",1]";
        }
        line << "], \"delivered\": " << delivered << '}';
        announce(line.str());
    }

    const Task task_;
    std::vector<Heard> heard_;
    int unheard_;
    int unended_;
    std::uint64_t from_ = 0;
    std::uint64_t until_ = 0;
    std::uint64_t counted_ = 0;
    std::vector<std::uint64_t> delays_;
};

// Publishes all events of a publisher.
class Publishing
{
public:
    Publishing(const Task& task, Publish publish) : task_(task), publish_(std::move(publish)) {}

    void run(const std::atomic<bool>& isAsked)
    {
        while (!isAsked)
        {
            say(What::Probe, 0);
            std::this_thread::sleep_for(PROBE_INTERVAL);
        }
        const std::chrono::milliseconds round(task_.millis);
        work(Clock::now() + round / 4);
        say(What::Mark, count_);
        work(Clock::now() + round);
        say(What::End, count_);
        announce("{\"published\": " + std::to_string(count_) + "}");
    }

private:
    void say(What what, std::uint64_t value) { publish_({encode(what, task_.index, value)}); }

    // One event or batch at least.
    void work(Clock::time_point until)
    {
        if (task_.isLatency())
        {
            auto due = Clock::now() + INTERVAL / 2;
            do
            {
                std::this_thread::sleep_until(due);
                say(What::Tick, now());
                ++count_;
                due += INTERVAL;
            } while (due < until);
            return;
        }
        if (task_.isTimed())
        {
            do
            {
                say(What::Tick, now());
                ++count_;
            } while (Clock::now() < until);
            return;
        }
        Numbers batch(task_.batchLen());
        do
        {
            for (auto& number : batch)
            {
                number = encode(What::Tick, task_.index, count_++);
            }
            publish_(batch);
        } while (Clock::now() < until);
    }

    const Task task_;
    Publish publish_;
    std::uint64_t count_ = 0;
};

// Connects a publisher to the service.
Publish publisher(const Task& task, const std::string& address);

// Subscribes, and hands all numbers to the tally, for as long as the process lives.
void subscriber(const Task& task, Tally& tally, const std::string& address);

#ifdef LAB_SERVICE
// Runs the service, and prints where it is reached with `announceService`.
void service(const Task& task);
#endif

inline void announceService(const std::string& address)
{
    announce("{\"address\": \"" + address + "\", \"pid\": " + std::to_string(getpid()) + "}");
}

}

int main(int argc, char* argv[])
{
    static std::atomic<bool> isAsked(false);
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        const bool isClient = argc == 6 && (role == "publisher" || role == "subscriber");
        if (!isClient && !(argc == 3 && role == "service"))
        {
            std::cerr << "expected: publisher or subscriber, CASE MILLIS ADDRESS INDEX" << std::endl;
            return 1;
        }
        // A line says that a publisher shall publish; the end that all is over.
        std::thread([] {
            std::string line;
            while (std::getline(std::cin, line))
            {
                isAsked = true;
            }
            _exit(0);
        }).detach();
        const lab::Task task(argv[2], isClient ? std::stol(argv[3]) : 0, isClient ? std::stoi(argv[5]) : 0);
        if (role == "publisher")
        {
            lab::Publishing(task, lab::publisher(task, argv[4])).run(isAsked);
        }
        else if (role == "subscriber")
        {
            lab::Tally tally(task);
            lab::subscriber(task, tally, argv[4]);
        }
#ifdef LAB_SERVICE
        else
        {
            lab::service(task);
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
