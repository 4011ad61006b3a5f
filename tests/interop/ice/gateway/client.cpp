// An unmodified Ice for C++ client behind a router: conversations of client.py, with the same lines.
//
// Usage: client CONVERSATION ROUTER SERVICE [ICE OPTIONS]
//
// CONVERSATION is `callbacks`, which goes through a default router, `replaced`, which does so and goes on behind another
// router, or `helper`, which is `replaced` with the session helper of Glacier2. ROUTER is the proxy of a router, SERVICE that
// of an object of Routed.ice behind it.

#include <Glacier2/Glacier2.h>
#include <Ice/Ice.h>
#include <Routed.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono;

namespace
{

const auto patience = seconds(60);

using RouterProxy = std::shared_ptr<Glacier2::RouterPrx>;
using ServiceProxy = std::shared_ptr<Routed::ServicePrx>;
using CallbackProxy = std::shared_ptr<Routed::CallbackPrx>;

template<typename T> void tell(const std::string& step, const T& result)
{
    std::cout << step << ": " << result << std::endl;
}

// As Python prints it.
void tell(const std::string& step, bool result)
{
    std::cout << step << ": " << (result ? "True" : "False") << std::endl;
}

// Waits until a condition holds; then whether it does.
bool until(const std::function<bool()>& condition)
{
    const auto deadline = steady_clock::now() + patience;
    while (!condition())
    {
        if (steady_clock::now() > deadline)
        {
            return false;
        }
        std::this_thread::sleep_for(milliseconds(50));
    }
    return true;
}

// Waits until the test closes standard input.
void waitForTest()
{
    tell("waiting", true);
    std::vector<char> rest{std::istreambuf_iterator<char>(std::cin), {}};
}

class Callback : public Routed::Callback
{
public:
    int called(int number, const Ice::Current&) override { return number + 1; }

    void told(int number, const Ice::Current&) override
    {
        const std::lock_guard<std::mutex> lock(_mutex);
        _told.push_back(number);
        _changed.notify_all();
    }

    void fail(const Ice::Current&) override { throw Routed::Refused("by the client"); }

    // Whether the numbers from 1 to `last` have come, each once and in order.
    bool wasTold(int last)
    {
        std::unique_lock<std::mutex> lock(_mutex);
        _changed.wait_for(lock, patience, [&] { return !_told.empty() && _told.back() == last; });
        std::vector<int> expected;
        for (int number = 1; number <= last; ++number)
        {
            expected.push_back(number);
        }
        const auto told = std::move(_told);
        _told.clear();
        return told == expected;
    }

private:
    std::mutex _mutex;
    std::condition_variable _changed;
    std::vector<int> _told;
};

// Calls the service, and has it call back.
void callBothWays(const ServiceProxy& service, const std::shared_ptr<Callback>& servant, const CallbackProxy& proxy)
{
    tell("who", service->who());
    tell("called", service->callBack(proxy, 41));
    service->tell(proxy, 500, {});
    tell("told", servant->wasTold(500));
}

ServiceProxy serviceOf(const Ice::CommunicatorPtr& communicator, const std::string& text)
{
    return Ice::uncheckedCast<Routed::ServicePrx>(communicator->stringToProxy(text));
}

// A client with a default router.
class Client
{
public:
    Client(const Ice::CommunicatorPtr& communicator, const std::string& router, const std::string& service)
        : _communicator(communicator)
    {
        // The router itself is not routed.
        const auto plain = communicator->stringToProxy(router)->ice_router(nullptr);
        _router = Ice::uncheckedCast<Glacier2::RouterPrx>(plain);
        communicator->setDefaultRouter(_router);
        _service = serviceOf(communicator, service);
    }

    bool hasSession()
    {
        try
        {
            _router->createSession("joe", "secret");
            return true;
        }
        catch (const Ice::LocalException&)
        {
            return false;
        }
    }

    void call()
    {
        const auto servant = std::make_shared<Callback>();
        callBothWays(_service, servant, callback(servant));
    }

    void callbacks()
    {
        tell("session", hasSession());
        const auto servant = std::make_shared<Callback>();
        const auto proxy = callback(servant);
        tell("called", _service->callBack(proxy, 41));
        tell("failed", _service->callBack(proxy, -1));
        const auto forged = proxy->ice_identity(Ice::Identity{"callback", "forged"});
        tell("forged", _service->callBack(Ice::uncheckedCast<Routed::CallbackPrx>(forged), 1));
        const std::map<std::string, std::string> letters{{"plain", ""}, {"batch", "O"}, {"compressed", "Oz"}};
        for (const auto& entry : letters)
        {
            Routed::Texts context;
            if (!entry.second.empty())
            {
                context["_fwd"] = entry.second;
            }
            _service->tell(proxy, 500, context);
            tell(entry.first, servant->wasTold(500));
        }
        _router->destroySession();
    }

