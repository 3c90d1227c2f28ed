#include "runtime/job/reading/unused_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config/decode.hpp"

namespace d9d {
namespace {

using config::Key;
using config::Node;
using config::Path;
using config::Problems;

struct UnusedKey {
  std::string_view section;  // of `trainer`, and of `inference` where it has the section
  Key key;
  std::string (*type)();
  void (*check)(const Key& key, const Node& node, const Path& path, Problems& problems);
};

template <class T>
constexpr UnusedKey unused(std::string_view section, std::string_view name, std::string_view why,
                           config::Range range = {}) {
  return {section, Key{name, "", "", config::optional, range, why}, &config::Codec<T>::type,
          [](const Key& key, const Node& node, const Path& path, Problems& problems) {
            T value{};
            if (config::Codec<T>::read(value, node, path, problems))
              config::check_member(value, key.range, node, path, problems);
          }};
}

constexpr std::string_view no_processes = "what loads data are threads of this process";
constexpr std::string_view no_shapes = "spans carry bytes and names, not shapes or stacks";
constexpr std::array unused_keys{
    unused<std::optional<bool>>("data_loading", "pin_memory", "where a device copies from, memory is pinned"),
    unused<std::optional<bool>>("data_loading", "persistent_workers", no_processes),
    unused<config::Period>("gc", "period_steps", "there is no garbage collector"),
    unused<std::optional<config::Period>>("gradient_clipping", "log_total_steps",
                                          "the norm is logged at every step"),
    unused<bool>("logging.tracker", "capture_terminal_logs",
                 "the client runs in a process beside the job, which has no terminal"),
    unused<std::int64_t>("profiling", "warmup_steps", "recording spans needs no warm-up",
                         config::at_least(0)),
    unused<bool>("profiling", "record_shapes", no_shapes),
    unused<bool>("profiling", "with_stack", no_shapes)};

bool has_no_other_keys(std::string_view section) {
  return section == "gc";
}

// A tracker of a plugin may have a key of this name that it uses.
bool is_of_others(const Node& node, std::string_view section) {
  const Node* const provider = section == "logging.tracker" ? node.find("provider") : nullptr;
  return provider != nullptr && provider->text != "aim" && provider->text != "wandb";
}

void take(Node& node, const Path& path, std::string_view section, Problems& problems) {
  std::vector<UnusedKey> rows;
  std::vector<Key> keys;
  for (const UnusedKey& row : unused_keys) {
    if (row.section == section) rows.push_back(row), keys.push_back(row.key);
  }
  Node taken = node;
  if (!has_no_other_keys(section)) {
    if (node.kind != Node::Kind::map || is_of_others(node, section)) return;
    const auto is_unused = [&](const config::Entry& entry) {
      return std::ranges::any_of(keys, [&](const Key& key) { return key.name == entry.key; });
    };
    std::erase_if(taken.entries, [&](const config::Entry& entry) { return !is_unused(entry); });
    std::erase_if(node.entries, is_unused);
  }
  config::check_keys(taken, path, keys, {}, problems);
  for (const UnusedKey& row : rows) {
    if (const Node* const value = taken.find(row.key.name))
      row.check(row.key, *value, Path{&path, row.key.name}, problems);
  }
}

// `rest`: the part of the section's path that is below the node.
void take_below(Node& node, const Path& path, std::string_view section, std::string_view rest,
                Problems& problems) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string index = std::to_string(i);
    take_below(node.items[i], {&path, index}, section, rest, problems);
  }
  if (rest.empty()) return take(node, path, section, problems);
  const std::string_view name = rest.substr(0, rest.find('.'));
  Node* const child = node.find(name);
  if (child == nullptr) return;
  take_below(*child, {&path, name}, section, rest.substr(std::min(name.size() + 1, rest.size())), problems);
  if (has_no_other_keys(section))
    std::erase_if(node.entries, [&](const config::Entry& entry) { return entry.key == name; });
}

}  // namespace

void take_unused_keys(Node& root, Problems& problems) {
  for (const std::string_view run : {"trainer", "inference"}) {
    Node* const node = root.find(run);
    std::string_view before;
    for (const UnusedKey& key : unused_keys) {
      if (node != nullptr && key.section != before)
        take_below(*node, {nullptr, run}, key.section, key.section, problems);
      before = key.section;
    }
  }
}

void add_unused_keys(config::Reference& reference) {
  for (const UnusedKey& row : unused_keys) {
    const std::string section = fmt::format("trainer.{}", row.section);
    reference.add({section, {config::make_row(section, row.key, row.type(), nullptr, false)}});
  }
}

}  // namespace d9d
