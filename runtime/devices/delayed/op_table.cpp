#include "runtime/devices/delayed/op_table.hpp"

#include <atomic>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/memory/host_values.hpp"
#include "kernels/ops/every_op.hpp"
#include "kernels/ops/tensors_in.hpp"
#include "kernels/ops/written.hpp"
#include "kernels/result_shapes.hpp"
#include "kernels/run_op.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/aliases.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

using kernels::for_tensors;
using kernels::OpTable;

std::atomic<const OpTable*>& host_table() {
  static constinit std::atomic<const OpTable*> chosen = nullptr;
  return chosen;
}

const OpTable& cpu_table() {
  const OpTable* const chosen = host_table().load(std::memory_order_acquire);
  return chosen != nullptr ? *chosen : kernels::op_detail::table_of("an op of the CPU", {});
}

template <class T>
std::vector<at::Tensor> tensors_of(const T& value) {
  std::vector<at::Tensor> tensors;
  for_tensors(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

// Of the first tensor of this kind among the arguments.
template <class... Parameters>
int index_of(const Parameters&... arguments) {
  int index = -1;
  const auto look = [&](const at::Tensor& tensor) {
    if (index < 0 && is_delayed(tensor)) index = tensor.device().index();
  };
  (for_tensors(arguments, look), ...);
  return index < 0 ? current().device : index;
}

void copy_results(const char* op, const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    TORCH_CHECK(from[i].defined() == into[i].defined(), op, " on a delayed device: result ", i,
                " is undefined, or should be");
    if (!from[i].defined()) continue;
    TORCH_CHECK(from[i].sizes() == into[i].sizes() && from[i].scalar_type() == into[i].scalar_type(), op,
                " on a delayed device gave ", from[i].sizes(), " ", from[i].scalar_type(), ", expected ",
                into[i].sizes(), " ", into[i].scalar_type());
    into[i].copy_(from[i]);
  }
}

template <auto op>
struct Queued;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct Queued<op> {
  using Arguments = std::tuple<std::decay_t<Parameters>...>;

  static Result call(Parameters... arguments) {
    const OnDevice there(index_of(arguments...));
    Aliases aliases(name());
    std::uint32_t written = kernels::written_arguments<op>();
    Arguments inputs(arguments...);
    const auto to_alias = [&](auto& input) {
      for_tensors(input, [&](at::Tensor& tensor) { tensor = aliases.of(tensor, (written & 1U) != 0); });
      written >>= 1;
    };
    std::apply([&](auto&... input) { (to_alias(input), ...); }, inputs);
    if constexpr (std::is_void_v<Result>) {
      queue(aliases, [inputs = std::move(inputs)] { std::apply(on_cpu(), inputs); });
    } else {
      Result result = (kernels::result_shapes().*op).function()(arguments...);
      Result into = result;
      for_tensors(into, [&](at::Tensor& tensor) { tensor = aliases.into(tensor); });
      queue(aliases, [inputs = std::move(inputs), into] {
        const Result made = std::apply(on_cpu(), inputs);
        copy_results(name(), tensors_of(made), tensors_of(into));
      });
      return result;
    }
  }

  static const char* name() { return (kernels::op_detail::names.*op).name(); }
  static auto on_cpu() { return (cpu_table().*op).function(); }
  static void queue(const Aliases& aliases, Machine::Work work) {
    machine(current().device).enqueue(current().stream(), aliases.touched(), std::move(work));
  }
};

// The host waits; f sees tensors of the CPU.
template <auto op, class F>
auto waited(const at::Tensor& tensor, F&& f) {
  const OnDevice there(tensor.device().index());
  const char* const name = (kernels::op_detail::names.*op).name();
  HostWaits::count(name);
  Aliases aliases(name);
  const at::Tensor alias = aliases.of(tensor);
  decltype(f(alias)) result{};
  machine(current().device).run_behind(current().stream(), aliases.touched(), [&] { result = f(alias); });
  return result;
}

// How many labels count is known where they come from.
kernels::ValidTokens valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size) {
  const auto choose = [&](const at::Tensor& here) {
    return (cpu_table().*(&OpTable::valid_tokens)).function()(here, ignore_index, vocab_size);
  };
  const at::Tensor known = kernels::host_values(labels);
  kernels::ValidTokens valid =
      known.defined() ? choose(known.contiguous()) : waited<&OpTable::valid_tokens>(labels, choose);
  for_tensors(valid, [&](at::Tensor& tensor) { tensor = tensor.to(labels.device(), /*non_blocking=*/true); });
  return valid;
}

std::optional<double> uniform_value(const at::Tensor& grad) {
  return waited<&OpTable::uniform_value>(grad, (cpu_table().*(&OpTable::uniform_value)).function());
}

OpTable make_table(kernels::Place place) {
  OpTable table;
  table.place = place;
  kernels::for_each_op([&]<auto op>() {
    constexpr bool waits = requires {
      requires std::is_same_v<decltype(op), decltype(&OpTable::uniform_value)>;
    };
    if constexpr (!waits) table.*op = &Queued<op>::call;
  });
  table.valid_tokens = valid_tokens;
  table.uniform_value = uniform_value;
  return table;
}

}  // namespace

void use_host_table(const OpTable* table) {
  host_table().store(table, std::memory_order_release);
  kernels::register_ops(c10::kPrivateUse1, &op_table());
}

const OpTable& op_table() {
  static const OpTable other = make_table(kernels::Place::other), gpu = make_table(kernels::Place::gpu);
  const OpTable* const chosen = host_table().load(std::memory_order_acquire);
  return chosen != nullptr && chosen->place == kernels::Place::gpu ? gpu : other;
}

}  // namespace d9d::delayed
