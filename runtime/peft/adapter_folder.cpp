#include "runtime/peft/adapter_folder.hpp"

#include <algorithm>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/peft/adapter_files.hpp"
#include "runtime/peft/adapter_options.hpp"
#include "runtime/peft/low_rank.hpp"
#include "runtime/peft/module_pattern.hpp"
#include "runtime/peft/saved_modules.hpp"
#include "runtime/state/model/model_index.hpp"
#include "runtime/state/weights/not_finite.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view ending_a = ".lora_A.weight", ending_b = ".lora_B.weight";
constexpr std::string_view ending_m = ".lora_magnitude_vector";  // older versions add ".weight"

// The parts of a path like "model.layers.0.mlp.experts.3.gate_proj"; nothing
// for modules that are no experts.
struct ExpertPart {
  std::string experts;  // "model.layers.0.mlp.experts."
  std::int64_t index = 0;
  std::string part;  // "gate_proj"
};
std::optional<ExpertPart> expert_part(const std::string& module) {
  constexpr std::string_view experts = ".experts.";
  const auto at = module.rfind(experts);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + experts.size(), dot = module.find('.', begin);
  if (dot == std::string::npos || dot == begin || dot - begin > 6) return std::nullopt;
  const std::string digits = module.substr(begin, dot - begin);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return ExpertPart{module.substr(0, begin), std::stoll(digits), module.substr(dot + 1)};
}

bool is_down(const std::string& part) {
  return part == "down_proj" || part == "w2";
}
bool is_up(const std::string& part) {
  return part == "up_proj" || part == "w3";
}

// The name of the fused tensor in which transformers 5 stores this expert's weight.
std::string fused_name(const ExpertPart& expert) {
  return expert.experts + (is_down(expert.part) ? "down_proj" : "gate_up_proj");
}

at::Tensor block_of(const at::Tensor& fused, const ExpertPart& expert) {
  D9D_REQUIRE(fused.dim() == 3 && expert.index < fused.size(0), "{} has no expert {}", expert.experts,
              expert.index);
  const at::Tensor all = fused.select(0, expert.index);
  if (is_down(expert.part)) return all;
  const std::int64_t half = all.size(0) / 2;
  return all.narrow(0, is_up(expert.part) ? half : 0, half);
}

// Modules by the ends of their paths.
bool ends_a(const std::string& tensor, std::initializer_list<std::string_view> modules) {
  return std::ranges::any_of(modules, [&](std::string_view module) {
    return ends_with_names(tensor, std::string(module) + ".weight");
  });
}
bool is_of_head(const std::string& tensor) {
  return ends_a(tensor, {"lm_head", "decoder"});
}

// Whether the head of words has the matrix of the embedding, so that the folder has one of the two.
bool ties_head(const Names& base, const std::string& task_type) {
  const bool has_own = std::ranges::any_of(base, [](const std::string& name) {
    return is_of_head(name) || ends_a(name, {"score", "classifier"}) || name == "output.weight" ||
           name == "embed_out.weight";
  });
  const bool of_words = task_type.empty() || task_type == "CAUSAL_LM" || base.contains("decoder.bias");
  return !has_own && of_words;
}

}  // namespace

bool is_adapter_folder(const Disk& disk, const std::string& directory) {
  const auto has = [&](const char* name) { return disk.exists(join_path(directory, name)); };
  return has(adapter_config_name) && !has(model_single_name) && !has(model_index_name);
}

std::string base_of_adapter(const Disk& disk, const AdapterFolder& adapter, const std::string& given) {
  const std::string base = given.empty() ? adapter.base() : given;
  D9D_REQUIRE(!base.empty(),
              "{} does not say which model it belongs to; give that model's folder with --base",
              join_path(adapter.directory(), adapter_config_name));
  D9D_REQUIRE(disk.exists(join_path(base, "config.json")),
              "{}, the model that the adapter in {} belongs to, is no folder of a model here; give it with "
              "--base FOLDER",
              base, adapter.directory());
  return base;
}

AdapterFolder::AdapterFolder(const Disk& disk, const std::string& directory)
    : directory_(directory),
      config_(read_adapter_config(disk, directory)),
      reader_(disk, adapter_weights_in(disk, directory)) {
  for (const std::string& stored : reader_.names()) {
    const std::string whole = name_of_saved_tensor(stored);
    if (!whole.empty()) {
      whole_[whole] = stored;
      continue;
    }
    std::string name = stored.starts_with(prefix) ? stored.substr(prefix.size()) : "";
    const auto take = [&](std::string_view ending, std::string Factors::*member) {
      if (!name.ends_with(ending)) return false;
      factors_[name.substr(0, name.size() - ending.size())].*member = stored;
      return true;
    };
    if (name.ends_with(std::string(ending_m) + ".weight")) name.resize(name.size() - 7);
    const bool known =
        take(ending_a, &Factors::a) || take(ending_b, &Factors::b) || take(ending_m, &Factors::magnitudes);
    D9D_REQUIRE(known, "{} holds {}, which is no factor of a linear layer; merge the adapter with peft",
                reader_.path(), stored);
  }
  const bool dora = says_something(config_, "use_dora");
  for (const auto& [module, factors] : factors_) {
    D9D_REQUIRE(!factors.a.empty() && !factors.b.empty() && factors.magnitudes.empty() != dora,
                "{} lacks a part of the adapter of {}", reader_.path(), module);
  }
}

