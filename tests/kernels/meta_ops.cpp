#include "tests/kernels/meta_ops.hpp"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "kernels/ops/every_op.hpp"
#include "kernels/result_shapes.hpp"
#include "kernels/run_op.hpp"

namespace d9d::test {
namespace {

std::vector<std::string>& names() {
  thread_local std::vector<std::string> of_thread;
  return of_thread;
}

// An op that notes its name, and gives results of the right shape.
template <auto op>
struct Noted;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct Noted<op> {
  static Result call(Parameters... arguments) {
    names().emplace_back((kernels::op_detail::names.*op).name());
    if constexpr (std::is_same_v<Result, std::optional<double>>) {
      return std::nullopt;
    } else if constexpr (std::is_same_v<Result, double>) {
      return 0;
    } else {
      return (kernels::result_shapes().*op).function()(arguments...);
    }
  }
};

// Torch itself has it for `meta` in Python only.
at::Tensor index_select(const at::Tensor& x, int64_t dim, const at::Tensor& index) {
  auto sizes = x.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = index.size(0);
  return at::empty(sizes, x.options().requires_grad(false));
}

}  // namespace

struct MetaOps::TorchOps {
  torch::Library library{torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__};
};

MetaOps::MetaOps() : torch_ops_(std::make_unique<TorchOps>()) {
  torch_ops_->library.impl("index_select", index_select);
  kernels::for_each_op([&]<auto op>() { table_.*op = &Noted<op>::call; });
  names().clear();
  kernels::register_ops(at::kMeta, &table_);
}

MetaOps::~MetaOps() {
  kernels::register_ops(at::kMeta, nullptr);
}

std::vector<std::string> MetaOps::take_names() {
  return std::exchange(names(), {});
}

}  // namespace d9d::test
