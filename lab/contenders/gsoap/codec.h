// The types of the scenario `codec`, as `soapcpp2` reads them: those of `lab/contracts/Codec.ice`.

#import "stlvector.h"

typedef short xsd__short;
typedef long long xsd__long;
typedef double xsd__double;
typedef std::string xsd__string;

class xsd__base64Binary
{
    unsigned char* __ptr;
    int __size;
};

class lab__Bytes
{
    xsd__base64Binary value;
};

class lab__Doubles
{
    std::vector<xsd__double> value;
};

class lab__Text
{
    std::vector<xsd__string> line;
};

class lab__Inner
{
    xsd__long l;
    xsd__double d;
};

class lab__Outer
{
    std::vector<lab__Inner> inner;
};

class lab__Nested
{
    std::vector<lab__Outer> outer;
};

class lab__Author
{
    xsd__string lastname;
    xsd__string initials;
};

class lab__PageRange
{
    xsd__short start;
    xsd__short end;
};

class lab__Entry
{
    std::vector<lab__Author> author;
    xsd__string title;
    xsd__string journal;
    xsd__short year;
    xsd__string publisher;
    xsd__string location;
    xsd__string edition;
    xsd__string hyperlink;
    xsd__short volume;
    xsd__short issue;
    lab__PageRange page;
};

class lab__Bibliography
{
    std::vector<lab__Entry> entry;
};
