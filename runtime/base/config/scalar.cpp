#include "runtime/base/config/scalar.hpp"

#include <charconv>
#include <limits>

namespace d9d::config {
namespace {

struct Digits {
  std::string_view text;  // with its sign for base 10
  int base;
};

std::optional<Digits> digits_of(std::string_view text) {
  Digits digits{text, 10};
  if (text.starts_with("0x")) digits = {text.substr(2), 16};
  if (text.starts_with("0o")) digits = {text.substr(2), 8};
  if (digits.base == 10 && text.starts_with('+')) digits.text.remove_prefix(1);
  std::string_view bare = digits.text;
  if (digits.base == 10 && bare.size() == text.size() && bare.starts_with('-')) bare.remove_prefix(1);
  const std::string_view allowed =
      std::string_view("0123456789abcdefABCDEF")
          .substr(0, digits.base == 16 ? 22 : static_cast<std::size_t>(digits.base));
  if (bare.empty() || bare.find_first_not_of(allowed) != std::string_view::npos) return std::nullopt;
  return digits;
}

}  // namespace

std::optional<bool> boolean_from(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

bool looks_integer(std::string_view text) {
  return digits_of(text).has_value();
}

std::optional<std::int64_t> integer_from(std::string_view text) {
  const auto digits = digits_of(text);
  if (!digits) return std::nullopt;
  std::int64_t value = 0;
  const char* end = digits->text.data() + digits->text.size();
  const auto result = std::from_chars(digits->text.data(), end, value, digits->base);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> number_from(std::string_view text) {
  if (const auto integer = integer_from(text)) return static_cast<double>(*integer);
  std::string_view rest = text;
  const double sign = rest.starts_with('-') ? -1.0 : 1.0;
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF")
    return sign * std::numeric_limits<double>::infinity();
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::numeric_limits<double>::quiet_NaN();
  // from_chars would also take "inf", "nan" and one more minus sign, which are text here.
  if (rest.starts_with('-') || rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return std::nullopt;
  if (rest.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (result.ptr != rest.data() + rest.size() || result.ec != std::errc{}) return std::nullopt;
  return sign * value;
}

}  // namespace d9d::config
