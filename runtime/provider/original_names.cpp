#include "runtime/provider/original_names.hpp"

#include <array>

#include "runtime/state/convert/name_pattern.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"

namespace d9d {
namespace {

struct OriginalName {
  const char *from, *to;
  bool transposed = false;
};

// The first that matches counts. Up to 0.16 and from 0.19 on the head's module has another name (lm_head, head);
// one of several heads is heads.NAME.
constexpr std::array original_names{
    OriginalName{"{body*}.embed_tokens.token_embedding.{part}.weight", "{body}.embed_tokens.{part}.weight"},
    OriginalName{"{head*}.lm_head.{part}.weight", "lm_head.{part}.weight"},
    OriginalName{"head.score.weight", "score.weight"},
    OriginalName{"{layer*}.mlp.grouped_experts.{name}.weight", "{layer}.mlp.experts.{name}.weight", true},
    OriginalName{"{layer*}.mlp.router.gate.weight", "{layer}.mlp.gate.weight"},
    OriginalName{"{layer*}.mlp.shared_expert.expert.{name}.weight",
                 "{layer}.mlp.shared_expert.{name}.weight"},
    OriginalName{"{layer*}.mlp.shared_expert.gate.weight", "{layer}.mlp.shared_expert_gate.weight"}};

// A vocabulary of one part is one without parts.
std::string without_only_part(const std::string& name, const Names& all) {
  const NamePattern table("{body*}.token_embedding.{part}.weight"), head("{head*}.lm_head.{part}.weight");
  for (const NamePattern* pattern : {&table, &head}) {
    const auto found = pattern->match(name);
    if (!found) continue;
    std::size_t parts = 0;
    for (const std::string& other : all) parts += pattern->match(other) ? 1 : 0;
    return parts == 1 ? found->at("part") : "";
  }
  return "";
}

MapperPtr mapper_of(const std::string& name, const Names& all) {
  for (const OriginalName& known : original_names) {
    const auto captures = NamePattern(known.from).match(name);
    if (!captures) continue;
    std::string target = NamePattern(known.to).fill(*captures);
    const std::string part = without_only_part(name, all);
    if (!part.empty()) target.erase(target.rfind("." + part + "."), part.size() + 1);
    return known.transposed ? sequential({transpose(name, 1, 2), rename(name, target)})
                            : rename(name, target);
  }
  return identity(name);
}

}  // namespace

MapperPtr from_original_names(const Names& names) {
  std::vector<MapperPtr> mappers;
  for (const std::string& name : names) mappers.push_back(mapper_of(name, names));
  return parallel(std::move(mappers));
}

}  // namespace d9d
