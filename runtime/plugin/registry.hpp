#pragma once
// The pieces of jobs by name: models, tasks, data sources, collations, optimizers, learning-rate and pipeline
// schedules, gradient hooks, trackers and mappers. Main fills it line by line, plugins add theirs; there is no static
// registration.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/config/section.hpp"
#include "runtime/provider/named_mappers.hpp"
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

// The factories of a plugin's pieces, as the Registry takes them. `config`: the keys beside the piece's name in the job
// file; decode<T>(config) makes a described struct of them. All are called by `d9d-node check`, too. A PieceMaker may
// take a PieceContext as well.
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

class Registry : public PieceMakers, public NamedMappers {
 public:
  void set_context(PieceContext context) { context_ = std::move(context); }
  const PieceContext& context() const { return context_; }

  // A name twice is an input error.
  void add_model(const std::string& name, MakeModel make);
  void add_task(const std::string& name, MakeTask make);
  // Of jobs with a section `inference`; may have the name of a task that trains.
  void add_inference_task(const std::string& name, MakeInferenceTask make);
  void add_optimizer(const std::string& name, MakeOptimizer make);
  void add_lr_schedule(const std::string& name, MakeLrSchedule make);
  void add_schedule(const std::string& name, MakeSchedule make);
  void add_source(const std::string& name, MakeSource make);
  void add_collation(const std::string& name, MakeCollation make);
  void add_gradient_hook(const std::string& name, MakeGradientHook make);
  void add_mapper(const std::string& name, MakeMapper make);
  void add_tracker(const std::string& name, MakeTracker make);

  // An unknown name is an input error that lists the names there are.
  std::shared_ptr<const ModelProvider> make_model(const std::string& name,
                                                  const config::Section& config) const;
  std::shared_ptr<TrainTask> make_task(const std::string& name, const config::Section& config) const;
  std::shared_ptr<InferenceTask> make_inference_task(const std::string& name, const config::Section& config,
                                                     const InferencePlace& place) const;
  std::shared_ptr<const OptimizerProvider> make_optimizer(const std::string& name,
                                                          const config::Section& config) const;
  std::shared_ptr<const LrSchedule> make_lr_schedule(const std::string& name,
                                                     const config::Section& config) const;
  std::shared_ptr<const SampleSource> make_source(const std::string& name, const config::Section& config,
                                                  const SourceContext& context) const;
  std::shared_ptr<const PipelineSchedule> make_schedule(const std::string& name,
                                                        const config::Section& config) const;
  std::shared_ptr<const Collation> make_collation(const std::string& name,
                                                  const config::Section& config) const;
  std::shared_ptr<GradientHook> make_gradient_hook(const std::string& name,
                                                   const config::Section& config) const;
  OpenTracker make_tracker(const std::string& name, const config::Section& config) const;
  // Null for an unknown name.
  std::shared_ptr<const StateMapper> make_mapper(const std::string& name,
                                                 const std::set<std::string>& stored) const override;
  std::vector<std::string> mapper_names() const override;

 private:
  std::map<std::string, MakeModel> models_;
  std::map<std::string, MakeTask> tasks_;
  std::map<std::string, MakeInferenceTask> inference_tasks_;
  std::map<std::string, MakeOptimizer> optimizers_;
  std::map<std::string, MakeLrSchedule> lr_schedules_;
  std::map<std::string, MakeSchedule> schedules_;
  std::map<std::string, MakeSource> sources_;
  std::map<std::string, MakeCollation> collations_;
  std::map<std::string, MakeGradientHook> gradient_hooks_;
  std::map<std::string, MakeMapper> mappers_;
  std::map<std::string, MakeTracker> trackers_;
  PieceContext context_;
};

}  // namespace d9d

// What a plugin defines. It is visible also where the plugin's compiler hides the rest, as find_package(d9d) asks.
extern "C" __attribute__((visibility("default"))) void d9d_register(d9d::Registry& registry);
