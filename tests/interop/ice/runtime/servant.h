// The servants of Runtime.ice.

#pragma once

#include <Ice/Ice.h>
#include <IceSSL/IceSSL.h>
#include <Runtime.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>

// What is known of a connection, its layers taken together.
inline Runtime::Link linkOf(const std::shared_ptr<Ice::Connection>& connection)
{
    Runtime::Link link{};
    link.transport = connection->type();
    link.isIncoming = connection->getInfo()->incoming;
    for (auto info = connection->getInfo(); info; info = info->underlying)
    {
        if (const auto ip = std::dynamic_pointer_cast<Ice::IPConnectionInfo>(info))
        {
            link.localHost = ip->localAddress;
            link.localPort = ip->localPort;
            link.remoteHost = ip->remoteAddress;
            link.remotePort = ip->remotePort;
        }
        if (const auto tls = std::dynamic_pointer_cast<IceSSL::ConnectionInfo>(info))
        {
            link.isEncrypted = !tls->cipher.empty();
            link.certificateCount = static_cast<int>(tls->certs.size());
        }
    }
    return link;
}

// What all servants of a server have in common.
struct Shared
{
    std::mutex mutex;
    int sum = 0;
    std::multimap<int, std::function<void(int)>> held;
    std::map<std::string, int> executions;
    int located = 0;
    int finished = 0;
    Ice::Byte locatedMode = 0;
};

class ProbeServant : public Runtime::Probe
{
public:
    ProbeServant(std::string name, std::shared_ptr<Shared> shared) : _name(std::move(name)), _shared(std::move(shared)) {}

    Runtime::Seen see(const Ice::Current& current) override
    {
        const auto mode = static_cast<Ice::Byte>(current.mode);
        const auto encoding = Ice::encodingVersionToString(current.encoding);
        return {current.id.category, current.id.name, current.facet, current.operation,
                mode, current.requestId == 0, encoding, current.ctx, _name};
    }

    Runtime::Seen peek(const Ice::Current& current) override { return see(current); }

    int add(int amount, const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        return _shared->sum += amount;
    }

    int total(const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        return _shared->sum;
    }

    void reset(const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        _shared->sum = 0;
    }

    void note(Runtime::Bytes, const Ice::Current& current) override { add(1, current); }
    Runtime::Bytes echo(Runtime::Bytes data, const Ice::Current&) override { return data; }
    Runtime::Link linked(const Ice::Current& current) override { return linkOf(current.con); }

    void holdAsync(int key, std::function<void(int)> answer, std::function<void(std::exception_ptr)>,
                   const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        _shared->held.emplace(key, std::move(answer));
    }

    int release(int key, const Ice::Current&) override
    {
        std::vector<std::function<void(int)>> answers;
        {
            const std::lock_guard<std::mutex> lock(_shared->mutex);
            const auto range = _shared->held.equal_range(key);
            std::for_each(range.first, range.second, [&](auto& entry) { answers.push_back(entry.second); });
            _shared->held.erase(key);
        }
        for (const auto& answer : answers)
        {
            answer(key);
        }
        return static_cast<int>(answers.size());
    }

