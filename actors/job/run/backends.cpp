#include "actors/job/run/backends.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/cpu/isa.hpp"
#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/error.hpp"
#include "runtime/job/rule/backend_rules.hpp"

namespace d9d {
namespace {

using kernels::AttentionBackend;
using kernels::Backends;
using kernels::GroupedBackend;

bool has_own_attention() {
  return kernels::isa_of_this_machine() >= kernels::Isa::avx512;
}

Backends chosen_by(const NodeConfig& node) {
  Backends chosen{node.attention, node.grouped_product};
  try {
    const Backends of_environment = kernels::backends_of_environment();
    if (chosen.attention == AttentionBackend::auto_) chosen.attention = of_environment.attention;
    if (chosen.grouped_product == GroupedBackend::auto_)
      chosen.grouped_product = of_environment.grouped_product;
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorKind::input, error.what());
  }
  return chosen;
}

// The key, or the variable that stands for it.
std::string source_of(const std::string& path, const NodeConfig& node) {
  if (path == "node.attention") return node.attention == AttentionBackend::auto_ ? "D9D_ATTENTION" : path;
  return node.grouped_product == GroupedBackend::auto_ ? "D9D_GROUPED_PRODUCT" : path;
}

template <class Backend>
std::string name_of(Backend backend) {
  return config::Codec<Backend>::write(backend).template get<std::string>();
}

}  // namespace

Backends backends_of(const LoadedJob& loaded) {
  const NodeConfig& node = loaded.job.node;
  const Backends chosen = chosen_by(node);
  std::string wrong;
  for (const JobIssue& issue : backend_issues(chosen, loaded.job, loaded.model.get()))
    wrong += fmt::format("{}{}: {}; {}", wrong.empty() ? "" : "\n", source_of(issue.path, node), issue.what,
                         issue.remedy);
  D9D_REQUIRE(wrong.empty(), "{}", wrong);
  D9D_REQUIRE(chosen.attention != AttentionBackend::own || has_own_attention(),
              "{}: own needs AVX-512, and this process computes with {} instructions; choose library or auto",
              source_of("node.attention", node), kernels::name_of(kernels::isa_of_this_machine()));
  return chosen;
}

std::string backends_text(const Backends& chosen, const LoadedJob& loaded) {
  const bool on_cuda = loaded.job.node.device == DeviceKind::cuda;
  const auto text = [](auto backend, const char* automatic) {
    return backend == decltype(backend)::auto_ ? std::string(automatic) : name_of(backend);
  };
  std::string all = "attention: " + text(chosen.attention, on_cuda ? "library where it can, else composed"
                                                           : has_own_attention() ? "own"
                                                                                 : "library");
  if (loaded.model == nullptr || loaded.model->experts_per_layer() > 0)
    all += ", products of experts: " +
           text(chosen.grouped_product, on_cuda ? "library where it can, else expert_by_expert" : "own");
  return all;
}

std::string instruction_set() {
  try {
    return kernels::name_of(kernels::isa_of_this_machine());
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorKind::input, error.what());
  }
}

}  // namespace d9d
