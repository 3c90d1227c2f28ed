#include "runtime/data/config/mixture_data_config.hpp"

#include "runtime/base/config/decode.hpp"

namespace d9d {
namespace {

constexpr std::string_view weight_key = "weight";

}  // namespace

bool config::Codec<MixturePart>::read(MixturePart& out, const Node& node, const Path& path,
                                      Problems& problems) {
  if (node.kind != Node::Kind::map) {
    return wrong_type(node, path, problems, "a section with `weight` and `source`",
                      "write {weight: 0.7, source: ..., and its keys}");
  }
  const Node* weight = node.find(weight_key);
  bool good = weight != nullptr;
  if (!good) {
    problems.error(node.mark, path.child(weight_key), "missing",
                   "add `weight: ...`, the part's share of the samples");
  } else {
    const Path here{&path, weight_key};
    good = Codec<double>::read(out.weight, *weight, here, problems) &&
           check_range(out.weight, above(0), *weight, here, problems);
  }
  Node rest = node;
  std::erase_if(rest.entries, [](const Entry& entry) { return entry.key == weight_key; });
  return Codec<PartConfig>::read(out.source, rest, path, problems) && good;
}

config::Json config::Codec<MixturePart>::write(const MixturePart& part) {
  Json map = Json::object();
  map[std::string(weight_key)] = part.weight;
  map.update(Codec<PartConfig>::write(part.source));
  return map;
}

void config::Codec<MixturePart>::tables(Reference& reference, const std::string& path, const MixturePart&) {
  reference.note(path, "The other keys are those of `data` with the part's `source`, which is no mixture.");
  reference.add({path,
                 {{path + ".weight", "float, > 0", "required", "",
                   "share of the samples, beside the weights of the other parts"},
                  {path + ".source", "text", "required", "", "name of the part's source"}}});
}

}  // namespace d9d
