#include "runtime/nn/block/head_options.hpp"

namespace d9d {

std::string head_scope(const std::string& name) {
  return name.empty() ? "" : "heads." + name + ".";
}

std::map<std::string, std::vector<std::int64_t>> parameters_of_head(const HeadOptions& head,
                                                                    std::int64_t hidden_size) {
  if (const auto* classes = std::get_if<ClassificationHead>(&head))
    return {{"score.weight", {classes->num_labels, hidden_size}}};
  const auto* embedding = std::get_if<EmbeddingHead>(&head);
  if (embedding == nullptr || !embedding->embedding_dim) return {};
  return {{"projection.weight", {*embedding->embedding_dim, hidden_size}}};
}

}  // namespace d9d
