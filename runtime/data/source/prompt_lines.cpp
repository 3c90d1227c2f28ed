#include "runtime/data/source/prompt_lines.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/table/table_files.hpp"

namespace d9d {
namespace {

std::string prompt_in(std::string_view line, const std::string& field, const std::string& where) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const bool fits = json.is_object() && json.contains(field) && json[field].is_string();
  D9D_REQUIRE(fits, "{}: expected an object with the key \"{}\", a text", where, field);
  return json[field].get<std::string>();
}

}  // namespace

void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const std::function<void(std::string_view prompt, const std::string& where)>& use) {
  for (const std::string& file : expand_files(files)) {
    TextDataConfig lines;
    lines.files = {file};
    lines.document = DocumentUnit::line;
    const bool is_json = file.ends_with(".jsonl");
    for_each_document(lines, [&](const Document& line) {
      if (is_json) return use(prompt_in(line.text, field, line.where), line.where);
      use(line.text, line.where);
    });
  }
}

}  // namespace d9d
