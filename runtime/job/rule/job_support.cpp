// What the config knows and training does not do yet. A line goes when the feature comes.

#include "runtime/job/rule/job_validation.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

void refuse_if(bool given, std::string path, const std::string& value, const std::string& instead,
               Issues& issues) {
  if (!given) return;
  const std::string what = value.empty() ? "not supported yet" : value + " is not supported yet";
  issues.push_back({std::move(path), what, instead});
}

void refuse_dtypes(const JobConfig& job, Issues& issues) {
  const auto check = [&](const auto& provider) {
    if constexpr (requires { provider.dtype; }) {
      refuse_if(provider.dtype == Dtype::float16, "model_provider.dtype", "float16",
                "choose bfloat16 or float32", issues);
    }
  };
  std::visit(check, job.model_provider);
  const auto& dtype = job.trainer.gradient_manager.grad_dtype;
  refuse_if(dtype && *dtype == Dtype::float16, "trainer.gradient_manager.grad_dtype", "float16",
            "choose float32 or null", issues);
  const auto* stochastic = std::get_if<StochasticAdamWOptions>(&job.optimizer);
  refuse_if(stochastic && stochastic->state_dtype == Dtype::float16, "optimizer.state_dtype", "float16",
            "choose float32 or bfloat16", issues);
}

constexpr int delayed_ranks_max =
    8;  // there are so many delayed devices, one for each rank unless they share

void refuse_on_devices(const JobConfig& job, Issues& issues) {
  if (job.node.device == DeviceKind::delayed && job.mesh.world_size() > delayed_ranks_max)
    issues.push_back({"mesh", "more than eight ranks on a delayed device is not supported yet",
                      "choose node.device: cpu"});
}

void refuse_without_a_device(const JobConfig& job, Issues& issues) {
  const auto* const family = std::get_if<FamilyProvider>(&job.model_provider);
  if (family == nullptr || family->offload_layers == 0 || job.node.device != DeviceKind::cpu) return;
  issues.push_back({"model_provider.offload_layers",
                    "of node.device: cpu activations are in the memory of the host already",
                    "leave it out, or set model_provider.enable_checkpointing"});
}

// A rank gives its collectives to its device on one thread: ranks of a stage in different orders wait for each other.
void refuse_out_of_order(const JobConfig& job, Issues& issues) {
  const bool sums = job.mesh.world_size() > job.mesh.pipeline_parallel;
  const bool dynamic = job.trainer.pipelining.order == CursorOrder::dynamic;
  if (job.node.device == DeviceKind::cpu || !sums || !dynamic) return;
  issues.push_back({"trainer.pipelining.order",
                    "dynamic is not supported on devices for stages of several ranks",
                    "choose trainer.pipelining.order: static, or node.device: cpu"});
}

}  // namespace

std::vector<JobIssue> unsupported(const JobConfig& job) {
  Issues issues;
  refuse_dtypes(job, issues);
  refuse_on_devices(job, issues);
  refuse_out_of_order(job, issues);
  refuse_without_a_device(job, issues);
  return issues;
}

}  // namespace d9d
