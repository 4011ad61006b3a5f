// An unmodified Ice for C++ peer of Runtime.ice.
//
// Usage: peer serve [ICE OPTIONS]
//        peer call PROXY [ICE OPTIONS]
//        peer ping PROXY [ICE OPTIONS]
//        peer tell PROXY [ICE OPTIONS]
//
// As peer.py beside it, which says more; `serve` is in servant.h, the others in caller.h.

#include "caller.h"
#include "servant.h"

namespace
{

// A communicator in which the arguments count for more than the defaults.
Ice::CommunicatorHolder initialize(int argc, char* argv[], const Ice::PropertyDict& defaults)
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    for (const auto* prefix : {"Server", "Ping"})
    {
        settings.properties->parseCommandLineOptions(prefix, Ice::StringSeq(argv, argv + argc));
    }
    for (const auto& entry : defaults)
    {
        if (settings.properties->getProperty(entry.first).empty())
        {
            settings.properties->setProperty(entry.first, entry.second);
        }
    }
    return Ice::CommunicatorHolder(settings);
}

void run(const std::string& role, int argc, char* argv[])
{
    if (role == "serve")
    {
        // Held and paused calls must not hold up the others.
        const auto holder = initialize(argc, argv, {{"Ice.ThreadPool.Server.Size", "8"},
                                                    {"Ice.ThreadPool.Server.SizeMax", "32"},
                                                    {"Ice.Warn.Dispatch", "0"}});
        return serve(holder.communicator());
    }
    const auto holder = initialize(argc, argv, {{"Ice.BatchAutoFlushSize", "1"}, {"Ice.ImplicitContext", "Shared"}});
    const auto action = role == "call" ? call : role == "ping" ? ping : tell;
    action(holder.communicator(), argv[2]);
}

}

int main(int argc, char* argv[])
{
    if (argc < 2 || (std::string(argv[1]) != "serve" && argc < 3))
    {
        std::cerr << "failed: expected a role and, but for `serve', a proxy" << std::endl;
        return 1;
    }
    try
    {
        run(argv[1], argc, argv);
        return 0;
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
