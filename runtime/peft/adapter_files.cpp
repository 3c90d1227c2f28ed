#include "runtime/peft/adapter_files.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {
namespace {

// A tensor of a file, and the parameter of which it is the whole or a part.
struct StoredFactor {
  std::string name;
  const StageParameter* parameter = nullptr;
  std::optional<std::int64_t> expert;

  Shape shape() const {
    const Shape& all = parameter->layout.global_shape();
    return {all.begin() + (expert ? 1 : 0), all.end()};
  }
};

std::vector<StoredFactor> stored_factors(const NamedAdapter& named) {
  std::vector<StoredFactor> factors;
  for (const AdaptedModule& module : named.modules) {
    const FactorNames names = factor_names(module);
    factors.push_back({names.a, &named.adapter.a, module.expert});
    factors.push_back({names.b, &named.adapter.b, module.expert});
    if (named.adapter.magnitudes)
      factors.push_back({names.magnitudes, &*named.adapter.magnitudes, module.expert});
  }
  return factors;
}

std::map<std::string, std::vector<const NamedAdapter*>> by_folder(const std::vector<NamedAdapter>& adapters) {
  std::map<std::string, std::vector<const NamedAdapter*>> folders;
  for (const NamedAdapter& named : adapters) {
    if (named.adapter.config.from) folders[*named.adapter.config.from].push_back(&named);
  }
  return folders;
}

void require_shape(const SafetensorsReader& reader, const std::string& name, const Shape& shape) {
  D9D_REQUIRE(reader.at(name).spec.shape == shape, "{} holds {} in the shape {}, the model has {}",
              reader.path(), name, to_text(reader.at(name).spec.shape), to_text(shape));
}

// The weights of modules with adapters, where peft stored them, too: with those the adapter was trained.
std::vector<StoredFactor> stored_bases(const SafetensorsReader& reader, const NamedAdapter& named) {
  std::vector<StoredFactor> bases;
  for (const AdaptedModule& module : named.modules) {
    const std::string name = base_layer_name(module.path);
    if (!module.expert && reader.has(name)) bases.push_back({name, &named.adapter.weight, {}});
  }
  return bases;
}

// A frozen weight stays in the model's folder: checkpoints and exports take it from there.
void require_same_base(const SafetensorsReader& reader, const StoredFactor& base,
                       const StageParameter& loaded) {
  const at::Tensor own = loaded.tensor.detach().cpu();
  if (own.numel() == 0) return;
  const at::Tensor stored = reader.read(base.name, loaded.layout.local_slice());
  const bool same = at::equal(own.to(stored.scalar_type()), stored) ||
                    at::equal(stored.to(own.scalar_type()), own);  // one of them may be rounded
  D9D_REQUIRE(
      same,
      "{} holds {}, the weight that the adapter was trained with, and the model's folder has another; "
      "merge the adapter (`d9d-node convert`) and begin from the result",
      reader.path(), base.name);
}

const SavedTensor* saved_as(const std::vector<SavedTensor>& saved, const std::string& in_file) {
  if (is_base_layer(in_file)) return nullptr;
  const std::string name = name_of_saved_tensor(in_file);
  const auto found = std::find_if(saved.begin(), saved.end(),
                                  [&](const SavedTensor& tensor) { return tensor.name == name; });
  return found == saved.end() ? nullptr : &*found;
}

void check_folder(const Disk& disk, const std::string& directory,
                  const std::vector<const NamedAdapter*>& adapters, const std::vector<SavedTensor>& saved) {
  require_same_adapters(disk, directory, adapters);
  const SafetensorsReader reader(disk, adapter_weights_in(disk, directory));
  std::set<std::string> unread;
  for (const std::string& name : reader.names()) {
    const SavedTensor* const whole = saved_as(saved, name);
    if (whole == nullptr) unread.insert(name);
    if (whole != nullptr) require_shape(reader, name, whole->parameter.layout.global_shape());
  }
  for (const NamedAdapter* named : adapters) {
    for (const StoredFactor& factor : stored_factors(*named)) {
      D9D_REQUIRE(reader.has(factor.name),
                  "{} has no {}; does module_name_pattern match more than it was trained on?", reader.path(),
                  factor.name);
      require_shape(reader, factor.name, factor.shape());
      unread.erase(factor.name);
    }
  }
  for (const NamedAdapter* named : adapters) {
    for (const StoredFactor& base : stored_bases(reader, *named)) {
      require_shape(reader, base.name, base.shape());
      unread.erase(base.name);
    }
  }
  D9D_REQUIRE(unread.empty(), "{} holds {} tensors of modules that module_name_pattern does not match: {}",
              reader.path(), unread.size(), to_text(unread));
}

// Reads the part of the stored tensor that belongs to this rank's block of `into`. Does
// nothing when another rank has it.
void read_block(const SafetensorsReader& reader, const StoredFactor& factor, const StageParameter& into) {
  Slice slice = into.layout.local_slice();
  at::Tensor block = into.tensor.detach();
  if (factor.expert) {
    if (*factor.expert < slice.begin[0] || *factor.expert >= slice.end[0]) return;
    block = block.select(0, *factor.expert - slice.begin[0]);
    slice.begin.erase(slice.begin.begin());
    slice.end.erase(slice.end.begin());
  }
  if (block.numel() > 0) block.copy_(reader.read(factor.name, slice));
}

const StageParameter* parameter_named(const std::vector<StageParameter>& parameters,
                                      const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const StageParameter& each) { return each.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

void read_saved(const SafetensorsReader& reader, const std::vector<SavedTensor>& saved,
                const std::vector<StageParameter>& parameters) {
  for (const std::string& name : reader.names()) {
    const SavedTensor* const whole = saved_as(saved, name);
    if (whole == nullptr) continue;
    const StageParameter* const into = parameter_named(parameters, whole->parameter.name);
    if (into != nullptr) read_block(reader, {name, into, {}}, *into);
  }
}

}  // namespace

std::string adapter_weights_in(const Disk& disk, const std::string& directory) {
  const std::string path = join_path(directory, adapter_weights_name);
  D9D_REQUIRE(disk.exists(path) || !disk.exists(join_path(directory, "adapter_model.bin")),
              "{} holds adapter_model.bin, which can be read by Python alone; save the adapter as {} "
              "(save_pretrained with safe_serialization=True)",
              directory, adapter_weights_name);
  D9D_REQUIRE(disk.exists(path), "{} is not there; give the folder of an adapter that peft saved", path);
  return path;
}

std::vector<std::string> whole_tensors_in(const Disk& disk, const std::string& directory) {
  const SafetensorsReader reader(disk, adapter_weights_in(disk, directory));
  std::vector<std::string> names;
  for (const std::string& stored : reader.names()) {
    const std::string name = name_of_saved_tensor(stored);
    if (!name.empty() && !is_base_layer(stored)) names.push_back(name);
  }
  return names;
}

void check_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved) {
  for (const auto& [directory, own] : by_folder(adapters)) {
    try {
      check_folder(disk, directory, own, saved);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), "model_provider.peft.from");
    }
  }
}

