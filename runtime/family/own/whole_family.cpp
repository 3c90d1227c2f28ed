#include "runtime/family/own/whole_family.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

using nlohmann::json;

std::map<std::string, at::Tensor> shapes_in(StageModule& stage) {
  std::map<std::string, at::Tensor> tensors;
  for (const StageParameter& parameter : stage.parameters())
    tensors[parameter.name] = parameter.tensor.detach();
  for (const StageBuffer& buffer : stage.buffers()) tensors[buffer.name] = buffer.tensor.detach();
  return tensors;
}

template <class All>
Names not_in(const Names& names, const All& all) {
  Names missing;
  for (const std::string& name : names)
    if (!all.contains(name)) missing.insert(name);
  return missing;
}

Names names_of(const std::map<std::string, at::Tensor>& tensors) {
  Names names;
  for (const auto& [name, tensor] : tensors) names.insert(name);
  return names;
}

void require_mapped(const FamilyModel& model, const std::map<std::string, at::Tensor>& tensors) {
  const MapperPtr to = model.parameters_to_folder();
  const Names ours = names_of(tensors), written = inputs_of(*to), stored = outputs_of(*to);
  D9D_REQUIRE(not_in(ours, written).empty(),
              "to_hugging_face() leaves out {}, which no export would have; add an identity or rename of it",
              to_text(not_in(ours, written)));
  D9D_REQUIRE(not_in(written, ours).empty(), "to_hugging_face() wants {}, which the model does not have",
              to_text(not_in(written, ours)));
  const MapperPtr from = model.folder_to_parameters(stored);
  const Names read = outputs_of(*from), wanted = inputs_of(*from);
  D9D_REQUIRE(
      not_in(ours, read).empty(),
      "from_hugging_face() does not make {} of a folder that an export wrote; add an identity or rename of "
      "it",
      to_text(not_in(ours, read)));
  D9D_REQUIRE(
      not_in(wanted, stored).empty(),
      "from_hugging_face() wants {}, which an export does not write; let the two mappers undo each other",
      to_text(not_in(wanted, stored)));
}

void require_shapes(const FamilyModel& model, const std::map<std::string, at::Tensor>& tensors) {
  const MapperPtr to = model.parameters_to_folder();
  const MapperPtr from = model.folder_to_parameters(outputs_of(*to));
  TensorMap stored;
  const auto apply = [](const StateMapper& mapper, const StateGroup& group, const TensorMap& all) {
    TensorMap inputs;
    for (const std::string& name : group.inputs) inputs[name] = all.at(name);
    return mapper.apply(inputs);
  };
  for (const StateGroup& group : to->groups()) stored.merge(apply(*to, group, tensors));
  for (const StateGroup& group : from->groups()) {
    for (const auto& [name, tensor] : apply(*from, group, stored)) {
      const auto own = tensors.find(name);
      D9D_REQUIRE(own == tensors.end() || own->second.sizes() == tensor.sizes(),
                  "its mappers do not undo each other: {} comes back from an export in another shape", name);
    }
  }
}

void require_costs(const FamilyModel& model, StageModule& stage) {
  const std::vector<StageParameter> parameters = stage.parameters();
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    std::int64_t elements = 0;
    for (const StageParameter& parameter : parameters)
      if (parameter.name.starts_with(prefix)) elements += parameter.tensor.numel();
    const std::int64_t counted = model.layer(layer).parameters;
    D9D_REQUIRE(
        counted == elements,
        "layer({}) counts {} parameters, but that layer has {}; let layer() add up the costs of what "
        "make_layer() makes (attention_costs, norm_costs, swiglu_costs, mixture_costs), or every estimate of "
        "memory and time is wrong",
        layer, counted, elements);
  }
}

void require_config(const FamilyModel& model, std::string_view family) {
  const std::string written = model.config_json();
  const json document = parse_json<json>(written);
  D9D_REQUIRE(document.value("model_type", "") == family,
              "its config.json has the model_type \"{}\"; give decoder_keys() the family's name",
              document.value("model_type", ""));
  const std::string architecture =
      document.value("architectures", json::array({""})).at(0).get<std::string>();
  D9D_REQUIRE(
      architecture.ends_with("ForCausalLM"),
      "its config.json has the architecture \"{}\"; give decoder_keys() one that ends with ForCausalLM",
      architecture);
  const json again = parse_json<json>(parse_hugging_face_config(written, "config.json")->config_json());
  for (const auto& [key, value] : document.items()) {
    D9D_REQUIRE(
        again.value(key, json()) == value,
        "its config.json has {} = {}, which is read as {}; let the key's `read` and `write` undo each other",
        key, json_text(value), json_text(again.value(key, json())));
  }
}

}  // namespace

void require_whole_family(const FamilyModel& model, std::string_view family) {
  try {
    require_config(model, family);
    const auto stage = model.build_shapes();
    const auto tensors = shapes_in(*stage);
    require_mapped(model, tensors);
    require_shapes(model, tensors);
    require_costs(model, *stage);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the family \"{}\": {}", family, error.what()));
  } catch (...) {
    throw Error(ErrorKind::input,
                fmt::format("the family \"{}\" threw: {}", family, describe_current_exception().what));
  }
}

}  // namespace d9d
