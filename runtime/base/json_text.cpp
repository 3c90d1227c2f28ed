#include "runtime/base/json_text.hpp"

#include <istream>
#include <nlohmann/json.hpp>

namespace d9d {

using nlohmann::json;
using nlohmann::ordered_json;

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent);
}
std::string json_text(const ordered_json& json, int indent) {
  return json.dump(indent);
}

std::string shown_json(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string shown_json(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

template <class Json>
Json parse_json(std::string_view text) {
  return Json::parse(text.begin(), text.end());
}

template <class Json>
Json try_parse_json(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

template <class Json>
Json try_parse_json(std::istream& text) {
  return Json::parse(text, nullptr, false);
}

template json parse_json<json>(std::string_view);
template ordered_json parse_json<ordered_json>(std::string_view);
template json try_parse_json<json>(std::string_view);
template ordered_json try_parse_json<ordered_json>(std::string_view);
template json try_parse_json<json>(std::istream&);
template ordered_json try_parse_json<ordered_json>(std::istream&);

}  // namespace d9d
