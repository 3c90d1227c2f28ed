#include "runtime/peft/adapter_files.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {
namespace {

// One tensor of a file and the parameter it is (a part of).
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

std::string weights_in(const std::string& directory) {
  return join_path(directory, adapter_weights_name);
}

void check_folder(const Disk& disk, const std::string& directory,
                  const std::vector<const NamedAdapter*>& adapters) {
  require_same_adapters(disk, directory, adapters);
  D9D_REQUIRE(disk.exists(weights_in(directory)),
              "{} is not there; give the folder of an adapter that peft saved", weights_in(directory));
  const SafetensorsReader reader(disk, weights_in(directory));
  std::set<std::string> unread;
  for (const std::string& name : reader.names()) unread.insert(name);
  for (const NamedAdapter* named : adapters) {
    for (const StoredFactor& factor : stored_factors(*named)) {
      D9D_REQUIRE(reader.has(factor.name),
                  "{} has no {}; does module_name_pattern match more than it was trained on?", reader.path(),
                  factor.name);
      D9D_REQUIRE(reader.at(factor.name).spec.shape == factor.shape(),
                  "{} holds {} in the shape {}, the model has {}", reader.path(), factor.name,
                  to_text(reader.at(factor.name).spec.shape), to_text(factor.shape()));
      unread.erase(factor.name);
    }
  }
  D9D_REQUIRE(unread.empty(), "{} holds {} tensors of modules that module_name_pattern does not match: {}",
              reader.path(), unread.size(), to_text(unread));
}

// The block of `into` that the stored tensor fills; none when another rank has it.
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

}  // namespace

void check_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters) {
  for (const auto& [directory, own] : by_folder(adapters)) {
    try {
      check_folder(disk, directory, own);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), "model_provider.peft.from");
    }
  }
}

void load_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                   const std::vector<StageParameter>& parameters) {
  for (const auto& [directory, own] : by_folder(adapters)) {
    const SafetensorsReader reader(disk, weights_in(directory));
    for (const NamedAdapter* named : own) {
      for (const StoredFactor& factor : stored_factors(*named)) {
        const auto is_it = [&](const StageParameter& each) { return each.name == factor.parameter->name; };
        const auto into = std::find_if(parameters.begin(), parameters.end(), is_it);
        if (into != parameters.end()) read_block(reader, factor, *into);
      }
    }
  }
}

void write_adapters(Disk& disk, const std::string& directory, const std::vector<NamedAdapter>& adapters,
                    const std::string& config_json,
                    const std::function<at::Tensor(const std::string& name)>& read) {
  std::vector<TensorSpec> specs;
  for (const NamedAdapter& named : adapters) {
    for (const StoredFactor& factor : stored_factors(named)) {
      const auto options = factor.parameter->tensor.options().device(at::kMeta).requires_grad(false);
      specs.push_back(spec_of(factor.name, at::empty(factor.shape(), options)));
    }
  }
  SafetensorsWriter writer(disk, weights_in(directory), specs);
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
