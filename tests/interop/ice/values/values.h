// The samples of Values.ice and how they are told as text, the same in each language; values.py says how a text looks.
//
// Compiled with NEWER defined for the newer version of the contract.

#pragma once

#include <Ice/Ice.h>
#include <Values.h>

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace Values
{

using Any = std::shared_ptr<Ice::Value>;
using NodeOf = std::shared_ptr<Node>;

// Tells values as text, and remembers which instances it told.
class Teller
{
public:
    std::string text() const { return _out.str(); }
    void space() { if (_out.tellp() > 0) _out << ' '; }

    void put(bool value) { _out << (value ? "true" : "false"); }
    void put(Ice::Byte value) { _out << static_cast<int>(value); }
    void put(short value) { _out << value; }
    void put(int value) { _out << value; }
    void put(long long int value) { _out << value; }
    void put(float value) { _out << value; }
    void put(double value) { _out << value; }
    void put(const std::string& value) { _out << '"' << value << '"'; }
    void put(Shade value) { _out << (value == Shade::dark ? "dark" : value == Shade::light ? "light" : "glowing"); }
    void put(const Pair& value) { members("Pair", value); }
    void put(const Label& value) { members("Label", value); }
    void put(const Held& value) { members("Held", value); }

    void put(const std::shared_ptr<Ice::ObjectPrx>& value)
    {
        _out << (value ? Ice::identityToString(value->ice_getIdentity()) : "nil");
    }

    template<typename T> void put(const Ice::optional<T>& value)
    {
        if (value)
        {
            put(*value);
        }
        else
        {
            _out << "unset";
        }
    }

    template<typename T> void put(const std::vector<T>& values)
    {
        _out << '[';
        const char* separator = "";
        for (const auto& value : values)
        {
            _out << separator;
            put(static_cast<const T&>(value));
            separator = ",";
        }
        _out << ']';
    }

    template<typename K, typename V> void put(const std::map<K, V>& values)
    {
        _out << '{';
        const char* separator = "";
        for (const auto& entry : values)
        {
            _out << separator;
            put(entry.first);
            _out << ':';
            put(entry.second);
            separator = ",";
        }
        _out << '}';
    }

    template<typename T> void put(const std::shared_ptr<T>& value)
    {
        if (value)
        {
            instance(value);
        }
        else
        {
            _out << "nil";
        }
    }

    void put(const Failed& error)
    {
        failure<Failed>("Failed", error);
        failure<FailedAt>("FailedAt", error);
        failure<FailedDeep>("FailedDeep", error);
#ifdef NEWER
        failure<FailedNewer>("FailedNewer", error);
#endif
    }

private:
    void instance(const Any& value)
    {
        for (std::size_t at = 0; at < _instances.size(); ++at)
        {
            if (_instances[at] == value)
            {
                _out << '#' << at + 1;
                return;
            }
        }
        _instances.push_back(value);
        _number = "#" + std::to_string(_instances.size());
        const bool known = is<Node>("Node", value) || is<Empty>("Empty", value) || is<Shape>("Shape", value) ||
            is<Circle>("Circle", value) || is<Kept>("Kept", value) || is<Square>("Square", value) ||
#ifdef NEWER
            is<KeptMore>("KeptMore", value) || is<KeptMost>("KeptMost", value) || is<Ring>("Ring", value) ||
            is<Alone>("Alone", value) || is<AloneById>("AloneById", value) ||
#endif
            is<Sample>("Sample", value) || is<Optionals>("Optionals", value);
        if (!known)
        {
            _out << '?' << _number;
        }
    }

    template<typename T> bool is(const char* name, const Any& value)
    {
        if (value->ice_id() != T::ice_staticId())
        {
            return false;
        }
        members(name + _number, dynamic_cast<const T&>(*value));
        return true;
    }

    template<typename T> void failure(const char* name, const Failed& error)
    {
        if (error.ice_id() == T::ice_staticId())
        {
            members(name, dynamic_cast<const T&>(error));
        }
    }

    template<typename T> void members(const std::string& name, const T& value)
    {
        _out << name << '(';
        const char* separator = "";
        const auto each = [&](const auto& member) { _out << separator; put(member); separator = ","; };
        std::apply([&](const auto&... member) { (each(member), ...); }, value.ice_tuple());
        _out << ')';
    }

    std::ostringstream _out;
    std::vector<Any> _instances;
    std::string _number;
};

template<typename... T> std::string tell(const T&... values)
{
    Teller teller;
    ((teller.space(), teller.put(values)), ...);
    return teller.text();
}

const std::vector<std::string> older = {
    "nil", "empty", "leaf", "tree", "shared", "ring", "shape", "circle", "kept", "square", "sample", "set", "unset"};
const std::vector<std::string> newer = {"keptMore", "keptMost", "keptInside", "hoop", "alone", "aloneById", "newer"};
const std::vector<std::string> failures = {"failed", "unset", "at", "deep", "newer", "none"};

inline NodeOf node(const std::string& name, NodeOf left = nullptr, NodeOf right = nullptr)
{
    return std::make_shared<Node>(name, left, right);
}

inline NodeOf ring()
{
    const auto first = node("first");
    first->left = node("second", first);
    first->right = first;
    first->left->right = first->left;
    return first;
}

inline std::shared_ptr<Shape> shape()
{
    return std::make_shared<Shape>(1, std::string("noted"), node("leaf"));
}

inline std::shared_ptr<Circle> circle()
{
    return std::make_shared<Circle>(2, Ice::nullopt, ring(), 2.5, Pair{1, -1});
}

inline std::shared_ptr<Kept> kept()
{
    return std::make_shared<Kept>("outer", std::make_shared<Kept>("inner", nullptr));
}

inline std::shared_ptr<Ice::ObjectPrx> something(const std::shared_ptr<Ice::Communicator>& communicator)
{
    return communicator->stringToProxy("some/thing:tcp -h 127.0.0.1 -p 1");
}

inline std::shared_ptr<Sample> sample(const std::shared_ptr<Ice::ObjectPrx>& proxy)
{
    const auto node = ring();
    auto sample = std::make_shared<Sample>();
    sample->flag = true;
    sample->octet = 255;
    sample->small = -32768;
    sample->number = -2147483647 - 1;
    sample->large = 9223372036854775807;
    sample->ratio = 0.5F;
    sample->exact = -0.25;
    sample->text = "text \u00e9\u4f60\U0001f600";
    sample->shade = Shade::glowing;
    sample->pair = {-1, 1};
    sample->label = {"label", Shade::light};
    sample->flags = {true, false};
    sample->bytes = {0, 1, 2, 3, 4};
    sample->shorts = {-1, 0, 1};
    sample->doubles = {0.5, -1.5};
    sample->strings = {"", "a"};
    sample->shades = {Shade::light, Shade::dark};
    sample->pairs = {{1, 2}};
    sample->labels = {{"", Shade::dark}};
    sample->proxies = {proxy, nullptr};
    sample->table = {{-1, 0.5}, {7, 1.5}};
    sample->legend = {{"a", Shade::light}, {"b", Shade::glowing}};
    sample->object = proxy;
    sample->nodes = {node, nullptr, node, node->left};
    sample->index = {{"one", node->left}, {"two", nullptr}};
    sample->node = node;
    return sample;
}

inline std::shared_ptr<Optionals> set(const std::shared_ptr<Ice::ObjectPrx>& proxy)
{
    auto set = std::make_shared<Optionals>();
    set->flag = false;
    set->octet = static_cast<Ice::Byte>(0);
    set->small = static_cast<short>(-5);
    set->number = 70000;
    set->large = -(1LL << 40);
    set->ratio = -0.5F;
    set->exact = 1.25;
    set->text = std::string("x");
    set->shade = Shade::glowing;
    set->pair = Pair{3, 4};
    set->label = Label{"l", Shade::dark};
    set->flags = Flags{true};
    set->bytes = Bytes{1, 2};
    set->shorts = Shorts{1, 2, 3};
    set->strings = Strings{"s", ""};
    set->shades = Shades{Shade::glowing};
    set->pairs = Pairs{{5, 6}, {7, 8}};
    set->labels = Labels{{"m", Shade::light}};
    set->table = Table{{1, 0.5}};
    set->legend = Legend{{"k", Shade::dark}};
    set->object = proxy;
    set->between = 9;
    set->shape = std::shared_ptr<Shape>(circle());
    set->nodes = Nodes{node("leaf"), nullptr};
    return set;
}

inline Any square()
{
    const auto square = std::make_shared<Square>("square", nullptr, 4, node("leaf"));
    square->other = square;
    return square;
}

inline Any unset()
{
    const auto unset = std::make_shared<Optionals>();
    unset->between = 10;
    return unset;
}

inline Any shared()
{
    const auto both = node("leaf");
    return node("top", both, node("side", both));
}

inline Held held()
{
    const auto node = ring();
    const auto shape = circle();
    return {1, shape, shape, std::make_shared<Empty>(), {node, node->left}, {{"n", node}}, 2};
}

#ifdef NEWER
inline std::shared_ptr<KeptMore> keptMore()
{
    return std::make_shared<KeptMore>(
        "kept", nullptr, 5, node("leaf"), kept(), "more", std::string("note"));
}

inline std::shared_ptr<KeptMost> keptMost()
{
    const auto leaf = node("leaf");
    const auto most = std::make_shared<KeptMost>(
        "kept", nullptr, 5, leaf, kept(), "more", std::string("note"), 6, leaf, ring());
    most->other = most;
    return most;
}

inline Any newerOptionals(const std::shared_ptr<Ice::ObjectPrx>& proxy)
{
    const auto newer = set(proxy);
    newer->newFirst = std::string("first");
    newer->newFlag = true;
    newer->newSmall = static_cast<short>(3);
    newer->newNumber = -7;
    newer->newExact = 0.5;
    newer->newShade = Shade::glowing;
    newer->newShorts = Shorts{1, 2};
    newer->newStrings = Strings{"a", "b"};
    newer->newNode = ring();
    newer->newLast = Label{"last", Shade::light};
    return newer;
}
#endif

// Makes a sample by name; throws std::out_of_range if there is none.
inline Any make(const std::string& name, const std::shared_ptr<Ice::ObjectPrx>& proxy)
{
    const std::map<std::string, std::function<Any()>> samples = {
        {"nil", [] { return nullptr; }},
        {"empty", [] { return std::make_shared<Empty>(); }},
        {"leaf", [] { return node("leaf"); }},
        {"tree", [] { return node("root", node("left"), node("right", nullptr, node("deep \u00e9"))); }},
        {"shared", shared},
        {"ring", ring},
        {"shape", shape},
        {"circle", circle},
        {"kept", kept},
        {"square", square},
        {"sample", [&] { return sample(proxy); }},
        {"set", [&] { return set(proxy); }},
        {"unset", unset},
#ifdef NEWER
        {"keptMore", keptMore},
        {"keptMost", keptMost},
        {"keptInside", [] { return std::make_shared<Kept>("holds", keptMost()); }},
        {"hoop",
         [] {
             return std::make_shared<Ring>(3, std::string("noted"), nullptr, 0.5, Ice::nullopt, 8, node("leaf"));
         }},
        {"alone", [] { return std::make_shared<Alone>(42, keptMore()); }},
        {"aloneById", [] { return std::make_shared<AloneById>("hidden"); }},
        {"newer", [&] { return newerOptionals(proxy); }},
#endif
    };
    return samples.at(name)();
}

// Fills an exception that is at least so deep.
inline void fill(FailedDeep& error)
{
    error.why = "deep";
    error.code = 3;
    error.place = ring();
#ifdef NEWER
    error.newer = std::string("newer text");
#endif
    error.held = held();
    error.labels = Labels{{"l", Shade::light}};
    error.shape = shape();
}

// Throws a sample by name, or that there is none.
[[noreturn]] inline void fail(const std::string& name)
{
    if (name == "failed")
    {
        throw Failed("failed", 7);
    }
    if (name == "unset")
    {
        throw Failed("", Ice::nullopt);
    }
    if (name == "at")
    {
        FailedAt at;
        at.why = "at";
        at.place = ring();
        at.more = std::string("more");
#ifdef NEWER
        at.newer = std::string("newer text");
#endif
        throw at;
    }
    if (name == "deep")
    {
        FailedDeep deep;
        fill(deep);
        throw deep;
    }
#ifdef NEWER
    if (name == "newer")
    {
        FailedNewer newer;
        fill(newer);
        newer.level = 12;
        newer.last = newer.place;
        throw newer;
    }
#endif
    throw Failed("no such sample", Ice::nullopt);
}

}
