#include "runtime/data/chat/unread_fields.hpp"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/count.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

void tell(std::vector<std::string>& words, const std::map<std::string, std::uint64_t, std::less<>>& keys,
          std::string_view thing) {
  for (const auto& [key, count] : keys)
    words.push_back(fmt::format("\"{}\" of {}", key, counted(count, thing)));
}

}  // namespace

void UnreadFields::add_of_rows(std::string_view key, std::uint64_t rows) {
  if (rows == 0) return;
  const auto found = rows_.find(key);
  if (found == rows_.end()) rows_.emplace(key, rows);
  if (found != rows_.end()) found->second += rows;
}

void UnreadFields::add_of_conversation(const RowJson& messages, const RowJson& tools,
                                       const RowJson& documents,
                                       const std::function<bool(std::string_view)>& reads) {
  if (!tools.is_null() && !reads("tools")) ++beside_["tools"];
  if (!documents.is_null() && !reads("documents")) ++beside_["documents"];
  for (const RowJson& message : messages) {
    for (const auto& [key, value] : message.items()) {
      if (key == "role" || key == "content" || value.is_null() || value.empty() || reads(key)) continue;
      ++messages_[key];
    }
  }
}

void UnreadFields::say() const {
  std::vector<std::string> of_conversations, of_rows;
  tell(of_conversations, beside_, "row");
  tell(of_conversations, messages_, "message");
  tell(of_rows, rows_, "row");
  if (!of_conversations.empty()) {
    log::warn(
        "data.files: these fields are not read and so not in the texts: {}; a chat template that names them "
        "writes them",
        fmt::join(of_conversations, ", "));
  }
  if (!of_rows.empty()) log::info("data.files: not read: {}", fmt::join(of_rows, ", "));
}

}  // namespace d9d
