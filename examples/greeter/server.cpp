// Greets whoever calls, with Ice for C++.
//
// Usage: server [ENDPOINT]

#include <Greeter.h>
#include <Ice/Ice.h>

#include <atomic>
#include <iostream>

class Polite : public Demo::Greeter
{
    std::string greet(std::string name, int& count, const Ice::Current&) override
    {
        if (name.empty())
        {
            throw Demo::NoName("say who you are");
        }
        count = ++greeted;
        return "Hello, " + name + "!";
    }

    std::atomic<int> greeted{0};
};

int main(int argc, char* argv[])
{
    Ice::CommunicatorHolder ice(argc, argv);
    auto endpoint = argc > 1 ? argv[1] : "tcp -h 127.0.0.1 -p 4061";
    auto adapter = ice->createObjectAdapterWithEndpoints("Greeter", endpoint);
    auto proxy = adapter->add(std::make_shared<Polite>(), Ice::stringToIdentity("greeter"));
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    ice->waitForShutdown();
}
