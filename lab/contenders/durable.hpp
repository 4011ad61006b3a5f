// What the contenders of the scenario `durable` in C++ have in common: the command line, the clock, and the count.
//
// A program defines `lab::publisher`, which connects and gives what publishes. The command line and the figures are those of
// `lab/src/contender/durable/`: `mod.rs` and `publishing.rs` have the same in Rust.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

namespace lab
{

const std::size_t PAYLOAD_LEN = 100;

using Clock = std::chrono::steady_clock;

// Publishes until that moment, at least once, and awaits all answers; the number of events that were acknowledged.
using PublishUntil = std::function<std::uint64_t(Clock::time_point)>;

[[noreturn]] inline void fail(const std::string& what)
{
    throw std::runtime_error(what);
}

// What a process shall do.
struct Task
{
    explicit Task(const std::string& name)
    {
        const auto dash = name.find('-');
        const std::string kind = name.substr(0, dash);
        if (dash == std::string::npos || (kind != "inflight" && kind != "batch"))
        {
            fail("expected a case of the scenario durable, got " + name);
        }
        isBatched = kind == "batch";
        unanswered = std::stoi(name.substr(dash + 1));
    }

    // Whether all answers are awaited before more is published.
    bool isBatched;
    // The most events without an answer.
    int unanswered;
};

PublishUntil publisher(const Task& task, const std::string& address);

}

int main(int argc, char* argv[])
{
    if (argc != 6 || std::string(argv[1]) != "publisher")
    {
        std::cerr << "expected: publisher CASE MILLIS ADDRESS INDEX" << std::endl;
        return 1;
    }
    try
    {
        const lab::Task task(argv[2]);
        const std::chrono::milliseconds round(std::stol(argv[3]));
        const auto publish = lab::publisher(task, argv[4]);
        publish(lab::Clock::now() + round / 4);
        const auto started = lab::Clock::now();
        const auto count = publish(started + round);
        const std::chrono::duration<double> elapsed = lab::Clock::now() - started;
        std::cout << "{\"calls\": [[" << std::fixed << std::setprecision(2)
                  << static_cast<double>(count) / elapsed.count() << ",1]]}" << std::endl;
        std::string line;
        while (std::getline(std::cin, line))
        {
        }
        _exit(0);
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
