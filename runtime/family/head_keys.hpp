#pragma once
// The keys `model_provider.head`, `heads` and `hidden_states` of a job file (reference: MODEL-05). No torch.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/block/head_options.hpp"

namespace d9d {

BOOST_DESCRIBE_ENUM(HiddenStateSummary, no, mean)
BOOST_DESCRIBE_STRUCT(CausalLmHead, (), ())
BOOST_DESCRIBE_ENUM(ProblemType, single_label_classification, multi_label_classification, regression)
BOOST_DESCRIBE_STRUCT(ClassificationHead, (), (num_labels, dropout, problem_type))
BOOST_DESCRIBE_STRUCT(EmbeddingHead, (), (embedding_dim, normalize))

constexpr auto keys_of(config::Tag<ClassificationHead>) {
  using namespace config;
  return std::array{
      Key{"num_labels", "", "scores of each token that is pooled", required, at_least(1)},
      Key{"dropout", "", "share of the head's inputs that training sets to zero", optional, below_one()},
      Key{"problem_type", "",
          "what the scores learn, as in transformers; null: one label is a regression (the mean squared "
          "error of a number), several are classes of which a text has one"}};
}
constexpr auto keys_of(config::Tag<EmbeddingHead>) {
  using namespace config;
  return std::array{
      Key{"embedding_dim", "", "width of a projection; null: the hidden state itself", optional, at_least(1)},
      Key{"normalize", "", "divide the vector by its length"}};
}
constexpr auto choices_of(config::Tag<HeadOptions>) {
  return config::Choices<3>{
      "kind",
      {{{"causal_lm", "The next token: logits, or the loss of each token."},
        {"classification",
         "Scores of labels, from the tokens that the shared input `pooling_mask` selects (transformers' "
         "ForSequenceClassification)."},
        {"embedding",
         "A vector of each token that `pooling_mask` selects; without a projection the model is exported "
         "without a head."}}}};
}

}  // namespace d9d
