#include "runtime/data/own_data_config.hpp"

namespace d9d {
namespace {

constexpr std::string_view source_key = "source";
constexpr std::string_view epochs_key = "epochs";

}  // namespace

bool config::Codec<OwnDataConfig>::read(OwnDataConfig& out, const Node& node, const Path& path,
                                        Problems& problems) {
  Node rest = node;
  bool good = true;
  if (const Node* epochs = node.find(epochs_key)) {
    good = Codec<Epochs>::read(out.epochs, *epochs, Path{&path, epochs_key}, problems);
    std::erase_if(rest.entries, [](const Entry& entry) { return entry.key == epochs_key; });
  }
  return Codec<Named>::read(out, rest, path, problems, source_key) && good;
}

config::Json config::Codec<OwnDataConfig>::write(const OwnDataConfig& config) {
  Json map = Codec<Named>::write(config, source_key);
  map[std::string(epochs_key)] = Codec<Epochs>::write(config.epochs);
  return map;
}

void config::Codec<OwnDataConfig>::tables(Reference& reference, const std::string& path,
                                          const OwnDataConfig&) {
  const std::string title = path + " with another source";
  reference.note(title, "Registered by a plugin (`plugins`); the other keys are the plugin's own.");
  reference.add(
      {title,
       {{path + ".source", "text", "required", "", "name under which the plugin registers it"},
        {path + ".epochs", Codec<Epochs>::type(), "1", "", std::string(data_keys::epochs.meaning)}}});
}

}  // namespace d9d
