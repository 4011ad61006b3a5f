// An unmodified Ice for C++ server of Values.ice, of the newer version if compiled with NEWER defined.
//
// Usage: server [ICE OPTIONS]
//
// Prints `ready PROXY` on standard output, PROXY being that of the object "values". Ends when standard input does.

#include "values.h"

#include <iostream>

using namespace Values;

namespace
{

class PeerServant : public Peer
{
public:
    explicit PeerServant(std::shared_ptr<Ice::ObjectPrx> proxy) : _proxy(std::move(proxy)) {}

    Any sliced(Any value, std::string& seen, const Ice::Current&) override
    {
        seen = tell(value);
        return value;
    }

    Any compact(Any value, std::string& seen, const Ice::Current& current) override
    {
        return sliced(value, seen, current);
    }

    std::shared_ptr<Shape> typed(
        std::shared_ptr<Shape> shape, NodeOf node, NodeOf& same, std::string& seen, const Ice::Current&) override
    {
        seen = tell(shape, node);
        same = node;
        return shape;
    }

    Held hold(Held held, std::string& seen, const Ice::Current&) override
    {
        seen = tell(held);
        return held;
    }

    Ice::optional<std::string> options(
        int required, Ice::optional<bool> flag, Ice::optional<short> small, Ice::optional<long long int> large,
        Ice::optional<std::string> text, Ice::optional<Shade> shade, Ice::optional<Pair> pair,
        Ice::optional<Labels> labels, Ice::optional<Table> table,
        Ice::optional<std::shared_ptr<Ice::ObjectPrx>> object,
#ifdef NEWER
        Ice::optional<Strings> newer, Ice::optional<Label> newest,
#endif
        std::string& seen, Ice::optional<bool>& sameFlag, Ice::optional<short>& sameSmall,
        Ice::optional<long long int>& sameLarge, Ice::optional<Shade>& sameShade, Ice::optional<Pair>& samePair,
        Ice::optional<Labels>& sameLabels, Ice::optional<Table>& sameTable,
        Ice::optional<std::shared_ptr<Ice::ObjectPrx>>& sameObject, const Ice::Current&) override
    {
        seen = tell(required, flag, small, large, text, shade, pair, labels, table, object);
#ifdef NEWER
        seen += " " + tell(newer, newest);
#endif
        sameFlag = flag;
        sameSmall = small;
        sameLarge = large;
        sameShade = shade;
        samePair = pair;
        sameLabels = labels;
        sameTable = table;
        sameObject = object;
        return text;
    }

    Ice::optional<std::shared_ptr<Shape>> optionalClass(
        Ice::optional<std::shared_ptr<Shape>> shape, NodeOf node, Ice::optional<NodeOf> other, NodeOf& same,
        Ice::optional<NodeOf>& sameOther, std::string& seen, const Ice::Current&) override
    {
        seen = tell(shape, node, other);
        same = node;
        sameOther = other;
        return shape;
    }

    Any make(std::string sample, const Ice::Current&) override
    {
        try
        {
            return Values::make(sample, _proxy);
        }
        catch (const std::out_of_range&)
        {
            Values::fail("none");
        }
    }

    Any makeCompact(std::string sample, const Ice::Current& current) override { return make(sample, current); }
    void fail(std::string sample, const Ice::Current&) override { Values::fail(sample); }
    void failCompact(std::string sample, const Ice::Current&) override { Values::fail(sample); }

    std::shared_ptr<Sample> echoSample(std::shared_ptr<Sample> value, const Ice::Current&) override { return value; }
    std::shared_ptr<Optionals> echoOptionals(std::shared_ptr<Optionals> value, const Ice::Current&) override
    {
        return value;
    }
    Nodes echoNodes(Nodes value, const Ice::Current&) override { return value; }
    NodeOf left(NodeOf node, const Ice::Current&) override { return node->left; }
    NodeOf leftCompact(NodeOf node, const Ice::Current&) override { return node->left; }
    NodeOf both(NodeOf node, NodeOf& left, const Ice::Current&) override
    {
        left = node->left;
        return node;
    }

private:
    const std::shared_ptr<Ice::ObjectPrx> _proxy;
};

int serve(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    settings.properties->setProperty("Ice.Warn.Dispatch", "0");
    settings.properties->setProperty("Ice.AcceptClassCycles", "1");
    Ice::CommunicatorHolder holder(settings);
    const auto communicator = holder.communicator();
    const auto adapter = communicator->createObjectAdapterWithEndpoints("Server", "tcp -h 127.0.0.1 -p 0");
    const auto servant = std::make_shared<PeerServant>(something(communicator));
    const auto proxy = adapter->add(servant, Ice::stringToIdentity("values"));
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return serve(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
