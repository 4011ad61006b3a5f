// Asks to be greeted, with Ice for C++.
//
// Usage: client [PROXY]

#include <Greeter.h>
#include <Ice/Ice.h>

#include <iostream>

int main(int argc, char* argv[])
{
    Ice::CommunicatorHolder ice(argc, argv);
    auto proxy = argc > 1 ? argv[1] : "greeter:tcp -h 127.0.0.1 -p 4061";
    auto greeter = Ice::uncheckedCast<Demo::GreeterPrx>(ice->stringToProxy(proxy));
    for (auto name : {"Ada", "Grace", ""})
    {
        try
        {
            int count;
            auto greeting = greeter->greet(name, count);
            std::cout << greeting << " (number " << count << ")" << std::endl;
        }
        catch (const Demo::NoName& error)
        {
            std::cout << "refused: " << error.advice << std::endl;
        }
    }
}
