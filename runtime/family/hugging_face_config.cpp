#include "runtime/family/hugging_face_config.hpp"

#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/error.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

using nlohmann::json;

const Family& family_of(const JsonReader& in) {
  const std::string type = in.text("model_type", "");
  const Family* const family = find_family(type);
  if (family != nullptr) return *family;
  std::vector<std::string_view> names;
  for (const Family* known : families()) names.push_back(known->name());
  throw Error(ErrorKind::input,
              fmt::format("{}: model_type is '{}', expected one of {}; other families are not supported",
                          in.where(), type, fmt::join(names, ", ")));
}

}  // namespace

std::shared_ptr<FamilyModel> parse_hugging_face_config(std::string_view text, const std::string& where) {
  const json document = json::parse(text, nullptr, false);
  D9D_REQUIRE(document.is_object(), "{}: not a JSON object; expected the config.json of a Hugging Face model",
              where);
  const JsonReader in(document, where);
  return family_of(in).read(in);
}

std::shared_ptr<FamilyModel> read_hugging_face_config(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw Error(
        ErrorKind::environment,
        fmt::format("cannot read {}; expected the config.json of a Hugging Face model", file.string()));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_hugging_face_config(text.str(), file.string());
}

}  // namespace d9d