std::string AdapterFolder::base() const {
  const auto base = config_.value("base_model_name_or_path", nlohmann::ordered_json());
  return base.is_string() ? base.get<std::string>() : "";
}

std::string AdapterFolder::task_type() const {
  const auto type = config_.value("task_type", nlohmann::ordered_json());
  return type.is_string() ? type.get<std::string>() : "";
}

// peft holds the two uses of a tied matrix apart as soon as one of them is adapted or trained.
void AdapterFolder::require_untied(const Names& base) const {
  if (!ties_head(base, task_type())) return;
  std::string found;
  for (const auto& [module, factors] : factors_)
    if (is_of_head(module + ".weight")) found = module;
  for (const auto& [name, stored] : whole_)
    if (is_of_head(name) || ends_a(name, {"embed_tokens", "tok_embeddings", "wte", "word_embeddings"}))
      found = name;
  D9D_REQUIRE(found.empty(),
              "{} holds {}, but the model's head and its embedding are one tensor (tie_word_embeddings), and "
              "peft changes one of the two: give with --base a copy of the model's folder that holds both "
              "(lm_head.weight with the embedding's values, tie_word_embeddings: false)",
              reader_.path(), found);
}

Names AdapterFolder::changed_of(const Names& base) const {
  require_untied(base);
  Names changed, strange;
  for (const auto& [module, factors] : factors_) {
    const auto expert = expert_part(module);
    if (base.contains(module + ".weight")) {
      changed.insert(module + ".weight");
    } else if (expert && base.contains(fused_name(*expert))) {
      changed.insert(fused_name(*expert));
    } else {
      strange.insert(module);
    }
  }
  D9D_REQUIRE(strange.empty(),
              "{} holds adapters of modules that the model's folder does not have: {}; is it another "
              "model's?",
              reader_.path(), to_text(strange));
  for (const auto& [name, stored] : whole_) {
    if (base.contains(name)) changed.insert(name);
  }
  return changed;
}

std::vector<TensorSpec> AdapterFolder::added_to(const Names& base) const {
  std::vector<TensorSpec> added;
  for (const auto& [name, stored] : whole_) {
    if (base.contains(name)) continue;
    added.push_back(reader_.at(stored).spec);
    added.back().name = name;
  }
  return added;
}

at::Tensor AdapterFolder::read(const std::string& stored) const {
  const at::Tensor values = reader_.read(stored).contiguous();
  D9D_REQUIRE(
      !has_not_finite(values.const_data_ptr(), values.nbytes(), dtype_of(values.scalar_type())),
      "{}: \"{}\" holds NaN or infinite values; train the adapter again, or take an earlier checkpoint",
      reader_.path(), stored);
  return values;
}

at::Tensor AdapterFolder::merged(const std::string& module, const at::Tensor& weight) const {
  const Factors& factors = factors_.at(module);
  const at::Tensor a = read(factors.a), b = read(factors.b);
  D9D_REQUIRE(weight.dim() == 2 && a.dim() == 2 && b.dim() == 2 && a.size(1) == weight.size(1) &&
                  b.size(0) == weight.size(0) && a.size(0) == b.size(1),
              "{} holds factors of {} for another shape than the model's {}", reader_.path(), module,
              to_text(weight.sizes().vec()));
  const auto r = option_of_module(config_, "rank_pattern", "r", module);
  const auto alpha = option_of_module(config_, "alpha_pattern", "lora_alpha", module);
  D9D_REQUIRE(r == a.size(0) && alpha.is_number(),
              "{} says r = {} and lora_alpha = {} for {}, whose factors have r {}",
              join_path(directory_, adapter_config_name), json_text(r), json_text(alpha), module, a.size(0));
  const LoraParameters params{
      .r = a.size(0), .alpha = alpha.get<double>(), .use_rslora = says_something(config_, "use_rslora")};
  return merged_sum(weight, a, b, scale_of(params),
                    factors.magnitudes.empty() ? at::Tensor() : read(factors.magnitudes));
}

at::Tensor AdapterFolder::with_experts(const std::string& name, const at::Tensor& values) const {
  const at::Tensor changed = values.to(values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat,
                                       /*non_blocking=*/false, /*copy=*/true);
  for (const auto& [module, factors] : factors_) {
    const auto expert = expert_part(module);
    if (!expert || fused_name(*expert) != name) continue;
    const at::Tensor block = block_of(changed, *expert);
    block.copy_(merged(module, block));
  }
  return changed;
}

at::Tensor AdapterFolder::changed(const std::string& name, const at::Tensor& values) const {
  constexpr std::string_view weight = ".weight";
  const std::string module = name.ends_with(weight) ? name.substr(0, name.size() - weight.size()) : "";
  const bool has_factors = factors_.contains(module);
  const auto whole = whole_.find(name);
  if (whole == whole_.end()) return has_factors ? merged(module, values) : with_experts(name, values);
  const at::Tensor own = read(whole->second);
  D9D_REQUIRE(own.sizes() == values.sizes(), "{} holds {} in the shape {}, the model has {}", reader_.path(),
              name, to_text(own.sizes().vec()), to_text(values.sizes().vec()));
  return has_factors ? merged(module, own) : own;
}

}  // namespace d9d
