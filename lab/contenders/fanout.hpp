// What the contenders of the scenarios `scale` and `qos` in C++ have in common: the command line, the clock, the waves.
//
// A program defines `lab::fanout`, which connects all publishers and subscribers of a case, and hands `Waves` what publishes.
// The command line is that of `lab/src/contender/fanout/mod.rs`; `waves.rs` there does the same in Rust.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace lab
{

using Clock = std::chrono::steady_clock;

// Numbers of a wave: that of the wave times this, and that of the publisher.
const std::int32_t PUBLISHERS_MAX = 128;
const std::chrono::milliseconds PROBE_INTERVAL(100);
// Events of a publisher's batch.
const std::size_t BATCH_LEN = 100;

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

// One case: `fan-P-S`, or `QUALITY-latency` and `QUALITY-throughput`.
struct Task
{
    Task(const std::string& name, long millis) : millis(millis)
    {
        const auto last = name.rfind('-');
        if (last == std::string::npos)
        {
            fail("expected a case of the scenarios scale and qos, got " + name);
        }
        const auto end = name.substr(last + 1);
        quality = name.substr(0, last);
        if (name.rfind("fan-", 0) == 0)
        {
            publishers = std::stoul(name.substr(4, last - 4));
            subscribers = std::stoul(end);
            payloadLen = 16;
            quality = "oneway";
        }
        else if (end == "throughput")
        {
            burst = quality == "batched" ? 10000 : 100;
        }
    }

    std::vector<std::uint8_t> payload() const
    {
        std::vector<std::uint8_t> values(payloadLen);
        for (std::size_t index = 0; index < payloadLen; ++index)
        {
            values[index] = static_cast<std::uint8_t>(index * 31 + index / 256);
        }
        return values;
    }

    std::string quality;
    std::size_t publishers = 1;
    std::size_t subscribers = 1;
    // Events of each publisher in a wave.
    std::size_t burst = 1;
    std::size_t payloadLen = 1000;
    long millis;
};

// A number in front of bytes, for those whose messages are bytes.
inline std::vector<std::uint8_t> message(std::int32_t number, const std::vector<std::uint8_t>& payload)
{
    std::vector<std::uint8_t> message(sizeof number + payload.size());
    std::memcpy(message.data(), &number, sizeof number);
    std::memcpy(message.data() + sizeof number, payload.data(), payload.size());
    return message;
}

// The number of such a message of a case.
inline std::int32_t numberOf(const Task& task, const void* data, std::size_t len)
{
    std::int32_t number = 0;
    if (len != sizeof number + task.payloadLen)
    {
        die("expected an event of the case, got " + std::to_string(len) + " bytes");
    }
    std::memcpy(&number, data, sizeof number);
    return number;
}

// Publishes waves of events, each when every subscriber has got the whole wave before.
class Waves
{
public:
    explicit Waves(const Task& task) : task_(task), heard_(task.publishers * task.subscribers, false) {}

    // A subscriber has got an event. Several threads may say so at the same time.
    void took(std::size_t subscriber, std::int32_t number)
    {
        if (number < 0)
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto place = subscriber * task_.publishers + static_cast<std::size_t>(-1 - number);
            if (!heard_.at(place))
            {
                heard_[place] = true;
                ++heardCount_;
                changed_.notify_one();
            }
            return;
        }
        if (number / PUBLISHERS_MAX != wave_.load())
        {
            die("expected an event of wave " + std::to_string(wave_.load()) + ", got one of " +
                std::to_string(number / PUBLISHERS_MAX));
        }
        if (expected_.fetch_sub(1) == 1)
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ended_ = Clock::now();
            hasEnded_ = true;
            changed_.notify_one();
        }
    }

    // All of it; `publish` publishes an event of this number by this publisher, `flush` what publishers have collected.
    void run(const std::function<void(std::size_t, std::int32_t)>& publish, const std::function<void()>& flush = [] {})
    {
        probe(publish, flush);
        announce("ready");
        {
            std::unique_lock<std::mutex> lock(mutex_);
            changed_.wait(lock, [this] { return isAsked_; });
        }
        const auto start = Clock::now();
        const auto measureFrom = start + std::chrono::milliseconds(task_.millis / 4);
        const auto until = measureFrom + std::chrono::milliseconds(task_.millis);
        std::map<long, long> calls;
        std::size_t count = 0;
        std::size_t warmUp = 0;
        for (auto now = start; now < until || count == 0;)
        {
            const auto began = Clock::now();
            const auto ended = play(publish, flush);
            now = Clock::now();
            if (began >= measureFrom)
            {
                const std::chrono::duration<double, std::nano> elapsed = ended - began;
                calls[static_cast<long>(elapsed.count() / static_cast<double>(task_.burst))] += static_cast<long>(task_.burst);
                ++count;
            }
            else
            {
                warmUp += task_.burst;
            }
        }
        print(calls, warmUp);
    }

    // A line on stdin asks for the waves.
    void asked()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        isAsked_ = true;
        changed_.notify_one();
    }

