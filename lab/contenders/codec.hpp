// What the contenders of the scenario `codec` have in common: the command line, the values, the clock.
//
// A program defines `void work(lab::Task& task)`, which compares `task.name` with the names of values that
// it knows and calls `task.measure` for the right one. The command line is `alone CASE MILLIS`, and the line
// that is printed that of `lab/src/contender/mod.rs`.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lab
{

// Author, PageRange and Entry; TEXT and BIBLIOGRAPHY
#include "data.hpp"

// The values of the numbers: the same as in `lab/src/contender/codec/value.rs`.
inline std::uint8_t byteAt(std::size_t index)
{
    return static_cast<std::uint8_t>(index * 31 + index / 256);
}

inline double doubleAt(std::size_t index)
{
    return static_cast<double>(index) * 0.001;
}

const std::size_t OUTER_COUNT = 1024;
const std::size_t INNER_COUNT = 4;

inline std::int64_t integerAt(std::size_t outer, std::size_t inner)
{
    return static_cast<std::int64_t>(outer * INNER_COUNT + inner);
}

inline double numberAt(std::size_t outer, std::size_t inner)
{
    return static_cast<double>(integerAt(outer, inner)) * 0.25;
}

// Encoded bytes that somebody else owns.
struct Bytes
{
    const void* data;
    std::size_t len;
};

// The compiler must assume that what is pointed to is read and changed.
inline void keep(const void* pointer)
{
    asm volatile("" : : "g"(pointer) : "memory");
}

// One case.
class Task
{
public:
    Task(const std::string& name, bool isEncode, double seconds) :
        name(name), isEncode_(isEncode), seconds_(seconds)
    {
    }

    // `bytes`, `doubles`, `nested`, `text`, `bibliography`: what is before a minus
    std::string kind() const { return name.substr(0, name.find('-')); }

    // what is after a minus: how many bytes or doubles
    std::size_t count() const { return std::stoul(name.substr(name.find('-') + 1)); }

    // `encode()` gives Bytes that live until the next call; `decode(Bytes)` gives a fresh value of whatever
    // type; `isSame(value)` is whether that equals what was encoded.
    template<class Encode, class Decode, class IsSame>
    void measure(Encode encode, Decode decode, IsSame isSame)
    {
        const Bytes encoded = encode();
        // Words, so that they are aligned for every type, and at a place of their own.
        std::vector<std::uint64_t> words(encoded.len / 8 + 1);
        std::memcpy(words.data(), encoded.data, encoded.len);
        const Bytes bytes{words.data(), encoded.len};
        digest_ = digestOf(bytes);
        {
            auto&& value = decode(bytes);
            if (!isSame(value))
            {
                throw std::runtime_error("expected to decode what was encoded, got another value: " + name);
            }
        }
        if (isEncode_)
        {
            repeat([&] { keep(encode().data); });
        }
        else
        {
            repeat([&] {
                keep(bytes.data);
                auto&& value = decode(bytes);
                keep(&value);
            });
        }
        std::cout << "{\"calls\": [" << calls_.str() << "], \"encoded\": {\"len\": " << encoded.len
                  << ", \"digest\": \"" << digest_ << "\"}}" << std::endl;
        measured = true;
    }

    const std::string name;
    bool measured = false;

private:
    using Clock = std::chrono::steady_clock;

    static constexpr double BATCH_SECONDS = 0.020;

    template<class Work>
    static double batch(std::uint64_t count, Work& work)
    {
        const auto started = Clock::now();
        for (std::uint64_t index = 0; index < count; ++index)
        {
            work();
        }
        return std::chrono::duration<double>(Clock::now() - started).count();
    }

    // As `Effort::repeat` in `lab/src/measure.rs`: a warm-up, then batches that a clock can measure.
    template<class Work>
    void repeat(Work work)
    {
        const double enough = std::max(seconds_ / 4, BATCH_SECONDS);
        std::uint64_t count = 1;
        double elapsed = batch(count, work);
        double fastest = elapsed;
        while (elapsed < enough)
        {
            count *= 2;
            elapsed = batch(count, work);
            fastest = std::min(fastest, elapsed / count);
        }
        count = std::max(1.0, std::ceil(1.1 * BATCH_SECONDS / fastest));
        const auto started = Clock::now();
        calls_.precision(12);
        do
        {
            const double nanoseconds = batch(count, work) * 1e9 / count;
            calls_ << (calls_.tellp() > 0 ? "," : "") << '[' << nanoseconds << ',' << count << ']';
        } while (std::chrono::duration<double>(Clock::now() - started).count() < seconds_);
    }

    // FNV-1a, 64 bits
    static std::string digestOf(const Bytes& bytes)
    {
        std::uint64_t hash = 0xcbf29ce484222325;
        const auto* data = static_cast<const unsigned char*>(bytes.data);
        for (std::size_t index = 0; index < bytes.len; ++index)
        {
            hash = (hash ^ data[index]) * 0x100000001b3;
        }
        char text[17];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
        return text;
    }

    const bool isEncode_;
    const double seconds_;
    std::ostringstream calls_;
    std::string digest_;
};

}

void work(lab::Task& task);

int main(int argc, char* argv[])
{
    try
    {
        const std::string role = argc > 1 ? argv[1] : "";
        const std::string name = argc > 2 ? argv[2] : "";
        const auto slash = name.find('/');
        const std::string direction = slash == std::string::npos ? "" : name.substr(slash + 1);
        if (role == "alone" && argc == 4 && (direction == "encode" || direction == "decode"))
        {
            lab::Task task(name.substr(0, slash), direction == "encode", std::stod(argv[3]) / 1000);
            work(task);
            if (task.measured)
            {
                return 0;
            }
        }
        std::cerr << "expected: alone CASE MILLIS, with a CASE such as text/encode" << std::endl;
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << std::endl;
    }
    return 1;
}
