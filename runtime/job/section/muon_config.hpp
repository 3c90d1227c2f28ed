#pragma once
// Section `optimizer` with name: muon.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/job/section/optimizer_keys.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

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
          "layers, "
          "whatever they are called. Vectors it updates always"},
      master_weights,
      rules};
}

}  // namespace d9d
