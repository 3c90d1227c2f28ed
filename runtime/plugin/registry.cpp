#include "runtime/plugin/registry.hpp"

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/pipeline/program/own_schedule.hpp"
#include "runtime/plugin/plugin_collation.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

template <class Map, class Make>
void add(Map& map, const char* what, const std::string& name, Make make) {
  D9D_REQUIRE(!name.empty(), "a {} is registered under an empty name; a job file could not name it", what);
  D9D_REQUIRE(map.emplace(name, std::move(make)).second, "the {} \"{}\" is registered twice", what, name);
}

template <class Map>
const auto& find(const Map& map, const char* what, const std::string& name) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  std::string known;
  for (const auto& [key, make] : map) known += (known.empty() ? "" : ", ") + key;
  throw Error(ErrorKind::input,
              fmt::format("no {} is called \"{}\"; there are: {}. One of your own comes from a library "
                          "named in `plugins`",
                          what, name, known.empty() ? "none" : known));
}

// Calls the factory of that name with `given`.
template <class Map, class... Given>
auto made(const Map& map, const char* what, const std::string& name, const Given&... given) {
  const auto& make = find(map, what, name);
  return call_user(fmt::format("the factory of the {} \"{}\"", what, name), ErrorInside::passes,
                   [&] { return make(given...); });
}

}  // namespace

void Registry::add_model(const std::string& name, MakeModel make) {
  add(models_, "model", name, std::move(make));
}

void Registry::add_task(const std::string& name, MakeTask make) {
  add(tasks_, "task", name, std::move(make));
}

void Registry::add_inference_task(const std::string& name, MakeInferenceTask make) {
  add(inference_tasks_, "inference task", name, std::move(make));
}

void Registry::add_optimizer(const std::string& name, MakeOptimizer make) {
  add(optimizers_, "optimizer", name, std::move(make));
}

void Registry::add_lr_schedule(const std::string& name, MakeLrSchedule make) {
  add(lr_schedules_, "learning-rate schedule", name, std::move(make));
}

void Registry::add_source(const std::string& name, MakeSource make) {
  add(sources_, "data source", name, std::move(make));
}

void Registry::add_schedule(const std::string& name, MakeSchedule make) {
  add(schedules_, "pipeline schedule", name, std::move(make));
}

void Registry::add_collation(const std::string& name, MakeCollation make) {
  add(collations_, "collation", name, std::move(make));
}

void Registry::add_gradient_hook(const std::string& name, MakeGradientHook make) {
  add(gradient_hooks_, "gradient hook", name, std::move(make));
}

void Registry::add_mapper(const std::string& name, MakeMapper make) {
  add(mappers_, "mapper", name, std::move(make));
}

std::shared_ptr<const ModelProvider> Registry::make_model(const std::string& name,
                                                          const config::Section& config) const {
  return made(models_, "model", name, config, context_);
}

std::shared_ptr<TrainTask> Registry::make_task(const std::string& name, const config::Section& config) const {
  return made(tasks_, "task", name, config, context_);
}

std::shared_ptr<InferenceTask> Registry::make_inference_task(const std::string& name,
                                                             const config::Section& config,
                                                             const InferencePlace& place) const {
  return made(inference_tasks_, "inference task", name, config, place);
}

std::shared_ptr<const OptimizerProvider> Registry::make_optimizer(const std::string& name,
                                                                  const config::Section& config) const {
  return made(optimizers_, "optimizer", name, config, context_);
}

std::shared_ptr<const LrSchedule> Registry::make_lr_schedule(const std::string& name,
                                                             const config::Section& config) const {
  return made(lr_schedules_, "learning-rate schedule", name, config, context_);
}

std::shared_ptr<const SampleSource> Registry::make_source(const std::string& name,
                                                          const config::Section& config,
                                                          const SourceContext& context) const {
  return made(sources_, "data source", name, config, context);
}

std::shared_ptr<const PipelineSchedule> Registry::make_schedule(const std::string& name,
                                                                const config::Section& config) const {
  auto schedule = made(schedules_, "pipeline schedule", name, config, context_);
  D9D_REQUIRE(schedule != nullptr && schedule->build && schedule->stages_per_rank >= 1,
              "the factory of the pipeline schedule \"{}\" made none that builds programs of at least one "
              "stage a rank",
              name);
  return schedule;
}

std::shared_ptr<const Collation> Registry::make_collation(const std::string& name,
                                                          const config::Section& config) const {
  return std::make_shared<PluginCollation>(name, made(collations_, "collation", name, config, context_));
}

std::shared_ptr<GradientHook> Registry::make_gradient_hook(const std::string& name,
                                                           const config::Section& config) const {
  auto hook = made(gradient_hooks_, "gradient hook", name, config, context_);
  D9D_REQUIRE(hook != nullptr, "the factory of the gradient hook \"{}\" made none", name);
  return hook;
}

void Registry::add_tracker(const std::string& name, MakeTracker make) {
  add(trackers_, "tracker", name, std::move(make));
}

OpenTracker Registry::make_tracker(const std::string& name, const config::Section& config) const {
  return made(trackers_, "tracker", name, config, context_);
}

std::shared_ptr<const StateMapper> Registry::make_mapper(const std::string& name,
                                                         const std::set<std::string>& stored) const {
  const auto found = mappers_.find(name);
  if (found == mappers_.end()) return nullptr;
  auto mapper = call_user(fmt::format("the factory of the mapper \"{}\"", name), ErrorInside::passes,
                          [&] { return found->second(stored); });
  D9D_REQUIRE(mapper != nullptr, "the factory of the mapper \"{}\" made none", name);
  return mapper;
}

std::vector<std::string> Registry::mapper_names() const {
  std::vector<std::string> names;
  for (const auto& [name, make] : mappers_) names.push_back(name);
  return names;
}

}  // namespace d9d
