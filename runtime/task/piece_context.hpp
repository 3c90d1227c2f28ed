#pragma once
// What the factory of any piece of a plugin may know of the job, and how it is told. No torch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/config/section.hpp"
#include "runtime/mesh/mesh_parameters.hpp"

namespace d9d {

class TrackerRun;

struct PieceContext {
  DeviceMeshParameters mesh;
  std::string run;         // trainer.run.name
  std::uint64_t seed = 0;  // trainer.determinism.base_seed
  std::string device;      // node.device: "cpu", "cuda"
  std::string output_dir;  // the run's folder; may not exist yet
};

// What a data source is made for. A source knows no rank: it gives the same samples to all of them.
struct SourceContext : PieceContext {
  std::optional<std::int64_t>
      ids_below;  // the model's vocabulary; none: a plugin's model, which does not say
  std::optional<std::string>
      tokenizer;  // tokenizer.json or .model of the model's folder; none: no such folder
};

// The run of a tracker: of which job, and where it goes on.
struct TrackerContext {
  std::string run, description;
  std::string folder;  // of the run, on node 0
  std::int64_t last_step =
      0;  // of the checkpoint that is resumed; later steps of an earlier attempt are void
};
using OpenTracker = std::function<std::unique_ptr<TrackerRun>(const TrackerContext& context)>;

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
