// An unmodified Ice for C++ client of Values.ice, of the newer version if compiled with NEWER defined.
//
// Usage: client PROXY [ICE OPTIONS]
//
// PROXY is that of an object "values". Sends all samples, asks for all, and prints what came of each, a line for each
// call. The last line is `done`.

#include "values.h"

#include <iostream>

using namespace Values;

namespace
{

// What was observed of a failure, without its text.
std::string described(const Ice::LocalException& error)
{
    const auto name = error.ice_id().substr(std::string("::Ice::").size());
    return name.rfind("Unknown", 0) == 0 ? name : "cannot be decoded";
}

std::string joined(const std::vector<std::string>& parts)
{
    std::string text;
    for (const auto& part : parts)
    {
        text += (text.empty() ? "" : " | ") + part;
    }
    return text;
}

class Conversation
{
public:
    Conversation(std::shared_ptr<PeerPrx> peer, std::string version)
        : _peer(std::move(peer)), _version(std::move(version)), _proxy(something(_peer->ice_getCommunicator()))
    {
    }

    void run()
    {
        send();
        receive();
        typed();
        parts();
        options();
        optionalClasses();
        askFailures();
    }

private:
    // Prints what `question` answers, or how it failed.
    template<typename Question> void ask(const std::string& what, Question question)
    {
        std::cout << _version << ' ' << what << ": ";
        try
        {
            std::cout << joined(question());
        }
        catch (const Failed& error)
        {
            std::cout << "throws " << tell(error);
        }
        catch (const Ice::LocalException& error)
        {
            std::cout << described(error);
        }
        std::cout << std::endl;
    }

    std::vector<std::string> echo(bool sliced, const Any& value)
    {
        std::string seen;
        const auto back = sliced ? _peer->sliced(value, seen) : _peer->compact(value, seen);
        return {tell(back), tell(seen)};
    }

    void send()
    {
        auto names = older;
#ifdef NEWER
        names.insert(names.end(), newer.begin(), newer.end());
#endif
        for (const auto& name : names)
        {
            const auto value = make(name, _proxy);
            ask("sliced " + name, [&] { return echo(true, value); });
            ask("compact " + name, [&] { return echo(false, value); });
        }
    }

    void receive()
    {
        auto names = older;
        names.insert(names.end(), newer.begin(), newer.end());
        for (const auto& name : names)
        {
            Any made;
            ask("make " + name, [&] {
                made = _peer->make(name);
                return std::vector<std::string>{tell(made)};
            });
            if (made)
            {
                ask("again " + name, [&] { return echo(true, made); });
                ask("again compact " + name, [&] { return echo(false, made); });
            }
            ask("make compact " + name, [&] { return std::vector<std::string>{tell(_peer->makeCompact(name))}; });
        }
    }

    void askTyped(const std::string& what, const std::shared_ptr<Shape>& shape, const NodeOf& node)
    {
        ask(what, [&] {
            NodeOf same;
            std::string seen;
            const auto back = _peer->typed(shape, node, same, seen);
            return std::vector<std::string>{tell(back), tell(same), tell(seen)};
        });
    }

    void typed()
    {
        using Told = std::vector<std::string>;
        const auto node = ring();
        const auto marked = circle();
        marked->mark = node;
        askTyped("typed", marked, node);
        askTyped("typed nil", nullptr, nullptr);
        ask("hold", [&] {
            std::string seen;
            const auto back = _peer->hold(held(), seen);
            return Told{tell(back), tell(seen)};
        });
        ask("sample", [&] { return Told{tell(_peer->echoSample(sample(_proxy)))}; });
        ask("optionals", [&] { return Told{tell(_peer->echoOptionals(set(_proxy)))}; });
        ask("nodes", [&] { return Told{tell(_peer->echoNodes({node, nullptr, node->left}))}; });
    }

