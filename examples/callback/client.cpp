// Is called back, without an endpoint of its own, with Ice for C++.
//
// Usage: client [PROXY]

#include <Callback.h>
#include <Ice/Ice.h>

#include <iostream>

class Printing : public Demo::Listener
{
    void tell(int number, const Ice::Current&) override
    {
        std::cout << "told " << number << std::endl;
    }
};

int main(int argc, char* argv[])
{
    Ice::CommunicatorHolder ice(argc, argv);
    auto proxy = argc > 1 ? argv[1] : "teller:tcp -h 127.0.0.1 -p 4062";
    auto teller = Ice::uncheckedCast<Demo::TellerPrx>(ice->stringToProxy(proxy));
    auto adapter = ice->createObjectAdapter("");
    auto me = adapter->addWithUUID(std::make_shared<Printing>());
    teller->ice_getConnection()->setAdapter(adapter);
    teller->tellMe(me->ice_getIdentity().name, 3);
    std::cout << "done" << std::endl;
}