private:
    void probe(const std::function<void(std::size_t, std::int32_t)>& publish, const std::function<void()>& flush)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (heardCount_ < heard_.size())
        {
            lock.unlock();
            for (std::size_t publisher = 0; publisher < task_.publishers; ++publisher)
            {
                publish(publisher, -1 - static_cast<std::int32_t>(publisher));
            }
            flush();
            lock.lock();
            changed_.wait_for(lock, PROBE_INTERVAL, [this] { return heardCount_ == heard_.size(); });
        }
    }

    Clock::time_point play(const std::function<void(std::size_t, std::int32_t)>& publish, const std::function<void()>& flush)
    {
        const auto wave = wave_.load() + 1;
        expected_ = static_cast<std::int64_t>(task_.publishers * task_.subscribers * task_.burst);
        wave_ = wave;
        for (std::size_t index = 0; index < task_.burst; ++index)
        {
            for (std::size_t publisher = 0; publisher < task_.publishers; ++publisher)
            {
                publish(publisher, wave * PUBLISHERS_MAX + static_cast<std::int32_t>(publisher));
            }
            if ((index + 1) % BATCH_LEN == 0)
            {
                flush();
            }
        }
        flush();
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return hasEnded_; });
        hasEnded_ = false;
        return ended_;
    }

    static void print(const std::map<long, long>& calls, std::size_t warmUp)
    {
        std::ostringstream line;
        line << "{\"calls\": [";
        const char* separator = "";
        for (const auto& call : calls)
        {
            line << separator << '[' << call.first << ',' << call.second << ']';
            separator = ",";
        }
        line << "], \"warm_up\": " << warmUp << '}';
        announce(line.str());
    }

    const Task task_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // Which subscriber has heard which publisher.
    std::vector<bool> heard_;
    std::size_t heardCount_ = 0;
    std::atomic<std::int32_t> wave_{0};
    std::atomic<std::int64_t> expected_{0};
    Clock::time_point ended_;
    bool hasEnded_ = false;
    bool isAsked_ = false;
};

void fanout(const Task& task, Waves& waves, const std::string& address);

#ifdef LAB_SERVICE
// Runs the service, and prints where it is reached.
void service();

inline void announceService(const std::string& address)
{
    announce("{\"address\": \"" + address + "\", \"pid\": " + std::to_string(getpid()) + "}");
}
#endif

}

int main(int argc, char* argv[])
{
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        const bool isClient = argc == 6 && role == "fanout";
        if (!isClient && !(argc == 3 && role == "service"))
        {
            std::cerr << "expected: fanout CASE MILLIS ADDRESS INDEX" << std::endl;
            return 1;
        }
        const lab::Task task(argv[2], isClient ? std::stol(argv[3]) : 0);
        lab::Waves waves(task);
        // A line asks for the waves; the end says that all is over.
        std::thread([&waves] {
            std::string line;
            while (std::getline(std::cin, line))
            {
                waves.asked();
            }
            _exit(0);
        }).detach();
        if (isClient)
        {
            lab::fanout(task, waves, argv[4]);
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
