#pragma once
// A model of a plugin by the class of its stages: add_model<Convolution>(registry, "convolution_lm").

#include "runtime/nn/model/layered_stage.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/plugin/own_piece.hpp"
#include "runtime/provider/mapped_provider.hpp"

namespace d9d {

namespace own {

template <class Stage>
class Model final : public MappedProvider {
 public:
  using Keys = typename Stage::Keys;
  explicit Model(const Keys& keys) : keys_(keys) {}
  std::unique_ptr<StageModule> build_stage(StagePosition position) const override {
    return std::make_unique<Stage>(keys_, position);
  }
  // Stage::parallelize where the class has one; all other axes hold the whole parameter.
  std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                          const ParallelOptions& options) const override {
    if constexpr (requires(Stage & stage) { stage.parallelize(groups); }) {
      auto parameters = dynamic_cast<Stage&>(module).parallelize(groups);
      parallelize_replicate(parameters, groups.domains().mesh_for(dense_domain), dense_axes(), groups.rank());
      return parameters;
    } else {
      return ModelProvider::parallelize(module, groups, options);
    }
  }
  // Stage::load_mapper(keys, stored) and Stage::export_mapper(keys, names) where the class has them.
  std::shared_ptr<const StateMapper> load_mapper(const std::set<std::string>& stored) const override {
    if constexpr (requires { Stage::load_mapper(keys_, stored); }) return Stage::load_mapper(keys_, stored);
    return MappedProvider::load_mapper(stored);
  }
  std::shared_ptr<const StateMapper> export_mapper(const std::set<std::string>& names) const override {
    if constexpr (requires { Stage::export_mapper(keys_, names); }) return Stage::export_mapper(keys_, names);
    return MappedProvider::export_mapper(names);
  }
  // Of keys with a `vocab_size`, as those of LayeredStage.
  std::optional<std::int64_t> vocab_size() const override {
    if constexpr (requires(const Keys& keys) { std::int64_t{keys.vocab_size}; }) return keys_.vocab_size;
    return std::nullopt;
  }

 private:
  const Keys keys_;
};

}  // namespace own

// `model_provider: {name: NAME, ...}`: a StageModule Stage(const Stage::Keys&, StagePosition), made for each stage. It
// starts from drawn weights or from a folder, and is exported to one, under the names of its parameters. For other
// names Stage has static functions that return mappers (state/mapper):
//   static MapperPtr load_mapper(const Keys&, const Names& stored);    what becomes of the tensors of a folder
//   static MapperPtr export_mapper(const Keys&, const Names& names);   and of the parameters and buffers
template <class Stage>
void add_model(Registry& registry, const std::string& name) {
  registry.add_model(name, [](const config::Section& section) {
    return std::make_shared<own::Model<Stage>>(config::decode<typename Stage::Keys>(section));
  });
}

}  // namespace d9d
