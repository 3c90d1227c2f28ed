#pragma once
// The factories of a plugin's pieces, as the Registry takes them. `config`: the keys beside the piece's name in the job
// file; decode<T>(config) makes a described struct of them. All are called by `d9d-node check`, too. A PieceMaker may
// take a PieceContext as well.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "runtime/base/config/section.hpp"
#include "runtime/task/piece_context.hpp"

namespace d9d {

class Collation;
class GradientHook;
class InferenceTask;
class LrSchedule;
class ModelProvider;
class OptimizerProvider;
class SampleSource;
class StateMapper;
class TrainTask;
struct InferencePlace;
struct PipelineSchedule;

struct PieceMakers {
  using MakeModel = PieceMaker<std::shared_ptr<const ModelProvider>>;
  using MakeTask = PieceMaker<std::shared_ptr<TrainTask>>;
  using MakeInferenceTask = std::function<std::shared_ptr<InferenceTask>(const config::Section& config,
                                                                         const InferencePlace& place)>;
  using MakeOptimizer = PieceMaker<std::shared_ptr<const OptimizerProvider>>;
  using MakeLrSchedule = PieceMaker<std::shared_ptr<const LrSchedule>>;
  // Made once in each process; its programs are a pure function, see runtime/pipeline/program/own_schedule.hpp.
  using MakeSchedule = PieceMaker<std::shared_ptr<const PipelineSchedule>>;
  // What it makes opens the run, once, on node 0.
  using MakeTracker = PieceMaker<OpenTracker>;
  // Made once in each process; see runtime/data/sample_source.hpp for what it has to promise.
  using MakeSource = std::function<std::shared_ptr<const SampleSource>(const config::Section& config,
                                                                       const SourceContext& context)>;
  // Made once in each process; see runtime/data/collation.hpp.
  using MakeCollation = PieceMaker<std::shared_ptr<const Collation>>;
  // One for each rank; see runtime/train/gradient/gradient_hook.hpp.
  using MakeGradientHook = PieceMaker<std::shared_ptr<GradientHook>>;
  // `stored`: the names of the tensors of the folder that `d9d-node convert` reads.
  using MakeMapper = std::function<std::shared_ptr<const StateMapper>(const std::set<std::string>& stored)>;
};

}  // namespace d9d