    void sleep(int duration, const Ice::Current&) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(duration));
    }

    void pause(int duration, const Ice::Current& current) override
    {
        const auto adapter = current.adapter;
        adapter->hold();
        std::thread([adapter, duration] {
            std::this_thread::sleep_for(std::chrono::milliseconds(duration));
            adapter->activate();
        }).detach();
    }

    void close(bool gracefully, const Ice::Current& current) override
    {
        current.con->close(gracefully ? Ice::ConnectionClose::Gracefully : Ice::ConnectionClose::Forcefully);
    }

    int stumble(std::string key, const Ice::Current& current) override
    {
        int count = 0;
        {
            const std::lock_guard<std::mutex> lock(_shared->mutex);
            count = ++_shared->executions[key];
        }
        if (count == 1)
        {
            close(false, current);
        }
        return count;
    }

    int stumbleIdempotently(std::string key, const Ice::Current& current) override { return stumble(key, current); }

    int executions(std::string key, const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        return _shared->executions[key];
    }

    int callBack(std::string category, std::string name, int count, const Ice::Current& current) override
    {
        const auto object = current.con->createProxy(Ice::Identity{name, category});
        const auto callback = Ice::uncheckedCast<Runtime::CallbackPrx>(object);
        int total = 0;
        for (int number = 1; number <= count; ++number)
        {
            total += callback->called(number);
        }
        callback->ice_oneway()->told(count);
        return total;
    }

    void fail(std::string kind, const Ice::Current&) override
    {
        const auto is = [&kind](const char* other) { return kind == other; };
        if (is("object")) throw Ice::ObjectNotExistException(__FILE__, __LINE__);
        if (is("facet")) throw Ice::FacetNotExistException(__FILE__, __LINE__);
        if (is("operation")) throw Ice::OperationNotExistException(__FILE__, __LINE__);
        if (is("unknown")) throw Ice::UnknownException(__FILE__, __LINE__, "told so");
        if (is("local")) throw Ice::UnknownLocalException(__FILE__, __LINE__, "told so");
        if (is("user")) throw Ice::UnknownUserException(__FILE__, __LINE__, "told so");
        if (is("refused")) throw Runtime::Refused("asked to");
        if (is("undeclared")) throw Runtime::Undeclared("asked to");
        throw std::runtime_error("asked to fail");
    }

    int located(int& finished, const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        finished = _shared->finished;
        return _shared->located;
    }

    Ice::Byte locatedMode(const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        return _shared->locatedMode;
    }

private:
    const std::string _name;
    const std::shared_ptr<Shared> _shared;
};

class Locator : public Ice::ServantLocator
{
public:
    Locator(std::shared_ptr<Ice::Object> servant, std::shared_ptr<Shared> shared)
        : _servant(std::move(servant)), _shared(std::move(shared))
    {
    }

    std::shared_ptr<Ice::Object> locate(const Ice::Current& current, std::shared_ptr<void>& cookie) override
    {
        if (current.id.name == "nobody")
        {
            return nullptr;
        }
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        ++_shared->located;
        _shared->locatedMode = static_cast<Ice::Byte>(current.mode);
        cookie = _shared;
        return _servant;
    }

    void finished(const Ice::Current&, const std::shared_ptr<Ice::Object>&, const std::shared_ptr<void>& cookie) override
    {
        const std::lock_guard<std::mutex> lock(_shared->mutex);
        _shared->finished += cookie == _shared;
    }

    void deactivate(const std::string&) override {}

private:
    const std::shared_ptr<Ice::Object> _servant;
    const std::shared_ptr<Shared> _shared;
};

class Forwarder : public Ice::Blobject
{
public:
    bool ice_invoke(std::vector<Ice::Byte> in, std::vector<Ice::Byte>& out, const Ice::Current& current) override
    {
        const auto target = current.adapter->createDirectProxy(Ice::Identity{current.id.name, ""});
        return target->ice_invoke(current.operation, current.mode, in, out, current.ctx);
    }
};

inline void serve(const std::shared_ptr<Ice::Communicator>& communicator)
{
    const auto properties = communicator->getProperties();
    if (properties->getProperty("Server.Endpoints").empty())
    {
        properties->setProperty("Server.Endpoints", "tcp -h 127.0.0.1 -p 0");
    }
    const auto adapter = communicator->createObjectAdapter("Server");
    const auto shared = std::make_shared<Shared>();
    const auto servant = [&shared](const char* name) { return std::make_shared<ProbeServant>(name, shared); };
    const auto identity = Ice::stringToIdentity("probe");
    const auto proxy = adapter->add(servant("probe"), identity);
    adapter->addFacet(servant("side"), identity, "side");
    adapter->addDefaultServant(servant("default"), "default");
    adapter->addServantLocator(std::make_shared<Locator>(servant("located"), shared), "located");
    adapter->addDefaultServant(std::make_shared<Forwarder>(), "forward");
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
}
