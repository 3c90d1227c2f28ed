#pragma once
// Section `optimizer` (reference A.6): how the structs of the optimizers are read.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <optional>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(ParameterRule, (), (match, weight_decay, lr_multiplier, betas))
constexpr auto keys_of(config::Tag<ParameterRule>) {
  using namespace config;
  return std::array{
      Key{"match", "",
          "names of parameters, as in `model.norm.weight`; `*` is any part of a name, `?` a letter. "
          "norms_and_biases: all of these",
          required},
      Key{"weight_decay", "", "of these parameters; null: the optimizer's", config::optional, at_least(0)},
      Key{"lr_multiplier", "", "times the learning rate", config::optional, at_least(0)},
      Key{"betas", "", "of these parameters; null: the optimizer's", config::optional, below_one()}};
}

namespace optimizer_keys {
inline constexpr config::Key lr{"lr", "", "learning rate at multiplier 1", config::required,
                                config::above(0)};
inline constexpr config::Key betas{"betas", "", "decay rates of the first and second moment",
                                   config::optional, config::below_one()};
inline constexpr config::Key eps{"eps", "", "added to the root of the second moment", config::optional,
                                 config::above(0)};
inline constexpr config::Key weight_decay{"weight_decay", "",
                                          "weight decay, times the learning rate where decoupled",
                                          config::optional, config::at_least(0)};
inline constexpr config::Key maximize{"maximize", "", "climb instead of descend"};
inline constexpr config::Key amsgrad{"amsgrad", "", "use the largest second moment so far"};
inline constexpr config::Key master_weights{"master_weights", "",
                                            "bfloat16 parameters are kept in float32 besides and updated "
                                            "there, 4 bytes more for each; false: updates are "
                                            "rounded to bfloat16, and small ones are lost"};
inline constexpr config::Key rules{
    "rules", "",
    "weight decay, learning rate and betas of single parameters; the first rule that "
    "matches a parameter's name counts"};
}  // namespace optimizer_keys

BOOST_DESCRIBE_STRUCT(AdamWOptions, (),
                      (lr, betas, eps, weight_decay, amsgrad, maximize, master_weights, rules))
constexpr auto keys_of(config::Tag<AdamWOptions>) {
  using namespace optimizer_keys;
  return std::array{lr, betas, eps, weight_decay, amsgrad, maximize, master_weights, rules};
}

BOOST_DESCRIBE_STRUCT(AdamOptions, (),
                      (lr, betas, eps, weight_decay, decoupled_weight_decay, amsgrad, maximize,
                       master_weights, rules))
constexpr auto keys_of(config::Tag<AdamOptions>) {
  using namespace optimizer_keys;
  constexpr config::Key decoupled{"decoupled_weight_decay", "", "as AdamW does"};
  return std::array{lr, betas, eps, weight_decay, decoupled, amsgrad, maximize, master_weights, rules};
}

BOOST_DESCRIBE_STRUCT(SgdOptions, (),
                      (lr, momentum, dampening, weight_decay, nesterov, maximize, master_weights, rules))
constexpr auto keys_of(config::Tag<SgdOptions>) {
  using namespace optimizer_keys;
  using namespace config;
  constexpr Key momentum{"momentum", "", "decay rate of the velocity", config::optional, at_least(0)};
  constexpr Key dampening{"dampening", "", "share of the gradient kept from the velocity", config::optional,
                          at_least(0)};
  constexpr Key nesterov{"nesterov", "", "look ahead along the velocity"};
  return std::array{lr, momentum, dampening, weight_decay, nesterov, maximize, master_weights, rules};
}

BOOST_DESCRIBE_STRUCT(StochasticAdamWOptions, (), (lr, betas, eps, weight_decay, state_dtype, rules))
constexpr auto keys_of(config::Tag<StochasticAdamWOptions>) {
  using namespace optimizer_keys;
  return std::array{
      lr,   betas, eps, weight_decay, config::Key{"state_dtype", "", "type of the moments", config::required},
      rules};
}

BOOST_DESCRIBE_STRUCT(AdamW8BitOptions, (),
                      (lr, betas, eps, weight_decay, block_size, float32_below, float32_for, master_weights,
                       rules))
constexpr auto keys_of(config::Tag<AdamW8BitOptions>) {
  using namespace optimizer_keys;
  using namespace config;
  constexpr Key block{"block_size", "elements", "that share a scale, of a rank's part of a parameter",
                      config::optional, at_least(1)};
  constexpr Key below{"float32_below", "elements", "parameters of fewer keep float32 moments",
                      config::optional, at_least(0)};
  constexpr Key float32_for{
      "float32_for", "",
      "names of parameters that keep float32 moments, as in `rules`; often those of embeddings"};
  return std::array{lr, betas, eps, weight_decay, block, below, float32_for, master_weights, rules};
}

BOOST_DESCRIBE_ENUM(MuonScale, original, match_rms_adamw)
BOOST_DESCRIBE_STRUCT(MuonOptions, (),
                      (lr, momentum, nesterov, newton_schulz_steps, scale, weight_decay, adamw_lr,
                       adamw_betas, adamw_eps, adamw_for, master_weights, rules))
constexpr auto keys_of(config::Tag<MuonOptions>) {
  using namespace optimizer_keys;
  using config::Key;
  constexpr auto optional = config::optional;
  return std::array{
      lr,
      Key{"momentum", "", "decay rate of the momentum", optional, config::below_one()},
      Key{"nesterov", "", "look ahead along the momentum"},
      Key{"newton_schulz_steps", "", "steps of the orthogonalisation", optional, config::within(1, 99)},
      Key{"scale", "",
          "how far a step goes in a matrix of R rows and C columns: original, lr x sqrt(max(1, R / C)); "
          "match_rms_adamw, lr x 0.2 sqrt(max(R, C)), as far as AdamW with that lr"},
      weight_decay,
      Key{"adamw_lr", "", "learning rate of the parameters that AdamW updates; null: lr", optional,
          config::above(0)},
      Key{"adamw_betas", "", "AdamW's decay rates of the first and second moment", optional,
          config::below_one()},
      Key{"adamw_eps", "", "AdamW's addition to the root of the second moment", optional, config::above(0)},
      Key{"adamw_for", "",
          "names of matrices that AdamW updates, as in `rules`; null: those of embeddings and of output "
          "layers, whatever they are called. Vectors it updates always"},
      master_weights,
      rules};
}

using OptimizerConfig = std::variant<AdamWOptions, AdamOptions, SgdOptions, StochasticAdamWOptions,
                                     MuonOptions, AdamW8BitOptions, config::Named>;
constexpr auto choices_of(config::Tag<OptimizerConfig>) {
  return config::Choices<6>{
      "name",
      {{{"adamw", "Adam with decoupled weight decay (Loshchilov, Hutter 2019)."},
        {"adam", "Adam (Kingma, Ba 2015)."},
        {"sgd", "Stochastic gradient descent with momentum."},
        {"stochastic_adamw", "AdamW on bfloat16 parameters with stochastic rounding."},
        {"muon",
         "Orthogonalised momentum for weights that are matrices, experts one by one; AdamW for all others "
         "(Jordan and others 2024)."},
        {"adamw_8bit",
         "AdamW whose moments are bytes in blocks with a scale each (Dettmers and others 2022); a quarter of "
         "the memory for them."}}}};
}

// None where the name is none of ours.
std::optional<OptimizerOptions> known_optimizer(const OptimizerConfig& config);

}  // namespace d9d
