#include "runtime/model_folder/used_template.hpp"

#include <set>
#include <variant>

#include "runtime/data/chat/template_files.hpp"
#include "runtime/data/config/data_parts.hpp"

namespace d9d {
namespace {

std::optional<std::string> template_of_source(const auto& source) {
  if constexpr (requires { source.chat_template; }) {
    if (!source.chat_template) return std::nullopt;
    const auto found = find_chat_template(source.tokenizer, source.chat_template);
    if (found && !found->choice) return found->texts.begin()->second;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> used_template(const DataConfig& data) {
  std::set<std::string> texts;
  for (const DataPart& part : parts_of(data)) {
    const auto text = std::visit([](const auto& source) { return template_of_source(source); }, part.source);
    if (text) texts.insert(*text);
  }
  return texts.size() == 1 ? std::optional(*texts.begin()) : std::nullopt;
}

}  // namespace d9d
