#include "runtime/data/config/own_data_config.hpp"

namespace d9d {
namespace {

constexpr std::string_view source_key = "source";
constexpr std::string_view epochs_key = "epochs";
constexpr std::string_view order_key = "order";

// Reads a key that is not the plugin's, and takes it out of the rest.
template <class Value>
bool take(Value& out, std::string_view key, config::Node& rest, const config::Path& path,
          config::Problems& problems) {
  const config::Node* found = rest.find(key);
  if (found == nullptr) return true;
  const bool good = config::Codec<Value>::read(out, *found, config::Path{&path, key}, problems);
  std::erase_if(rest.entries, [&](const config::Entry& entry) { return entry.key == key; });
  return good;
}

}  // namespace

bool config::Codec<OwnDataConfig>::read(OwnDataConfig& out, const Node& node, const Path& path,
                                        Problems& problems) {
  Node rest = node;
  bool good = take(out.epochs, epochs_key, rest, path, problems);
  good = take(out.order, order_key, rest, path, problems) && good;
  return Codec<Named>::read(out, rest, path, problems, source_key) && good;
}

config::Json config::Codec<OwnDataConfig>::write(const OwnDataConfig& config) {
  Json map = Codec<Named>::write(config, source_key);
  map[std::string(epochs_key)] = Codec<Epochs>::write(config.epochs);
  if (config.order.sorted || config.order.shards) {
    map[std::string(order_key)] = Codec<SampleOrder>::write(config.order);
  }
  return map;
}

void config::Codec<OwnDataConfig>::tables(Reference& reference, const std::string& path,
                                          const OwnDataConfig&) {
  const std::string title = path + " with another source";
  reference.note(title, "Registered by a plugin (`plugins`); the other keys are the plugin's own.");
  reference.add({title,
                 {{path + ".source", "text", "required", "", "name under which the plugin registers it"},
                  {path + ".epochs", Codec<Epochs>::type(), "1", "", std::string(data_keys::epochs.meaning)},
                  {path + ".order", Codec<SampleOrder>::type(), "see below", "",
                   std::string(data_keys::order.meaning)}}});
  add_tables(reference, path + ".order", SampleOrder{});
}

}  // namespace d9d
