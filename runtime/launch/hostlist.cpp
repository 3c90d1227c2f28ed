#include "runtime/launch/hostlist.hpp"

#include <cstdint>
#include <string_view>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::size_t hosts_max = 65536;
constexpr std::size_t digits_max = 9;

struct Source {
  const std::string& text;
  const std::string& what;

  void require(bool condition, std::string_view reason) const {
    D9D_REQUIRE(condition, "{} is \"{}\": {}; expected a list of hosts such as gpu[01-03,07],login1", what,
                text, reason);
  }
};

// Parts between commas that stand outside of brackets.
std::vector<std::string_view> split(std::string_view list, const Source& source) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && !inside)) {
      source.require(i > begin, "there is nothing between two commas");
      parts.push_back(list.substr(begin, i - begin));
      begin = i + 1;
      continue;
    }
    source.require(list[i] != '[' || !inside, "a [ inside of a [");
    source.require(list[i] != ']' || inside, "a ] without its [");
    if (list[i] == '[' || list[i] == ']') inside = list[i] == '[';
  }
  source.require(!inside, "a [ without its ]");
  return parts;
}

std::int64_t number_of(std::string_view digits, const Source& source) {
  const bool number = !digits.empty() && digits.size() <= digits_max &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  source.require(number, "brackets hold numbers and ranges of them");
  return std::stoll(std::string(digits));
}

// "01-03,07": 01 02 03 07
std::vector<std::string> numbers_of(std::string_view ranges, const Source& source) {
  std::vector<std::string> numbers;
  for (const std::string_view range : split(ranges, source)) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::int64_t first = number_of(low, source);
    const std::int64_t last =
        dash == std::string_view::npos ? first : number_of(range.substr(dash + 1), source);
    source.require(first <= last, "a range runs backwards");
    source.require(static_cast<std::size_t>(last - first) < hosts_max - numbers.size(), "too many hosts");
    for (std::int64_t number = first; number <= last; ++number) {
      numbers.push_back(fmt::format("{:0{}}", number, low.size()));
    }
  }
  return numbers;
}

// One item without a comma outside of brackets.
std::vector<std::string> hosts_of(std::string_view item, const Source& source) {
  std::vector<std::string> hosts{""};
  while (!item.empty()) {
    const std::size_t open = item.find('[');
    for (std::string& host : hosts) host += item.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = item.find(']', open);
    const std::vector<std::string> numbers = numbers_of(item.substr(open + 1, close - open - 1), source);
    source.require(hosts.size() * numbers.size() <= hosts_max, "too many hosts");
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) longer.push_back(host + number);
    }
    hosts = std::move(longer);
    item.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> expand_hostlist(const std::string& text, const std::string& what) {
  const Source source{text, what};
  std::vector<std::string> all;
  for (const std::string_view item : split(text, source)) {
    for (std::string& host : hosts_of(item, source)) all.push_back(std::move(host));
    source.require(all.size() <= hosts_max, "too many hosts");
  }
  return all;
}

}  // namespace d9d
