#include "runtime/job/reading/job_tree.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/base/host/home_path.hpp"

namespace d9d {
namespace {

using config::Node;
using config::Path;
using config::Problems;

// By the last part of a key's path: these are files and folders in every section that has them.
constexpr std::array<std::string_view, 31> path_keys{"adapter",
                                                     "attention_mask",
                                                     "ca",
                                                     "cache",
                                                     "certificate",
                                                     "chat_template",
                                                     "dir",
                                                     "export_adapter_to",
                                                     "export_to",
                                                     "file",
                                                     "files",
                                                     "from",
                                                     "key",
                                                     "job_token_file",
                                                     "labels",
                                                     "log_dir",
                                                     "output_dir",
                                                     "path",
                                                     "plugins",
                                                     "position_ids",
                                                     "prefix",
                                                     "repo",
                                                     "rules",
                                                     "save_dir",
                                                     "targets",
                                                     "tokenizer",
                                                     "tokens",
                                                     "tools",
                                                     "traces_dir",
                                                     "tracking_uri",
                                                     "source_checkpoint"};

bool is_path_key(std::string_view key, const Path& parent) {
  for (const Path* above = &parent; key == "prefix" && above != nullptr; above = above->parent)
    if (above->name == "roles") return false;  // a text before each message
  return std::find(path_keys.begin(), path_keys.end(), key) != path_keys.end();
}

void expand(Node& node, const std::string& path, Problems& problems) {
  if (node.kind != Node::Kind::scalar) return;
  try {
    node.text = expanded_path(node.text);
  } catch (const Error& error) {
    problems.error(node.mark, path, error.what(), "");
  }
}

void expand_below(Node& node, const Path& path, Problems& problems) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string index = std::to_string(i);
    expand_below(node.items[i], {&path, index}, problems);
  }
  for (config::Entry& entry : node.entries) {
    const Path here{&path, entry.key};
    if (is_path_key(entry.key, path)) {
      expand(entry.value, here.str(), problems);
      const bool lists = entry.key == "files" || entry.key == "plugins";
      for (std::size_t i = 0; lists && i < entry.value.items.size(); ++i)
        expand(entry.value.items[i], here.child(std::to_string(i)), problems);
    }
    expand_below(entry.value, here, problems);
  }
}

}  // namespace

void settle_tree(Node& root, Problems& problems) {
  std::erase_if(root.entries, [](const config::Entry& entry) { return entry.key.starts_with("x-"); });
  expand_below(root, {}, problems);
}

}  // namespace d9d