void load_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                   const std::vector<StageParameter>& parameters, const std::vector<SavedTensor>& saved) {
  for (const auto& [directory, own] : by_folder(adapters)) {
    const SafetensorsReader reader(disk, adapter_weights_in(disk, directory));
    read_saved(reader, saved, parameters);
    for (const NamedAdapter* named : own) {
      for (const StoredFactor& base : stored_bases(reader, *named)) {
        const StageParameter* const loaded = parameter_named(parameters, base.parameter->name);
        if (loaded != nullptr) require_same_base(reader, base, *loaded);
      }
      for (const StoredFactor& factor : stored_factors(*named)) {
        const StageParameter* const into = parameter_named(parameters, factor.parameter->name);
        if (into != nullptr) read_block(reader, factor, *into);
      }
    }
  }
}

void write_adapters(Disk& disk, const std::string& directory, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved, const std::string& config_json,
                    const std::function<at::Tensor(const std::string& name)>& read) {
  std::vector<TensorSpec> specs;
  for (const SavedTensor& tensor : saved) {
    const auto options = tensor.parameter.tensor.options().device(at::kMeta).requires_grad(false);
    specs.push_back(
        spec_of(saved_tensor_name(tensor.name), at::empty(tensor.parameter.layout.global_shape(), options)));
  }
  for (const NamedAdapter& named : adapters) {
    for (const StoredFactor& factor : stored_factors(named)) {
      const auto options = factor.parameter->tensor.options().device(at::kMeta).requires_grad(false);
      specs.push_back(spec_of(factor.name, at::empty(factor.shape(), options)));
    }
  }
  SafetensorsWriter writer(disk, join_path(directory, adapter_weights_name), specs);
  for (const SavedTensor& tensor : saved)
    writer.write(saved_tensor_name(tensor.name), read(tensor.parameter.name));
  for (const NamedAdapter& named : adapters) {
    std::map<const StageParameter*, at::Tensor> whole;
    for (const StoredFactor& factor : stored_factors(named)) {
      at::Tensor& values = whole[factor.parameter];
      if (!values.defined()) values = read(factor.parameter->name);
      writer.write(factor.name, factor.expert ? values.select(0, *factor.expert) : values);
    }
  }
  writer.finish(/*sync=*/true);
  write_text(disk, join_path(directory, adapter_config_name), config_json);
}

}  // namespace d9d
