#include "runtime/data/source/prompt_lines.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/file/json_rows.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/source/records.hpp"

namespace d9d {
namespace {

void use_rows(const std::string& file, RowFormat format, const std::string& field,
              const UsePlacedPrompt& use) {
  for_each_record({file}, format, {field}, [&](const Record& row) {
    const auto found = row.columns.find(field);
    D9D_REQUIRE(found != row.columns.end() && found->is_string(),
                "{}: expected an object with the key \"{}\", a text; it has {}", row.where, field,
                keys_of_row(row.columns));
    use(found->get_ref<const std::string&>(), row.place);
  });
}

void use_lines(const std::string& file, const UsePlacedPrompt& use) {
  TextDataConfig lines;
  lines.files = {file};
  lines.format = TextFormat::text;
  lines.document = DocumentUnit::line;
  for_each_document(lines, [&](const Document& line) { use(line.text, line.place); });
}

}  // namespace

void for_each_placed_prompt(const std::vector<std::string>& files, const std::string& field,
                            const UsePlacedPrompt& use) {
  for (const std::string& file : expand_files(files)) {
    const auto format = format_of_ending(file);
    if (format) {
      use_rows(file, row_format(*format), field, use);
    } else {
      use_lines(file, use);
    }
  }
}

void for_each_prompt(const std::vector<std::string>& files, const std::string& field, const UsePrompt& use) {
  for_each_placed_prompt(
      files, field, [&](std::string_view prompt, const RowPlace& place) { use(prompt, text_of(place)); });
}

}  // namespace d9d
