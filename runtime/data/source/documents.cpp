#include "runtime/data/source/documents.hpp"

#include <glob.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/mapped_file.hpp"

namespace d9d {
namespace {

constexpr std::string_view blank_characters = " \t\r";

// Calls with each line without its end (\n or \r\n), and its number from 1.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line, number);
    begin = end + 1;
  }
}

void use_lines(std::string_view text, const std::string& file, const UseDocument& use) {
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (!line.empty()) use(line, fmt::format("{}:{}", file, number));
  });
}

void use_paragraphs(std::string_view text, const std::string& file, const UseDocument& use) {
  std::string_view paragraph;
  std::size_t first = 0;
  const auto flush = [&] {
    if (!paragraph.empty()) use(paragraph, fmt::format("{}:{}", file, first));
    paragraph = {};
  };
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return flush();
    if (paragraph.empty()) {
      first = number;
      paragraph = line;
    }
    paragraph = {paragraph.data(), static_cast<std::size_t>(line.data() + line.size() - paragraph.data())};
  });
  flush();
}

void use_jsonl(std::string_view text, const std::string& file, const std::string& field,
               const UseDocument& use) {
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return;
    const std::string where = fmt::format("{}:{}", file, number);
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    D9D_REQUIRE(object.is_object(), "{}: not a JSON object; expected one a line, as in {{\"{}\": \"...\"}}",
                where, field);
    const auto found = object.find(field);
    D9D_REQUIRE(found != object.end() && found->is_string(),
                "{}: no text under \"{}\"; name the key with data.text_field", where, field);
    const auto& document = found->get_ref<const std::string&>();
    if (!document.empty()) use(document, where);
  });
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& name : files) {
    if (name.find_first_of("*?[") == std::string::npos) {
      out.push_back(name);
      continue;
    }
    glob_t found{};
    const int status = ::glob(name.c_str(), 0, nullptr, &found);
    if (status == 0) out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    D9D_REQUIRE(status == 0, "data.files: nothing matches {}", name);
  }
  D9D_REQUIRE(!out.empty(), "data.files is empty; name at least one file");
  return out;
}

void for_each_document(const TextDataConfig& config, const UseDocument& use) {
  for (const std::string& name : expand_files(config.files)) {
    const MappedFile file(name);
    if (config.format == TextFormat::jsonl) {
      use_jsonl(file.text(), name, config.text_field, use);
      continue;
    }
    switch (config.document) {
      case DocumentUnit::file:
        if (!file.text().empty()) use(file.text(), name);
        break;
      case DocumentUnit::paragraph:
        use_paragraphs(file.text(), name, use);
        break;
      case DocumentUnit::line:
        use_lines(file.text(), name, use);
        break;
    }
  }
}

}  // namespace d9d
