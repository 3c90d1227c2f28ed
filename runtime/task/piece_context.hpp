#pragma once
// What the factory of any piece of a plugin may know of the job, and how it is told. No torch.

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/config/section.hpp"
#include "runtime/mesh/mesh_parameters.hpp"

namespace d9d {

struct PieceContext {
  DeviceMeshParameters mesh;
  std::string run;         // trainer.run.name
  std::uint64_t seed = 0;  // trainer.determinism.base_seed
  std::string device;      // node.device: "cpu", "cuda"
  std::string output_dir;  // the run's folder; may not exist yet
};

// Makes R from the keys of a section, or from the keys and the context: a plugin gives either.
template <class R>
class PieceMaker {
 public:
  using Function = std::function<R(const config::Section&, const PieceContext&)>;
  template <class F>
  requires(std::is_invocable_r_v<R, F, const config::Section&, const PieceContext&> ||
           std::is_invocable_r_v<R, F, const config::Section&>)
      PieceMaker(F make) {  // NOLINT: converts on purpose
    if constexpr (std::is_invocable_r_v<R, F, const config::Section&, const PieceContext&>) {
      make_ = std::move(make);
    } else {
      make_ = [make = std::move(make)](const config::Section& config, const PieceContext&) {
        return make(config);
      };
    }
  }
  R operator()(const config::Section& config, const PieceContext& context) const {
    return make_(config, context);
  }

 private:
  Function make_;
};

}  // namespace d9d
