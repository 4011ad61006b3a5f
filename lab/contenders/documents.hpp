// What the contenders of the scenario `slow` in C++ have in common: the command line, the documents, the clock.
//
// A program defines `lab::serve`, which listens at `lab::host()`, prints one line with `lab::announce` and returns when its
// stdin ends (`lab::waitForEnd`), and `lab::call`, which connects, and has `task.measure` send documents. The command
// line is that of `lab/src/contender/slow/mod.rs`.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lab
{

// Author, PageRange and Entry; TEXT and BIBLIOGRAPHY
#include "data.hpp"

const std::size_t STRIDE = 7;

// The host at which a server listens.
inline std::string host()
{
    const char* host = std::getenv("FLOE_LAB_HOST");
    return host ? host : "127.0.0.1";
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

// Says how far it is, and waits until it shall go on: the lab reads the counters of the line meanwhile.
inline void pause(const std::string& word)
{
    announce(word);
    std::string line;
    if (!std::getline(std::cin, line))
    {
        throw std::runtime_error("expected a line that says go, got the end");
    }
}

class Task
{
public:
    explicit Task(const std::string& name)
    {
        const std::string work = name.substr(0, name.find('/'));
        isText = work.rfind("text", 0) == 0;
        isEdited_ = work == "bibliography-edited";
        isFirst_ = work == "text" || work == "bibliography";
        if (!isFirst_ && !isEdited_ && work != "text-again" && work != "bibliography-again")
        {
            throw std::runtime_error("expected a case of documents of the scenario slow, got " + name);
        }
    }

    // `send(entries)` sends the document that `isText` says; `taken()` asks the server how many lines and entries it has taken.
    template<class Send, class Taken>
    void measure(Send send, Taken taken)
    {
        auto entries = BIBLIOGRAPHY;
        const int before = isFirst_ ? 0 : 1;
        const int measured = isFirst_ ? 1 : 4;
        for (int i = 0; i < before; ++i)
        {
            send(entries);
        }
        pause("ready");
        std::vector<double> durations;
        for (int i = 0; i < measured; ++i)
        {
            if (isEdited_)
            {
                auto& entry = entries[(i * STRIDE) % entries.size()];
                entry.year += 1;
                entry.title += " (edition " + std::to_string(i + 2) + ")";
            }
            const auto started = Clock::now();
            send(entries);
            durations.push_back(std::chrono::duration<double, std::nano>(Clock::now() - started).count());
        }
        pause("sent");
        const auto items = static_cast<std::int64_t>(isText ? TEXT.size() : entries.size());
        const std::int64_t expected = items * (before + measured);
        const std::int64_t came = taken();
        if (came != expected)
        {
            throw std::runtime_error(
                "expected " + std::to_string(expected) + " items to be taken, got " + std::to_string(came));
        }
        std::cout << "{\"calls\": [" << std::fixed << std::setprecision(0);
        const char* separator = "";
        for (const double duration : durations)
        {
            std::cout << separator << '[' << duration << ",1]";
            separator = ",";
        }
        std::cout << "]}" << std::endl;
    }

    bool isText;

private:
    using Clock = std::chrono::steady_clock;

    bool isFirst_;
    bool isEdited_;
};

void serve();
void call(Task& task, const std::string& address);

}

int main(int argc, char* argv[])
{
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        if (role == "server" && argc == 3)
        {
            lab::serve();
            return 0;
        }
        if (role == "client" && argc == 5)
        {
            lab::Task task(argv[2]);
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
