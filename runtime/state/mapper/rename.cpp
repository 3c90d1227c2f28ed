#include "runtime/state/mapper/rename.hpp"

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/parts.hpp"

namespace d9d {
namespace {

class Rename final : public StateMapper {
 public:
  explicit Rename(std::map<std::string, std::string> old_to_new)
      : StateMapper(groups_from(old_to_new)), old_to_new_(std::move(old_to_new)) {}

 private:
  static std::set<StateGroup> groups_from(const std::map<std::string, std::string>& names) {
    std::set<StateGroup> groups;
    for (const auto& [from, to] : names) groups.insert({{from}, {to}});
    return groups;
  }

  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    return {{old_to_new_.at(name), tensor}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    return Pieces{{inputs.begin()->first, wanted, same_dims(wanted.begin.size()), wanted}};
  }

  std::map<std::string, std::string> old_to_new_;
};

class Copies final : public StateMapper {
 public:
  Copies(const std::string& from, Names to) : StateMapper({{{from}, to}}), names_(std::move(to)) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    TensorMap outputs;
    for (const std::string& name : names_) outputs[name] = inputs.begin()->second;
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    return Pieces{{inputs.begin()->first, wanted, same_dims(wanted.begin.size()), wanted}};
  }

  const Names names_;
};

}  // namespace

MapperPtr identities(const Names& names) {
  std::map<std::string, std::string> same;
  for (const auto& name : names) same.emplace(name, name);
  return std::make_shared<Rename>(std::move(same));
}

MapperPtr identities_of(const TensorMap& state) {
  Names names;
  for (const auto& [name, tensor] : state) names.insert(name);
  return identities(names);
}

MapperPtr identities_of_outputs(const StateMapper& mapper) {
  return identities(outputs_of(mapper));
}

MapperPtr identity(const std::string& name) {
  return rename(name, name);
}

MapperPtr rename(const std::string& from, const std::string& to) {
  return std::make_shared<Rename>(std::map<std::string, std::string>{{from, to}});
}

MapperPtr copies(const std::string& from, const std::vector<std::string>& to) {
  return std::make_shared<Copies>(from, unique_names(to, "copies"));
}

MapperPtr select_child_modules(const std::vector<std::string>& base_names, const std::string& parent) {
  std::map<std::string, std::string> names;
  for (const auto& name : base_names) {
    const bool is_new = names.emplace(parent + "." + name, name).second;
    D9D_REQUIRE(is_new, "select_child_modules: \"{}\" is named twice", name);
  }
  return std::make_shared<Rename>(std::move(names));
}

}  // namespace d9d
