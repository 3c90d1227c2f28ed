#pragma once
// The heads that a model can have on its last stage. Pure values, no torch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace d9d {

// What a head computes first of normed hidden states x: norm(gelu(dense x)), with a norm of the model's kind.
// Parameters head.dense.weight, head.dense.bias where it has one, head.norm.weight. A classification head has a bias
// then, too: score.bias.
struct HeadTransform {
  bool wanted = false;
  bool bias = false;  // of dense

  bool operator==(const HeadTransform&) const = default;
};

// head.hpp: logits, or losses of tokens.
struct CausalLmHead {
  bool operator==(const CausalLmHead&) const = default;
};
// The problem that a classification head learns, in transformers' words.
enum class ProblemType { single_label_classification, multi_label_classification, regression };

// pooled_heads.hpp: a score for each label.
struct ClassificationHead {
  std::int64_t num_labels = 0;
  double dropout = 0;                            // of the head's input, in training
  std::optional<ProblemType> problem_type = {};  // none: regression with one label, else single_label

  ProblemType learns() const {
    const bool one = num_labels == 1;
    return problem_type.value_or(one ? ProblemType::regression : ProblemType::single_label_classification);
  }

  bool operator==(const ClassificationHead&) const = default;
};
// pooled_heads.hpp: a vector.
struct EmbeddingHead {
  std::optional<std::int64_t> embedding_dim;  // none: the hidden size, without a projection
  bool normalize = false;                     // to length 1

  bool operator==(const EmbeddingHead&) const = default;
};

using HeadOptions = std::variant<CausalLmHead, ClassificationHead, EmbeddingHead>;
// Heads by name. A head with the empty name must be the only one; its parameters and outputs have no prefix.
using HeadMap = std::map<std::string, HeadOptions>;

// The prefix of a head's parameters: "" for the empty name, else "heads.NAME."
std::string head_scope(const std::string& name);
// The shapes of a head's own parameters, by their name within its scope. A language model head has none.
std::map<std::string, std::vector<std::int64_t>> parameters_of_head(const HeadOptions& head,
                                                                    std::int64_t hidden_size,
                                                                    const HeadTransform& transform = {});
std::map<std::string, std::vector<std::int64_t>> parameters_of_transform(const HeadTransform& transform,
                                                                         std::int64_t hidden_size);

// How the hidden states of each layer are summarised as an output (hidden_states.hpp).
enum class HiddenStateSummary { no, mean };

}  // namespace d9d
