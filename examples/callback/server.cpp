// Calls its callers back, over the connections that they made, with Ice for C++.
//
// Usage: server [ENDPOINT]

#include <Callback.h>
#include <Ice/Ice.h>

#include <iostream>

class Patient : public Demo::Teller
{
    void tellMe(std::string name, int count, const Ice::Current& current) override
    {
        auto proxy = current.con->createProxy(Ice::Identity{name, ""});
        auto listener = Ice::uncheckedCast<Demo::ListenerPrx>(proxy);
        for (int number = 1; number <= count; ++number)
        {
            listener->tell(number);
        }
    }
};

int main(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties();
    // While one thread waits for the listener, another reads what it answers.
    settings.properties->setProperty("Ice.ThreadPool.Server.Size", "2");
    Ice::CommunicatorHolder ice(argc, argv, settings);
    auto endpoint = argc > 1 ? argv[1] : "tcp -h 127.0.0.1 -p 4062";
    auto adapter = ice->createObjectAdapterWithEndpoints("Teller", endpoint);
    auto proxy = adapter->add(std::make_shared<Patient>(), Ice::stringToIdentity("teller"));
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    ice->waitForShutdown();
}