    void parts()
    {
        using Told = std::vector<std::string>;
        const auto node = ring();
        ask("left", [&] { return Told{tell(_peer->left(node))}; });
        ask("left compact", [&] { return Told{tell(_peer->leftCompact(node))}; });
        NodeOf left;
        _peer->both(node, left);
        ask("left kept", [&] { return Told{tell(left)}; });
        ask("left again", [&] { return Told{tell(_peer->left(left))}; });
    }

    void askOptions(
        const std::string& what, int required, bool areSet, Ice::optional<std::shared_ptr<Ice::ObjectPrx>> object)
    {
        Ice::optional<bool> flag, sameFlag;
        Ice::optional<short> small, sameSmall;
        Ice::optional<long long int> large, sameLarge;
        Ice::optional<std::string> text;
        Ice::optional<Shade> shade, sameShade;
        Ice::optional<Pair> pair, samePair;
        Ice::optional<Labels> labels, sameLabels;
        Ice::optional<Table> table, sameTable;
        Ice::optional<std::shared_ptr<Ice::ObjectPrx>> sameObject;
        Ice::optional<Strings> newer;
        Ice::optional<Label> newest;
        if (areSet)
        {
            flag = false;
            small = static_cast<short>(-3);
            large = 1LL << 40;
            text = std::string("text");
            shade = Shade::glowing;
            pair = Pair{1, 2};
            labels = Labels{{"a", Shade::glowing}};
            table = Table{{3, 0.5}};
            newer = Strings{"n"};
            newest = Label{"newest", Shade::light};
        }
        ask(what, [&] {
            std::string seen;
            const auto back = _peer->options(
                required, flag, small, large, text, shade, pair, labels, table, object,
#ifdef NEWER
                newer, newest,
#endif
                seen, sameFlag, sameSmall, sameLarge, sameShade, samePair, sameLabels, sameTable, sameObject);
            return std::vector<std::string>{
                tell(back), tell(seen), tell(sameFlag), tell(sameSmall), tell(sameLarge), tell(sameShade),
                tell(samePair), tell(sameLabels), tell(sameTable), tell(sameObject)};
        });
    }

    void options()
    {
        askOptions("options set", 1, true, _proxy);
        askOptions("options unset", 2, false, Ice::nullopt);
        askOptions("options nil", 3, false, std::shared_ptr<Ice::ObjectPrx>());
    }

    void askOptionalClass(
        const std::string& what, const Ice::optional<std::shared_ptr<Shape>>& shape, const NodeOf& node,
        const Ice::optional<NodeOf>& other)
    {
        ask(what, [&] {
            NodeOf same;
            Ice::optional<NodeOf> sameOther;
            std::string seen;
            const auto back = _peer->optionalClass(shape, node, other, same, sameOther, seen);
            return std::vector<std::string>{tell(back), tell(same), tell(sameOther), tell(seen)};
        });
    }

    void optionalClasses()
    {
        const auto node = ring();
        askOptionalClass("class set", std::shared_ptr<Shape>(circle()), node, node->left);
        askOptionalClass("class nil", std::shared_ptr<Shape>(), nullptr, NodeOf());
        askOptionalClass("class unset", Ice::nullopt, node, Ice::nullopt);
    }

    void askFailures()
    {
        const std::vector<std::string> nothing;
        for (const auto& name : failures)
        {
            ask("fail " + name, [&] { _peer->fail(name); return nothing; });
            ask("fail compact " + name, [&] { _peer->failCompact(name); return nothing; });
        }
    }

    const std::shared_ptr<PeerPrx> _peer;
    const std::string _version;
    const std::shared_ptr<Ice::ObjectPrx> _proxy;
};

int converse(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    settings.properties->setProperty("Ice.AcceptClassCycles", "1");
    Ice::CommunicatorHolder holder(settings);
    const auto proxy = holder->stringToProxy(argv[1]);
    for (const auto& encoding : {Ice::Encoding_1_1, Ice::Encoding_1_0})
    {
        const auto peer = Ice::uncheckedCast<PeerPrx>(proxy->ice_encodingVersion(encoding));
        Conversation(peer, Ice::encodingVersionToString(encoding)).run();
    }
    std::cout << "done" << std::endl;
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return converse(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
