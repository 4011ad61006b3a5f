// An unmodified Ice for C++ client of Soak.ice.
//
// Usage: client NUMBER JOURNAL PROXY... [ICE OPTIONS]
//
// Calls the proxies in turns, notes in JOURNAL what each call ended with (see tests/soak/src/journal.rs), and ends
// with standard input.

#include "journal.h"

#include <Ice/Ice.h>
#include <Soak.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

using namespace Soak;

namespace
{

// Kinds of calls: see tests/soak/src/id.rs.
enum Kind { once = 1, again = 2, refuse = 3, carry = 4, linger = 5, callBack = 6, many = 10 };

std::atomic<bool> ended{false};

class CallerServant : public Caller
{
public:
    explicit CallerServant(Journal& journal) : _journal(journal) {}

    void calledBack(long long id, const Ice::Current&) override { _journal.note(id, 'c'); }

private:
    Journal& _journal;
};

class Client
{
public:
    Client(long long number, Journal& journal, std::shared_ptr<Ice::ObjectAdapter> adapter)
        : _number(number), _journal(journal), _adapter(adapter)
    {
    }

    void call(const std::shared_ptr<TargetPrx>& target)
    {
        attempt(once, [&](long long id) { target->once(id); });
        attempt(again, [&](long long id) { target->again(id); });
        attempt(refuse, [&](long long id) {
            try
            {
                target->refuse(id);
            }
            catch (const Refused& refused)
            {
                if (refused.id == id)
                {
                    return;
                }
            }
            throw std::logic_error("expected Refused with the id of the call");
        });
        const Bytes data(1 + _counter % 50000, 7);
        attempt(carry, [&](long long id) {
            if (target->carry(id, data) != data)
            {
                throw std::logic_error("expected the same data");
            }
        });
        attempt(linger, [&](long long id) { target->linger(id, 20); });
        attempt(callBack, [&](long long id) {
            target->ice_getConnection()->setAdapter(_adapter);
            target->callBack(id);
        });
        callMany(target);
    }

private:
    template<typename F> void attempt(Kind kind, F&& call)
    {
        const auto id = newId(kind);
        try
        {
            call(id);
            _journal.note(id, 'a');
        }
        catch (const Ice::LocalException&)
        {
            // Whether it was executed is not said.
            _journal.note(id, 'p');
        }
        catch (const std::exception& error)
        {
            std::cerr << "odd: " << error.what() << std::endl;
            _journal.note(id, 'x');
        }
    }

    void callMany(const std::shared_ptr<TargetPrx>& target)
    {
        std::vector<std::pair<long long, std::future<void>>> calls;
        for (int i = 0; i < 20; ++i)
        {
            const auto id = newId(many);
            try
            {
                calls.emplace_back(id, target->onceAsync(id));
            }
            catch (const Ice::LocalException&)
            {
                _journal.note(id, 'p');
            }
        }
        for (auto& call : calls)
        {
            try
            {
                call.second.get();
                _journal.note(call.first, 'a');
            }
            catch (const Ice::LocalException&)
            {
                _journal.note(call.first, 'p');
            }
        }
    }

    long long newId(Kind kind)
    {
        return (_number << 48) | (static_cast<long long>(kind) << 40) | _counter++;
    }

    const long long _number;
    Journal& _journal;
    const std::shared_ptr<Ice::ObjectAdapter> _adapter;
    long long _counter = 0;
};

void endWithInput()
{
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
    ended = true;
}

int run(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    settings.properties->setProperty("Ice.Warn.Connections", "0");
    settings.properties->setProperty("Ice.Default.InvocationTimeout", "4000");
    settings.properties->setProperty("Ice.Override.ConnectTimeout", "4000");
    Ice::CommunicatorHolder holder(settings);
    const auto communicator = holder.communicator();
    Journal journal(argv[2]);
    const auto adapter = communicator->createObjectAdapter("");
    adapter->add(std::make_shared<CallerServant>(journal), Ice::stringToIdentity("caller"));
    adapter->activate();
    std::vector<std::shared_ptr<TargetPrx>> targets;
    for (int i = 3; i < argc; ++i)
    {
        if (argv[i][0] != '-')
        {
            targets.push_back(Ice::uncheckedCast<TargetPrx>(communicator->stringToProxy(argv[i])));
        }
    }
    std::thread(endWithInput).detach();
    std::cout << "ready" << std::endl;
    Client client(std::stoll(argv[1]), journal, adapter);
    for (std::size_t turn = 0; !ended; ++turn)
    {
        client.call(targets[turn % targets.size()]);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return run(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
