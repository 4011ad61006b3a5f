// The types of the text and the bibliography in C++: the beginning of `data.hpp`, which the lab makes of its data files.

struct Author
{
    std::string lastname;
    std::string initials;
};

struct PageRange
{
    std::int16_t start;
    std::int16_t end;
};

struct Entry
{
    std::vector<Author> authors;
    std::string title;
    std::string journal;
    std::int16_t year;
    std::string publisher;
    std::string location;
    std::string edition;
    std::string hyperlink;
    std::int16_t volume;
    std::int16_t issue;
    PageRange page;
};