    void replaced()
    {
        tell("session", hasSession());
        call();
        waitForTest();
        tell("another", until([&] { return hasSession(); }));
        call();
        _router->destroySession();
    }

private:
    // Each session has a category of its own.
    CallbackProxy callback(const std::shared_ptr<Callback>& servant)
    {
        if (_adapter)
        {
            _adapter->destroy();
        }
        _adapter = _communicator->createObjectAdapterWithRouter("", _router);
        const auto proxy = _adapter->add(servant, {"callback", _router->getCategoryForClient()});
        _adapter->activate();
        return Ice::uncheckedCast<Routed::CallbackPrx>(proxy);
    }

    const Ice::CommunicatorPtr _communicator;
    RouterProxy _router;
    ServiceProxy _service;
    Ice::ObjectAdapterPtr _adapter;
};

// What the session helper says.
class Watcher : public Glacier2::SessionCallback
{
public:
    void createdCommunicator(const Glacier2::SessionHelperPtr&) override {}

    void connected(const Glacier2::SessionHelperPtr&) override { become(State::connected); }

    void disconnected(const Glacier2::SessionHelperPtr&) override { become(State::disconnected); }

    void connectFailed(const Glacier2::SessionHelperPtr&, const Ice::Exception&) override { become(State::failed); }

    // Whether a new session of the helper is there.
    bool isConnected()
    {
        std::unique_lock<std::mutex> lock(_mutex);
        _changed.wait_for(lock, patience, [&] { return _state != State::unknown; });
        return _state == State::connected;
    }

    // Whether the session is gone.
    bool isDisconnected()
    {
        std::unique_lock<std::mutex> lock(_mutex);
        return _changed.wait_for(lock, patience, [&] { return _state == State::disconnected; });
    }

private:
    enum class State
    {
        unknown,
        connected,
        disconnected,
        failed
    };

    void become(State state)
    {
        const std::lock_guard<std::mutex> lock(_mutex);
        _state = state;
        _changed.notify_all();
    }

    std::mutex _mutex;
    std::condition_variable _changed;
    State _state = State::unknown;
};

// A client with the session helper, which finds the router by its host and port.
class HelperClient
{
public:
    HelperClient(const Ice::CommunicatorPtr& communicator, const std::string& router, const std::string& service)
        : _text(service)
    {
        const auto endpoint = communicator->stringToProxy(router)->ice_getEndpoints().at(0);
        const auto info = std::dynamic_pointer_cast<Ice::TCPEndpointInfo>(endpoint->getInfo());
        _initData.properties = communicator->getProperties()->clone();
        _host = info->host;
        _port = info->port;
    }

    bool hasSession()
    {
        _watcher = std::make_shared<Watcher>();
        const auto factory = std::make_shared<Glacier2::SessionFactoryHelper>(_initData, _watcher);
        factory->setProtocol("tcp");
        factory->setRouterHost(_host);
        factory->setPort(_port);
        _session = factory->connect("joe", "secret");
        return _watcher->isConnected();
    }

    void call()
    {
        const auto servant = std::make_shared<Callback>();
        const auto proxy = Ice::uncheckedCast<Routed::CallbackPrx>(_session->addWithUUID(servant));
        callBothWays(serviceOf(_session->communicator(), _text), servant, proxy);
    }

    void replaced()
    {
        tell("session", hasSession());
        call();
        waitForTest();
        tell("disconnected", _watcher->isDisconnected());
        tell("another", until([&] { return hasSession(); }));
        call();
        _session->destroy();
        tell("ended", _watcher->isDisconnected());
    }

private:
    const std::string _text;
    Ice::InitializationData _initData;
    std::string _host;
    int _port = 0;
    std::shared_ptr<Watcher> _watcher;
    Glacier2::SessionHelperPtr _session;
};

} // namespace

int main(int argc, char* argv[])
{
    try
    {
        const Ice::CommunicatorHolder ice(argc, argv);
        const std::string conversation = argv[1], router = argv[2], service = argv[3];
        if (conversation == "helper")
        {
            HelperClient(ice.communicator(), router, service).replaced();
        }
        else if (conversation == "replaced")
        {
            Client(ice.communicator(), router, service).replaced();
        }
        else
        {
            Client(ice.communicator(), router, service).callbacks();
        }
        tell("done", conversation);
        return 0;
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
