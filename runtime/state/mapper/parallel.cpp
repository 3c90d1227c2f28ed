#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/compose.hpp"

namespace d9d {
namespace {

class Parallel final : public StateMapper {
 public:
  explicit Parallel(std::vector<MapperPtr> mappers)
      : StateMapper(groups_from(mappers)), mappers_(std::move(mappers)) {
    for (const auto& mapper : mappers_)
      for (const auto& group : mapper->groups())
        for (const auto& name : group.inputs) by_input_.emplace(name, mapper.get());
  }

 private:
  static std::set<StateGroup> groups_from(const std::vector<MapperPtr>& mappers) {
    std::set<StateGroup> groups;
    for (const auto& mapper : mappers)
      for (const auto& group : mapper->groups()) {
        const bool is_new = groups.insert(group).second;
        D9D_REQUIRE(is_new, "parallel: two mappers use {} to make {}", to_text(group.inputs),
                    to_text(group.outputs));
      }
    return groups;
  }

  TensorMap map(const StateGroup& group, const TensorMap& inputs) const override {
    return by_input_.at(*group.inputs.begin())->apply(inputs);
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    return by_input_.at(inputs.begin()->first)->trace(output, wanted, inputs);
  }

  std::vector<MapperPtr> mappers_;
  std::map<std::string, const StateMapper*> by_input_;
};

}  // namespace

MapperPtr parallel(std::vector<MapperPtr> mappers) {
  return std::make_shared<Parallel>(filter_empty(std::move(mappers)));
}

std::vector<MapperPtr> filter_empty(std::vector<MapperPtr> mappers) {
  std::erase_if(mappers, [](const MapperPtr& mapper) {
    return std::all_of(mapper->groups().begin(), mapper->groups().end(),
                       [](const auto& group) { return group.inputs.empty() && group.outputs.empty(); });
  });
  return mappers;
}

}  // namespace d9d
